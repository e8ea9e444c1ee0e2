//! Group commit: operations share transactions, and nothing else.

use futures_util::future::join_all;
use selvedge_event::{CallId, View};
use selvedge_sqlite::{SqliteOptions, SqliteStore, Synchronous};
use selvedge_store::{
    AcceptRequest, Acceptance, Changes, ConversationStore, Create, PlannedCall, StoreErrorKind, ToolDelivery,
};

use crate::folder::Folder;
use crate::work::{Driver, accept, input};

/// Enough that the first ones are still being written while the others arrive.
const MANY: usize = 200;

#[tokio::test]
async fn operations_at_once_share_commits() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let names: Vec<String> = (0..MANY).map(|number| format!("t{number}")).collect();
    for accepted in join_all(names.iter().map(|name| accept(&store, name, "a"))).await {
        assert_eq!(accepted.unwrap(), Acceptance::Accepted(1));
    }
    let stats = store.stats();
    assert_eq!(stats.operations, MANY as u64);
    assert!(stats.commits <= MANY as u64 / 10, "{stats:?}");
    assert_eq!(stats.synced, stats.commits);
}

#[tokio::test]
async fn operations_of_one_commit_see_each_other() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let ids: Vec<String> = (0..MANY).map(|number| format!("{}", number / 2)).collect();
    let accepted = join_all(ids.iter().map(|id| accept(&store, "t", id))).await;
    let accepted: Vec<Acceptance> = accepted.into_iter().map(Result::unwrap).collect();
    let mut numbers: Vec<u64> = Vec::new();
    for pair in accepted.chunks(2) {
        match pair {
            [Acceptance::Accepted(seq), Acceptance::Duplicate] | [Acceptance::Duplicate, Acceptance::Accepted(seq)] => {
                numbers.push(*seq);
            }
            other => panic!("one of two is new: {other:?}"),
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=MANY as u64 / 2).collect::<Vec<_>>());
    assert!(store.stats().commits < MANY as u64, "{:?}", store.stats());
}

#[tokio::test]
async fn a_refused_operation_leaves_the_others_alone() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let mut drivers = Vec::new();
    for number in 0..MANY {
        drivers.push(Driver::new(&store, &format!("t{number}")).await);
    }
    // Every other one is late: its step has been taken.
    let requests = drivers.iter_mut().enumerate().map(|(number, driver)| {
        driver.step += (number % 2) as u64;
        let request = driver.request("a", Changes::default());
        async { store.sync(request).await }
    });
    let before = store.stats();
    for (number, result) in join_all(requests.collect::<Vec<_>>()).await.into_iter().enumerate() {
        let conflict = result.err().map(|error| error.kind());
        assert_eq!(conflict, (number % 2 == 1).then_some(StoreErrorKind::Conflict), "{number}");
    }
    assert!(store.stats().commits - before.commits < MANY as u64 / 10, "{:?}", store.stats());
}

/// SQLite itself refuses it, and with it the transaction that it is in.
#[tokio::test]
async fn an_operation_that_breaks_its_transaction_breaks_no_other() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let mut drivers = Vec::new();
    for number in 0..20 {
        drivers.push(Driver::new(&store, &format!("t{number}")).await);
    }
    let call =
        |id: &str| PlannedCall { call_id: id.into(), tool: "tool".into(), step: 1, delivery: ToolDelivery::AtMostOnce };
    let requests = drivers.iter().enumerate().map(|(number, driver)| {
        let second = if number == 7 { "a" } else { "b" };
        driver.request("text", Changes { planned: vec![call("a"), call(second)], ..Changes::default() })
    });
    let results = join_all(requests.map(|request| store.sync(request))).await;
    for (number, result) in results.into_iter().enumerate() {
        let refused = result.err().map(|error| error.kind());
        assert_eq!(refused, (number == 7).then_some(StoreErrorKind::Invalid), "{number}");
    }
    for (number, driver) in drivers.iter().enumerate() {
        let record = store.load(&driver.thread).await.unwrap();
        let expected = if number == 7 { (0, 0) } else { (1, 2) };
        assert_eq!((record.head.step, record.open_calls.len()), expected, "{number}");
    }
}

#[tokio::test]
async fn claims_releases_and_marks_do_not_wait_for_the_disk() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let mut driver = Driver::new(&store, "t").await;
    driver.sync("a", Changes::default()).await.unwrap();
    let before = store.stats();
    store.mark_committed(&driver.thread, driver.epoch, 1).await.unwrap();
    store.release(&driver.thread, driver.epoch).await.unwrap();
    driver.epoch = store.claim(&driver.thread, &driver.owner).await.unwrap();
    let between = store.stats();
    assert_eq!((between.commits - before.commits, between.synced - before.synced), (3, 0));
    driver.sync("b", Changes::default()).await.unwrap();
    assert_eq!(store.stats().synced - between.synced, 1);
}

#[tokio::test]
async fn nothing_waits_for_the_disk_if_that_is_wanted() {
    let folder = Folder::new();
    let options = SqliteOptions::default().synchronous(Synchronous::Normal);
    let store = options.open(folder.database()).await.unwrap();
    Driver::new(&store, "t").await.sync("a", Changes::default()).await.unwrap();
    assert_eq!(store.stats().synced, 0);
}

#[tokio::test]
async fn names_with_a_nul_are_names() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    for thread in ["t", "t\0", "t\0a", "t\0b"] {
        let inputs = ["i", "i\0", "i\0a", "i\0b"].map(input).to_vec();
        let request = AcceptRequest { thread: thread.into(), inputs: inputs.clone(), create: Create::Unclaimed };
        store.accept(request.clone()).await.unwrap();
        let again = store.accept(request).await.unwrap();
        assert_eq!(again.acceptances, [Acceptance::Duplicate; 4]);
        let record = store.load(&thread.into()).await.unwrap();
        assert_eq!(
            record.inbox.into_iter().map(|entry| entry.id).collect::<Vec<_>>(),
            ["i", "i\0", "i\0a", "i\0b"].map(Into::into)
        );
    }
    let mut driver = Driver::new(&store, "t\0a").await;
    let views = ["v", "v\0", "v\0a", "v\0b"].map(|kind| View { view_type: kind.into(), content: kind.into() }).to_vec();
    let planned = ["c", "c\0", "c\0a"].map(|id| PlannedCall {
        call_id: id.into(),
        tool: "tool\0".into(),
        step: 1,
        delivery: ToolDelivery::AtLeastOnce,
    });
    let settled: Vec<CallId> = vec!["c\0".into()];
    let changes = Changes { views: views.clone(), planned: planned.to_vec(), settled, ..Changes::default() };
    driver.sync("text\0text", changes).await.unwrap();
    let record = store.load(&driver.thread).await.unwrap();
    assert_eq!(record.views, views);
    assert_eq!(record.open_calls, [planned[0].clone(), planned[2].clone()]);
}
