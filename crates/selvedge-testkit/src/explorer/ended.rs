//! What a run came to.

use std::collections::{BTreeMap, HashMap};

use selvedge_event::{CallId, History, InputId, ItemKind, Message, Step, ThreadId, ToolStatus, Transcript};
use selvedge_store::ToolDelivery;

use super::{Point, Violation};
use crate::transcript_of;

/// What a run came to, when all its threads are at rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Its threads.
    pub stories: Vec<Story>,
    /// Every time that a call reached its tool, in order.
    pub calls: Vec<CallSeen>,
    /// The tools, and how often a call of each may reach it.
    pub deliveries: BTreeMap<String, ToolDelivery>,
    /// What was found broken on the way.
    pub violations: Vec<Violation>,
    /// All points of the last process.
    pub points: Vec<Point>,
    /// Strikes that were not needed, because the run ended before them.
    pub spared: usize,
    /// Processes that died.
    pub kills: u64,
}

/// One thread of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    /// The thread.
    pub thread: ThreadId,
    /// Inputs that stay in the history and were accepted, in order.
    pub accepted: Vec<InputId>,
    /// Its history.
    pub history: History,
    /// The last step of the history that it shares with a parent; 0 for none.
    pub forked_at: Step,
}

/// A call reached its tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSeen {
    /// Its idempotency key.
    pub key: String,
    /// Which try it was said to be.
    pub attempt: u32,
}

/// How much of a transcript must be as in an undisturbed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// All of it, and the id of every item.
    Items,
    /// All that is shown, in order. Which step took an input may depend on when its process died, and ids say that.
    Lines,
    /// Nothing: what is said depends on which inputs the model sees together.
    Nothing,
}

/// One item of a transcript as it reads whatever the steps were: calls are numbered as they come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What is shown.
    pub text: String,
    /// For a call: its tool, and its result.
    pub call: Option<(String, Option<(ToolStatus, String)>)>,
}

impl Ended {
    /// Calls that were settled as "outcome unknown".
    pub fn unknown(&self) -> u64 {
        let results = self.stories.iter().flat_map(Story::results);
        results.filter(|(_, status)| *status == ToolStatus::Unknown).count() as u64
    }
}

impl Story {
    /// The transcript of the history.
    pub fn transcript(&self) -> Transcript {
        transcript_of(&self.history)
    }

    /// The messages of the thread's own steps.
    pub fn own_messages(&self) -> impl Iterator<Item = &Message> {
        let own = self.history.iter().filter(|turn| turn.step > self.forked_at);
        own.flat_map(|turn| &turn.messages)
    }

    /// Every result, with its call.
    pub fn results(&self) -> impl Iterator<Item = (&CallId, ToolStatus)> {
        self.own_messages().filter_map(|message| match message {
            Message::ToolResult(result) => Some((&result.call_id, result.status)),
            _ => None,
        })
    }

    /// The inputs in the history, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &InputId> {
        self.own_messages().filter_map(|message| match message {
            Message::User(user) => Some(&user.input_id),
            Message::SubscriptionEvent(event) => Some(&event.input_id),
            _ => None,
        })
    }

    /// What is shown, whatever the steps were.
    pub fn lines(&self) -> Vec<Line> {
        let mut numbers: HashMap<CallId, usize> = HashMap::new();
        self.transcript().items().iter().map(|item| line(&item.kind, &mut numbers)).collect()
    }
}

fn line(kind: &ItemKind, numbers: &mut HashMap<CallId, usize>) -> Line {
    let plain = |text: String| Line { text, call: None };
    match kind {
        ItemKind::User { text, .. } => plain(format!("user: {text}")),
        ItemKind::Text { text } => plain(format!("text: {text}")),
        ItemKind::Thinking { text, done } => plain(format!("thinking: {text} {done}")),
        ItemKind::ToolCall { call_id, name, arguments, result, .. } => {
            let number = numbers.len() + 1;
            numbers.insert(call_id.clone(), number);
            let whole = |blob: &selvedge_event::BlobRef| format!(" ({} bytes)", blob.bytes);
            let result = result.as_ref().map(|(_, result)| {
                // The marker of a text that was cut names its blob, which is named by the call.
                let text = result.joined_text().replace(call_id.as_str(), &format!("call {number}"));
                (result.status, text + &result.blob.as_ref().map(whole).unwrap_or_default())
            });
            Line { text: format!("call {number}: {name} {arguments}"), call: Some((name.to_string(), result)) }
        }
        ItemKind::SubscriptionEvent { call_id, text, last } => {
            plain(format!("news of call {:?}: {text} {last}", numbers.get(call_id)))
        }
        ItemKind::Compaction { summary } => plain(format!("compaction: {summary}")),
        ItemKind::Ended { outcome } => plain(format!("ended: {outcome:?}")),
        other => plain(format!("{other:?}")),
    }
}
