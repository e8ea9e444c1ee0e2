//! Calls between their streaming and their dispatch.

use selvedge::event::FailureKind;
use selvedge::model::{Gate, ModelError, RequestMessage};
use selvedge::prelude::*;
use selvedge_tests::{in_paused_time, text_of};

use crate::scenarios::kit::{asked, local_with, notes, noting, results};

/// S94: an interruption after a call has streamed whole and before the barrier, with text and without.
#[test]
fn s94_an_interruption_before_the_barrier() {
    for with_text in [true, false] {
        in_paused_time(async {
            let gate = Gate::new();
            let held = gate.clone();
            let model = ScriptedModel::from_fn(move |request| match &*asked(request) {
                "pay" => Reply::text("I pay.").and_call("pay", "{}").wait(&held).say("never"),
                text => Reply::text(format!("re: {text}")),
            });
            let world = local_with(&model, |builder, watcher| builder.tool(noting("pay", watcher))).await;
            world.send("t", "pay", Input::text("pay")).await.unwrap();
            gate.reached().await;
            if !with_text {
                world.interrupt("t").await.unwrap();
                world.rest("t").await;
                assert_eq!(model.requests().len(), 1, "an interruption alone asks for nothing");
            }
            world.say("t", "stop").await;
            gate.open();

            world.check("t").await;
            assert_eq!(notes(&world.watcher), Vec::<String>::new(), "the call did not go out");
            assert_eq!(text_of(&world.shown("t").await), "I pay.|re: stop", "what was streamed is kept");
            let requests = model.requests();
            assert_eq!(requests.len(), 2);
            let told = requests[1].context.iter().find_map(|message| match message {
                RequestMessage::ToolResults(results) => Some(results[0].result.clone()),
                _ => None,
            });
            let told = told.expect("the call has a result");
            assert_eq!(told.status, ToolStatus::NotExecuted);
            assert!(told.joined_text().contains("Not executed"), "{}", told.joined_text());
        });
    }
}

/// S99: the stream breaks after a complete call, and the retry makes another: the one in the history goes out, alone.
#[test]
fn s99_the_call_of_a_broken_stream_does_not_go_out() {
    let breaks = |reply: Reply| {
        [reply.cut(), Reply::call("pay", r#"{"amount":1}"#).fail(ModelError::new(FailureKind::Network, "gone"))]
    };
    for broken in breaks(Reply::text("I pay. ").and_call("pay", r#"{"amount":1}"#)) {
        in_paused_time(async {
            let retry = Reply::call("pay", r#"{"amount":2}"#);
            let model = ScriptedModel::new([broken, retry, Reply::text("paid")]);
            let world = local_with(&model, |builder, watcher| builder.tool(noting("pay", watcher))).await;
            world.say("t", "pay").await;
            world.check("t").await;
            assert_eq!(notes(&world.watcher), [r#"pay {"amount":2}"#]);
            let calls: Vec<_> = world
                .shown("t")
                .await
                .into_iter()
                .filter_map(|kind| match kind {
                    ItemKind::ToolCall { arguments, .. } => Some(arguments.to_string()),
                    _ => None,
                })
                .collect();
            assert_eq!(calls, [r#"{"amount":2}"#]);
            assert_eq!(text_of(&world.shown("t").await), "paid");
        });
    }
}

/// S100: a call without a required argument, with one of the wrong type, with one too many, or of nothing that exists:
/// an error result that says what is wrong, and no dispatch.
#[test]
fn s100_arguments_that_do_not_fit() {
    let wrong = [
        ("pay", "{}", "amount"),
        ("pay", r#"{"amount":"ten"}"#, "/amount"),
        ("pay", r#"{"amount":-1}"#, "/amount"),
        ("pay", r#"{"amount":1,"to":"me"}"#, "to"),
        ("pay", "[1]", "not a JSON object"),
        ("pay", "null", "not a JSON object"),
        ("play", "{}", "there is no tool"),
        ("", "{}", "there is no tool"),
    ];
    let mut reply = Reply::new();
    for (name, arguments, _) in wrong {
        reply = reply.and_call(name, arguments);
    }
    in_paused_time(async {
        let model = ScriptedModel::new([reply.and_call("pay", r#"{"amount":1}"#), Reply::text("sorry")]);
        let world = local_with(&model, |builder, watcher| {
            let schema = serde_json::json!({
                "type": "object",
                "properties": { "amount": { "type": "integer", "minimum": 0 } },
                "required": ["amount"],
                "additionalProperties": false,
            });
            let watcher = watcher.clone();
            builder.tool(tool(ToolSpec::new("pay", "Pays.").with_parameters(schema), move |call| {
                watcher.note(call.arguments().to_string());
                async { Ok("paid".into()) }
            }))
        })
        .await;
        world.say("t", "pay").await;
        world.check("t").await;
        assert_eq!(notes(&world.watcher), [r#"{"amount":1}"#], "the one that fits goes out");
        let results = results(&world, "t").await;
        assert_eq!(results.len(), wrong.len() + 1);
        for ((_, arguments, why), (status, text)) in wrong.iter().zip(&results) {
            assert_eq!(*status, ToolStatus::Error, "{arguments}");
            assert!(text.contains(why), "{arguments}: {text}");
        }
        assert_eq!(results[wrong.len()], (ToolStatus::Ok, "paid".to_owned()));
    });
}
