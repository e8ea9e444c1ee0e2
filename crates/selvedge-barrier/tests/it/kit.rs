//! A thread in a store that fails on demand, and turns for it.

use std::sync::Arc;

use futures_util::FutureExt;
use selvedge_barrier::{Staged, Turn, TurnDraft};
use selvedge_event::{
    Arguments, AssistantMessage, Block, CallId, Input, Message, ModelRef, Outcome, Step, ThreadId, Timestamp, ToolCall,
    TurnRecord, Usage, UserChoice,
};
use selvedge_store::{
    AcceptRequest, Changes, ConversationStore, Create, Epoch, NewInput, Owner, PlannedCall, SyncToken, ToolDelivery,
};

use crate::flaky::FlakyStore;

pub(crate) struct Kit {
    pub(crate) store: FlakyStore,
    pub(crate) epoch: Epoch,
    owner: Owner,
}

/// Nothing here waits for anything: a future that is not ready at once is stuck.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing waits")
}

pub(crate) fn thread() -> ThreadId {
    "t".into()
}

impl Kit {
    /// A thread with one input, claimed.
    pub(crate) fn new() -> Self {
        let store = FlakyStore::default();
        let owner = now(store.register("test")).unwrap();
        let input = NewInput { id: "hello".into(), input: Input::text("hello"), at: Timestamp(1) };
        let create = Create::ClaimedBy(owner.id().clone());
        let accepted = now(store.accept(AcceptRequest { thread: thread(), inputs: vec![input], create })).unwrap();
        Self { store, epoch: accepted.claimed.unwrap(), owner }
    }

    /// The thread falls to another claim of the same owner.
    pub(crate) fn claim(&mut self) {
        self.epoch = now(self.store.claim(&thread(), &self.owner)).unwrap();
    }

    /// A turn of a step with these calls.
    pub(crate) fn turn(&self, step: Step, token: u64, calls: &[(&str, ToolDelivery)]) -> Turn<Staged> {
        Turn::stage(self.draft(step, token, calls))
    }

    pub(crate) fn draft(&self, step: Step, token: u64, calls: &[(&str, ToolDelivery)]) -> TurnDraft {
        let made: Vec<Arc<ToolCall>> =
            calls.iter().enumerate().map(|(index, (name, _))| call(step, index, name)).collect();
        let planned = made.iter().zip(calls).map(|(call, (_, delivery))| PlannedCall {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            step,
            delivery: *delivery,
        });
        let planned = planned.collect();
        let message = AssistantMessage {
            attempt: 1,
            model: ModelRef { api: "a".into(), provider: "p".into(), model: "m".into() }.into(),
            blocks: made.into_iter().map(Block::ToolCall).collect(),
            outcome: Outcome::ToolCalls,
            usage: Usage::default(),
        };
        TurnDraft {
            thread: thread(),
            epoch: self.epoch,
            record: Arc::new(TurnRecord { step, at: Timestamp(2), messages: vec![Message::Assistant(message.into())] }),
            token: SyncToken(token),
            committed: step - 1,
            changes: Changes { planned, ..Changes::default() },
        }
    }
}

pub(crate) fn call(step: Step, index: usize, name: &str) -> Arc<ToolCall> {
    Arc::new(ToolCall {
        id: CallId::of(step, index),
        provider_id: None,
        name: name.into(),
        arguments: Arguments::Object("{}".into()),
        display_as: None,
        native: None,
    })
}

pub(crate) fn choice(call: &str, number: u32) -> UserChoice {
    let call_id = CallId::from(call);
    UserChoice {
        id: selvedge_event::ChoiceId::of(&call_id, number),
        call_id,
        prompt: "which?".into(),
        options: vec!["this".into(), "that".into()],
        default: 0,
        expires_at: None,
    }
}
