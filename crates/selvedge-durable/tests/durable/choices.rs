//! Choices are kept while they wait, and no longer.

use selvedge_durable::Status;
use selvedge_event::Input;

use crate::kit::{World, answer, say};

#[tokio::test]
async fn a_choice_is_kept_until_it_is_answered() {
    let world = World::new().await;
    let runner = world.runner().await;
    say(&runner, "a", "ask").await;
    let choices = world.sessions.choices(&"a".into()).await.unwrap();
    assert_eq!(choices.len(), 1);
    assert_eq!(world.session("a").await.status, Status::WaitingForChoice);
    world.check().await;

    answer(&runner, "a", &choices[0].id).await;
    assert_eq!(world.sessions.choices(&"a".into()).await.unwrap(), []);
    assert_eq!(world.session("a").await.status, Status::Idle);
    world.check().await;
    world.check_transcript("a").await;
}

/// The answer is taken together with a text that waits in line, and the call goes on asking.
#[tokio::test]
async fn an_answer_among_other_inputs_is_noticed() {
    let world = World::new().await;
    let runner = world.runner().await;
    say(&runner, "a", "ask").await;
    let choice = world.sessions.choices(&"a".into()).await.unwrap().remove(0);
    // Another process, in which the call does not run: nothing comes of the answer but that it is taken.
    drop(runner);
    let runner = world.runner().await;
    runner.answer(&"a".into(), choice.id, 1).await.unwrap();
    runner.send(&"a".into(), "next".into(), Input::queued("next")).await.unwrap();
    runner.run(&"a".into()).await.unwrap();
    assert_eq!(world.sessions.choices(&"a".into()).await.unwrap(), []);
    world.check().await;
}

#[tokio::test]
async fn a_choice_that_is_dismissed_is_gone() {
    let world = World::new().await;
    let runner = world.runner().await;
    say(&runner, "a", "ask").await;
    say(&runner, "a", "never mind").await;
    assert_eq!(world.sessions.choices(&"a".into()).await.unwrap(), []);
    world.check().await;
}

/// The database is lost while a choice waits: the next one finds nothing to belong to.
#[tokio::test]
async fn a_choice_of_a_thread_that_is_not_kept_brings_the_thread_back() {
    let world = World::new().await;
    let runner = world.runner().await;
    runner.send(&"a".into(), "x".into(), Input::text("ask")).await.unwrap();
    // The step that calls, and no further.
    runner.step(&"a".into()).await.unwrap();
    world.sessions.forget(&"a".into()).await.unwrap();
    runner.run(&"a".into()).await.unwrap();
    assert_eq!(world.sessions.choices(&"a".into()).await.unwrap().len(), 1);
    world.check().await;
    world.check_transcript("a").await;
}
