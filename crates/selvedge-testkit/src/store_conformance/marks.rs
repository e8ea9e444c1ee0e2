//! The mark on the newest step that is known to be committed.

use selvedge_store::{Changes, StoreErrorKind, SyncRequest};

use super::{
    StoreHarness,
    kit::{Writer, load, refused, thread_that_says},
};

/// A mark is kept; one on an older step changes nothing.
pub async fn a_mark_is_kept_and_never_lowered<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two", "three"]).await;
    assert_eq!(load(&store, "t").await.committed, 0);
    let writer = Writer::of(&store, "t").await;
    for (step, committed) in [(0, 0), (2, 2), (1, 2), (2, 2), (3, 3), (0, 3)] {
        writer.mark(step).await.expect("a synced step can be marked");
        assert_eq!(load(&store, "t").await.committed, committed);
    }
    assert_eq!(load(&store, "t").await.head.step, 3);
}

/// A sync carries a mark too, which is neither the step that it makes nor ever lowered.
pub async fn a_sync_carries_a_mark<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one", "two", "three"]).await;
    let mut writer = Writer::of(&store, "t").await;
    for (carried, committed) in [(0, 0), (2, 2), (1, 2), (6, 6)] {
        let request = SyncRequest { committed: carried, ..writer.next(vec![], Changes::default()) };
        store.sync(request).await.expect("a sync of the next step succeeds");
        writer.step += 1;
        assert_eq!(load(&store, "t").await.committed, committed);
    }
}

/// Only the newest claim can mark.
pub async fn a_mark_of_an_old_claim_is_a_conflict<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one"]).await;
    let mut writer = Writer::of(&store, "t").await;
    let current = writer.epoch;
    for other in [0, current.0 - 1, current.0 + 1] {
        writer.epoch.0 = other;
        refused(writer.mark(1).await, StoreErrorKind::Conflict);
    }
    assert_eq!(load(&store, "t").await.committed, 0);
    writer.epoch = current;
    writer.mark(1).await.expect("a synced step can be marked");
}

/// A step that is not there cannot be marked.
pub async fn a_mark_beyond_the_newest_step_is_invalid<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one"]).await;
    let writer = Writer::of(&store, "t").await;
    refused(writer.mark(2).await, StoreErrorKind::Invalid);
    for committed in [2, 3] {
        let request = SyncRequest { committed, ..writer.next(vec![], Changes::default()) };
        refused(store.sync(request).await, StoreErrorKind::Invalid);
    }
    let record = load(&store, "t").await;
    assert_eq!((record.committed, record.head.step), (0, 1));
}
