//! Closing, dropping and opening again.

use futures_util::FutureExt;
use selvedge_sqlite::{SqliteOptions, SqliteStore};
use selvedge_store::{Changes, ConversationStore, StoreErrorKind};

use crate::folder::Folder;
use crate::work::{Driver, accept, texts};

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_drop_without_close() {
    let folder = Folder::new();
    for round in 0..20_u64 {
        let store = SqliteStore::open(folder.database()).await.unwrap();
        if round > 0 {
            let record = store.load(&"t".into()).await.unwrap();
            assert_eq!((record.head.step, record.inbox.len() as u64), (round, round + 1));
        }
        let mut driver = Driver::new(&store, "t").await;
        driver.step = round;
        driver.sync(&format!("{round}"), Changes::default()).await.unwrap();
        accept(&store, "t", &format!("{round}")).await.unwrap();
    }
}

/// A write whose caller has gone is done all the same, once it is queued.
#[test]
fn what_was_queued_is_done_though_its_runtime_is_gone() {
    let folder = Folder::new();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = runtime().block_on(SqliteStore::open(folder.database())).unwrap();
    let first = runtime();
    let writer = store.clone();
    first.block_on(async {
        let mut write = Box::pin(accept(&writer, "t", "a"));
        // Polled once: it is queued, and then dropped with its runtime.
        assert!((&mut write).now_or_never().is_none());
    });
    drop(first);
    runtime().block_on(async {
        store.close().await;
        let store = SqliteStore::open(folder.database()).await.unwrap();
        assert_eq!(store.load(&"t".into()).await.unwrap().inbox.len(), 1);
    });
}

#[tokio::test]
async fn a_closed_store_refuses_and_leaves_one_file() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    accept(&store, "t", "a").await.unwrap();
    store.head(&"t".into()).await.unwrap();
    store.close().await;
    assert_eq!(accept(&store, "t", "b").await.unwrap_err().kind(), StoreErrorKind::Unavailable);
    assert_eq!(store.head(&"t".into()).await.unwrap_err().kind(), StoreErrorKind::Unavailable);
    let beside = std::fs::read_dir(folder.database().parent().unwrap()).unwrap();
    let mut names: Vec<_> = beside.map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name != "threads.db-owners");
    assert_eq!(names, ["threads.db"]);
    store.close().await;
}

#[tokio::test]
async fn a_file_that_is_not_there_is_created_only_if_that_is_wanted() {
    let folder = Folder::new();
    let error = SqliteOptions::default().create(false).open(folder.database()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(!folder.database().exists());
    SqliteStore::open(folder.database()).await.unwrap().close().await;
    SqliteOptions::default().create(false).open(folder.database()).await.unwrap();
}

#[tokio::test]
async fn many_open_a_new_file_at_once() {
    let folder = Folder::new();
    let stores = futures_util::future::join_all((0..8).map(|_| SqliteStore::open(folder.database()))).await;
    for (number, store) in stores.into_iter().enumerate() {
        accept(&store.unwrap(), "t", &format!("{number}")).await.unwrap();
    }
}

/// S80 in small: a page costs the page, wherever the history begins.
#[tokio::test]
async fn pages_go_back_turn_by_turn_through_forks() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let mut name = "t0".to_owned();
    let mut driver = Driver::new(&store, &name).await;
    for step in 1..=120_u64 {
        driver.sync(&format!("text {step}"), Changes::default()).await.unwrap();
        if step % 40 == 0 {
            let fork = format!("t{step}");
            store.fork(&name.as_str().into(), step, &fork.as_str().into(), selvedge_event::Timestamp(0)).await.unwrap();
            driver = Driver::new(&store, &fork).await;
            driver.step = step;
            name = fork;
        }
    }
    let whole = texts(&store, &name).await;
    assert_eq!(whole.iter().map(|(step, _)| *step).collect::<Vec<_>>(), (1..=120).collect::<Vec<_>>());
    let (mut before, mut steps) = (None, Vec::new());
    loop {
        let page = store.history(&driver.thread, before, 0).await.unwrap();
        assert_eq!(page.turns.len(), 1);
        steps.push(page.turns[0].step);
        before = page.older;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(steps, (1..=120).rev().collect::<Vec<_>>());
}
