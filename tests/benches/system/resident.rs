//! What threads keep in memory: resident and waiting, and idle.

use std::time::Duration;

use selvedge::event::{AssistantMessage, Block, Message, ModelRef, Timestamp, TurnRecord, Usage, UserMessage};
use selvedge::prelude::*;
use selvedge::runtime::LifecycleKind;
use selvedge::store::{AcceptRequest, Changes, Create, NewInput, SyncRequest, SyncToken};

use crate::measure::{Table, resident};
use crate::wiring::{chunks, limits, made};

const THREADS: u32 = 20_000;

pub(crate) fn waiting_thread(table: &mut Table) {
    let local = tokio::task::LocalSet::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    local.block_on(&runtime, async {
        // The store's own memory is measured first: the same threads, driven to rest, without drivers.
        let (without, _store) = grown(Duration::ZERO).await;
        let (with, _other_store) = grown(Duration::from_secs(600)).await;
        let each = with.saturating_sub(without) / u64::from(THREADS);
        let measured = format!("{each} bytes ({without} and {with} for {THREADS} threads, gone and resident)");
        table.row("a resident, waiting thread, its history apart", measured, "≤ 4 KiB", each <= 4096);
    });
}

/// How much memory grows by threads of one turn each, whose drivers stay for `idle`; and their store, to be kept: what it
/// would give back would not show in the next measurement.
async fn grown(idle: Duration) -> (u64, MemoryStore) {
    let mut limits = limits();
    limits.idle = idle;
    let store = MemoryStore::default();
    let system =
        System::builder().store(store.clone()).model(made(|_| chunks(1))).limits(limits).start_local().await.unwrap();
    let before = resident();
    for thread in 0..THREADS {
        system.send_text(&format!("t{thread}").into(), "go").await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = resident();
    system.shutdown().await;
    (after.saturating_sub(before), store)
}

const IDLE: u64 = 50_000;

/// Threads that were used once and have idled out: what the process has grown by, against the same threads written
/// straight into a store of the same kind, with no runtime.
pub(crate) fn idle_threads(table: &mut Table) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let (stored, _store) = runtime.block_on(stored());
    let (kept, drivers) = local.block_on(&runtime, idled_out());
    let each = kept.saturating_sub(stored) / IDLE;
    let measured = format!("{each} bytes a thread beyond the store's {}, {drivers} drivers", stored / IDLE);
    let bar = "no task, no memory but the observer's";
    table.row("50,000 idle threads", measured, bar, each <= 64 && drivers == 0);
}

/// Lets threads be used once and idle out: how much memory grows, and how many drivers are left.
async fn idled_out() -> (u64, i64) {
    let mut limits = limits();
    limits.idle = Duration::ZERO;
    let system = System::builder()
        .store(MemoryStore::default())
        .model(made(|_| chunks(1)))
        .limits(limits)
        .start_local()
        .await
        .unwrap();
    // The first ones pay for what the process needs once.
    for thread in 0..1_000 {
        system.send_text(&format!("warm{thread}").into(), "go").await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (before, mut notices, mut drivers) = (resident(), system.lifecycle(), 0);
    for thread in 0..IDLE {
        system.send_text(&format!("t{thread}").into(), "go").await.unwrap();
        while let Ok(notice) = notices.try_recv() {
            drivers += change(&notice.kind);
        }
    }
    while let Ok(Ok(notice)) = tokio::time::timeout(Duration::from_secs(1), notices.recv()).await {
        drivers += change(&notice.kind);
    }
    let after = resident();
    system.shutdown().await;
    (after.saturating_sub(before), drivers)
}

fn change(kind: &LifecycleKind) -> i64 {
    match kind {
        LifecycleKind::Resident => 1,
        LifecycleKind::Gone => -1,
        _ => 0,
    }
}

/// How much memory grows by the same threads, written without a runtime.
async fn stored() -> (u64, MemoryStore) {
    let store = MemoryStore::default();
    let owner = store.register("bench").await.unwrap();
    let model = std::sync::Arc::new(ModelRef { api: "bench".into(), provider: "bench".into(), model: "bench".into() });
    let before = resident();
    for number in 0..IDLE {
        let thread = ThreadId::from(format!("t{number}"));
        let id = selvedge::event::InputId::from(format!("{number:032}"));
        let input = NewInput { id: id.clone(), input: Input::text("go"), at: Timestamp(0) };
        let create = Create::ClaimedBy(owner.id().clone());
        let request = AcceptRequest { thread: thread.clone(), inputs: vec![input], create };
        let epoch = store.accept(request).await.unwrap().claimed.unwrap();
        let user = UserMessage { input_id: id, text: "go".into() };
        let answer = AssistantMessage {
            attempt: 1,
            model: ModelRef::clone(&model).into(),
            blocks: vec![Block::Text { text: "a chunk of text ".into(), native: None }],
            outcome: Outcome::Stopped,
            usage: Usage::default(),
        };
        let messages = vec![Message::User(user.into()), Message::Assistant(answer.into())];
        let turn = TurnRecord { step: 1, at: Timestamp(0), messages };
        let changes = Changes { consumed: vec![1], ..Changes::default() };
        let request = SyncRequest { thread: thread.clone(), epoch, turn, token: SyncToken(1), committed: 0, changes };
        store.sync(request).await.unwrap();
        store.mark_committed(&thread, epoch, 1).await.unwrap();
        store.release(&thread, epoch).await.unwrap();
    }
    (resident().saturating_sub(before), store)
}
