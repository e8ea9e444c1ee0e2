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

/// How many messages are kept encoded as one piece of bytes.
const STRETCH: usize = 32;

/// The conversation of a request, oldest first. Cloning it copies nothing; it only grows at its end.
///
/// It keeps its encoded bytes, so that a long conversation costs a request little more than their copying: see
/// [`encoded`](Self::encoded).
#[derive(Debug, Clone, Default)]
pub struct Context {
    stretches: SharedLog<Arc<Stretch>>,
    /// The newest messages, fewer than make a stretch.
    tail: Arc<Vec<Arc<Newest>>>,
}

/// So many messages, and the place of their bytes.
#[derive(Debug)]
struct Stretch {
    messages: Vec<Arc<RequestMessage>>,
    encoded: Encoded,
}

/// A message that is not yet part of a stretch, and the place of its bytes.
#[derive(Debug)]
struct Newest {
    message: Arc<RequestMessage>,
    encoded: Encoded,
}

/// Bytes in a wire protocol, and its name.
type Encoded = OnceLock<(Text, Arc<[u8]>)>;

impl Context {
    /// A conversation of one user text.
    pub fn from_user_text(text: impl Into<Text>) -> Self {
        [RequestMessage::User(text.into())].into_iter().collect()
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RequestMessage> {
        let old = self.stretches.iter().flat_map(|stretch| &stretch.messages);
        old.chain(self.tail.iter().map(|newest| &newest.message)).map(AsRef::as_ref)
    }

    /// How many messages it has.
    pub fn len(&self) -> usize {
        self.stretches.len() * STRETCH + self.tail.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty() && self.tail.is_empty()
    }

    /// The newest message.
    pub fn last(&self) -> Option<&RequestMessage> {
        let newest = self.tail.last().map(|newest| &newest.message);
        newest.or_else(|| self.stretches.last()?.messages.last()).map(AsRef::as_ref)
    }

    /// The messages as JSON, oldest first, in pieces: each is one message or several, with a comma between any two. A
    /// message is encoded once and kept, in the first format that asks.
    ///
    /// `format` names the protocol and whatever else the bytes depend on beside the message.
    pub fn encoded(&self, format: &Text, encode: impl Fn(&RequestMessage) -> Vec<u8>) -> Vec<Arc<[u8]>> {
        let mut pieces = Vec::with_capacity(self.stretches.len() + self.tail.len());
        pieces.extend(self.stretches.iter().map(|stretch| {
            kept(&stretch.encoded, format, || {
                let messages: Vec<Vec<u8>> = stretch.messages.iter().map(|message| encode(message)).collect();
                messages.join(&b',').into()
            })
        }));
        pieces.extend(self.tail.iter().map(|newest| kept(&newest.encoded, format, || encode(&newest.message).into())));
        pieces
    }

    pub(crate) fn push(&mut self, message: RequestMessage) {
        let tail = Arc::make_mut(&mut self.tail);
        tail.push(Arc::new(Newest { message: Arc::new(message), encoded: OnceLock::new() }));
        if tail.len() == STRETCH {
            // Its bytes are made anew, together, when it is next asked for: once in so many messages, and kept once.
            let messages = tail.drain(..).map(|newest| newest.message.clone()).collect();
            self.stretches.push(Arc::new(Stretch { messages, encoded: OnceLock::new() }));
        }
    }
}

/// Bytes as they are kept, or made now. Another format's may be there already; then these are made anew each time.
fn kept(place: &Encoded, format: &Text, encode: impl FnOnce() -> Arc<[u8]>) -> Arc<[u8]> {
    match place.get() {
        None => place.get_or_init(|| (format.clone(), encode())).1.clone(),
        Some((known, bytes)) if known == format => bytes.clone(),
        Some(_) => encode(),
    }
}

impl FromIterator<RequestMessage> for Context {
    fn from_iter<I: IntoIterator<Item = RequestMessage>>(messages: I) -> Self {
        let mut context = Self::default();
        messages.into_iter().for_each(|message| context.push(message));
        context
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
