//! Reasoning: a run of it as it is streamed, and the field in which it goes back.
//!
//! The native JSON of a run holds the fields as the server would have written them in one piece: the text under the name
//! under which it came, and `reasoning_details` merged by their index.

use std::collections::VecDeque;

use selvedge_event::{Block, Text};
use selvedge_model::ModelEvent;
use serde_json::{Map, Value};

use super::ReasoningReplay;
use super::chunk::Delta;

const CONTENT: &str = "reasoning_content";
const REASONING: &str = "reasoning";
const DETAILS: &str = "reasoning_details";

/// The fields of a detail that grow; of the others the latest counts.
const GROWING: [&str; 3] = ["text", "summary", "data"];

/// Reasoning since it last began.
#[derive(Debug, Default)]
pub(super) struct Run {
    open: bool,
    field: Option<&'static str>,
    text: String,
    details: Vec<Map<String, Value>>,
}

impl Run {
    /// Takes in the reasoning of a chunk and says what is new of it.
    pub(super) fn push(&mut self, delta: &mut Delta, events: &mut VecDeque<ModelEvent>) {
        let details = delta.reasoning_details.take().unwrap_or_default();
        // Some servers write the same text under both names.
        let text = delta.reasoning_content.some().map(|text| (CONTENT, text));
        let text = text.or_else(|| delta.reasoning.some().map(|text| (REASONING, text)));
        if text.is_none() && details.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.open, true) {
            events.push_back(ModelEvent::ReasoningStarted);
        }
        let shown: Text = match text {
            Some((field, text)) => {
                self.field.get_or_insert(field);
                self.text.push_str(text);
                text.into()
            }
            None => details.iter().filter_map(text_of).collect::<String>().into(),
        };
        details.into_iter().for_each(|detail| merge(&mut self.details, detail));
        if !shown.is_empty() {
            events.push_back(ModelEvent::Reasoning(shown));
        }
    }

    /// Ends the run, if there is one.
    pub(super) fn close(&mut self, events: &mut VecDeque<ModelEvent>) {
        let Self { open: true, field, text, details } = std::mem::take(self) else { return };
        let mut native = Map::new();
        if let Some(field) = field {
            native.insert(field.into(), Value::String(text));
        }
        if !details.is_empty() {
            native.insert(DETAILS.into(), into_list(details));
        }
        events.push_back(ModelEvent::ReasoningEnded { native: Some(Value::Object(native).to_string().into()) });
    }
}

/// What a detail shows: text, or a summary.
fn text_of(detail: &Map<String, Value>) -> Option<&str> {
    detail.get("text").or_else(|| detail.get("summary")).and_then(Value::as_str)
}

/// Adds a detail to those with which it forms one, or after them.
fn merge(details: &mut Vec<Map<String, Value>>, detail: Map<String, Value>) {
    let known = detail.get("index").is_some_and(|index| !index.is_null());
    let same = |old: &Map<String, Value>, field: &str| match (old.get(field), detail.get(field)) {
        (None | Some(Value::Null), _) | (_, None | Some(Value::Null)) => true,
        (Some(old), Some(new)) => old == new,
    };
    let place =
        details.iter().rposition(|old| old.get("index") == detail.get("index") && same(old, "type") && same(old, "id"));
    let Some(old) = place.filter(|_| known).map(|place| &mut details[place]) else {
        details.push(detail);
        return;
    };
    for (field, new) in detail {
        match (old.get_mut(&field), new) {
            (Some(Value::String(old)), Value::String(new)) if GROWING.contains(&&*field) => old.push_str(&new),
            (Some(_), Value::Null) => {}
            (_, new) => drop(old.insert(field, new)),
        }
    }
}

/// The fields of an assistant message that bring its reasoning back to the model that made it.
pub(super) fn replayed(blocks: &[Block], replay: ReasoningReplay) -> Map<String, Value> {
    let mut runs = Map::new();
    let mut all_text = String::new();
    let mut details = Vec::new();
    for block in blocks {
        let Block::Reasoning { text, native, .. } = block else { continue };
        let native = native.as_deref().and_then(|native| serde_json::from_str::<Map<String, Value>>(native).ok());
        let mut native = native.unwrap_or_default();
        if let Some(Value::Array(run)) = native.remove(DETAILS) {
            let objects = run.into_iter().filter_map(|detail| match detail {
                Value::Object(detail) => Some(detail),
                _ => None,
            });
            objects.for_each(|detail| merge(&mut details, detail));
        }
        let field = [CONTENT, REASONING].into_iter().find_map(|field| Some((field, native.get(field)?.as_str()?)));
        all_text.push_str(field.map_or(text, |(_, text)| text));
        if let Some((field, text)) = field {
            append(&mut runs, field, text);
        }
    }
    let details = (!details.is_empty()).then(|| Map::from_iter([(DETAILS.to_owned(), into_list(details))]));
    let as_text = |field: &str| Map::from_iter([(field.to_owned(), Value::String(all_text.clone()))]);
    let has_calls = blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
    match replay {
        ReasoningReplay::AsReceived => details.unwrap_or(runs),
        ReasoningReplay::ReasoningContent if has_calls || !all_text.is_empty() => as_text(CONTENT),
        ReasoningReplay::Reasoning if !all_text.is_empty() => as_text(REASONING),
        ReasoningReplay::ReasoningDetails => details.unwrap_or_default(),
        ReasoningReplay::ReasoningContent | ReasoningReplay::Reasoning | ReasoningReplay::Omit => Map::new(),
    }
}

