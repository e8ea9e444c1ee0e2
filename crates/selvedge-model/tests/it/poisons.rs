//! What the validator refuses, each beside the request that it accepts.

use std::sync::Arc;

use selvedge_event::{Arguments, Block, CallId, ToolCall, ToolResult, ToolStatus};
use selvedge_model::{AnsweredCall, ModelRequest, RequestMessage, validate};

use crate::histories::model;

fn user(text: &str) -> RequestMessage {
    RequestMessage::User(text.into())
}

fn says(blocks: Vec<Block>) -> RequestMessage {
    RequestMessage::Assistant { model: model("one").into(), blocks }
}

fn text(text: &str) -> Block {
    Block::Text { text: text.into(), native: None }
}

fn reasoning(complete: bool) -> Block {
    Block::Reasoning { text: "hm".into(), native: None, complete }
}

fn call(id: &str) -> Block {
    call_with(id, Arguments::Object("{}".into()))
}

fn call_with(id: &str, arguments: Arguments) -> Block {
    let (id, name) = (CallId::from(id), "look".into());
    Block::ToolCall(Arc::new(ToolCall { id, provider_id: None, name, arguments, display_as: None, native: None }))
}

fn results(ids: &[&str]) -> RequestMessage {
    results_with(ids, "42")
}

fn results_with(ids: &[&str], text: &str) -> RequestMessage {
    let answered = |id: &&str| AnsweredCall {
        name: "look".into(),
        result: ToolResult::text(CallId::from(*id), ToolStatus::Ok, text).into(),
    };
    RequestMessage::ToolResults(ids.iter().map(answered).collect())
}

/// The rule that a conversation breaks, and where; nothing if it breaks none.
fn broken(messages: Vec<RequestMessage>) -> Option<(usize, String)> {
    let request = ModelRequest::new(model("one"), messages.into_iter().collect());
    validate(&request).err().map(|violation| (violation.index, violation.rule))
}

#[track_caller]
fn refused(at: usize, why: &str, messages: Vec<RequestMessage>) {
    let (index, rule) = broken(messages).expect("it is refused");
    assert!(rule.contains(why), "{rule}");
    assert_eq!(index, at, "{rule}");
}

#[test]
fn a_sound_conversation_is_accepted() {
    let sound = vec![
        user("hi"),
        says(vec![reasoning(true), text("I look."), call("a"), call("b")]),
        results(&["a", "b"]),
        says(vec![text("done")]),
        user("and?"),
        user("please"),
    ];
    assert_eq!(broken(sound), None);
}

#[test]
fn its_ends_are_the_users() {
    refused(0, "there is no message", vec![]);
    refused(0, "it begins with the model", vec![says(vec![text("a")]), user("hi")]);
    refused(0, "follow no calls", vec![results(&["a"])]);
    refused(2, "it ends with the model", vec![user("hi"), says(vec![text("a")])]);
}

#[test]
fn every_call_has_its_result_next_to_it() {
    let asks = || says(vec![call("a"), call("b")]);
    refused(2, "have no results", vec![user("hi"), asks(), user("?"), results(&["a", "b"])]);
    refused(2, "the results are of", vec![user("hi"), asks(), results(&["a"])]);
    refused(2, "the results are of", vec![user("hi"), asks(), results(&["b", "a"])]);
    refused(2, "the results are of", vec![user("hi"), asks(), results(&["a", "b", "b"])]);
    refused(2, "the results are of", vec![user("hi"), asks(), results(&["a", "c"])]);
    refused(2, "it ends with the model", vec![user("hi"), asks()]);
}

#[test]
fn no_result_is_without_its_call() {
    refused(1, "follow no calls", vec![user("hi"), results(&["a"])]);
    refused(3, "follow no calls", vec![user("hi"), says(vec![call("a")]), results(&["a"]), results(&["a"])]);
}

#[test]
fn call_ids_are_unique() {
    refused(1, "is not unique", vec![user("hi"), says(vec![call("a"), call("a")]), results(&["a", "a"])]);
    let twice = vec![user("hi"), says(vec![call("a")]), results(&["a"]), says(vec![call("a")]), results(&["a"])];
    refused(3, "is not unique", twice);
}

#[test]
fn arguments_are_an_object() {
    for arguments in ["", "[]", "1", "null", r#"{"a":"#, "{} {}"] {
        for arguments in [Arguments::Object(arguments.into()), Arguments::Broken(arguments.into())] {
            refused(1, "not a JSON object", vec![user("hi"), says(vec![call_with("a", arguments)]), results(&["a"])]);
        }
    }
}

#[test]
fn nothing_is_blank() {
    for blank in ["", " ", "\n\t"] {
        refused(0, "the user's text is blank", vec![user(blank)]);
        refused(1, "a text block is blank", vec![user("hi"), says(vec![call("a"), text(blank)]), results(&["a"])]);
        refused(2, "is blank", vec![user("hi"), says(vec![call("a")]), results_with(&["a"], blank)]);
    }
    refused(1, "the model's message is empty", vec![user("hi"), says(vec![]), user("?")]);
    let mut empty = ToolResult::text("a".into(), ToolStatus::Ok, "");
    empty.content = [].into();
    let empty = RequestMessage::ToolResults(vec![AnsweredCall { name: "look".into(), result: empty.into() }]);
    refused(2, "is blank", vec![user("hi"), says(vec![call("a")]), empty]);
}

#[test]
fn reasoning_is_whole_and_the_models_own() {
    refused(1, "is cut off", vec![user("hi"), says(vec![reasoning(false), text("a")]), user("?")]);
    let others = RequestMessage::Assistant { model: model("two").into(), blocks: vec![reasoning(true), text("a")] };
    refused(1, "another model's", vec![user("hi"), others, user("?")]);
    let others = RequestMessage::Assistant { model: model("two").into(), blocks: vec![text("a")] };
    assert_eq!(broken(vec![user("hi"), others, user("?")]), None);
}
