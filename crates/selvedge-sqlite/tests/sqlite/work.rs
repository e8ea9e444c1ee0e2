//! How the tests write: only here and in what they test is the API used.

use std::sync::Arc;

use selvedge_event::{Input, Message, Step, ThreadId, Timestamp, TurnRecord, UserMessage};
use selvedge_sqlite::SqliteStore;
use selvedge_store::{
    AcceptRequest, Acceptance, Changes, ConversationStore, Create, Epoch, NewInput, Owner, StoreError, SyncRequest,
    SyncToken,
};

pub(crate) fn input(id: &str) -> NewInput {
    NewInput { id: id.into(), input: Input::text(format!("input {id}")), at: Timestamp(1_000) }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(Arc::new(UserMessage { input_id: text.into(), text: text.into() }))
}

/// Accepts an input, for a thread that is created where there is none.
pub(crate) async fn accept(store: &SqliteStore, thread: &str, id: &str) -> Result<Acceptance, StoreError> {
    let request = AcceptRequest { thread: thread.into(), inputs: vec![input(id)], create: Create::Unclaimed };
    store.accept(request).await.map(|reply| reply.acceptances[0])
}

/// All user texts of a history, with their steps.
pub(crate) async fn texts(store: &SqliteStore, thread: &str) -> Vec<(Step, String)> {
    let page = store.history(&thread.into(), None, u64::MAX).await.unwrap();
    let texts = page.turns.iter().flat_map(|turn| {
        turn.messages.iter().map(|message| match message {
            Message::User(user) => (turn.step, user.text.to_string()),
            other => panic!("no user's message: {other:?}"),
        })
    });
    texts.collect()
}

/// Somebody who drives a thread.
pub(crate) struct Driver {
    pub(crate) store: SqliteStore,
    pub(crate) thread: ThreadId,
    pub(crate) owner: Owner,
    pub(crate) epoch: Epoch,
    pub(crate) step: Step,
}

impl Driver {
    /// Creates the thread, and claims it.
    pub(crate) async fn new(store: &SqliteStore, thread: &str) -> Self {
        accept(store, thread, "first").await.unwrap();
        let owner = store.register("driver").await.unwrap();
        let epoch = store.claim(&thread.into(), &owner).await.unwrap();
        Self { store: store.clone(), thread: thread.into(), owner, epoch, step: 0 }
    }

    pub(crate) fn request(&self, text: &str, changes: Changes) -> SyncRequest {
        let step = self.step + 1;
        let turn = TurnRecord { step, at: Timestamp(step.cast_signed()), messages: vec![user(text)] };
        let token = SyncToken(step);
        SyncRequest { thread: self.thread.clone(), epoch: self.epoch, turn, token, committed: self.step, changes }
    }

    pub(crate) async fn sync(&mut self, text: &str, changes: Changes) -> Result<(), StoreError> {
        self.store.sync(self.request(text, changes)).await?;
        self.step += 1;
        Ok(())
    }
}
