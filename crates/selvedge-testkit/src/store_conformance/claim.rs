//! Who may drive a thread: one living owner at a time, fenced by the epoch.

use selvedge_store::{Changes, Epoch, StoreErrorKind};

use super::{
    StoreHarness,
    kit::{Writer, crash, create, load, refused, register},
};

/// Each claim gives the next epoch, of which the head tells.
pub async fn each_claim_counts_the_epoch_up<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    for epoch in 1..=3 {
        assert_eq!(Writer::of(&store, "t").await.epoch, Epoch(epoch));
        assert_eq!(load(&store, "t").await.head.epoch, Epoch(epoch));
        assert_eq!(store.head(&"t".into()).await.expect("a thread has a head").epoch, Epoch(epoch));
    }
}

/// A thread of a living owner cannot be claimed by another; the refusal names the owner and costs it nothing.
pub async fn a_living_owner_keeps_its_thread<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let other = register(&store).await;
    let message = refused(store.claim(&"t".into(), &other).await, StoreErrorKind::Owned);
    assert!(message.contains(writer.owner.id().as_str()), "{message} names {}", writer.owner.id());
    assert_eq!(load(&store, "t").await.head.epoch, writer.epoch);
    writer.say("still here").await;
}

/// A thread of a dead owner falls to whoever asks; the dead one's epoch is worth nothing.
pub async fn a_dead_owner_is_displaced<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut dead = Writer::of(&store, "t").await;
    dead.say("last words").await;
    let late = dead.next(vec![], Changes::default());
    drop(dead);
    let mut heir = Writer::of(&store, "t").await;
    assert_eq!((heir.epoch, heir.step), (Epoch(2), 1));
    refused(store.sync(late).await, StoreErrorKind::Conflict);
    heir.say("first words").await;
}

/// An owner that claims its own thread again gets a new epoch, and its old one is worth nothing.
pub async fn an_owner_may_claim_again<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let late = writer.next(vec![], Changes::default());
    writer.epoch = store.claim(&"t".into(), &writer.owner).await.expect("an owner displaces itself");
    assert_eq!(writer.epoch, Epoch(2));
    refused(store.sync(late).await, StoreErrorKind::Conflict);
    writer.say("again").await;
    let other = register(&store).await;
    refused(store.claim(&"t".into(), &other).await, StoreErrorKind::Owned);
}

/// A released thread may be claimed though its last owner lives; the epoch goes on from where it was.
pub async fn a_released_thread_is_free<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let first = Writer::of(&store, "t").await;
    store.release(&"t".into(), first.epoch).await.expect("a claim can be released");
    let second = Writer::of(&store, "t").await;
    assert_eq!(second.epoch, Epoch(2));
    let message = refused(store.claim(&"t".into(), &first.owner).await, StoreErrorKind::Owned);
    assert!(message.contains(second.owner.id().as_str()), "{message} names {}", second.owner.id());
}

/// Releasing an epoch that is not the current one frees nothing.
pub async fn releasing_an_old_claim_does_nothing<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let first = Writer::of(&store, "t").await;
    let current = store.claim(&"t".into(), &first.owner).await.expect("an owner displaces itself");
    let other = register(&store).await;
    for epoch in [Epoch(0), first.epoch, Epoch(current.0 + 1)] {
        store.release(&"t".into(), epoch).await.expect("an old claim is released without effect");
        refused(store.claim(&"t".into(), &other).await, StoreErrorKind::Owned);
    }
    assert_eq!(load(&store, "t").await.head.epoch, current);
}

/// Owners that register under one label have names of their own, by which a person knows the label.
pub async fn owners_of_one_label_are_told_apart<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let label = "worker \"7\" 🦀 50%";
    let owners = [
        store.register(label).await.expect("an owner registers"),
        store.register(label).await.expect("an owner registers"),
        harness.store().register(label).await.expect("an owner registers"),
    ];
    for (place, owner) in owners.iter().enumerate() {
        assert!(owner.id().as_str().contains(label), "{} tells {label}", owner.id());
        assert!(owners[..place].iter().all(|other| other.id() != owner.id()), "{} is unique", owner.id());
    }
}

/// An owner may have many threads; they are all free when it dies, and only its own.
pub async fn an_owner_may_have_many_threads<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let threads = ["a", "b", "c"];
    let (owner, heir) = (register(&store).await, register(&store).await);
    for thread in threads {
        create(&store, thread).await;
        store.claim(&thread.into(), &owner).await.expect("a free thread can be claimed");
    }
    create(&store, "other").await;
    let other = Writer::of(&store, "other").await;
    for thread in threads {
        refused(store.claim(&thread.into(), &heir).await, StoreErrorKind::Owned);
    }
    drop(owner);
    for thread in threads {
        store.claim(&thread.into(), &heir).await.expect("the owner is dead");
    }
    refused(store.claim(&"other".into(), &heir).await, StoreErrorKind::Owned);
    drop(other);
}

/// After a crash nobody has a thread, whether or not the claim survived.
pub async fn an_owner_dies_with_its_process<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    create(&store, "t").await;
    for step in 1..=3 {
        let mut writer = Writer::of(&store, "t").await;
        writer.say("here").await;
        assert_eq!(writer.step, step);
        drop(writer);
        store = crash(&mut harness, store).await;
    }
    // Names are unique across the lives of a store too: a new owner is not taken for an old one.
    let holder = Writer::of(&store, "t").await;
    let other = register(&store).await;
    assert_ne!(holder.owner.id(), other.id());
    refused(store.claim(&"t".into(), &other).await, StoreErrorKind::Owned);
}

/// An epoch under which something was synced is not given out again after a crash.
pub async fn an_epoch_that_has_synced_is_never_given_out_again<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    create(&store, "t").await;
    let mut newest = Epoch(0);
    for _ in 0..3 {
        let mut writer = Writer::of(&store, "t").await;
        assert!(writer.epoch > newest, "{:?} comes after {newest:?}", writer.epoch);
        newest = writer.epoch;
        writer.say("here").await;
        let late = writer.next(vec![], Changes::default());
        drop(writer);
        store = crash(&mut harness, store).await;
        drop(Writer::of(&store, "t").await);
        refused(store.sync(late).await, StoreErrorKind::Conflict);
    }
}
