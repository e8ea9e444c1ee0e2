//! Streams of many servers, each cut at every byte and with every kind of line end.

use serde_json::{Value, json};

use super::*;
use crate::sse::SseParser;

/// The events of a stream that comes in these pieces, one a line.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut parser = SseParser::new(1 << 20);
    let mut decoder = Decoder::new(Some(Secret::new("sk-very-secret")));
    let mut lines = Vec::new();
    let run = || {
        for mut piece in pieces {
            while parser.advance(&mut piece).expect("within the limit") {
                let progress = decoder.event(parser.data());
                lines.extend(std::iter::from_fn(|| decoder.next()).map(|event| show(&event)));
                if progress? == Progress::Over {
                    return Ok(());
                }
            }
        }
        let end = decoder.end().map(|_| ());
        lines.extend(std::iter::from_fn(|| decoder.next()).map(|event| show(&event)));
        end
    };
    let end: Result<(), ModelError> = run();
    lines.extend(end.err().map(|error| format!("error {:?}: {error}", error.kind())));
    lines
}

fn show(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Text(text) => format!("text {text:?}"),
        ModelEvent::ReasoningStarted => "reasoning".into(),
        ModelEvent::Reasoning(text) => format!("thinks {text:?}"),
        ModelEvent::ReasoningEnded { native } => format!("reasoned {}", native.as_deref().unwrap_or("-")),
        ModelEvent::ToolCall { provider_id, name, arguments, .. } => {
            format!("call {} {name} {arguments}", provider_id.as_deref().unwrap_or("-"))
        }
        ModelEvent::Usage(usage) => {
            format!("usage {} {} cached {} reasoning {}", usage.input, usage.output, usage.cache_read, usage.reasoning)
        }
        ModelEvent::Finished(reason) => format!("{reason:?}"),
    }
}

/// The stream decodes to these events, whatever its line ends and wherever it is cut.
#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    for line_end in ["\n", "\r\n", "\r"] {
        let stream = stream.replace('\n', line_end);
        let bytes = stream.as_bytes();
        assert_eq!(decode([bytes]), expected, "{line_end:?}");
        assert_eq!(decode(bytes.chunks(1)), expected, "{line_end:?}, byte by byte");
        for cut in 1..bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(decode([left, right]), expected, "{line_end:?}, cut at {cut}");
        }
    }
}

fn data(json: &Value) -> String {
    format!("data: {json}\n\n")
}

