//! Tools that misbehave, and models that never stop calling them.

use std::time::Duration;

use selvedge::event::FailureKind;
use selvedge::prelude::*;
use selvedge_testkit::Watcher;
use selvedge_tests::{Mode, text_of};

use crate::behaviour::kit::{Build, Stage, T, no_tools, text_arguments, with_echo};

both_modes!(
    s40_a_tool_that_does_not_exist,
    s40_a_tool_that_errs,
    s40_a_tool_that_panics,
    s40_a_tool_that_hangs,
    s40_a_model_that_never_stops_calling,
);

/// S40: a call of a tool that does not exist gets an error that names those that do, and the loop goes on.
async fn s40_a_tool_that_does_not_exist(mode: Mode) {
    let stage = Stage::new(mode, [Reply::call("nonesuch", "{}"), Reply::text("sorry")], with_echo).await;
    stage.say(T, "go").await;
    let request = stage.newest_request();
    assert!(request[2].starts_with("results: call_1_0 Error:"), "{}", request[2]);
    assert!(request[2].contains("nonesuch") && request[2].contains("echo"), "{}", request[2]);
    assert_eq!(text_of(&stage.shown(T).await), "sorry");
    stage.end().await;
}

/// S40: what a tool errs with reaches the model, its causes included.
async fn s40_a_tool_that_errs(mode: Mode) {
    let failing = |builder: Build, _: &Watcher| {
        builder.tool(tool(ToolSpec::new("bad", "Errs."), |_: ToolContext| async {
            Err::<ToolOutput, BoxError>(std::io::Error::other("the disk is full").into())
        }))
    };
    let request = after_a_bad_call(mode, failing).await;
    assert_eq!(request, "results: call_1_0 Error: Error: the disk is full");
}

/// S40: a tool that panics takes nothing down with it.
async fn s40_a_tool_that_panics(mode: Mode) {
    let panicking = |builder: Build, _: &Watcher| {
        builder.tool(tool(ToolSpec::new("bad", "Panics."), |_: ToolContext| async { panic!("a bug of the tool") }))
    };
    let request = after_a_bad_call(mode, panicking).await;
    assert_eq!(request, "results: call_1_0 Error: Error: the tool panicked.");
}

/// S40: a tool that hangs is given up at its timeout, and the model is told that it may have run.
async fn s40_a_tool_that_hangs(mode: Mode) {
    let hanging = |builder: Build, _: &Watcher| {
        let spec = ToolSpec::new("bad", "Hangs.").with_timeout(Duration::from_secs(7));
        builder.tool(tool(spec, |_: ToolContext| std::future::pending()))
    };
    let begin = tokio::time::Instant::now();
    let request = after_a_bad_call(mode, hanging).await;
    assert!(request.contains("Error") && request.contains("7 s") && request.contains("may have run"), "{request}");
    assert!((7..9).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
}

/// A call of the tool `bad`, after which the model goes on: what it reads.
async fn after_a_bad_call(mode: Mode, tools: impl Fn(Build, &Watcher) -> Build + 'static) -> String {
    let stage = Stage::new(mode, [Reply::call("bad", "{}"), Reply::text("I see")], tools).await;
    stage.say(T, "go").await;
    assert_eq!(text_of(&stage.shown(T).await), "I see");
    let mut request = stage.newest_request();
    stage.end().await;
    request.remove(2)
}

/// S40: the loop is bounded: a model that calls for ever is stopped, visibly, and the thread is usable afterwards.
async fn s40_a_model_that_never_stops_calling(mode: Mode) {
    let model = ScriptedModel::from_fn(|_| Reply::call("echo", text_arguments("again")));
    let store = std::sync::Arc::new(MemoryStore::default());
    let mut stage = Stage::over(mode, store, model, with_echo).await;
    stage.world.limits().completions_in_a_row = 5;
    stage.world.restart(&[]).await;
    for rounds in 1..=2 {
        stage.say(T, &format!("go {rounds}")).await;
        assert_eq!(stage.requests().len(), rounds * 5);
        let shown = stage.shown(T).await;
        let Some(ItemKind::Ended { outcome: Outcome::Failed { failure, .. } }) = shown.last() else {
            panic!("the thread does not end with a failure: {shown:#?}")
        };
        assert_eq!(*failure, FailureKind::LoopLimit);
    }
    // The count is not forgotten with the process.
    stage.world.restart(&[T]).await;
    stage.rest(T).await;
    assert_eq!(stage.requests().len(), 10);
    stage.end().await;
}

/// A thread without tools is told so when it calls one.
#[test]
fn a_call_without_any_tools() {
    selvedge_tests::in_paused_time(async {
        let stage = Stage::new(Mode::Local, [Reply::call("echo", "{}"), Reply::text("sorry")], no_tools).await;
        stage.say(T, "go").await;
        assert!(stage.newest_request()[2].contains("there is no tool"));
        stage.end().await;
    });
}
