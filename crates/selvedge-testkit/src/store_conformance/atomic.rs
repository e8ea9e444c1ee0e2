//! An operation has happened whole or not at all: where it is refused, and where its caller gives up.

use std::{future::poll_fn, pin::pin, task::Poll};

use selvedge_event::CallId;
use selvedge_store::{
    AcceptRequest, Acceptance, Changes, Create, Epoch, Spawn, StoreErrorKind, SyncRequest, ThreadRecord,
};

use super::{
    StoreHarness,
    kit::{
        Task, Writer, accept, create, everything, history, inbox_ids, input, inputs, load, refused, steps, thread_ids,
        together, user,
    },
    samples,
};

/// A sync that is refused, for whatever reason, leaves nothing of all that came with it.
pub async fn a_refused_sync_leaves_nothing<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "there").await;
    accept(&store, "t", inputs(&["a", "b"])).await;
    let mut writer = Writer::of(&store, "t").await;
    writer.sync(vec![user("kept")], samples::openings(1, "kept")).await;
    writer.mark(1).await.expect("a synced step can be marked");

    let request = all_changes(&writer, &load(&store, "t").await, "t/child");
    let spawning = |thread: &str, ids: &[&str]| {
        let mut request = request.clone();
        request.changes.spawned.push(Spawn { thread: thread.into(), inputs: inputs(ids) });
        request
    };
    let mut late = request.clone();
    late.turn.step = 1;
    let mut early = request.clone();
    early.turn.step = 3;
    let refusals = [
        (late, StoreErrorKind::Conflict),
        (early, StoreErrorKind::Conflict),
        (SyncRequest { epoch: Epoch(0), ..request.clone() }, StoreErrorKind::Conflict),
        (SyncRequest { epoch: Epoch(2), ..request.clone() }, StoreErrorKind::Conflict),
        (spawning("there", &["x"]), StoreErrorKind::Exists),
        (spawning("t", &["x"]), StoreErrorKind::Exists),
        (spawning("t/child", &["x"]), StoreErrorKind::Exists),
        (spawning("t/other", &[]), StoreErrorKind::Invalid),
        (SyncRequest { committed: 9, ..request.clone() }, StoreErrorKind::Invalid),
    ];
    let before = everything(&store).await;
    for (request, kind) in refusals {
        refused(store.sync(request).await, kind);
        assert_eq!(everything(&store).await, before, "{kind:?} leaves nothing");
    }
    // The same request, unspoilt, changes every part.
    store.sync(request).await.expect("a sync of the next step succeeds");
    let after = load(&store, "t").await;
    assert_eq!((after.inbox.len(), after.head.step, steps(&history(&store, "t").await)), (0, 2, vec![1, 2]));
    assert_eq!(thread_ids(&store).await, ["t", "t/child", "there"]);
}

/// A sync whose caller gives up at any moment has happened whole or not at all.
pub async fn a_sync_that_is_dropped_is_whole_or_absent<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for polls in 0..POLLS {
        let thread = format!("t{polls}");
        accept(&store, &thread, inputs(&["a", "b"])).await;
        let mut writer = Writer::of(&store, &thread).await;
        let before = load(&store, &thread).await;
        let child = format!("{thread}/child");
        let request = all_changes(&writer, &before, &child);
        poll_and_drop(store.sync(request.clone()), polls).await;

        let after = load(&store, &thread).await;
        assert_whole_or_absent(&before, &after, &request);
        // Whichever it is, it stays a thread that can go on. The step may have come about since the look above.
        while store.sync(writer.next(vec![user("more")], Changes::default())).await.is_err() {
            writer.step = load(&store, &thread).await.head.step;
            tokio::task::yield_now().await;
        }
        let whole = writer.step == 1;
        assert_eq!(thread_ids(&store).await.contains(&child), whole);
        assert_eq!(steps(&history(&store, &thread).await), if whole { vec![1, 2] } else { vec![1] });
        assert_eq!(load(&store, &thread).await.open_calls.len(), if whole { 2 } else { 0 });
        assert_eq!(load(&store, &thread).await.inbox.len(), if whole { 0 } else { 2 });
    }
}

