//! Threads as the runtime writes them: inputs that are known, calls with their records, usage that adds up.

use std::sync::Arc;

use selvedge_event::{
    Arguments, AssistantMessage, BlobRef, Block, CallId, Input, Message, ModelRef, Outcome, Step, ThreadId, Timestamp,
    ToolCall, ToolResult, ToolStatus, TurnRecord, Usage, UserMessage,
};
use selvedge_sqlite::SqliteStore;
use selvedge_store::{
    AcceptRequest, Changes, ConversationStore, Create, Epoch, NewInput, Owner, PlannedCall, SyncRequest, SyncToken,
    ToolDelivery,
};

/// Somebody who has a conversation.
pub(crate) struct Talk {
    pub(crate) store: SqliteStore,
    pub(crate) thread: ThreadId,
    _owner: Owner,
    epoch: Epoch,
    pub(crate) step: Step,
}

impl Talk {
    /// Begins a thread or takes it on.
    pub(crate) async fn new(store: &SqliteStore, thread: &str) -> Self {
        let owner = store.register("talk").await.unwrap();
        let thread = ThreadId::from(thread);
        let first = NewInput { id: "first".into(), input: Input::Interrupt, at: Timestamp(0) };
        let inputs = vec![first];
        store.accept(AcceptRequest { thread: thread.clone(), inputs, create: Create::Unclaimed }).await.unwrap();
        let epoch = store.claim(&thread, &owner).await.unwrap();
        let step = store.head(&thread).await.unwrap().step;
        Self { store: store.clone(), thread, _owner: owner, epoch, step }
    }

    /// The user says something, and the model calls a tool; the call stays open.
    pub(crate) async fn ask(&mut self) {
        let step = self.step + 1;
        let id = format!("input-{step}");
        let input = NewInput { id: id.as_str().into(), input: Input::text("go on"), at: Timestamp(0) };
        let request = AcceptRequest { thread: self.thread.clone(), inputs: vec![input], create: Create::No };
        self.store.accept(request).await.unwrap();
        let call_id = CallId::of(step, 0);
        let (name, arguments) = ("tool".into(), Arguments::Object("{}".into()));
        let call = ToolCall { id: call_id.clone(), provider_id: None, name, arguments, display_as: None, native: None };
        let user = UserMessage { input_id: id.as_str().into(), text: format!("go on with {step}").into() };
        let messages = vec![Message::User(user.into()), answer(vec![Block::ToolCall(call.into())])];
        let (tool, delivery) = ("tool".into(), ToolDelivery::AtMostOnce);
        let planned = vec![PlannedCall { call_id, tool, step, delivery }];
        let consumed = self.store.load(&self.thread).await.unwrap().inbox.iter().map(|entry| entry.seq).collect();
        self.sync(messages, Changes { planned, consumed, ..usage() }).await;
    }

    /// The tool answers the newest call, with a whole output beside the result, and the model says something.
    pub(crate) async fn answer(&mut self) {
        let call = CallId::of(self.step, 0);
        self.store.put_blob(&self.thread, call.as_str(), vec![b'x'; 5]).await.unwrap();
        let blob = Some(BlobRef { id: call.as_str().into(), bytes: 5 });
        let result = ToolResult { blob, ..ToolResult::text(call.clone(), ToolStatus::Ok, "xx…") };
        let text = Block::Text { text: "done".into(), native: None };
        let messages = vec![Message::ToolResult(result.into()), answer(vec![text])];
        self.sync(messages, Changes { settled: vec![call], ..usage() }).await;
    }

    /// Questions and answers, two turns each, and then lets go of the thread, all of it committed.
    pub(crate) async fn rounds(mut self, rounds: usize) {
        for _ in 0..rounds {
            self.ask().await;
            self.answer().await;
        }
        self.done().await;
    }

    pub(crate) async fn done(self) {
        self.store.mark_committed(&self.thread, self.epoch, self.step).await.unwrap();
        self.store.release(&self.thread, self.epoch).await.unwrap();
    }

    async fn sync(&mut self, messages: Vec<Message>, changes: Changes) {
        let step = self.step + 1;
        let turn = TurnRecord { step, at: Timestamp(1_000 * step.cast_signed()), messages };
        let (thread, epoch, token, committed) = (self.thread.clone(), self.epoch, SyncToken(step), self.step);
        self.store.sync(SyncRequest { thread, epoch, turn, token, committed, changes }).await.unwrap();
        self.step = step;
    }
}

fn usage() -> Changes {
    Changes { usage: Usage { input: 7, output: 2, ..Usage::default() }, ..Changes::default() }
}

fn answer(blocks: Vec<Block>) -> Message {
    let model = ModelRef { api: "a".into(), provider: "b".into(), model: "c".into() }.into();
    let usage = usage().usage;
    Message::Assistant(Arc::new(AssistantMessage { attempt: 1, model, blocks, outcome: Outcome::Stopped, usage }))
}
