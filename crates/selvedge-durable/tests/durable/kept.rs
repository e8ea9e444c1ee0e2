//! Sessions follow their threads.

use selvedge_durable::{Cost, Listing, Status};
use selvedge_event::{Timestamp, Usage};

use crate::kit::World;

#[tokio::test]
async fn a_session_says_what_its_thread_has_done() {
    let world = World::new().await;
    world.say("a", "look").await;
    let session = world.session("a").await;
    assert_eq!(session.title.as_deref(), Some("look"));
    assert_eq!(session.usage, Usage { input: 30, output: 4, ..Usage::default() });
    assert_eq!(session.cost, Cost { millionths: 60, unpriced: 0 });
    assert_eq!((session.step, session.status), (2, Status::Idle));
    assert_eq!(session.created_at, Timestamp(1_000));
    world.check().await;
    world.check_transcript("a").await;
}

#[tokio::test]
async fn a_failure_is_the_last_error_until_something_succeeds() {
    let world = World::new().await;
    world.say("a", "fail").await;
    let session = world.session("a").await;
    assert_eq!(session.status, Status::Failed);
    assert_eq!(&*session.last_error.unwrap().message, "no such key");
    world.say("a", "hello").await;
    let session = world.session("a").await;
    assert_eq!((session.status, session.last_error), (Status::Idle, None));
    world.check().await;
}

#[tokio::test]
async fn tokens_of_a_model_without_a_price_are_counted_apart() {
    let mut world = World::new().await;
    world.sessions = selvedge_durable::Sessions::open(world.folder.path("other.db")).await.unwrap();
    world.say("a", "hello").await;
    assert_eq!(world.session("a").await.cost, Cost { millionths: 0, unpriced: 1 });
    world.check().await;
}

#[tokio::test]
async fn the_list_is_paged_newest_first() {
    let world = World::new().await;
    for thread in ["a", "b", "c", "d"] {
        world.say(thread, "hello").await;
    }
    world.say("b", "again").await;
    let first = world.sessions.list(&Listing::first(3)).await.unwrap();
    let rest = world.sessions.list(&Listing::first(3).after(&first[2])).await.unwrap();
    let mut names: Vec<String> = first.iter().chain(&rest).map(|session| session.thread.to_string()).collect();
    assert_eq!(names[0], "b");
    names.sort();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn what_is_forgotten_is_gone_everywhere() {
    let world = World::new().await;
    world.say("a", "look").await;
    world.say("b", "look").await;
    world.sessions.forget(&"a".into()).await.unwrap();
    assert_eq!(world.sessions.session(&"a".into()).await.unwrap(), None);
    assert!(world.sessions.transcript(&"a".into()).await.unwrap().is_empty());
    assert!(world.sessions.search("zugspitze", 9).await.unwrap().iter().all(|hit| hit.thread.as_str() == "b"));
}

#[tokio::test]
async fn a_turn_with_a_call_is_two_commits() {
    let world = World::new().await;
    let before = world.sessions.commits();
    world.say("a", "look").await;
    assert_eq!(world.sessions.commits() - before, 2);
}

#[tokio::test]
async fn closed_sessions_say_so() {
    let world = World::new().await;
    world.sessions.close().await;
    assert!(world.sessions.list(&Listing::first(1)).await.is_err());
    assert!(world.sessions.forget(&"a".into()).await.is_err());
}
