//! The names of things: threads, inputs, calls, choices, items.
//!
//! Every id is short shared text, so that it clones cheaply and reads well in a database.
//! The runtime makes call ids from the step and the place of the call; nothing here draws on a clock or on chance.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The number of a step within its thread: 1 for the first, one more for each step that is synced. 0 is "no step yet".
pub type Step = u64;

/// Why a text is not a usable id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to 200 bytes without control characters, this one is {found}")]
pub struct IdError {
    found: String,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// An id from text, unchecked: for text that came from a store or is made by the program itself.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// An id from text that came from outside.
            ///
            /// # Errors
            /// When the text is empty, longer than 200 bytes, or has a control character.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                if text.is_empty() {
                    return Err(IdError { found: "empty".into() });
                }
                if text.len() > 200 {
                    return Err(IdError { found: format!("{} bytes long", text.len()) });
                }
                if text.chars().any(char::is_control) {
                    return Err(IdError { found: format!("{text:?}") });
                }
                Ok(Self(text.into()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

text_id! {
    /// The name of a thread, chosen by whoever creates it. The part before the first `/` names the root of its tree.
    ThreadId
}
text_id! {
    /// The name of an input, chosen by its sender. Within a thread, an input with a known id is a redelivery, for ever.
    InputId
}
text_id! {
    /// The name of a tool call within its thread, made by the runtime from the call's step and place: `call_7_0`.
    CallId
}
text_id! {
    /// The name of a choice within its thread, made from its call and its number within the call: `call_7_0:1`.
    ChoiceId
}

impl ThreadId {
    /// The id of the thread at the root of this thread's tree (its own, if it has no parent).
    ///
    /// ```
    /// # use selvedge_event::ThreadId;
    /// assert_eq!(ThreadId::from("a/b/c").root(), "a");
    /// ```
    pub fn root(&self) -> &str {
        self.0.split('/').next().unwrap_or(&self.0)
    }
}

impl CallId {
    /// The id of the `index`th call (from 0) that the model makes in `step`.
    pub fn of(step: Step, index: usize) -> Self {
        Self(format!("call_{step}_{index}").into())
    }
}

impl ChoiceId {
    /// The id of the `number`th choice (from 1) that `call` asks for.
    pub fn of(call: &CallId, number: u32) -> Self {
        Self(format!("{call}:{number}").into())
    }
}

/// The place of an item in a thread's transcript: its step and its place within that step, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemId {
    /// The step whose turn holds the item.
    pub step: Step,
    /// The item's place among the items of that step.
    pub place: u32,
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.step, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_from_outside_are_bounded_and_printable() {
        assert!(ThreadId::parse("support/42").is_ok());
        assert!(ThreadId::parse("").is_err());
        assert!(ThreadId::parse("a\nb").is_err());
        assert!(ThreadId::parse(&"x".repeat(201)).is_err());
    }
}
