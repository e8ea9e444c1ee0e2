//! S80: histories that are long and large. What an attach, an append and a request read is counted in bytes.

use std::sync::Arc;

use selvedge::event::{
    AssistantMessage, Block, CompactionSummary, Message, ModelRef, Text, Timestamp, TurnRecord, Usage, UserMessage,
};
use selvedge::prelude::*;
use selvedge::runtime::Limits;
use selvedge::store::{AcceptRequest, Changes, Create, NewInput, SyncRequest, SyncToken};
use selvedge_tests::{Mode, World};

use crate::durability::attach_sqlite::{folder, in_real_time};

/// A history, as it is made: turns of so many messages of so many bytes, which all say the same.
struct Plan {
    turns: u64,
    messages: u64,
    text: Text,
    /// The turn that begins with a compaction.
    compacted: u64,
}

impl Plan {
    fn message(&self, turn: u64, place: u64) -> Message {
        let text = self.text.clone();
        if turn == self.compacted && place == 0 {
            return Message::Compaction(CompactionSummary { summary: "so far".into() }.into());
        }
        if place.is_multiple_of(2) {
            let user = UserMessage { input_id: format!("{turn}.{place}").into(), text };
            return Message::User(user.into());
        }
        let answer = AssistantMessage {
            attempt: 1,
            model: ModelRef { api: "a".into(), provider: "b".into(), model: "c".into() }.into(),
            blocks: vec![Block::Text { text, native: None }],
            outcome: Outcome::Stopped,
            usage: Usage::default(),
        };
        Message::Assistant(answer.into())
    }

    /// Puts it into a store, past the runtime, as the thread `t`.
    async fn write(&self, store: &dyn ConversationStore) {
        let thread = ThreadId::from("t");
        let input = NewInput { id: "0".into(), input: Input::text("x"), at: Timestamp(0) };
        let request = AcceptRequest { thread: thread.clone(), inputs: vec![input], create: Create::Unclaimed };
        store.accept(request).await.unwrap();
        let owner = store.register("writer").await.unwrap();
        let epoch = store.claim(&thread, &owner).await.unwrap();
        for step in 1..=self.turns {
            let messages = (0..self.messages).map(|place| self.message(step, place)).collect();
            let consumed = if step == 1 { vec![1] } else { Vec::new() };
            let changes = Changes { consumed, ..Changes::default() };
            let turn = TurnRecord { step, at: Timestamp(0), messages };
            let (token, committed) = (SyncToken(step), step - 1);
            let request = SyncRequest { thread: thread.clone(), epoch, turn, token, committed, changes };
            store.sync(request).await.unwrap();
        }
        store.mark_committed(&thread, epoch, self.turns).await.unwrap();
        store.release(&thread, epoch).await.unwrap();
    }

    /// S80 for this history: attaching reads the page, the next request reads back to the compaction, and those after it
    /// read nothing. `turn` is the most that one turn adds to what fits a page.
    async fn check(&self, store: Arc<dyn ConversationStore>) {
        self.write(&*store).await;
        let (page, turn) = (Limits::default().page as u64, self.messages * self.text.len() as u64);
        let model = ScriptedModel::from_fn(|_| Reply::text("so"));
        let checked = model.clone();
        let world = World::over(Mode::Local, store, move |builder| builder.model(model.clone())).await;

        assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
        let read = world.faults().bytes_read();
        assert!(read <= page.max(turn), "attaching read {read} bytes");
        let snapshot = world.watcher.newest_snapshot("t").unwrap();
        assert_eq!(snapshot.history.last().map(|turn| turn.step), Some(self.turns));
        let older = world.store.history(&"t".into(), snapshot.older, page).await.unwrap();
        assert_eq!(older.turns.last().map(|turn| turn.step + 1), snapshot.older, "the page before it follows on");

        world.send("t", "one", Input::queued("one")).await.unwrap();
        world.until("t", |record| record.head.step > self.turns).await;
        let since = (self.turns - self.compacted + 1) * turn;
        let read = world.faults().bytes_read() - read;
        assert!(
            read <= since + READ,
            "the first request read {read} bytes, where {since} have come since the compaction"
        );
        let asked = (self.turns - self.compacted + 1) * self.messages + 1;
        assert_eq!(checked.requests()[0].context.len() as u64, asked);

        let read = world.faults().bytes_read();
        for text in ["two", "three"] {
            let step = world.store.head(&"t".into()).await.unwrap().step;
            world.send("t", text, Input::queued(text)).await.unwrap();
            world.until("t", |record| record.head.step > step).await;
        }
        assert_eq!(world.faults().bytes_read(), read, "an append reads nothing");
        assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
        let snapshot = world.watcher.newest_snapshot("t").unwrap();
        let held: usize =
            snapshot.history.iter().flat_map(|turn| &turn.messages).map(|message| message.text_bytes()).sum();
        assert!(held as u64 <= 2 * page + turn, "a thread holds {held} bytes for viewers");
    }
}

/// How much is read from the store at once for a request, at most.
const READ: u64 = 2 * 1024 * 1024;

async fn on_sqlite(name: &str, plan: Plan) {
    let folder = folder(name);
    let store = SqliteStore::open(folder.join("threads.db")).await.unwrap();
    plan.check(Arc::new(store.clone())).await;
    store.close().await;
    std::fs::remove_dir_all(folder).unwrap();
}

fn plan(turns: u64, messages: u64, bytes: usize, compacted: u64) -> Plan {
    Plan { turns, messages, text: "x".repeat(bytes).into(), compacted }
}

/// S80: 100,000 messages, in memory.
#[test]
fn s80_a_hundred_thousand_messages_in_memory() {
    let plan = plan(50_000, 2, 100, 49_500);
    in_real_time(async { plan.check(Arc::new(MemoryStore::default())).await });
}

/// S80: 100,000 messages, on SQLite.
#[test]
fn s80_a_hundred_thousand_messages_on_sqlite() {
    in_real_time(on_sqlite("s80-messages", plan(250, 400, 100, 240)));
}

/// S80: 1 GiB, in memory: its messages share their text, so that the test takes less.
#[test]
fn s80_a_gibibyte() {
    let plan = plan(512, 2, 1 << 20, 511);
    in_real_time(async { plan.check(Arc::new(MemoryStore::default())).await });
}

/// S80: large messages on SQLite.
#[test]
fn s80_large_messages_on_sqlite() {
    in_real_time(on_sqlite("s80-bytes", plan(32, 2, 1 << 19, 31)));
}
