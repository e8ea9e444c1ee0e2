//! What is kept can be derived from the histories, and is where it does not follow.

use selvedge_observer::NullObserver;

use crate::kit::{World, options, say};

/// A world with threads of several kinds, one of them in the middle of a call.
async fn busy() -> World {
    let world = World::new().await;
    for text in ["look", "fail", "hello"] {
        world.say("a", text).await;
    }
    world.say("b", "ask").await;
    world.store.fork(&"a".into(), 2, &"c".into(), selvedge_event::Timestamp(5)).await.unwrap();
    world.say("c", "look").await;
    world.check().await;
    world
}

/// Everything that readers see but the time of the newest step.
async fn seen(world: &World) -> Vec<String> {
    let mut seen = Vec::new();
    for thread in ["a", "b", "c"] {
        let mut session = world.session(thread).await;
        session.updated_at = session.created_at;
        let choices = world.sessions.choices(&thread.into()).await.unwrap();
        let transcript = world.sessions.transcript(&thread.into()).await.unwrap();
        seen.push(format!("{session:#?} {choices:#?} {transcript:#?}"));
    }
    seen.push(format!("{:?}", world.sessions.search("zugspitze", 99).await.unwrap().len()));
    seen
}

#[tokio::test]
async fn a_rebuilt_database_is_what_it_was() {
    let mut world = busy().await;
    let before = seen(&world).await;
    let mut progress = Vec::new();
    world
        .sessions
        .rebuild(&*world.store, |at| progress.push((at.thread.to_string(), at.done, at.total)))
        .await
        .unwrap();
    assert_eq!(seen(&world).await, before);
    assert_eq!(progress, [("a".to_owned(), 1, 3), ("b".to_owned(), 2, 3), ("c".to_owned(), 3, 3)]);

    world.sessions = options().open(world.folder.path("new.db")).await.unwrap();
    world.sessions.rebuild(&*world.store, |_| {}).await.unwrap();
    assert_eq!(seen(&world).await, before);
    world.check().await;
}

#[tokio::test]
async fn a_rebuild_that_is_cut_off_leaves_threads_whole() {
    let world = busy().await;
    let before = seen(&world).await;
    for polls in 0..60 {
        let mut rebuild = Box::pin(world.sessions.rebuild(&*world.store, |_| {}));
        let mut left = polls;
        let cut = std::future::poll_fn(|context| {
            if left == 0 {
                return std::task::Poll::Ready(());
            }
            left -= 1;
            rebuild.as_mut().poll(context).map(|done| done.unwrap())
        });
        cut.await;
        drop(rebuild);
        assert_eq!(seen(&world).await, before, "cut off after {polls} polls");
        world.check().await;
    }
}

#[tokio::test]
async fn threads_that_are_gone_are_forgotten() {
    let world = busy().await;
    world.store.delete(&"c".into()).await.unwrap();
    let differences = world.sessions.verify(&*world.store).await.unwrap();
    assert_eq!(differences.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c: the thread is gone"]);
    world.sessions.rebuild(&*world.store, |_| {}).await.unwrap();
    assert_eq!(world.sessions.session(&"c".into()).await.unwrap(), None);
    world.check().await;
}

#[tokio::test]
async fn a_thread_that_ran_without_this_observer_is_derived() {
    let world = busy().await;
    say(&world.runner_with(NullObserver).await, "a", "look").await;
    assert_ne!(world.sessions.verify(&*world.store).await.unwrap(), []);
    world.say("a", "and now").await;
    world.check().await;
    world.check_transcript("a").await;
}

#[tokio::test]
async fn a_database_that_was_lost_is_derived_thread_by_thread() {
    let mut world = busy().await;
    world.sessions = options().open(world.folder.path("new.db")).await.unwrap();
    for thread in ["a", "b", "c"] {
        world.say(thread, "go on").await;
    }
    world.check().await;
    world.check_transcript("c").await;
}

#[tokio::test]
async fn a_thread_that_is_made_anew_has_nothing_of_the_old_one() {
    for (old, new) in [(1, 1), (1, 3), (3, 1), (2, 2)] {
        let world = World::new().await;
        for n in 0..old {
            world.say("a", &format!("old {n}")).await;
        }
        world.store.delete(&"a".into()).await.unwrap();
        let runner = world.runner_at(77).await;
        for n in 0..new {
            say(&runner, "a", &format!("new {n}")).await;
            world.check().await;
        }
        assert_eq!(world.session("a").await.title.as_deref(), Some("new 0"), "{old} and {new}");
        assert!(world.sessions.search("old", 9).await.unwrap().is_empty());
        world.check_transcript("a").await;
    }
}

#[tokio::test]
async fn a_check_finds_what_was_changed() {
    let changes = [
        "UPDATE durable_entries SET body = json_set(body, '$.text', 'x') WHERE kind = 'user'",
        "DELETE FROM durable_entries WHERE id = 2",
        "INSERT INTO durable_entries (session, step, place, kind, text, body) VALUES (1, 1, 9, 'text', '', '{}')",
        "UPDATE durable_steps SET input_tokens = 1 WHERE step = 1",
        "UPDATE durable_sessions SET output_tokens = 1",
        "UPDATE durable_sessions SET step = 1",
        "DELETE FROM durable_choices",
        "DELETE FROM durable_sessions WHERE thread = 'b'",
    ];
    for change in changes {
        let world = busy().await;
        world.folder.run("sessions.db", change).await;
        assert_ne!(world.sessions.verify(&*world.store).await.unwrap(), [], "{change}");
        world.sessions.rebuild(&*world.store, |_| {}).await.unwrap();
        world.check().await;
    }
}
