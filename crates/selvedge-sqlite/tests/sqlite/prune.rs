//! What pruning removes, and what it never does.

use selvedge_event::{Message, Step, Timestamp};
use selvedge_sqlite::{Keep, Prune, PruneReport, SqliteStore};
use selvedge_store::{Acceptance, ConversationStore, StoreErrorKind};

use crate::folder::Folder;
use crate::talk::Talk;
use crate::work::accept;

fn turns(keep: Keep) -> Prune {
    Prune { whole_threads: false, keep, thread: None, at: Timestamp(99_000), dry_run: false }
}

fn threads(keep: Keep) -> Prune {
    Prune { whole_threads: true, ..turns(keep) }
}

async fn steps(store: &SqliteStore, thread: &str) -> Vec<Step> {
    store.history(&thread.into(), None, u64::MAX).await.unwrap().turns.iter().map(|turn| turn.step).collect()
}

fn removed(report: &PruneReport) -> Vec<(&str, Option<Step>, u64)> {
    report.removed.iter().map(|one| (one.thread.as_str(), one.through, one.turns)).collect()
}

/// The whole database is as it should be.
async fn clean(store: &SqliteStore) {
    let mut findings = Vec::new();
    store.verify(|finding| findings.push(finding)).await.unwrap();
    assert_eq!(findings, []);
}

#[track_caller]
fn kept(report: &PruneReport, thread: &str, why: &str) {
    let one = report.kept.iter().find(|kept| kept.thread.as_str() == thread).expect("the thread is kept");
    assert!(one.why.contains(why) && report.removed.iter().all(|one| one.thread.as_str() != thread), "{report:?}");
}

/// Turns 1 and 2, 3 and 4, … belong together: a call and its result.
#[tokio::test]
async fn a_history_is_cut_before_the_users_text_and_never_through_a_call() {
    for (keep, expected) in [(1, vec![6, 7, 8]), (2, vec![6, 7, 8]), (3, vec![4, 5, 6, 7, 8]), (7, (1..=8).collect())] {
        let folder = Folder::new();
        let store = SqliteStore::open(folder.database()).await.unwrap();
        Talk::new(&store, "t").await.rounds(4).await;
        store.prune(&turns(Keep::Newest(keep))).await.unwrap();
        assert_eq!(steps(&store, "t").await, expected, "{keep}");
        let page = store.history(&"t".into(), None, u64::MAX).await.unwrap();
        let marked = matches!(&page.turns[0].messages[..], [Message::Compaction(_)]);
        assert_eq!(marked, expected[0] > 1);
        clean(&store).await;
    }
}

#[tokio::test]
async fn a_pruned_thread_goes_on_and_is_pruned_again() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    Talk::new(&store, "t").await.rounds(4).await;
    let before = store.load(&"t".into()).await.unwrap();
    let report = store.prune(&turns(Keep::Since(Timestamp(4_500)))).await.unwrap();
    assert_eq!(removed(&report), [("t", Some(4), 4)]);
    assert_eq!(store.prune(&turns(Keep::Since(Timestamp(4_500)))).await.unwrap(), PruneReport::default());
    assert_eq!(store.load(&"t".into()).await.unwrap(), before, "its tokens too");
    // The whole outputs of what was removed are gone, the others are not.
    assert_eq!(store.blob(&"t".into(), "call_1_0", 0, 9).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    assert_eq!(store.blob(&"t".into(), "call_5_0", 0, 9).await.unwrap(), b"xxxxx");
    // What was ever accepted is still known.
    assert_eq!(accept(&store, "t", "input-1").await.unwrap(), Acceptance::Duplicate);

    Talk::new(&store, "t").await.rounds(2).await;
    let report = store.prune(&turns(Keep::Newest(2))).await.unwrap();
    assert_eq!(removed(&report), [("t", Some(10), 6)]);
    assert_eq!(steps(&store, "t").await, [10, 11, 12]);
    clean(&store).await;
}

#[tokio::test]
async fn a_dry_run_tells_the_same_and_changes_nothing() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    Talk::new(&store, "t").await.rounds(3).await;
    let plan = turns(Keep::Newest(1));
    let told = store.prune(&Prune { dry_run: true, ..plan.clone() }).await.unwrap();
    assert_eq!(steps(&store, "t").await.len(), 6);
    assert_eq!(store.prune(&plan).await.unwrap(), told);
    let plan = threads(Keep::Newest(0));
    let told = store.prune(&Prune { dry_run: true, ..plan.clone() }).await.unwrap();
    store.head(&"t".into()).await.unwrap();
    assert_eq!(store.prune(&plan).await.unwrap(), told);
    assert_eq!(store.head(&"t".into()).await.unwrap_err().kind(), StoreErrorKind::NotFound);
}

