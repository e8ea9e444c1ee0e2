//! Threads that are not there: every operation says so, and none makes a record.

use selvedge_event::{Timestamp, TurnRecord};
use selvedge_store::{AcceptRequest, Changes, Create, Epoch, Owner, StoreErrorKind, SyncRequest, SyncToken};

use super::{
    StoreHarness,
    kit::{Store, create, inputs, load, refused, register, thread_ids, unfinished},
};

/// No operation on a thread that never was finds it, or makes it.
pub async fn an_unknown_thread_is_not_found_and_not_made<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let owner = register(&store).await;
    create(&store, "there").await;
    let before = load(&store, "there").await;
    nothing_is_found(&store, "nowhere", &owner).await;
    assert_eq!(thread_ids(&store).await, ["there"]);
    assert_eq!(unfinished(&store).await, ["there"]);
    assert_eq!(load(&store, "there").await, before);
    // Nor did any of them leave something for a thread of that name.
    create(&store, "nowhere").await;
    assert_eq!(load(&store, "nowhere").await.head.epoch, Epoch(0));
    refused(store.blob(&"nowhere".into(), "blob", 0, 1).await, StoreErrorKind::NotFound);
}

/// Nor on a thread that was deleted.
pub async fn a_deleted_thread_is_not_found<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let owner = register(&store).await;
    create(&store, "t").await;
    store.delete(&"t".into()).await.expect("a free thread can be deleted");
    nothing_is_found(&store, "t", &owner).await;
    assert_eq!(thread_ids(&store).await, [""; 0]);
}

async fn nothing_is_found(store: &Store, name: &str, owner: &Owner) {
    use StoreErrorKind::NotFound;
    let thread = name.into();
    refused(store.claim(&thread, owner).await, NotFound);
    refused(store.load(&thread).await, NotFound);
    refused(store.head(&thread).await, NotFound);
    refused(store.history(&thread, None, u64::MAX).await, NotFound);
    refused(store.history(&thread, Some(1), 0).await, NotFound);
    refused(store.mark_committed(&thread, Epoch(1), 1).await, NotFound);
    refused(store.mark_committed(&thread, Epoch(0), 0).await, NotFound);
    refused(store.fork(&thread, 0, &"fork".into(), Timestamp(1)).await, NotFound);
    refused(store.put_blob(&thread, "blob", vec![1]).await, NotFound);
    refused(store.blob(&thread, "blob", 0, 1).await, NotFound);
    refused(store.delete(&thread).await, NotFound);
    for inputs in [inputs(&["a"]), vec![]] {
        let request = AcceptRequest { thread: thread.clone(), inputs, create: Create::No };
        refused(store.accept(request).await, NotFound);
    }
    for epoch in [0, 1] {
        let request = SyncRequest {
            thread: thread.clone(),
            epoch: Epoch(epoch),
            turn: TurnRecord { step: 1, at: Timestamp(1), messages: vec![] },
            token: SyncToken(1),
            committed: 0,
            changes: Changes::default(),
        };
        refused(store.sync(request).await, NotFound);
    }
    store.release(&thread, Epoch(0)).await.expect("releasing what is not there does nothing");
}