/// An accept whose caller gives up at any moment has happened whole or not at all; trying again makes it whole.
pub async fn an_accept_that_is_dropped_is_whole_or_absent<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for polls in 0..POLLS {
        let thread = format!("t{polls}");
        let request = || AcceptRequest {
            thread: thread.as_str().into(),
            inputs: inputs(&["a", "b", "c"]),
            create: Create::Unclaimed,
        };
        poll_and_drop(store.accept(request()), polls).await;
        if thread_ids(&store).await.contains(&thread) {
            assert_eq!(inbox_ids(&store, &thread).await, ["a", "b", "c"]);
        }
        store.accept(request()).await.expect("an accept may be tried again");
        assert_eq!(inbox_ids(&store, &thread).await, ["a", "b", "c"]);
    }
}

/// Whoever reads while steps are synced sees the state between two syncs, never within one.
pub async fn readers_see_whole_syncs<H: StoreHarness>() {
    const STEPS: u64 = 100;
    let harness = H::fresh().await;
    let store = harness.store();
    let waiting: Vec<String> = (1..=STEPS).map(|step| step.to_string()).collect();
    let accepted = accept(&store, "t", waiting.iter().map(|id| input(id)).collect()).await;
    let writing = {
        let store = store.clone();
        async move {
            let mut writer = Writer::of(&store, "t").await;
            for (step, acceptance) in (1..=STEPS).zip(accepted) {
                // Each step takes an input, opens two calls, and settles those of the step before.
                let Acceptance::Accepted(seq) = acceptance else { panic!("input {step} is new") };
                let before = (step > 1).then(|| [CallId::of(step - 1, 0), CallId::of(step - 1, 1)]);
                let settled = before.into_iter().flatten().collect();
                let changes = Changes { consumed: vec![seq], settled, ..samples::openings(step, "x") };
                writer.sync(vec![user("step")], changes).await;
            }
        }
    };
    let reading = {
        let store = store.clone();
        async move {
            let mut step = 0;
            while step < STEPS {
                let record = load(&store, "t").await;
                assert!(record.head.step >= step, "steps do not go back");
                step = record.head.step;
                let calls: Vec<_> = record.open_calls.iter().map(|call| call.step).collect();
                let choices = record.choices.len();
                let expected = if step == 0 { (vec![], 0) } else { (vec![step, step], 2) };
                assert_eq!((calls, choices), expected, "the state is that after step {step}");
                assert_eq!(record.usage, samples::usage((1..=step).sum()));
                assert_eq!(record.inbox.len() as u64, STEPS - step, "what is taken is what waits no more");
                tokio::task::yield_now().await;
            }
        }
    };
    let tasks: [Task<()>; 2] = [Box::pin(writing), Box::pin(reading)];
    together(tasks).await;
}

/// After how many polls at most a future is dropped.
const POLLS: usize = 12;

/// Polls a future some times, with time for others between the polls, then drops it.
async fn poll_and_drop<T>(future: impl Future<Output = T>, polls: usize) {
    let mut future = pin!(future);
    for _ in 0..polls {
        let done = poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if done {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// A request that changes everything there is to change in a thread with two calls from step 1, or none.
fn all_changes(writer: &Writer<'_>, record: &ThreadRecord, child: &str) -> SyncRequest {
    let changes = Changes {
        consumed: record.inbox.iter().map(|entry| entry.seq).collect(),
        settled: record.open_calls.iter().map(|call| call.call_id.clone()).collect(),
        subscriptions_closed: record.subscriptions.iter().map(|open| open.call_id.clone()).collect(),
        spawned: vec![Spawn { thread: child.into(), inputs: inputs(&["x"]) }],
        ..samples::openings(writer.step + 1, "not to be seen")
    };
    writer.next(samples::every_message("not to be seen"), changes)
}

fn assert_whole_or_absent(before: &ThreadRecord, after: &ThreadRecord, request: &SyncRequest) {
    if after.head.step == before.head.step {
        assert_eq!(after, before);
        return;
    }
    let changes = &request.changes;
    let expected = ThreadRecord {
        head: selvedge_store::Head { step: request.turn.step, epoch: request.epoch, token: request.token },
        open_calls: changes.planned.clone(),
        choices: changes.choices_opened.iter().map(|choice| (choice.clone(), None)).collect(),
        subscriptions: changes.subscriptions_opened.clone(),
        oauth: changes.oauth.clone(),
        views: changes.views.clone(),
        usage: changes.usage,
        inbox: vec![],
        ..before.clone()
    };
    assert_eq!(*after, expected);
}