#[tokio::test]
async fn what_is_in_use_stays() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    for thread in ["forked", "waiting", "owned", "open", "old"] {
        Talk::new(&store, thread).await.rounds(2).await;
    }
    store.fork(&"forked".into(), 2, &"fork".into(), Timestamp(1)).await.unwrap();
    accept(&store, "waiting", "new").await.unwrap();
    let owner = store.register("somebody").await.unwrap();
    store.claim(&"owned".into(), &owner).await.unwrap();
    let mut open = Talk::new(&store, "open").await;
    open.ask().await;
    open.done().await;

    let report = store.prune(&turns(Keep::Newest(1))).await.unwrap();
    kept(&report, "forked", "shared by its fork fork");
    kept(&report, "owned", "driven by somebody");
    // An input that waits is no hindrance, and a call that is open after the cut neither.
    assert_eq!(removed(&report), [("old", Some(2), 2), ("open", Some(4), 4), ("waiting", Some(2), 2)]);
    assert_eq!(steps(&store, "fork").await, [1, 2]);

    let prune = Prune { thread: Some("forked".into()), ..threads(Keep::Newest(0)) };
    kept(&store.prune(&prune).await.unwrap(), "forked", "shared by its fork fork");
    let report = store.prune(&threads(Keep::Newest(0))).await.unwrap();
    for (thread, why) in [("waiting", "an input"), ("owned", "driven by"), ("open", "an open call")] {
        kept(&report, thread, why);
    }
    // A fork that goes makes way for what it was forked from.
    assert_eq!(removed(&report).iter().map(|one| one.0).collect::<Vec<_>>(), ["fork", "old", "forked"]);
}

#[tokio::test]
async fn a_fork_whose_beginning_is_gone_shares_nothing_any_more() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    Talk::new(&store, "t").await.rounds(2).await;
    store.fork(&"t".into(), 4, &"fork".into(), Timestamp(1)).await.unwrap();
    // What a fork shares is not its own to remove.
    assert_eq!(
        store.prune(&Prune { thread: Some("fork".into()), ..turns(Keep::Newest(1)) }).await.unwrap().removed,
        []
    );
    Talk::new(&store, "fork").await.rounds(2).await;
    assert_eq!(steps(&store, "fork").await, (1..=8).collect::<Vec<_>>());
    let report = store.prune(&Prune { thread: Some("fork".into()), ..turns(Keep::Newest(2)) }).await.unwrap();
    assert_eq!(removed(&report), [("fork", Some(6), 2)]);
    assert_eq!(steps(&store, "fork").await, [6, 7, 8]);
    store.delete(&"t".into()).await.unwrap();
    assert_eq!(steps(&store, "fork").await, [6, 7, 8]);
    clean(&store).await;
    let early = store.fork(&"fork".into(), 5, &"x".into(), Timestamp(0)).await.unwrap_err();
    assert_eq!(early.kind(), StoreErrorKind::Invalid, "{early}");
    store.fork(&"fork".into(), 6, &"x".into(), Timestamp(0)).await.unwrap();
    assert_eq!(steps(&store, "x").await, [6]);
}

#[tokio::test]
async fn threads_go_by_age_or_by_count() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    for (thread, rounds) in [("a", 1), ("b", 3), ("c", 2)] {
        Talk::new(&store, thread).await.rounds(rounds).await;
    }
    let report = store.prune(&threads(Keep::Newest(2))).await.unwrap();
    assert_eq!(removed(&report), [("a", None, 2)]);
    let report = store.prune(&threads(Keep::Since(Timestamp(5_000)))).await.unwrap();
    assert_eq!(removed(&report), [("c", None, 4)]);
    let missing = Prune { thread: Some("a".into()), ..turns(Keep::Newest(1)) };
    assert_eq!(store.prune(&missing).await.unwrap_err().kind(), StoreErrorKind::NotFound);
}

#[tokio::test]
async fn shrinking_gives_the_space_back() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    for thread in ["a", "b"] {
        Talk::new(&store, thread).await.rounds(60).await;
        store.put_blob(&thread.into(), "large", vec![1; 1 << 20]).await.unwrap();
    }
    store.prune(&threads(Keep::Newest(1))).await.unwrap();
    assert!(store.shrink().await.unwrap() > 1 << 20);
    store.close().await;
    assert!(folder.database().metadata().unwrap().len() < 3 << 19);
    let store = SqliteStore::open(folder.database()).await.unwrap();
    clean(&store).await;
}

#[tokio::test]
async fn a_thread_may_begin_at_a_later_step() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    accept(&store, "t", "a").await.unwrap();
    let owner = store.register("import").await.unwrap();
    let epoch = store.claim(&"t".into(), &owner).await.unwrap();
    store.skip_to(&"t".into(), epoch, 40).await.unwrap();
    assert_eq!(store.skip_to(&"t".into(), epoch, 39).await.unwrap_err().kind(), StoreErrorKind::Conflict);
    let record = store.load(&"t".into()).await.unwrap();
    assert_eq!((record.head.step, record.committed), (40, 40));
    let other = selvedge_store::Epoch(epoch.0 + 1);
    assert_eq!(store.skip_to(&"t".into(), other, 50).await.unwrap_err().kind(), StoreErrorKind::Conflict);
}