fn delta(delta: Value) -> String {
    data(&json!({"id": "c1", "object": "chat.completion.chunk", "choices": [
        {"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}], "usage": null}))
}

fn finish(reason: &str) -> String {
    data(&json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

fn say(text: &str) -> String {
    delta(json!({ "content": text }))
}

fn call(fragment: Value) -> String {
    delta(json!({ "tool_calls": [fragment] }))
}

fn role() -> String {
    delta(json!({"role": "assistant", "content": null, "refusal": null}))
}

fn usage() -> String {
    data(&json!({"id": "c1", "choices": [], "usage": {
        "prompt_tokens": 120, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 11}}}))
}

const DONE: &str = "data: [DONE]\n\n";
const USAGE: &str = "usage 120 40 cached 64 reasoning 11";
const TRUNCATED: &str = "error Truncated: the stream ended before the answer did";

#[test]
fn text_comes_as_it_is_streamed() {
    let stream = [role(), say(""), say("Hel"), say("lo"), finish("stop"), usage(), DONE.into()].concat();
    check(&stream, &[r#"text "Hel""#, r#"text "lo""#, USAGE, "Done"]);
    check(&stream.replace("data: ", "data:"), &[r#"text "Hel""#, r#"text "lo""#, USAGE, "Done"]);
    check(&format!("\u{feff}: hello\n\n{stream}"), &[r#"text "Hel""#, r#"text "lo""#, USAGE, "Done"]);
    let spread = stream.replace("{\"id\"", "{\ndata: \"id\"");
    check(&spread, &[r#"text "Hel""#, r#"text "lo""#, USAGE, "Done"]);
}

#[test]
fn s44_characters_stay_whole_in_text_and_in_arguments() {
    const AWKWARD: &str = "阴气渐重 👩‍👩‍👧 é";
    let arguments = json!({ "q": AWKWARD }).to_string();
    let open = call(json!({"index": 0, "id": "A", "function": {"name": "f", "arguments": arguments}}));
    let stream = [say(AWKWARD), open, finish("tool_calls"), DONE.into()].concat();
    check(&stream, &[&format!("text {AWKWARD:?}"), &format!("call A f {arguments}"), "Done"]);
}

#[test]
fn the_end_is_the_protocols_own() {
    let hello = say("Hello");
    let text = r#"text "Hello""#;
    check(&[&hello, &finish("stop"), DONE].concat(), &[text, "Done"]);
    check(&[&*hello, &finish("stop")].concat(), &[text, "Done"]);
    check(&[&*hello, &finish("stop"), &usage()].concat(), &[text, USAGE, "Done"]);
    check(&[&*hello, &finish("stop"), "data: [DONE]"].concat(), &[text, "Done"]);
    check(&[&*hello, DONE].concat(), &[text, TRUNCATED]);
    check(&hello, &[text, TRUNCATED]);
    check("", &[TRUNCATED]);
    check(DONE, &[TRUNCATED]);
    check(&[&*hello, finish("stop").trim_end()].concat(), &[text, TRUNCATED]);
    check(&[&hello, &finish("stop"), DONE, &say("after the end")].concat(), &[text, "Done"]);
}

#[test]
fn an_answer_may_be_empty() {
    check(&[role(), finish("stop"), DONE.into()].concat(), &["Done"]);
    check(&[say(""), say(""), finish("stop")].concat(), &["Done"]);
    check(&[say(" \n"), finish("stop")].concat(), &[r#"text " \n""#, "Done"]);
}

#[test]
fn reasons_to_stop_are_told_apart() {
    let rows = [
        ("stop", "Done"),
        ("tool_calls", "Done"),
        ("function_call", "Done"),
        ("eos", "Done"),
        ("length", "Length"),
        ("content_filter", "ContentFilter"),
        ("error", "error Server: the provider gave up the answer: error"),
        ("insufficient_system_resource", "error Overloaded: the provider has no capacity"),
    ];
    for (reason, end) in rows {
        check(&[&say("a"), &finish(reason), DONE].concat(), &[r#"text "a""#, end]);
    }
}

#[test]
fn a_refusal_is_text() {
    let refuse = |text: &str| delta(json!({ "refusal": text }));
    let stream = [role(), refuse("I can't "), refuse("do that."), finish("stop")].concat();
    check(&stream, &[r#"text "I can't ""#, r#"text "do that.""#, "Done"]);
}

#[test]
fn s32_parallel_calls_keep_their_own_arguments() {
    let args = |index: u8, text: &str| json!({"index": index, "function": {"arguments": text}});
    let open = |index: u8, id: &str| {
        call(json!({"index": index, "id": id, "type": "function", "function": {"name": "f", "arguments": ""}}))
    };
    let stream = [
        role(),
        open(0, "A"),
        call(args(0, r#"{"unit": "c", "#)),
        open(1, "B"),
        call(args(1, r#"{"q": "#)),
        delta(json!({"tool_calls": [args(0, r#""city":"Zü"#), args(1, r#""caf"#)]})),
        call(args(0, r#"rich", "n": 1.0}"#)),
        call(args(1, r#"é ☕"}"#)),
        finish("tool_calls"),
        usage(),
        DONE.into(),
    ];
    let a = r#"call A f {"unit": "c", "city":"Zürich", "n": 1.0}"#;
    check(&stream.concat(), &[USAGE, a, r#"call B f {"q": "café ☕"}"#, "Done"]);
    // Cut off, no call is whole.
    check(&stream[..8].concat(), &[TRUNCATED]);
}

#[test]
fn s38_arguments_that_were_cut_off_come_as_they_are() {
    let open = call(json!({"index": 0, "id": "A", "function": {"name": "f", "arguments": "{\"pa"}}));
    check(&[&open, &finish("length"), DONE].concat(), &[r#"call A f {"pa"#, "Length"]);
    check(&[open, finish("stop")].concat(), &[r#"call A f {"pa"#, "Done"]);
    let no_arguments = call(json!({"index": 0, "id": "A", "function": {"name": "f", "arguments": ""}}));
    check(&[&*no_arguments, &finish("length")].concat(), &["Length"]);
    check(&[&*no_arguments, &finish("stop")].concat(), &["call A f ", "Done"]);
}

#[test]
fn fragments_of_nobodys_call_are_an_error() {
    let open = |id: &str| call(json!({"id": id, "function": {"name": "f"}}));
    let lost = call(json!({"function": {"arguments": "{}"}}));
    let error = "error Protocol: a fragment of a call does not tell which of several it belongs to";
    check(&[open("A"), open("B"), lost, finish("stop")].concat(), &[error]);
}

#[test]
fn reasoning_is_found_under_each_of_its_names() {
    for field in ["reasoning_content", "reasoning"] {
        let think = |text: &str| delta(json!({"content": "", field: text}));
        let stream = [think(""), think("Let me "), think("think…"), say("42"), finish("stop"), usage()].concat();
        let native = format!(r#"reasoned {{"{field}":"Let me think…"}}"#);
        let whole = ["reasoning", r#"thinks "Let me ""#, r#"thinks "think…""#, &native, r#"text "42""#, USAGE, "Done"];
        check(&stream, &whole);
    }
    let both = delta(json!({"reasoning_content": "a", "reasoning": "a"}));
    check(
        &[both, finish("stop")].concat(),
        &["reasoning", r#"thinks "a""#, r#"reasoned {"reasoning_content":"a"}"#, "Done"],
    );
}

#[test]
fn reasoning_details_are_merged_and_keep_their_signature() {
    let detail = |more: Value| {
        let mut detail = json!({"type": "reasoning.text", "format": "f", "index": 0});
        detail.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        detail
    };
    let think = |text: &str| {
        delta(json!({"content": "", "reasoning": text, "reasoning_details": [detail(json!({"text": text}))]}))
    };
    let sign = delta(json!({"content": "", "reasoning_details": [detail(json!({"signature": "SIG=="}))]}));
    let stream = [": PROCESSING\n\n".into(), think("Hmm "), think("ok"), sign, say("Hi"), finish("stop")].concat();
    let whole = detail(json!({"text": "Hmm ok", "signature": "SIG=="}));
    let native = format!("reasoned {}", json!({"reasoning": "Hmm ok", "reasoning_details": [whole]}));
    check(&stream, &["reasoning", r#"thinks "Hmm ""#, r#"thinks "ok""#, &native, r#"text "Hi""#, "Done"]);
}

#[test]
fn hidden_reasoning_has_an_end_and_no_text() {
    let hidden = json!([{"type": "reasoning.encrypted", "data": "X==", "index": 0}]);
    let native = format!("reasoned {}", json!({ "reasoning_details": hidden }));
    let stream = [delta(json!({ "reasoning_details": hidden })), say("Hi"), finish("stop")].concat();
    check(&stream, &["reasoning", &native, r#"text "Hi""#, "Done"]);
    let summary = json!([{"type": "reasoning.summary", "summary": "so"}]);
    let native = format!("reasoned {}", json!({ "reasoning_details": summary }));
    let summary = delta(json!({ "reasoning_details": summary }));
    check(&[summary, finish("stop")].concat(), &["reasoning", r#"thinks "so""#, &native, "Done"]);
}

#[test]
fn s34_reasoning_and_calls_may_alternate() {
    let think = |text: &str| delta(json!({ "reasoning": text }));
    let open = |index: u8| call(json!({"index": index, "id": format!("{index}"), "function": {"name": "f"}}));
    let stream = [think("a"), open(0), think("b"), open(1), say("c"), finish("tool_calls"), DONE.into()].concat();
    let (a, b) = (r#"reasoned {"reasoning":"a"}"#, r#"reasoned {"reasoning":"b"}"#);
    let thoughts = ["reasoning", r#"thinks "a""#, a, "reasoning", r#"thinks "b""#, b];
    check(&stream, &[&thoughts[..], &[r#"text "c""#, "call 0 f ", "call 1 f ", "Done"]].concat());
}

#[test]
fn reasoning_that_was_cut_off_has_no_end() {
    let think = delta(json!({ "reasoning": "a" }));
    check(&[&*think, &finish("length")].concat(), &["reasoning", r#"thinks "a""#, "Length"]);
    check(&think, &["reasoning", r#"thinks "a""#, TRUNCATED]);
}

#[test]
fn one_chunk_may_bring_everything() {
    let everything = json!({"usage": {"prompt_tokens": 1, "completion_tokens": 2}, "choices": [{
        "index": 0,
        "finish_reason": "tool_calls",
        "delta": {
            "content": "txt", "reasoning_content": "thought",
            "tool_calls": [{"index": 0, "id": "A", "function": {"name": "f", "arguments": "{}"}}],
        },
    }]});
    let thought = ["reasoning", r#"thinks "thought""#, r#"reasoned {"reasoning_content":"thought"}"#];
    let rest = [r#"text "txt""#, "usage 1 2 cached 0 reasoning 0", "call A f {}", "Done"];
    check(&data(&everything), &[&thought[..], &rest].concat());
}

#[test]
fn usage_is_found_in_all_its_forms_and_told_once() {
    let counted = |usage: Value| data(&json!({ "choices": [], "usage": usage }));
    let rows = [
        (
            json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 8}),
            "usage 9 5 cached 8 reasoning 0",
        ),
        (json!({"prompt_tokens": 9, "completion_tokens": 5, "cached_tokens": 7}), "usage 9 5 cached 7 reasoning 0"),
        (
            json!({"prompt_tokens": 9, "completion_tokens": null, "prompt_tokens_details": null}),
            "usage 9 0 cached 0 reasoning 0",
        ),
    ];
    for (usage, shown) in rows {
        check(&[finish("stop"), counted(usage.clone()), counted(usage)].concat(), &[shown, "Done"]);
    }
    for nothing in [json!(null), json!({}), json!(7), json!({"prompt_tokens": "many"})] {
        check(&[finish("stop"), counted(nothing)].concat(), &["Done"]);
    }
}

#[test]
fn errors_in_the_middle_end_the_stream() {
    let failed = |error: Value| {
        let event = data(&json!({"error": error, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}));
        [&say("Hel"), &event, &say("more"), DONE].concat()
    };
    let rows = [
        (json!({"message": "gone", "type": "server_error", "code": 502}), "error Server: gone"),
        (json!({"message": "slow down", "code": 429}), "error RateLimited: slow down"),
        (json!({"message": "bad key sk-very-secret", "code": 401}), "error Auth: bad key (the key)"),
        (json!("gone"), "error Server: gone"),
    ];
    for (error, shown) in rows {
        check(&failed(error), &[r#"text "Hel""#, shown]);
    }
}

#[test]
fn what_is_no_chunk_is_an_error_and_what_is_unknown_is_nothing() {
    let error = "error Protocol: an event of the stream is not a chunk of an answer";
    check(&[&say("a"), "data: {\"choices\":[{\n\n"].concat(), &[r#"text "a""#, error]);
    check("data: hello\n\n", &[error]);
    check("data: \"hello\"\n\n", &[error]);
    let stream = ["event: ping\ndata: {\"type\":\"ping\"}\n\n", "data: {}\n\n", &say("a"), &finish("stop")].concat();
    check(&stream, &[r#"text "a""#, "Done"]);
    let second = data(&json!({"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": "length"}]}));
    check(&[second, say("a"), finish("stop")].concat(), &[r#"text "a""#, "Done"]);
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    let mut stream = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\xff\xfey\"}}]}\n\n".to_vec();
    stream.extend_from_slice(finish("stop").as_bytes());
    assert_eq!(decode([&stream[..]]), ["text \"x\u{fffd}\u{fffd}y\"", "Done"]);
    assert_eq!(decode(stream.chunks(1)), ["text \"x\u{fffd}\u{fffd}y\"", "Done"]);
}
