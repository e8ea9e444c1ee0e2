//! The history: append-only, whole turns, paged by bytes.

use std::sync::Arc;

use selvedge_event::{Step, Timestamp, TurnRecord};
use selvedge_store::Changes;

use super::{
    StoreHarness,
    kit::{Store, Writer, crash, create, history, steps, thread_that_says, user},
    samples,
};

/// Every kind of message comes back as it was, also after a crash.
pub async fn every_kind_of_message_comes_back<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let mut expected = Vec::new();
    for text in ["some text", "other text"] {
        let request = writer.next(samples::every_message(text), Changes::default());
        expected.push(Arc::new(request.turn.clone()));
        store.sync(request).await.expect("a sync of the next step succeeds");
        writer.step += 1;
    }
    drop(writer);
    for _ in 0..2 {
        assert_eq!(history(&store, "t").await, expected);
        store = crash(&mut harness, store).await;
    }
}

/// A new thread has an empty history, which goes back to its beginning.
pub async fn a_new_thread_has_no_history<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    for before in [None, Some(0), Some(1), Some(Step::MAX)] {
        let page = store.history(&"t".into(), before, 1_000).await.expect("a history loads");
        assert_eq!((page.turns, page.older), (vec![], None));
    }
}

/// Steps that append nothing are not in the history, and leave no trace in its pages.
pub async fn steps_without_messages_leave_gaps<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    for step in 1..=8 {
        if [3, 4, 7].contains(&step) { writer.say("said").await } else { writer.change(Changes::default()).await }
    }
    assert_eq!(steps(&history(&store, "t").await), [3, 4, 7]);
    for (before, expected) in [(8, &[3, 4, 7][..]), (7, &[3, 4]), (5, &[3, 4]), (4, &[3]), (3, &[]), (1, &[])] {
        assert_eq!(steps(&paged(&store, "t", Some(before), 1).await), expected);
    }
}

/// A page before a step ends with the turn before it.
pub async fn a_page_ends_before_a_step<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two", "three"]).await;
    for (before, expected) in [(0, &[][..]), (1, &[]), (2, &[1]), (3, &[1, 2]), (4, &[1, 2, 3]), (9, &[1, 2, 3])] {
        let page = store.history(&"t".into(), Some(before), u64::MAX).await.expect("a history loads");
        assert_eq!((steps(&page.turns), page.older), (expected.to_vec(), None), "before {before}");
    }
    let page = store.history(&"t".into(), Some(Step::MAX), u64::MAX).await.expect("a history loads");
    assert_eq!(steps(&page.turns), [1, 2, 3]);
}

/// A page has a turn even where none fits; it is the newest, and the next page is before it.
pub async fn a_page_has_at_least_one_turn<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let long = "x".repeat(10_000);
    thread_that_says(&store, "t", &["one", &long, "three"]).await;
    for max_bytes in [0, 1] {
        let mut before = None;
        for (step, older) in [(3, Some(3)), (2, Some(2)), (1, None)] {
            let page = store.history(&"t".into(), before, max_bytes).await.expect("a history loads");
            assert_eq!((steps(&page.turns), page.older), (vec![step], older));
            before = page.older;
        }
    }
    // A turn that does not fit ends the page, though a smaller one stands behind it.
    let page = store.history(&"t".into(), None, 5_000).await.expect("a history loads");
    assert_eq!((steps(&page.turns), page.older), (vec![3], Some(3)));
}

/// A page holds as many turns as fit, and no more.
pub async fn a_page_holds_no_more_than_fits<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let text = "x".repeat(1_000);
    thread_that_says(&store, "t", &[&*text; 20]).await;
    let mut fewer = 1;
    for thousands in 1..=30 {
        let page = store.history(&"t".into(), None, thousands * 1_000).await.expect("a history loads");
        let turns = page.turns.len() as u64;
        // How a store counts bytes is its own affair, as long as text counts, and little else does.
        assert!(turns <= thousands.max(1), "{turns} turns of more than 1,000 bytes in {thousands},000");
        assert!(turns >= (thousands * 2 / 3).clamp(1, 20), "only {turns} turns in {thousands},000 bytes");
        assert!(turns >= fewer, "a larger page holds no less");
        fewer = turns;
    }
}

