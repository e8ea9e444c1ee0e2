//! What tools hand to models and to viewers.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::flat::FlatContent;

/// A piece of a tool's result, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "FlatContent")]
pub enum Content {
    /// Plain text.
    Text {
        /// The text.
        text: Text,
    },
    /// A picture.
    Image {
        /// The picture's bytes in base64.
        data: Text,
        /// Its media type, such as `image/png`.
        media_type: Text,
    },
}

/// A piece of a tool's result, as a viewer shows it. A viewer takes the first segment whose type it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "content", rename_all = "snake_case")]
pub enum DisplaySegment {
    /// Plain text.
    Text(Text),
    /// A change to a file, as a unified diff.
    Diff {
        /// The file that the patch is for.
        path: Text,
        /// The unified diff.
        patch: Text,
    },
    /// A picture.
    Image {
        /// The picture's bytes in base64.
        data: Text,
        /// Its media type, such as `image/png`.
        #[serde(rename = "mediaType")]
        media_type: Text,
    },
}

/// The latest state of something that a tool keeps on show beside the conversation; one per thread and type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// What kind of view it is; a later view of the same type replaces it.
    pub view_type: Text,
    /// Its content, which Selvedge does not interpret.
    pub content: Text,
}
