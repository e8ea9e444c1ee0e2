//! The list of threads, and which of them have something to do.

use selvedge_event::{CallId, Timestamp};
use selvedge_store::{Changes, NewInput, Origin, Spawn, ThreadSummary, ThreadsAfter, ToolDelivery};

use super::{
    StoreHarness,
    kit::{Writer, accept, at, create, input, inputs, load, summaries, thread_ids, unfinished, user},
    samples::{self, planned, usage},
};

/// Ids as they might come, in the order of their bytes.
const SORTED: [&str; 14] = ["%", "10", "9", "A", "B", "_", "a", "a b", "a/b", "a/b/c", "ab", "b", "é", "🦀"];

/// Threads are listed in the order of the bytes of their ids, whatever the order in which they came about.
pub async fn threads_are_listed_in_the_order_of_their_ids<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    assert_eq!(thread_ids(&store).await, [""; 0]);
    for place in [3, 9, 0, 12, 7, 1, 13, 5, 11, 2, 8, 4, 10, 6] {
        create(&store, SORTED[place]).await;
    }
    assert_eq!(thread_ids(&store).await, SORTED);
}

/// Whatever the length of the parts, and wherever they start, together they are the whole list.
pub async fn every_length_of_list_gives_the_same_whole<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for thread in SORTED {
        create(&store, thread).await;
    }
    let part = async |after: Option<&str>, limit| {
        let range = ThreadsAfter { after: after.map(Into::into), limit };
        let part = store.threads(range).await.expect("threads are listed");
        part.into_iter().map(|summary| summary.thread.to_string()).collect::<Vec<_>>()
    };
    for limit in 1..=SORTED.len() + 1 {
        let mut found = Vec::new();
        loop {
            let next = part(found.last().map(String::as_str), limit).await;
            assert!(next.len() <= limit, "{} of at most {limit}", next.len());
            if next.is_empty() {
                break;
            }
            found.extend(next);
            assert!(found.len() <= SORTED.len(), "each thread is listed once: {found:?}");
        }
        assert_eq!(found, SORTED, "{limit} at a time");
    }
    assert_eq!(part(None, 0).await, [""; 0]);
    // One may start after a thread that there is not.
    assert_eq!(part(Some("a/a"), 2).await, ["a/b", "a/b/c"]);
    assert_eq!(part(Some("🦀🦀"), usize::MAX).await, [""; 0]);
}

/// A summary agrees with the thread.
pub async fn a_summary_says_what_a_thread_is<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    accept(&store, "t", vec![NewInput { at: Timestamp(-5), ..input("a") }, input("b"), input("c")]).await;
    let fresh = ThreadSummary {
        thread: "t".into(),
        origin: Origin::Root,
        created_at: Timestamp(-5),
        updated_at: Timestamp(-5),
        step: 0,
        inbox: 3,
        open_calls: 0,
        usage: usage(0),
    };
    assert_eq!(summaries(&store).await, std::slice::from_ref(&fresh));

    let consumed = vec![load(&store, "t").await.inbox[1].seq];
    let mut writer = Writer::of(&store, "t").await;
    let opened = Changes { consumed, ..samples::openings(1, "x") };
    writer.sync(vec![user("hi")], opened).await;
    let spawned = vec![Spawn { thread: "t/child".into(), inputs: inputs(&["x"]) }];
    writer.change(Changes { spawned, settled: vec![CallId::of(1, 0)], usage: usage(5), ..Changes::default() }).await;
    let after = ThreadSummary { updated_at: at(2), step: 2, inbox: 2, open_calls: 1, usage: usage(6), ..fresh };
    let child = ThreadSummary {
        thread: "t/child".into(),
        origin: Origin::Child { parent: "t".into() },
        created_at: Timestamp(1_000),
        updated_at: Timestamp(1_000),
        step: 0,
        inbox: 1,
        open_calls: 0,
        usage: usage(0),
    };
    assert_eq!(summaries(&store).await, [after, child]);
}

/// A thread whose inbox is empty, whose calls are settled and whose steps are committed has nothing to do.
pub async fn a_thread_with_nothing_to_do_is_finished<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    assert_eq!(unfinished(&store).await, [""; 0]);
    for thread in ["a", "b", "c"] {
        create(&store, thread).await;
    }
    assert_eq!(unfinished(&store).await, ["a", "b", "c"]);
    let mut writer = Writer::of(&store, "b").await;
    // Choices, views, sign-ins and subscriptions are no work of the thread's own.
    writer.change(samples::openings(1, "x")).await;
    writer.change(Changes { settled: vec![CallId::of(1, 0), CallId::of(1, 1)], ..Changes::default() }).await;
    writer.finish().await;
    assert_eq!(load(&store, "b").await.subscriptions.len(), 1);
    assert_eq!(unfinished(&store).await, ["a", "c"]);
}

/// A thread is unfinished while an input waits.
pub async fn a_waiting_input_is_unfinished<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    writer.finish().await;
    assert_eq!(unfinished(&store).await, [""; 0]);
    accept(&store, "t", inputs(&["a", "b"])).await;
    assert_eq!(unfinished(&store).await, ["t"]);
    writer.finish().await;
    accept(&store, "t", inputs(&["a"])).await;
    assert_eq!(unfinished(&store).await, [""; 0], "a duplicate is nothing to do");
}

/// A thread is unfinished while a call is open.
pub async fn an_open_call_is_unfinished<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let call = CallId::of(1, 0);
    let planned = vec![planned(&call, 1, "tool", ToolDelivery::AtMostOnce)];
    writer.change(Changes { planned, ..Changes::default() }).await;
    writer.finish().await;
    assert_eq!(unfinished(&store).await, ["t"]);
    writer.change(Changes { settled: vec![call], ..Changes::default() }).await;
    writer.finish().await;
    assert_eq!(unfinished(&store).await, [""; 0]);
}

/// A thread is unfinished while its newest step is not marked as committed.
pub async fn an_uncommitted_step_is_unfinished<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    writer.finish().await;
    writer.say("synced").await;
    writer.mark(1).await.expect("a synced step can be marked");
    assert_eq!(unfinished(&store).await, ["t"]);
    writer.mark(2).await.expect("a synced step can be marked");
    assert_eq!(unfinished(&store).await, [""; 0]);
}
