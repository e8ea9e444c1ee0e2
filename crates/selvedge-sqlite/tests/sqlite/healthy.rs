//! A database in which everything is as a runtime leaves it: calls, choices, outputs, forks, children.

use std::sync::Arc;

use selvedge_event::{
    Arguments, AssistantMessage, BlobRef, Block, Message, ModelRef, OAuthNotice, Outcome, Step, Timestamp, ToolCall,
    ToolResult, ToolStatus, TurnRecord, Usage, UserChoice,
};
use selvedge_sqlite::SqliteStore;
use selvedge_store::{Changes, ConversationStore, PlannedCall, Spawn, SyncRequest, SyncToken, ToolDelivery};

use crate::work::{accept, input, user};

/// An answer that makes calls, or says something.
pub(crate) fn assistant(calls: &[&str]) -> Message {
    let model = ModelRef { api: "test".into(), provider: "test".into(), model: "test".into() };
    let call = |id: &&str| {
        Block::ToolCall(Arc::new(ToolCall {
            id: (*id).into(),
            provider_id: None,
            name: "tool".into(),
            arguments: Arguments::Object("{}".into()),
            display_as: None,
            native: None,
        }))
    };
    let text = || vec![Block::Text { text: "well".into(), native: None }];
    let blocks = if calls.is_empty() { text() } else { calls.iter().map(call).collect() };
    let outcome = if calls.is_empty() { Outcome::Stopped } else { Outcome::ToolCalls };
    let message = AssistantMessage { attempt: 1, model: Arc::new(model), blocks, outcome, usage: usage() };
    Message::Assistant(message.into())
}

/// What each answer costs.
pub(crate) fn usage() -> Usage {
    Usage { input: 3, output: 2, cache_read: 1, cache_write: 1, reasoning: 1 }
}

pub(crate) fn result(call: &str, blob: Option<&str>) -> Message {
    let blob = blob.map(|id| BlobRef { id: id.into(), bytes: 300_000 });
    let result = ToolResult { blob, ..ToolResult::text(call.into(), ToolStatus::Ok, "done") };
    Message::ToolResult(result.into())
}

pub(crate) fn planned(call: &str, step: Step) -> PlannedCall {
    PlannedCall { call_id: call.into(), tool: "tool".into(), step, delivery: ToolDelivery::AtMostOnce }
}

/// Syncs the next turn of a thread as a runtime would, at a time of its step number.
pub(crate) async fn turn(store: &SqliteStore, thread: &str, messages: Vec<Message>, changes: Changes) {
    let thread = thread.into();
    let owner = store.register("test").await.unwrap();
    let epoch = store.claim(&thread, &owner).await.unwrap();
    let record = store.load(&thread).await.unwrap();
    let step = record.head.step + 1;
    let mut changes = changes;
    changes.usage =
        messages.iter().filter(|message| message.kind() == "assistant").fold(Usage::default(), |sum, _| sum + usage());
    changes.consumed = record.inbox.iter().map(|entry| entry.seq).collect();
    let turn = TurnRecord { step, at: Timestamp(step.cast_signed()), messages };
    let (token, committed) = (SyncToken(step), step - 1);
    store.sync(SyncRequest { thread: thread.clone(), epoch, turn, token, committed, changes }).await.unwrap();
    store.mark_committed(&thread, epoch, step).await.unwrap();
    store.release(&thread, epoch).await.unwrap();
}

/// Somebody says something, and is answered.
pub(crate) async fn say(store: &SqliteStore, thread: &str, text: &str) {
    accept(store, thread, text).await.unwrap();
    turn(store, thread, vec![user(text), assistant(&[])], Changes::default()).await;
}

/// A call with a large output, from the question to the answer: two turns.
pub(crate) async fn call(store: &SqliteStore, thread: &str, text: &str, call: &str) {
    accept(store, thread, text).await.unwrap();
    let step = store.head(&thread.into()).await.unwrap().step + 1;
    let changes = Changes { planned: vec![planned(call, step)], ..Changes::default() };
    turn(store, thread, vec![user(text), assistant(&[call])], changes).await;
    store.put_blob(&thread.into(), call, vec![7; 300_000]).await.unwrap();
    accept(store, thread, &format!("result:{call}")).await.unwrap();
    let changes = Changes { settled: vec![call.into()], ..Changes::default() };
    turn(store, thread, vec![result(call, Some(call)), assistant(&[])], changes).await;
}

/// Fills a store: `t` has a settled call `a` and an open one, `b`; `u` has a fork `u#fork`, which goes on by itself, and
/// a child `u/child`, which waits.
pub(crate) async fn fill(store: &SqliteStore) {
    call(store, "t", "one", "a").await;
    accept(store, "t", "two").await.unwrap();
    let choice = UserChoice {
        id: "b:1".into(),
        call_id: "b".into(),
        prompt: "which?".into(),
        options: vec!["this".into()],
        default: 0,
        expires_at: None,
    };
    let changes = Changes {
        planned: vec![planned("b", 3)],
        choices_opened: vec![choice],
        oauth: vec![OAuthNotice { call_id: "b".into(), auth_url: "https://example.com/".into() }],
        ..Changes::default()
    };
    turn(store, "t", vec![user("two"), assistant(&["b"])], changes).await;
    accept(store, "t", "three").await.unwrap();

    call(store, "u", "hello", "c").await;
    store.fork(&"u".into(), 2, &"u#fork".into(), Timestamp(9)).await.unwrap();
    say(store, "u#fork", "elsewhere").await;
    accept(store, "u", "four").await.unwrap();
    let spawned = vec![Spawn { thread: "u/child".into(), inputs: vec![input("first")] }];
    turn(store, "u", vec![user("four"), assistant(&[])], Changes { spawned, ..Changes::default() }).await;
}
