//! What a model is asked.

use std::sync::{Arc, OnceLock};

use selvedge_event::{Block, ModelRef, SharedLog, Text, ToolResult};

/// One request: everything that a completion depends on.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model that is asked.
    pub model: ModelRef,
    /// Instructions that stand before the conversation; `None` for none.
    pub system: Option<Text>,
    /// The tools that the model may call; the same for the whole conversation.
    pub tools: Arc<[ToolSchema]>,
    /// The conversation.
    pub context: Context,
    /// The most tokens that the answer may have; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
}

impl ModelRequest {
    /// A request without instructions, tools or limits.
    pub fn new(model: ModelRef, context: Context) -> Self {
        Self { model, system: None, tools: [].into(), context, max_output_tokens: None }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSchema {
    /// Its name.
    pub name: Text,
    /// What it does, for the model to read.
    pub description: Text,
    /// The JSON Schema of its arguments, as JSON text.
    pub parameters: Text,
}

/// The conversation of a request, oldest first. Cloning it copies nothing; it only grows at its end.
#[derive(Debug, Clone, Default)]
pub struct Context(pub(crate) SharedLog<Arc<ContextEntry>>);

impl Context {
    /// A conversation of one user text.
    pub fn from_user_text(text: impl Into<Text>) -> Self {
        Self([Arc::new(ContextEntry::new(RequestMessage::User(text.into())))].into_iter().collect())
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &ContextEntry> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// How many messages it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The newest message.
    pub fn last(&self) -> Option<&RequestMessage> {
        self.0.last().map(|entry| &entry.message)
    }

    pub(crate) fn push(&mut self, message: RequestMessage) {
        self.0.push(Arc::new(ContextEntry::new(message)));
    }
}

impl FromIterator<RequestMessage> for Context {
    fn from_iter<I: IntoIterator<Item = RequestMessage>>(messages: I) -> Self {
        Self(messages.into_iter().map(|message| Arc::new(ContextEntry::new(message))).collect())
    }
}

/// A message of a request, with the place where its encoded bytes are kept.
#[derive(Debug)]
pub struct ContextEntry {
    message: RequestMessage,
    encoded: OnceLock<(Text, Arc<[u8]>)>,
}

impl ContextEntry {
    fn new(message: RequestMessage) -> Self {
        Self { message, encoded: OnceLock::new() }
    }

    /// The message.
    pub fn message(&self) -> &RequestMessage {
        &self.message
    }

    /// The message in a wire protocol's bytes, encoded once and kept: a long conversation costs a request only the
    /// copying of its bytes. `format` names the protocol and whatever else the bytes depend on beside the message.
    pub fn encoded(&self, format: &Text, encode: impl FnOnce(&RequestMessage) -> Vec<u8>) -> Arc<[u8]> {
        if let Some((known, bytes)) = self.encoded.get()
            && known == format
        {
            return bytes.clone();
        }
        let bytes: Arc<[u8]> = encode(&self.message).into();
        // Another format's bytes may be there already; then these are made anew each time.
        if self.encoded.set((format.clone(), bytes.clone())).is_err() {
            return bytes;
        }
        bytes
    }
}

/// A message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestMessage {
    /// What the user wrote, or what stands in its place; never blank.
    User(Text),
    /// What a model answered; at least one block, no blank text.
    Assistant {
        /// The model that answered.
        model: Arc<ModelRef>,
        /// Its blocks. Reasoning only if it is whole and this request's model made it.
        blocks: Vec<Block>,
    },
    /// The results of all calls of the message before, in call order.
    ToolResults(Vec<AnsweredCall>),
}

/// A call's result and the name of its tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredCall {
    /// The tool's name.
    pub name: Text,
    /// The result, with the call's id; never without content.
    pub result: Arc<ToolResult>,
}
