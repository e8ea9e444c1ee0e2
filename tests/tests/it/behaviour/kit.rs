//! What the behaviours share: a stage with one thread, tools that leave notes, and outlines to compare.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use selvedge::Builder;
use selvedge::event::{Block, Message, ToolReply, ToolResult};
use selvedge::model::{Gate, ModelRequest, RequestMessage};
use selvedge::prelude::*;
use selvedge::runtime::AnswerError;
use selvedge::store::{Acceptance, ThreadRecord};
use selvedge_testkit::{Seen, Watcher};
use selvedge_tests::{Mode, World};
use serde_json::json;

/// The thread of every behaviour.
pub(crate) const T: &str = "t";

/// A builder, as a stage's tools are added to it.
pub(crate) type Build = Builder<fn() -> NullObserver>;

/// A world and its scripted model.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) model: ScriptedModel,
}

impl Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Stage {
    /// A stage over a store in memory, whose model gives these replies.
    pub(crate) async fn new(
        mode: Mode,
        replies: impl IntoIterator<Item = Reply>,
        tools: impl Fn(Build, &Watcher) -> Build + 'static,
    ) -> Self {
        Self::over(mode, Arc::new(MemoryStore::default()), ScriptedModel::new(replies), tools).await
    }

    /// A stage over a store and a model.
    pub(crate) async fn over(
        mode: Mode,
        store: Arc<dyn ConversationStore>,
        model: ScriptedModel,
        tools: impl Fn(Build, &Watcher) -> Build + 'static,
    ) -> Self {
        let (watcher, wired) = (Watcher::new(), model.clone());
        let notes = watcher.clone();
        let wiring = move |builder: Build| tools(builder.model(wired.clone()), &notes);
        Self { world: World::watched(mode, store, watcher, wiring).await, model }
    }

    /// Sends an input, and lets the thread go on while the test does.
    pub(crate) async fn post(&self, id: &str, input: Input) -> Acceptance {
        let acceptance = self.send(T, id, input).await.expect("the input is accepted");
        self.go(T);
        acceptance
    }

    /// Sends the result of a call, as somebody outside would.
    pub(crate) async fn post_result(&self, id: &str, call: &str, text: &str) -> Acceptance {
        self.post(id, Input::ToolResult(ToolReply::text(call.into(), ToolStatus::Ok, text))).await
    }

    /// Waits until the thread's record is as wanted.
    pub(crate) async fn until_record(&self, wanted: impl Fn(&ThreadRecord) -> bool) {
        self.until(T, wanted).await;
    }

    /// Waits until so many choices have been required, and what that set off has been done.
    pub(crate) async fn until_asked(&self, count: usize) -> Vec<UserChoice> {
        while self.asked().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.asked()
    }

    /// Answers a choice, and lets the thread go on.
    pub(crate) async fn choose(&self, choice: &UserChoice, selected: usize) -> Result<(), AnswerError> {
        let answered = self.answer(T, &choice.id, selected).await;
        self.go(T);
        answered
    }

    /// Interrupts the thread, and lets it go on.
    pub(crate) async fn stop(&self) {
        self.interrupt(T).await.expect("the interruption is accepted");
        self.go(T);
    }

    /// What somebody who attaches now is told. Only in local mode.
    pub(crate) async fn attach(&self) -> ReplaySnapshot {
        assert!(self.system().subscribe(&T.into(), ()).await.expect("the thread exists"), "the watcher panicked");
        self.watcher.newest_snapshot(T).expect("a snapshot")
    }

    /// The thread's record.
    pub(crate) async fn record(&self) -> ThreadRecord {
        self.store.load(&T.into()).await.expect("the thread exists")
    }

    /// The choices that were required so far, in order.
    pub(crate) fn asked(&self) -> Vec<UserChoice> {
        let required = self.watcher.log().into_iter().filter_map(|seen| match seen {
            Seen::Required(choice) => Some(choice),
            _ => None,
        });
        required.collect()
    }

    /// Waits until a note has been left.
    pub(crate) async fn until_noted(&self, note: &str) {
        while !self.notes().iter().any(|known| known == note) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The notes so far.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = self.watcher.log().into_iter().filter_map(|seen| match seen {
            Seen::Note(note) => Some(note),
            _ => None,
        });
        notes.collect()
    }

    /// The requests so far, as outlines.
    pub(crate) fn requests(&self) -> Vec<Vec<String>> {
        self.model.requests().iter().map(outline_of_request).collect()
    }

    /// The newest request, as an outline.
    pub(crate) fn newest_request(&self) -> Vec<String> {
        self.requests().pop().expect("the model was asked")
    }

    /// The durable history, as an outline.
    pub(crate) async fn outline(&self) -> Vec<String> {
        self.messages(T).await.iter().map(outline_of_message).collect()
    }