/// Whatever the size of the pages, together they are the whole history, in order, each turn once.
pub async fn every_page_size_gives_the_same_whole<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_in_many_sizes(&store, "t").await;
    every_page_size(&store, "t").await;
}

/// The same holds across the borders of forks.
pub async fn every_page_size_gives_the_same_whole_across_forks<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_in_many_sizes(&store, "t").await;
    for (parent, step, thread) in [("t", 6, "fork"), ("fork", 8, "fork of fork"), ("fork of fork", 8, "silent")] {
        store.fork(&parent.into(), step, &thread.into(), Timestamp(1)).await.expect("a thread can be forked");
        let mut writer = Writer::of(&store, thread).await;
        if thread != "silent" {
            writer.say("after the fork").await;
            writer.change(Changes::default()).await;
            writer.say("and on").await;
        }
    }
    for thread in ["fork", "fork of fork", "silent"] {
        every_page_size(&store, thread).await;
    }
    assert_eq!(steps(&history(&store, "fork of fork").await), [1, 2, 4, 5, 7, 9, 11]);
    assert_eq!(steps(&history(&store, "silent").await), [1, 2, 4, 5, 7]);
}

/// A long history comes back in order.
pub async fn a_long_history_comes_back_in_order<H: StoreHarness>() {
    const TURNS: u64 = 500;
    let harness = H::fresh().await;
    let store = harness.store();
    let texts: Vec<String> = (1..=TURNS).map(|step| format!("text {step}")).collect();
    thread_that_says(&store, "t", &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for turns in [history(&store, "t").await, paged(&store, "t", None, 2_000).await] {
        assert_eq!(steps(&turns), (1..=TURNS).collect::<Vec<_>>());
        for turn in turns {
            assert_eq!(turn.messages, [user(&format!("text {}", turn.step))]);
        }
    }
    assert_eq!(steps(&paged(&store, "t", Some(300), 2_000).await), (1..300).collect::<Vec<_>>());
}

/// Appends turns from tiny to a few hundred bytes, with gaps: steps 1, 2, 4, 5, 7, 8.
async fn thread_in_many_sizes(store: &Store, thread: &str) {
    create(store, thread).await;
    let mut writer = Writer::of(store, thread).await;
    for length in [1, 300, 0, 20, 120, 0, 60, 5] {
        if length == 0 {
            writer.change(Changes::default()).await;
        } else {
            writer.sync(vec![user(&"é".repeat(length)), user("more")], Changes::default()).await;
        }
    }
}

/// Pages through a history with pages from 1 byte to the size that holds everything.
async fn every_page_size(store: &Store, thread: &str) {
    let whole = history(store, thread).await;
    for max_bytes in 1.. {
        assert_eq!(paged(store, thread, None, max_bytes).await, whole, "pages of {max_bytes} bytes");
        let first = store.history(&thread.into(), None, max_bytes).await.expect("a history loads");
        if first.older.is_none() {
            return;
        }
    }
}

/// The pages of a size, put together, oldest turn first.
async fn paged(store: &Store, thread: &str, mut before: Option<Step>, max_bytes: u64) -> Vec<Arc<TurnRecord>> {
    let mut turns = Vec::new();
    loop {
        let mut page = store.history(&thread.into(), before, max_bytes).await.expect("a history loads");
        assert_eq!(page.quarantined, [], "nothing was damaged");
        if let Some(older) = page.older {
            let oldest = page.turns.first().expect("a page before which there is more has a turn").step;
            assert!(older <= oldest && before.is_none_or(|before| older < before), "paging goes on: {older}");
        }
        page.turns.append(&mut turns);
        turns = page.turns;
        before = page.older;
        if before.is_none() {
            return turns;
        }
        assert!(!turns.is_empty());
    }
}
