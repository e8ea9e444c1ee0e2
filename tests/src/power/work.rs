//! What the store does before its power is cut, and all that it holds.

use std::hash::{DefaultHasher, Hash, Hasher};

use selvedge::event::{Message, Timestamp, TurnRecord, UserMessage};
use selvedge::prelude::*;
use selvedge::store::{
    AcceptRequest, Changes, Create, Epoch, NewInput, Origin, Owner, StoreError, SyncRequest, SyncToken, ThreadsAfter,
};
use selvedge_testkit::Chance;

/// Threads that are written to.
const THREADS: u64 = 3;
/// Blobs that are kept at most.
const BLOBS: u64 = 8;

/// Writes to threads of its own, one write at a time.
pub(super) struct Worker {
    store: SqliteStore,
    owner: Owner,
    /// How many blobs it has kept.
    blobs: u64,
}

impl Worker {
    pub(super) async fn new(store: SqliteStore) -> Result<Self, StoreError> {
        let owner = store.register("worker").await?;
        Ok(Self { store, owner, blobs: 0 })
    }

    /// One write that changes what the store holds.
    pub(super) async fn write(&mut self, number: u64, chance: &Chance) -> Result<(), StoreError> {
        let thread = ThreadId::from(format!("t{}", chance.below(THREADS)).as_str());
        let Ok(record) = self.store.load(&thread).await else { return self.accept(&thread, number, chance).await };
        match chance.below(10) {
            0..4 => self.accept(&thread, number, chance).await,
            4..8 => {
                let epoch = self.store.claim(&thread, &self.owner).await?;
                self.sync(&thread, epoch, number, chance).await
            }
            8 if self.blobs < BLOBS => {
                self.blobs += 1;
                let bytes = vec![7; usize::try_from(chance.below(600_000)).unwrap_or(0)];
                self.store.put_blob(&thread, &format!("blob {}", self.blobs), bytes).await
            }
            _ => {
                let fork = format!("fork {number}").as_str().into();
                self.store.fork(&thread, record.head.step, &fork, Timestamp(0)).await
            }
        }
    }

    async fn accept(&self, thread: &ThreadId, number: u64, chance: &Chance) -> Result<(), StoreError> {
        let id = format!("input {number} {}", chance.below(u64::MAX)).as_str().into();
        let input = NewInput { id, input: Input::text(text(chance)), at: Timestamp(0) };
        let create = Create::Unclaimed;
        self.store.accept(AcceptRequest { thread: thread.clone(), inputs: vec![input], create }).await.map(drop)
    }

    /// A turn that takes the oldest input.
    async fn sync(&self, thread: &ThreadId, epoch: Epoch, number: u64, chance: &Chance) -> Result<(), StoreError> {
        let record = self.store.load(thread).await?;
        let step = record.head.step + 1;
        let message = UserMessage { input_id: format!("message {number}").as_str().into(), text: text(chance).into() };
        let turn = TurnRecord { step, at: Timestamp(0), messages: vec![Message::User(message.into())] };
        let consumed = record.inbox.first().map(|entry| entry.seq).into_iter().collect();
        let changes = Changes { consumed, ..Changes::default() };
        let token = SyncToken(chance.below(u64::MAX));
        let thread = thread.clone();
        self.store.sync(SyncRequest { thread, epoch, turn, token, committed: step - 1, changes }).await
    }
}

fn text(chance: &Chance) -> String {
    "as it was written. ".repeat(1 + usize::try_from(chance.below(400)).unwrap_or(0))
}

/// All that a store holds, as a number: two states that differ in anything differ in it. Claims are left out, which need
/// not survive.
pub(super) async fn content(store: &SqliteStore) -> Result<u64, Box<dyn std::error::Error>> {
    let mut hasher = DefaultHasher::new();
    for summary in store.threads(ThreadsAfter { after: None, limit: usize::MAX }).await? {
        let thread = &summary.thread;
        let mut record = store.load(thread).await?;
        record.head.epoch = Epoch(0);
        let page = store.history(thread, None, u64::MAX).await?;
        if let Some(damaged) = record.quarantined.iter().chain(&page.quarantined).next() {
            return Err(format!("a record is damaged: {}: {}", damaged.place, damaged.reason).into());
        }
        format!("{record:?}").hash(&mut hasher);
        format!("{:?}", page.turns).hash(&mut hasher);
        if matches!(record.origin, Origin::Root) {
            for number in 1..=BLOBS {
                // Not all are there, and each is of one thread.
                if let Ok(bytes) = store.blob(thread, &format!("blob {number}"), 0, u64::MAX).await {
                    bytes.hash(&mut hasher);
                }
            }
        }
    }
    Ok(hasher.finish())
}
