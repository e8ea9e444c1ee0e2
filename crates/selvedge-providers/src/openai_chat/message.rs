//! Messages as the protocol writes them: a pure function of each message, so that its bytes can be kept.

use selvedge_event::{Block, Content, ModelRef, ToolCall, ToolResult};
use selvedge_model::{AnsweredCall, RequestMessage};
use serde::Serialize;
use serde_json::{Map, Value};

use super::reasoning::replayed;
use super::{API, ReasoningReplay};

/// Stands for a tool's text where it gave nothing but pictures.
const SEE_IMAGES: &str = "(the images follow)";

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Wire<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(flatten)]
        reasoning: Map<String, Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(&'a str),
    Parts(Vec<Part>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    ImageUrl { image_url: Url },
}

#[derive(Debug, Serialize)]
struct Url {
    url: String,
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The instructions before a conversation.
pub(super) fn encode_system(text: &str) -> Vec<u8> {
    encoded(&[Wire::System { content: text }])
}

/// A message for `model`, as one or more messages of the protocol with commas between.
pub(super) fn encode(message: &RequestMessage, model: &ModelRef, replay: ReasoningReplay) -> Vec<u8> {
    match message {
        RequestMessage::User(text) => encoded(&[Wire::User { content: UserContent::Text(text) }]),
        RequestMessage::Assistant { model: author, blocks } => {
            encoded(&[assistant(blocks, author, **author == *model, replay)])
        }
        RequestMessage::ToolResults(results) => {
            let mut messages: Vec<Wire<'_>> = results.iter().map(|answer| result(&answer.result)).collect();
            messages.extend(images(results));
            encoded(&messages)
        }
    }
}

fn encoded(messages: &[Wire<'_>]) -> Vec<u8> {
    let mut list = serde_json::to_vec(messages).expect("bug: a message is plain JSON");
    // The brackets of the list are the request's.
    list.pop();
    list.drain(..1);
    list
}

fn assistant<'a>(blocks: &'a [Block], author: &ModelRef, own: bool, replay: ReasoningReplay) -> Wire<'a> {
    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    let tool_calls: Vec<Call<'a>> = blocks.iter().filter_map(|block| call_of(block, own)).collect();
    // This protocol's models write one text, whatever came in between; others write paragraphs.
    let text = texts.join(if &*author.api == API { "" } else { "\n\n" });
    Wire::Assistant {
        content: (!text.is_empty() || tool_calls.is_empty()).then_some(text),
        reasoning: if own { replayed(blocks, replay) } else { Map::new() },
        tool_calls,
    }
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text, .. } => Some(text),
        Block::Reasoning { .. } | Block::ToolCall(_) => None,
    }
}

fn call_of(block: &Block, own: bool) -> Option<Call<'_>> {
    let Block::ToolCall(call) = block else { return None };
    let ToolCall { id, name, arguments, native, .. } = &**call;
    let raw = arguments.raw();
    Some(Call {
        id: id.as_str(),
        r#type: "function",
        function: Function { name, arguments: if raw.trim().is_empty() { "{}" } else { raw } },
        more: native.as_deref().filter(|_| own).map(beyond_the_protocol).unwrap_or_default(),
    })
}

/// The fields of a call that only some servers know. The protocol's own are never taken from there.
fn beyond_the_protocol(native: &str) -> Map<String, Value> {
    let mut fields: Map<String, Value> = serde_json::from_str(native).unwrap_or_default();
    fields.retain(|field, _| !["id", "type", "function", "index"].contains(&field.as_str()));
    fields
}

fn result(result: &ToolResult) -> Wire<'_> {
    let text = result.joined_text();
    let content = if text.is_empty() { SEE_IMAGES.into() } else { text };
    Wire::Tool { tool_call_id: result.call_id.as_str(), content }
}