    /// The place in the watcher's log of the first entry that is wanted.
    pub(crate) fn place(&self, what: &str, wanted: impl Fn(&Seen) -> bool) -> usize {
        let log = self.watcher.log();
        log.iter().position(wanted).unwrap_or_else(|| panic!("{what} is not in the log: {log:#?}"))
    }

    /// Lets the thread come to rest, then holds it against oracles F and V.
    pub(crate) async fn end(self) {
        self.rest(T).await;
        self.check(T).await;
        let violations = self.model.violations();
        assert!(violations.is_empty(), "oracle V: {violations:#?}");
    }
}

/// No tools.
pub(crate) fn no_tools(builder: Build, _: &Watcher) -> Build {
    builder
}

/// Only `echo`.
pub(crate) fn with_echo(builder: Build, watcher: &Watcher) -> Build {
    builder.tool(echo(watcher))
}

/// A tool that gives its text back, and notes each call.
pub(crate) fn echo(watcher: &Watcher) -> impl Tool + use<> {
    let watcher = watcher.clone();
    let spec = ToolSpec::new("echo", "Says it again.").with_parameters(json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
    }));
    tool(spec, move |call: ToolContext| {
        let watcher = watcher.clone();
        async move {
            watcher.note(format!("echo {}", call.call_id()));
            Ok(ToolOutput::text(call.arguments()["text"].as_str().unwrap_or_default()))
        }
    })
}

/// The arguments of `echo`.
pub(crate) fn text_arguments(text: &str) -> String {
    json!({ "text": text }).to_string()
}

/// A tool that waits at a gate, and notes when it begins and when it is cancelled.
pub(crate) fn gated(watcher: &Watcher, spec: ToolSpec, gate: &Gate) -> impl Tool + use<> {
    let (watcher, gate, name) = (watcher.clone(), gate.clone(), spec.name.clone());
    tool(spec, move |call: ToolContext| {
        let (watcher, gate, name) = (watcher.clone(), gate.clone(), name.clone());
        async move {
            watcher.note(format!("{name} begins {} try {}", call.key(), call.attempt()));
            tokio::select! {
                () = gate.pass() => Ok(ToolOutput::text(format!("{name} is done"))),
                () = call.cancelled() => {
                    watcher.note(format!("{name} is cancelled"));
                    Err("stopped".into())
                }
            }
        }
    })
}

/// A tool that asks for a colour, red by default, and notes what it was told. It may be dispatched again.
pub(crate) fn ask(watcher: &Watcher, expires_in: Option<Duration>) -> impl Tool + use<> {
    let watcher = watcher.clone();
    tool(ToolSpec::new("ask", "Asks for a colour.").idempotent(), move |call: ToolContext| {
        let watcher = watcher.clone();
        async move {
            let chosen = call.choose("Which?", vec!["red".into(), "blue".into()], 0, expires_in).await?;
            watcher.note(format!("{} chose {} {:?}", call.call_id(), chosen.selected, chosen.end));
            Ok(ToolOutput::text(["red", "blue"][chosen.selected]))
        }
    })
}

/// A request, a line per message.
pub(crate) fn outline_of_request(request: &ModelRequest) -> Vec<String> {
    let lines = request.context.iter().map(|message| match message {
        RequestMessage::User(text) => format!("user: {text}"),
        RequestMessage::Assistant { blocks, .. } => format!("model: {}", outline_of_blocks(blocks)),
        RequestMessage::ToolResults(results) => {
            let results: Vec<String> = results.iter().map(|answer| outline_of_result(&answer.result)).collect();
            format!("results: {}", results.join(" | "))
        }
    });
    lines.collect()
}

fn outline_of_message(message: &Message) -> String {
    match message {
        Message::User(user) => format!("user: {}", user.text),
        Message::Assistant(assistant) => {
            let outcome = match &assistant.outcome {
                Outcome::Failed { failure, .. } => format!("{failure:?}"),
                outcome => format!("{outcome:?}"),
            };
            format!("model: {} -> {outcome}", outline_of_blocks(&assistant.blocks))
        }
        Message::ToolResult(result) => format!("result: {}", outline_of_result(result)),
        Message::SubscriptionEvent(event) => {
            format!("event {}: {}{}", event.call_id, event.text, if event.last { " (last)" } else { "" })
        }
        Message::Compaction(compaction) => format!("summary: {}", compaction.summary),
    }
}

fn outline_of_blocks(blocks: &[Block]) -> String {
    let blocks = blocks.iter().map(|block| match block {
        Block::Text { text, .. } => format!("say({text})"),
        Block::Reasoning { text, complete: true, .. } => format!("think({text})"),
        Block::Reasoning { text, .. } => format!("think({text}…"),
        Block::ToolCall(call) => format!("{}={}{}", call.id, call.name, call.arguments.raw()),
    });
    blocks.collect::<Vec<_>>().join(" ")
}

fn outline_of_result(result: &ToolResult) -> String {
    format!("{} {:?}: {}", result.call_id, result.status, result.joined_text())
}