fn append(fields: &mut Map<String, Value>, field: &str, text: &str) {
    match fields.get_mut(field) {
        Some(Value::String(old)) => old.push_str(text),
        _ => drop(fields.insert(field.into(), text.into())),
    }
}

fn into_list(details: Vec<Map<String, Value>>) -> Value {
    Value::Array(details.into_iter().map(Value::Object).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(details: &[Value]) -> Value {
        let mut merged = Vec::new();
        for detail in details {
            merge(&mut merged, detail.as_object().unwrap().clone());
        }
        into_list(merged)
    }

    #[test]
    fn details_merge_by_index() {
        let pieces = [
            json!({"index": 0, "type": "t", "text": "a", "signature": null, "id": null}),
            json!({"index": 1, "type": "e", "data": "x"}),
            json!({"index": 0, "type": "t", "text": "b", "format": "f"}),
            json!({"index": 1, "type": "e", "data": "y", "id": "1"}),
            json!({"index": 0, "type": "t", "signature": "S"}),
            json!({"index": 0, "signature": null}),
        ];
        let whole = json!([
            {"index": 0, "type": "t", "text": "ab", "signature": "S", "id": null, "format": "f"},
            {"index": 1, "type": "e", "data": "xy", "id": "1"},
        ]);
        assert_eq!(merged(&pieces), whole);
    }

    #[test]
    fn details_of_another_type_or_without_an_index_stay_apart() {
        let apart = [
            json!({"index": 0, "type": "reasoning.text", "text": "a"}),
            json!({"index": 0, "type": "reasoning.encrypted", "data": "x"}),
            json!({"type": "reasoning.text", "text": "b"}),
            json!({"type": "reasoning.text", "text": "c"}),
        ];
        assert_eq!(merged(&apart), Value::Array(apart.to_vec()));
    }

    fn reasoning(text: &str, native: Value) -> Block {
        Block::Reasoning { text: text.into(), native: Some(native.to_string().into()), complete: true }
    }

    #[track_caller]
    fn check(blocks: &[Block], replay: ReasoningReplay, expected: Value) {
        assert_eq!(Value::Object(replayed(blocks, replay)), expected, "{replay:?}");
    }

    #[test]
    fn text_goes_back_under_its_name_or_another() {
        use ReasoningReplay::{AsReceived, Omit, Reasoning, ReasoningContent, ReasoningDetails};
        let prose = Block::Text { text: "x".into(), native: None };
        let blocks =
            [reasoning("a", json!({"reasoning": "a"})), prose.clone(), reasoning("b", json!({"reasoning": "b"}))];
        check(&blocks, AsReceived, json!({"reasoning": "ab"}));
        check(&blocks, ReasoningContent, json!({"reasoning_content": "ab"}));
        check(&blocks, Reasoning, json!({"reasoning": "ab"}));
        check(&blocks, ReasoningDetails, json!({}));
        check(&blocks, Omit, json!({}));
        let foreign = [Block::Reasoning { text: "a".into(), native: None, complete: true }];
        check(&foreign, AsReceived, json!({}));
        check(&foreign, Reasoning, json!({"reasoning": "a"}));
        check(&[prose], ReasoningContent, json!({}));
    }

    #[test]
    fn details_go_back_whole_even_if_they_came_in_several_runs() {
        let first = json!({"reasoning": "a", "reasoning_details": [{"index": 0, "text": "a"}]});
        let late = json!({"reasoning_details": [{"index": 0, "signature": "S"}]});
        let blocks = [reasoning("a", first), reasoning("", late)];
        let whole = json!({"reasoning_details": [{"index": 0, "text": "a", "signature": "S"}]});
        check(&blocks, ReasoningReplay::AsReceived, whole.clone());
        check(&blocks, ReasoningReplay::ReasoningDetails, whole);
        check(&blocks, ReasoningReplay::ReasoningContent, json!({"reasoning_content": "a"}));
    }
}
