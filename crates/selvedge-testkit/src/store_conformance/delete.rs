//! Deletion: everything of a thread goes, unless it is needed.

use selvedge_event::Timestamp;
use selvedge_store::{Acceptance, Changes, Epoch, Origin, Spawn, StoreErrorKind, SyncToken};

use super::{
    StoreHarness,
    kit::{
        Store, Writer, accept, crash, create, history, inbox_ids, inputs, load, refused, summaries, thread_ids,
        thread_that_says, unfinished, user,
    },
    samples,
};

/// A deleted thread is gone with all that was kept of it, and so is the memory of its inputs: a new thread of its name
/// starts from nothing.
pub async fn a_deleted_thread_is_gone_and_forgotten<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for _ in 0..2 {
        fill(&store, "t").await;
        store.delete(&"t".into()).await.expect("a free thread can be deleted");
        assert_eq!((thread_ids(&store).await.len(), unfinished(&store).await.len()), (0, 0));
    }
    create(&store, "t").await;
    let record = load(&store, "t").await;
    assert_eq!((record.head.step, record.head.epoch, record.head.token), (0, Epoch(0), SyncToken(0)));
    assert_eq!((record.committed, record.usage), (0, samples::usage(0)));
    assert_eq!((record.open_calls, record.choices, record.subscriptions), (vec![], vec![], vec![]));
    assert_eq!((record.oauth, record.views, inbox_ids(&store, "t").await), (vec![], vec![], vec!["first".to_owned()]));
    assert_eq!(history(&store, "t").await, []);
    refused(store.blob(&"t".into(), "blob", 0, 10).await, StoreErrorKind::NotFound);
    let acceptances = accept(&store, "t", inputs(&["waiting"])).await;
    assert!(matches!(acceptances[..], [Acceptance::Accepted(_)]), "{acceptances:?}");
}

/// A thread that a living owner drives is not deleted; the refusal names the owner.
pub async fn a_thread_of_a_living_owner_is_not_deleted<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let message = refused(store.delete(&"t".into()).await, StoreErrorKind::Owned);
    assert!(message.contains(writer.owner.id().as_str()), "{message} names {}", writer.owner.id());
    writer.say("still here").await;
    store.release(&"t".into(), writer.epoch).await.expect("a claim can be released");
    store.delete(&"t".into()).await.expect("a released thread can be deleted");
    refused(store.head(&"t".into()).await, StoreErrorKind::NotFound);
}

/// A thread whose owner is dead can be deleted.
pub async fn a_thread_of_a_dead_owner_can_be_deleted<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let writer = Writer::of(&store, "t").await;
    let late = writer.next(vec![user("late")], Changes::default());
    drop(writer);
    store.delete(&"t".into()).await.expect("a thread of a dead owner can be deleted");
    refused(store.sync(late).await, StoreErrorKind::NotFound);
    assert_eq!(thread_ids(&store).await, [""; 0]);
}

/// A thread whose history forks share is not deleted, until the last of them is; the refusal names them.
pub async fn a_thread_with_forks_is_not_deleted<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    thread_that_says(&store, "t", &["one"]).await;
    for (parent, thread) in [("t", "fork"), ("t", "twin"), ("fork", "fork of fork")] {
        store.fork(&parent.into(), 1, &thread.into(), Timestamp(1)).await.expect("a thread can be forked");
    }
    let message = refused(store.delete(&"t".into()).await, StoreErrorKind::InUse);
    assert!(message.contains("fork") && message.contains("twin"), "{message} names fork and twin");
    refused(store.delete(&"fork".into()).await, StoreErrorKind::InUse);
    for thread in ["fork of fork", "fork"] {
        assert_eq!(history(&store, thread).await.len(), 1);
        store.delete(&thread.into()).await.expect("a thread without forks can be deleted");
    }
    refused(store.delete(&"t".into()).await, StoreErrorKind::InUse);
    assert_eq!(history(&store, "twin").await.len(), 1);
    store.delete(&"twin".into()).await.expect("a thread without forks can be deleted");
    store.delete(&"t".into()).await.expect("a thread without forks can be deleted");
    assert_eq!(thread_ids(&store).await, [""; 0]);
}

/// A thread's children stay when it goes, and still say whose they are; their names stay taken.
pub async fn children_outlive_their_parent<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let spawn = |thread: &str| Changes {
        spawned: vec![Spawn { thread: thread.into(), inputs: inputs(&["x"]) }],
        ..Changes::default()
    };
    Writer::of(&store, "t").await.change(spawn("t/child")).await;
    store.delete(&"t".into()).await.expect("a thread with children can be deleted");
    assert_eq!(load(&store, "t/child").await.origin, Origin::Child { parent: "t".into() });
    Writer::of(&store, "t/child").await.say("on my own").await;

    create(&store, "t").await;
    let writer = Writer::of(&store, "t").await;
    refused(store.sync(writer.next(vec![], spawn("t/child"))).await, StoreErrorKind::Exists);
    store.delete(&"t/child".into()).await.expect("a child can be deleted");
    store.sync(writer.next(vec![], spawn("t/child"))).await.expect("its name is free again");
    assert_eq!(inbox_ids(&store, "t/child").await, ["x"]);
    assert_eq!(history(&store, "t/child").await, []);
}

/// A deletion survives a crash.
pub async fn a_deleted_thread_stays_deleted_across_a_crash<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    fill(&store, "t").await;
    create(&store, "u").await;
    store.delete(&"t".into()).await.expect("a free thread can be deleted");
    let store = crash(&mut harness, store).await;
    assert_eq!(thread_ids(&store).await, ["u"]);
    refused(store.load(&"t".into()).await, StoreErrorKind::NotFound);
    refused(store.delete(&"t".into()).await, StoreErrorKind::NotFound);
    create(&store, "t").await;
    assert_eq!(history(&store, "t").await, []);
}

/// Deleting a thread changes no other, however alike their names.
pub async fn other_threads_are_untouched<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let others = ["T", "t/", "t/1", "%", "t%", "_", "tt"];
    for thread in others {
        fill(&store, thread).await;
    }
    let mut before = Vec::new();
    for thread in others {
        before.push((load(&store, thread).await, history(&store, thread).await));
    }
    let listed = summaries(&store).await;
    fill(&store, "t").await;
    store.delete(&"t".into()).await.expect("a free thread can be deleted");
    for (thread, before) in others.iter().zip(before) {
        assert_eq!((load(&store, thread).await, history(&store, thread).await), before);
        let blob = store.blob(&(*thread).into(), "blob", 0, 10).await.expect("the blob is still there");
        assert_eq!(blob, b"bytes");
    }
    assert_eq!(summaries(&store).await, listed);
}

/// Makes a thread that has something of everything, and no owner.
async fn fill(store: &Store, thread: &str) {
    create(store, thread).await;
    let mut writer = Writer::of(store, thread).await;
    writer.sync(samples::every_message("text"), samples::openings(1, "text")).await;
    writer.finish().await;
    accept(store, thread, inputs(&["waiting"])).await;
    store.put_blob(&thread.into(), "blob", b"bytes".to_vec()).await.expect("a blob is kept");
}
