//! Copies of a database that is in use.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use selvedge_sqlite::SqliteStore;
use selvedge_store::{Changes, ConversationStore, StoreErrorKind};

use crate::folder::Folder;
use crate::work::{Driver, accept, texts};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with("threads.db"));
    names.sort();
    names
}

fn beside(folder: &Folder, name: &str) -> PathBuf {
    folder.database().with_file_name(name)
}

#[tokio::test]
async fn a_copy_is_the_database_at_one_moment_while_others_write() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let mut drivers = [Driver::new(&store, "a").await, Driver::new(&store, "b").await];
    let mut copies = Vec::new();
    for round in 0..12_u64 {
        let to = beside(&folder, &format!("copy-{round}.db"));
        // `a` is always written before `b`, so at every moment it is as far or one further.
        let writes = async {
            for _ in 0..5 {
                for driver in &mut drivers {
                    driver.sync(&format!("{}", driver.step + 1), Changes::default()).await.unwrap();
                }
            }
        };
        let (copied, ()) = tokio::join!(store.backup(&to), writes);
        copied.unwrap();
        copies.push((to, 5 * round, 5 * (round + 1)));
    }
    for (to, least, most) in copies {
        let copy = SqliteStore::open(&to).await.unwrap();
        let steps = [texts(&copy, "a").await, texts(&copy, "b").await].map(|texts| texts.len() as u64);
        assert!(steps[0] == steps[1] || steps[0] == steps[1] + 1, "{steps:?}");
        assert!(steps[1] >= least && steps[0] <= most, "{steps:?} is not within {least} to {most}");
        let record = copy.load(&"a".into()).await.unwrap();
        assert_eq!((record.head.step, record.inbox.len(), record.quarantined.len()), (steps[0], 1, 0));
        // The copy is a store like any other: nobody who lives owns its threads.
        let mut driver = Driver::new(&copy, "a").await;
        driver.step = steps[0];
        driver.sync("more", Changes::default()).await.unwrap();
        copy.close().await;
    }
}

#[tokio::test]
async fn a_copy_holds_everything_and_leaves_no_trace() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let mut driver = Driver::new(&store, "t").await;
    driver.sync("one", Changes::default()).await.unwrap();
    store.put_blob(&"t".into(), "blob", vec![7; 600_000]).await.unwrap();
    let to = beside(&folder, "copy.db");
    store.backup(&to).await.unwrap();
    assert_eq!(names(to.parent().unwrap()), ["copy.db"]);
    let copy = SqliteStore::open(&to).await.unwrap();
    assert_eq!(copy.blob(&"t".into(), "blob", 0, u64::MAX).await.unwrap(), vec![7; 600_000]);
    assert_eq!(copy.load(&"t".into()).await.unwrap(), store.load(&"t".into()).await.unwrap());
    assert_eq!(accept(&copy, "t", "first").await.unwrap(), selvedge_store::Acceptance::Duplicate);
}

#[tokio::test]
async fn a_file_that_is_there_is_left_alone() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let to = beside(&folder, "diary.txt");
    for content in ["", "Dear diary"] {
        std::fs::write(&to, content).unwrap();
        let error = store.backup(&to).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Exists, "{error}");
        assert_eq!(std::fs::read_to_string(&to).unwrap(), content);
    }
    assert_eq!(store.backup(folder.database()).await.unwrap_err().kind(), StoreErrorKind::Exists);
    accept(&store, "t", "a").await.unwrap();
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let nowhere = beside(&folder, "nowhere/copy.db");
    assert_eq!(store.backup(&nowhere).await.unwrap_err().kind(), StoreErrorKind::Unavailable);
    // Pages that cannot be read end the copy in its middle.
    for name in 0..50 {
        store.put_blob(&Driver::new(&store, &format!("{name}")).await.thread, "blob", vec![1; 100_000]).await.unwrap();
    }
    store.close().await;
    let mut bytes = std::fs::read(folder.database()).unwrap();
    let (start, end) = (bytes.len() / 4, bytes.len() / 2);
    bytes[start..end].fill(0xff);
    std::fs::write(folder.database(), bytes).unwrap();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    let error = store.backup(beside(&folder, "copy.db")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
    assert_eq!(names(folder.database().parent().unwrap()), [""; 0]);
}

#[tokio::test]
async fn a_copy_that_nobody_waits_for_is_removed() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.database()).await.unwrap();
    accept(&store, "t", "a").await.unwrap();
    store.put_blob(&"t".into(), "blob", vec![7; 20_000_000]).await.unwrap();
    let to = beside(&folder, "copy.db");
    let mut copying = Box::pin(store.backup(&to));
    assert!((&mut copying).now_or_never().is_none());
    let until = |wanted: &[&str]| {
        let began = Instant::now();
        while names(to.parent().unwrap()) != wanted {
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", names(to.parent().unwrap()));
            std::thread::yield_now();
        }
    };
    until(&["copy.db", "copy.db.partial"]);
    drop(copying);
    until(&[]);
    store.backup(&to).await.unwrap();
    assert_eq!(names(to.parent().unwrap()), ["copy.db"]);
}
