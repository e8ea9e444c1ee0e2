//! Tagged data, read in one pass.
//!
//! Where a tag stands among the fields of what it tags, serde keeps all of them until it has seen the tag, and reads them
//! from there. Histories are long: what they are made of is read as one flat record, in which every field of every kind
//! may be missing, and then told apart. What is written stays as serde writes it.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use crate::{
    Arguments, AssistantMessage, Block, CallId, Content, FailureKind, ModelRef, Outcome, Text, ToolCall, Usage,
};

/// A field that its kind needs and that is not there.
#[derive(Debug)]
pub(crate) struct Missing(&'static str);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "missing field `{}`", self.0)
    }
}

fn needed<T>(field: Option<T>, name: &'static str) -> Result<T, Missing> {
    field.ok_or(Missing(name))
}

#[derive(Deserialize)]
pub(crate) struct FlatAssistant {
    attempt: u32,
    model: Arc<ModelRef>,
    blocks: Vec<Block>,
    outcome: OutcomeTag,
    failure: Option<FailureKind>,
    message: Option<Text>,
    usage: Usage,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeTag {
    Stopped,
    ToolCalls,
    Length,
    ContentFilter,
    Interrupted,
    Failed,
}

impl TryFrom<FlatAssistant> for AssistantMessage {
    type Error = Missing;

    fn try_from(flat: FlatAssistant) -> Result<Self, Missing> {
        let FlatAssistant { attempt, model, blocks, outcome, failure, message, usage } = flat;
        let outcome = match outcome {
            OutcomeTag::Stopped => Outcome::Stopped,
            OutcomeTag::ToolCalls => Outcome::ToolCalls,
            OutcomeTag::Length => Outcome::Length,
            OutcomeTag::ContentFilter => Outcome::ContentFilter,
            OutcomeTag::Interrupted => Outcome::Interrupted,
            OutcomeTag::Failed => {
                Outcome::Failed { failure: needed(failure, "failure")?, message: needed(message, "message")? }
            }
        };
        Ok(Self { attempt, model, blocks, outcome, usage })
    }
}

#[derive(Deserialize)]
pub(crate) struct FlatBlock {
    #[serde(rename = "type")]
    tag: BlockTag,
    text: Option<Text>,
    native: Option<Text>,
    complete: Option<bool>,
    id: Option<CallId>,
    provider_id: Option<Text>,
    name: Option<Text>,
    arguments: Option<Arguments>,
    display_as: Option<Text>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockTag {
    Text,
    Reasoning,
    ToolCall,
}

impl TryFrom<FlatBlock> for Block {
    type Error = Missing;

    fn try_from(flat: FlatBlock) -> Result<Self, Missing> {
        let native = flat.native;
        Ok(match flat.tag {
            BlockTag::Text => Self::Text { text: needed(flat.text, "text")?, native },
            BlockTag::Reasoning => {
                let complete = needed(flat.complete, "complete")?;
                Self::Reasoning { text: needed(flat.text, "text")?, native, complete }
            }
            BlockTag::ToolCall => Self::ToolCall(Arc::new(ToolCall {
                id: needed(flat.id, "id")?,
                provider_id: flat.provider_id,
                name: needed(flat.name, "name")?,
                arguments: needed(flat.arguments, "arguments")?,
                display_as: flat.display_as,
                native,
            })),
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct FlatContent {
    #[serde(rename = "type")]
    tag: ContentTag,
    text: Option<Text>,
    data: Option<Text>,
    media_type: Option<Text>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ContentTag {
    Text,
    Image,
}

impl TryFrom<FlatContent> for Content {
    type Error = Missing;

    fn try_from(flat: FlatContent) -> Result<Self, Missing> {
        Ok(match flat.tag {
            ContentTag::Text => Self::Text { text: needed(flat.text, "text")? },
            ContentTag::Image => {
                let media_type = needed(flat.media_type, "media_type")?;
                Self::Image { data: needed(flat.data, "data")?, media_type }
            }
        })
    }
}
