//! Several processes on one file.

use std::time::Duration;

use selvedge_sqlite::{SqliteOptions, SqliteStore};
use selvedge_store::{ConversationStore, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::child::{self, ROUNDS, SHARED_ROUNDS};
use crate::folder::Folder;
use crate::work::{Driver, accept, texts};

/// Somebody else who holds the database's write lock.
async fn lock(folder: &Folder) -> SqliteConnection {
    let mut connection = SqliteConnectOptions::new().filename(folder.database()).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
    connection
}

#[tokio::test]
async fn s83_everybody_waits_for_the_lock_and_completes() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let held = lock(&folder).await;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut children: Vec<_> = names.iter().map(|name| child::start("turns", &folder.database(), name)).collect();
    for child in &mut children {
        child::ready(child);
    }
    // All have something to write now, and must be patient: the time is what the scenario is about.
    tokio::time::sleep(Duration::from_secs(10)).await;
    held.close().await.unwrap();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    for name in names {
        assert_eq!(texts(&store, name).await.len() as u64, ROUNDS, "{name}");
        assert_eq!(store.head(&name.into()).await.unwrap().step, ROUNDS);
    }
}

#[tokio::test]
async fn the_wait_for_the_lock_has_a_bound() {
    let folder = Folder::new();
    let store = SqliteOptions::default().busy(Duration::from_millis(50)).open(folder.database()).await.unwrap();
    let held = lock(&folder).await;
    let error = accept(&store, "t", "a").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    held.close().await.unwrap();
    accept(&store, "t", "a").await.unwrap();
}

#[tokio::test]
async fn s28_two_processes_take_turns_on_one_thread() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    accept(&store, "shared", "first").await.unwrap();
    let mut children = ["one", "two"].map(|name| child::start("compete", &folder.database(), name));
    for child in &mut children {
        child::ready(child);
        assert!(child.wait().unwrap().success());
    }
    let found = texts(&store, "shared").await;
    let steps: Vec<u64> = found.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, (1..=2 * SHARED_ROUNDS).collect::<Vec<_>>());
    for name in ["one", "two"] {
        let theirs = found.iter().map(|(_, text)| text.clone()).filter(|text| text.starts_with(name));
        let expected: Vec<String> = (0..SHARED_ROUNDS).map(|round| format!("{name} {round}")).collect();
        assert_eq!(theirs.collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn the_threads_of_a_killed_process_fall_to_whoever_asks() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let mut child = child::start("hold", &folder.database(), "t");
    let line = child::ready(&mut child);
    let owner = line.strip_prefix("ready ").unwrap();
    let mine = store.register("mine").await.unwrap();
    let error = store.claim(&"t".into(), &mine).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Owned);
    assert!(error.to_string().contains(owner), "{error} names {owner}");
    assert_eq!(store.delete(&"t".into()).await.unwrap_err().kind(), StoreErrorKind::Owned);

    // On Unix, this is SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(store.claim(&"t".into(), &mine).await.unwrap().0, 2);
    let left: Vec<_> = std::fs::read_dir(folder.database().with_file_name("threads.db-owners")).unwrap().collect();
    assert_eq!(left.len(), 1, "the file of the dead is gone: {left:?}");
}

#[tokio::test]
async fn what_one_process_writes_the_other_sees() {
    let folder = Folder::new();
    let (one, two) =
        (SqliteStore::open(folder.database()).await.unwrap(), SqliteStore::open(folder.database()).await.unwrap());
    let mut driver = Driver::new(&one, "t").await;
    driver.sync("a", Default::default()).await.unwrap();
    assert_eq!(two.head(&"t".into()).await.unwrap().step, 1);
    let stale = driver.request("b", Default::default());
    driver.sync("b", Default::default()).await.unwrap();
    assert_eq!(two.sync(stale).await.unwrap_err().kind(), StoreErrorKind::Conflict);
    assert_eq!(texts(&two, "t").await.len(), 2);
}
