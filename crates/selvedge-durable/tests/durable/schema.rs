//! What becomes a database of sessions, and what is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_durable::{Listing, Sessions, SessionsError, SessionsOptions};
use selvedge_sqlite::SqliteStore;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::folder::Folder;
use crate::kit::{World, options};

/// One database of each schema that was ever released, with its store in the same file.
const FIXTURES: [&str; 1] = ["v1.db"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The store and the sessions of one file.
async fn world_in(folder: Folder) -> World {
    let path = folder.path("store.db");
    let store = SqliteStore::open(&path).await.unwrap();
    World { store: Arc::new(store), sessions: options().open(&path).await.unwrap(), folder }
}

/// Something in every table.
async fn fill(world: &World) {
    for (thread, text) in [("a", "look"), ("a", "thanks"), ("b", "ask"), ("c", "fail")] {
        world.say(thread, text).await;
    }
}

async fn check(world: &World) {
    world.check().await;
    for thread in ["a", "b", "c"] {
        world.check_transcript(thread).await;
    }
    assert_eq!(world.sessions.choices(&"b".into()).await.unwrap().len(), 1);
    assert!(world.session("c").await.last_error.is_some());
    let found = world.sessions.search("glacier", 10).await.unwrap();
    assert_eq!(found.iter().map(|hit| hit.thread.as_str()).collect::<Vec<_>>(), ["a"]);
    world.say("a", "look").await;
    world.check().await;
}

#[tokio::test]
async fn s85_every_schema_opens_and_becomes_the_newest() {
    for name in FIXTURES {
        let folder = Folder::new();
        std::fs::copy(fixture(name), folder.path("store.db")).unwrap();
        check(&world_in(folder).await).await;
    }
}

#[tokio::test]
async fn what_is_written_for_a_fixture_can_be_checked() {
    let world = world_in(Folder::new()).await;
    fill(&world).await;
    check(&world).await;
}

#[tokio::test]
#[ignore = "writes the fixture of the newest schema; run it when that is released, and never again"]
async fn write_the_fixture() {
    let world = world_in(Folder::new()).await;
    fill(&world).await;
    let World { store, sessions, folder } = world;
    sessions.close().await;
    drop(store);
    folder.run("store.db", "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; VACUUM").await;
    std::fs::copy(folder.path("store.db"), fixture("v1.db")).unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_both_versions() {
    let world = World::new().await;
    world.say("a", "hello").await;
    world.sessions.close().await;
    world.folder.run("sessions.db", "UPDATE durable_schema SET version = 7").await;
    let path = world.folder.path("sessions.db");
    let before = std::fs::read(&path).unwrap();
    let error = Sessions::open(&path).await.unwrap_err();
    assert!(matches!(error, SessionsError::Refused { .. }));
    let message = error.to_string();
    assert!(message.contains("version 7") && message.contains("up to 1"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn foreign_files_are_refused() {
    let folder = Folder::new();
    std::fs::write(folder.path("text.db"), "this is not a database").unwrap();
    folder.run("other.db", "CREATE TABLE t (a)").await;
    folder.run("marked.db", "PRAGMA application_id = 42; CREATE TABLE t (a)").await;
    for name in ["text.db", "other.db", "marked.db"] {
        assert!(matches!(Sessions::open(folder.path(name)).await, Err(SessionsError::Refused { .. })), "{name}");
    }
    let missing = SessionsOptions::default().create(false).open(folder.path("missing.db")).await;
    assert!(missing.is_err() && !folder.path("missing.db").exists());
}

/// A process was killed in a transaction with a rollback journal, as there is one before a new database is set to
/// write-ahead logging: the next one rolls it back.
#[tokio::test]
async fn what_a_killed_process_left_of_a_rollback_is_rolled_back() {
    let folder = Folder::new();
    Sessions::open(folder.path("sessions.db")).await.unwrap().close().await;
    let options = SqliteConnectOptions::new().filename(folder.path("sessions.db"));
    let mut killed = options.connect().await.unwrap();
    let sql = "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; CREATE TABLE half AS WITH RECURSIVE \
               n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, randomblob(1000) FROM n";
    sqlx::raw_sql(sql).execute(&mut killed).await.unwrap();
    for (name, left) in [("sessions.db", "left.db"), ("sessions.db-journal", "left.db-journal")] {
        std::fs::copy(folder.path(name), folder.path(left)).unwrap();
    }
    drop(killed);
    let sessions = Sessions::open(folder.path("left.db")).await.unwrap();
    assert_eq!(sessions.list(&Listing::first(10)).await.unwrap(), []);
    sessions.close().await;
}

#[tokio::test]
async fn sessions_live_in_the_file_of_their_store() {
    let mut world = World::new().await;
    let path = world.folder.path("store.db");
    for text in ["look", "look"] {
        let store = SqliteStore::open(&path).await.unwrap();
        world.store = Arc::new(store.clone());
        world.sessions = options().open(&path).await.unwrap();
        world.say("a", text).await;
        world.check().await;
        world.check_transcript("a").await;
        world.sessions.close().await;
        store.close().await;
    }
}

#[tokio::test]
async fn what_is_kept_survives_a_reopening() {
    let mut world = World::new().await;
    world.say("a", "look").await;
    let before = world.session("a").await;
    world.sessions.close().await;
    world.sessions = options().open(world.folder.path("sessions.db")).await.unwrap();
    assert_eq!(world.session("a").await, before);
    world.say("a", "again").await;
    world.check().await;
}
