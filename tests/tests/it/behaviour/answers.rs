//! Answers that say nothing: none of it is kept or sent, and the thread goes on.

use selvedge::model::ModelEvent;
use selvedge::prelude::*;
use selvedge_tests::Mode;

use crate::behaviour::kit::{Stage, T, text_arguments, with_echo};

both_modes!(s52_an_answer_that_says_nothing, s52_an_empty_text_and_a_call, s52_only_reasoning,);

/// S52: an empty text, white space, or nothing at all: nothing of it is stored or sent.
async fn s52_an_answer_that_says_nothing(mode: Mode) {
    let silent = [
        Reply::text(""),
        Reply::text(" \n\t"),
        Reply::new().say("").say(" ").say(""),
        Reply::new().event(ModelEvent::ReasoningStarted).event(ModelEvent::ReasoningEnded { native: None }),
        Reply::new(),
    ];
    for reply in silent {
        let stage = Stage::new(mode, [reply, Reply::text("here")], with_echo).await;
        stage.say(T, "hi").await;
        assert_eq!(stage.outline().await, ["user: hi", "model:  -> Stopped"]);
        let chunks = stage.watcher.events(T);
        assert!(!chunks.iter().any(|event| matches!(event, AgentEvent::TextChunk { .. })), "{chunks:?}");
        stage.say(T, "anybody?").await;
        assert_eq!(stage.newest_request(), ["user: hi", "user: anybody?"]);
        stage.end().await;
    }
}

/// S52: an empty text beside a call: the call runs, the text vanishes.
async fn s52_an_empty_text_and_a_call(mode: Mode) {
    let reply = Reply::text("").and_call("echo", text_arguments("one")).say("  \n");
    let stage = Stage::new(mode, [reply, Reply::text("done")], with_echo).await;
    stage.say(T, "go").await;
    let asked = ["user: go", r#"model: call_1_0=echo{"text":"one"}"#, "results: call_1_0 Ok: one"];
    assert_eq!(stage.newest_request(), asked);
    stage.end().await;
}

/// S52: reasoning without an answer is kept for those who watch, and is no message to the model.
async fn s52_only_reasoning(mode: Mode) {
    let stage = Stage::new(mode, [Reply::new().think("hm"), Reply::text("here")], with_echo).await;
    stage.say(T, "hi").await;
    assert_eq!(stage.outline().await, ["user: hi", "model: think(hm) -> Stopped"]);
    stage.say(T, "anybody?").await;
    assert_eq!(stage.newest_request(), ["user: hi", "user: anybody?"]);
    stage.end().await;
}
