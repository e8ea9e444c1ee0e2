//! What becomes a database of sessions, and what is refused.

use std::sync::Arc;

use selvedge_durable::{Sessions, SessionsError, SessionsOptions};
use selvedge_sqlite::SqliteStore;

use crate::folder::Folder;
use crate::kit::{World, options};

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