/// The pictures of all results in a message of the user, since results may have none in this protocol.
fn images(results: &[AnsweredCall]) -> Option<Wire<'_>> {
    let mut parts = Vec::new();
    for AnsweredCall { name, result } in results {
        let images = result.content.iter().filter_map(|content| match content {
            Content::Image { data, media_type } => Some(format!("data:{media_type};base64,{data}")),
            Content::Text { .. } => None,
        });
        let images: Vec<String> = images.collect();
        if !images.is_empty() {
            parts.push(Part::Text { text: format!("Images from the result of {name} ({}):", result.call_id) });
            parts.extend(images.into_iter().map(|url| Part::ImageUrl { image_url: Url { url } }));
        }
    }
    (!parts.is_empty()).then_some(Wire::User { content: UserContent::Parts(parts) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use selvedge_event::{Arguments, ToolStatus};
    use serde_json::json;

    use super::*;

    fn model(name: &str, api: &str) -> ModelRef {
        ModelRef { api: api.into(), provider: "p".into(), model: name.into() }
    }

    /// The message as `m` reads it on the wire.
    #[track_caller]
    fn check(message: &RequestMessage, expected: Value) {
        let bytes = encode(message, &model("m", API), ReasoningReplay::AsReceived);
        let list = format!("[{}]", String::from_utf8(bytes).unwrap());
        assert_eq!(serde_json::from_str::<Value>(&list).unwrap(), expected);
    }

    fn text(text: &str) -> Block {
        Block::Text { text: text.into(), native: None }
    }

    fn call(id: &str, arguments: &str, native: Option<&str>) -> Block {
        Block::ToolCall(Arc::new(ToolCall {
            id: id.into(),
            provider_id: Some("not sent".into()),
            name: "f".into(),
            arguments: Arguments::Object(arguments.into()),
            display_as: None,
            native: native.map(Into::into),
        }))
    }

    fn said(blocks: Vec<Block>) -> RequestMessage {
        RequestMessage::Assistant { model: model("m", API).into(), blocks }
    }

    fn answered(id: &str, content: Vec<Content>) -> AnsweredCall {
        let result = ToolResult::text(id.into(), ToolStatus::Ok, "");
        AnsweredCall { name: "f".into(), result: Arc::new(ToolResult { content: content.into(), ..result }) }
    }

    #[test]
    fn text_is_kept_to_the_letter() {
        let awkward = "\" \\ \u{0} \u{1f} \u{7f} \u{2028} 阴 👩‍👩‍👧\n";
        check(&RequestMessage::User(awkward.into()), json!([{"role": "user", "content": awkward}]));
        let system = encode_system(awkward);
        assert_eq!(serde_json::from_slice::<Value>(&system).unwrap(), json!({"role": "system", "content": awkward}));
    }

    #[test]
    fn texts_are_joined_and_calls_follow() {
        check(&said(vec![text("a"), text("b")]), json!([{"role": "assistant", "content": "ab"}]));
        let arguments = r#"{"unit": "c",  "n": 1.0}"#;
        let calls = json!([{"id": "call_1_0", "type": "function", "function": {"name": "f", "arguments": arguments}}]);
        check(
            &said(vec![call("call_1_0", arguments, None)]),
            json!([{"role": "assistant", "content": null, "tool_calls": calls}]),
        );
        check(
            &said(vec![text("a"), call("call_1_0", arguments, None), text("b")]),
            json!([{"role": "assistant", "content": "ab", "tool_calls": calls}]),
        );
        check(
            &RequestMessage::Assistant {
                model: model("c", "other-protocol").into(),
                blocks: vec![text("a"), text("b")],
            },
            json!([{"role": "assistant", "content": "a\n\nb"}]),
        );
    }

    #[test]
    fn a_message_of_nothing_is_still_a_message() {
        check(&said(vec![]), json!([{"role": "assistant", "content": ""}]));
        let empty = json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
        check(&said(vec![call("c", " ", None)]), json!([{"role": "assistant", "content": null, "tool_calls": empty}]));
    }

    #[test]
    fn what_is_native_goes_only_to_the_model_that_made_it() {
        let native = r#"{"id":"x","function":{},"extra_content":{"sig":"S"}}"#;
        let reasoning =
            |native: &str| Block::Reasoning { text: "r".into(), native: Some(native.into()), complete: true };
        let blocks = vec![reasoning(r#"{"reasoning":"r"}"#), call("c", "{}", Some(native))];
        let function = json!({"name": "f", "arguments": "{}"});
        let own = json!([{"id": "c", "type": "function", "function": function, "extra_content": {"sig": "S"}}]);
        check(
            &said(blocks.clone()),
            json!([{"role": "assistant", "content": null, "reasoning": "r", "tool_calls": own}]),
        );
        let foreign = json!([{"id": "c", "type": "function", "function": function}]);
        check(
            &RequestMessage::Assistant { model: model("other", API).into(), blocks },
            json!([{"role": "assistant", "content": null, "tool_calls": foreign}]),
        );
    }

    #[test]
    fn results_answer_their_calls_and_images_follow_all_of_them() {
        let say = |text: &str| Content::Text { text: text.into() };
        let image = || Content::Image { data: "AAAA".into(), media_type: "image/png".into() };
        let results = vec![
            answered("a", vec![say("one"), image(), say("two")]),
            answered("b", vec![say("three")]),
            answered("c", vec![image()]),
        ];
        let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        check(
            &RequestMessage::ToolResults(results),
            json!([
                {"role": "tool", "tool_call_id": "a", "content": "one\ntwo"},
                {"role": "tool", "tool_call_id": "b", "content": "three"},
                {"role": "tool", "tool_call_id": "c", "content": "(the images follow)"},
                {"role": "user", "content": [
                    {"type": "text", "text": "Images from the result of f (a):"}, url,
                    {"type": "text", "text": "Images from the result of f (c):"}, url,
                ]},
            ]),
        );
    }
}
