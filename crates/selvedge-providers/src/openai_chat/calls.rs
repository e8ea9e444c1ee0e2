//! Calls put together from their fragments.
//!
//! The protocol says that `index` names the call, and that `id` and name come with its first fragment. Servers differ:
//! they repeat an index for another call, repeat an id within a call, give two calls one id, leave out either or both. So
//! a fragment goes to the call that it can belong to, and where there are several, the stream is an error: no call gets
//! another's arguments.

use selvedge_event::FailureKind;
use selvedge_model::{ModelError, ModelEvent};
use serde_json::{Map, Value};

/// The most calls of one answer.
const CALL_LIMIT: usize = 512;

/// The most bytes that the arguments of one answer's calls may have together.
const ARGUMENTS_LIMIT: usize = 32 << 20;

/// The calls of one answer, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<OpenCall>,
    argument_bytes: usize,
}

#[derive(Debug, Default)]
struct OpenCall {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    /// Fields beyond the protocol, which some servers want back.
    more: Map<String, Value>,
}

/// What one chunk adds to a call.
struct Fragment {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    more: Map<String, Value>,
}

impl Calls {
    /// Adds a fragment to the call that it belongs to, or opens one.
    ///
    /// # Errors
    /// When it could belong to several calls, and when there is too much of them.
    pub(super) fn push(&mut self, fragment: Map<String, Value>) -> Result<(), ModelError> {
        let fragment = Fragment::from_json(fragment);
        if fragment.is_empty() {
            return Ok(());
        }
        self.argument_bytes += fragment.arguments.len();
        if self.argument_bytes > ARGUMENTS_LIMIT {
            return Err(protocol(format!("the arguments of the calls have more than {ARGUMENTS_LIMIT} bytes")));
        }
        match self.place_of(&fragment)? {
            Some(place) => self.open[place].take(fragment),
            None if self.open.len() == CALL_LIMIT => {
                return Err(protocol(format!("the answer has more than {CALL_LIMIT} calls")));
            }
            None => {
                let mut call = OpenCall::default();
                call.take(fragment);
                self.open.push(call);
            }
        }
        Ok(())
    }

    /// The whole calls. Of an answer that was `cut_off`, a last call without any arguments is left out: it is not known
    /// whether it was to have some.
    ///
    /// # Errors
    /// When a call has no name.
    pub(super) fn finish(&mut self, cut_off: bool) -> Result<Vec<ModelEvent>, ModelError> {
        let mut calls = std::mem::take(&mut self.open);
        if cut_off && calls.last().is_some_and(|last| last.arguments.trim().is_empty()) {
            calls.pop();
        }
        if calls.iter().any(|call| call.name.is_empty()) {
            return Err(protocol("a call of the answer has no name"));
        }
        Ok(calls.into_iter().map(OpenCall::into_event).collect())
    }

    /// The call that a fragment continues; `None` if it opens one.
    fn place_of(&self, fragment: &Fragment) -> Result<Option<usize>, ModelError> {
        let place = match (&fragment.id, fragment.index) {
            (Some(id), index) => self.place_of_id(id, index),
            (None, Some(index)) => self.open.iter().rposition(|call| call.index == Some(index)),
            (None, None) => match &self.open[..] {
                [] => None,
                [_] => Some(0),
                several if !fragment.name.is_empty() && several.iter().all(OpenCall::is_whole) => None,
                _ => return Err(protocol("a fragment of a call does not tell which of several it belongs to")),
            },
        };
        // Nothing can follow whole arguments: this is another call under the same name or number.
        Ok(place.filter(|place| !(fragment.brings_more_than_a_repetition() && self.open[*place].is_whole())))
    }

    fn place_of_id(&self, id: &str, index: Option<u64>) -> Option<usize> {
        let same_index = |call: &OpenCall| index.is_none() || call.index.is_none() || call.index == index;
        let same_id = |call: &OpenCall| call.id.as_deref() == Some(id) && same_index(call);
        // A call that was opened by its index alone learns its id late.
        let waits_for_id = |call: &OpenCall| {
            call.id.is_none()
                && (call.arguments.is_empty() || call.name.is_empty())
                && index.is_some()
                && call.index == index
        };
        self.open.iter().rposition(|call| same_id(call) || waits_for_id(call))
    }
}

impl OpenCall {
    fn take(&mut self, fragment: Fragment) {
        self.index = self.index.or(fragment.index);
        self.id = self.id.take().or(fragment.id);
        // The name comes whole; some servers repeat it.
        if self.name.is_empty() {
            self.name = fragment.name;
        }
        self.arguments.push_str(&fragment.arguments);
        self.more.extend(fragment.more);
    }

    fn is_whole(&self) -> bool {
        serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    fn into_event(self) -> ModelEvent {
        let native = (!self.more.is_empty()).then(|| Value::Object(self.more).to_string().into());
        ModelEvent::ToolCall {
            provider_id: self.id.map(Into::into),
            name: self.name.into(),
            arguments: self.arguments.into(),
            native,
        }
    }
}

impl Fragment {
    fn from_json(mut fragment: Map<String, Value>) -> Self {
        let index = fragment.remove("index").and_then(|index| index.as_u64());
        let id = fragment.remove("id").map(into_text).filter(|id| !id.is_empty());
        fragment.remove("type");
        let mut function = match fragment.remove("function") {
            Some(Value::Object(function)) => function,
            _ => Map::new(),
        };
        let mut take = |field| function.remove(field).map(into_text).unwrap_or_default();
        let (name, arguments) = (take("name"), take("arguments"));
        fragment.retain(|_, value| !value.is_null());
        Self { index, id, name, arguments, more: fragment }
    }

    fn is_empty(&self) -> bool {
        self.id.is_none() && self.name.is_empty() && self.arguments.is_empty() && self.more.is_empty()
    }

    /// Whether it names a call and has arguments, as the first fragment of one may.
    fn brings_more_than_a_repetition(&self) -> bool {
        !self.name.is_empty() && !self.arguments.trim().is_empty()
    }
}

/// A text as it is; what should be a text and is not, as JSON.
fn into_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn protocol(message: impl Into<String>) -> ModelError {
    ModelError::new(FailureKind::Protocol, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(fragments: &[&str], cut_off: bool) -> Result<Vec<String>, String> {
        let mut calls = Calls::default();
        for fragment in fragments {
            calls.push(serde_json::from_str(fragment).unwrap()).map_err(|error| error.to_string())?;
        }
        let events = calls.finish(cut_off).map_err(|error| error.to_string())?;
        let show = |event| match event {
            ModelEvent::ToolCall { provider_id, name, arguments, native } => {
                let native = native.map(|native| format!(" {native}")).unwrap_or_default();
                format!("{} {name} {arguments}{native}", provider_id.as_deref().unwrap_or("-"))
            }
            other => format!("{other:?}"),
        };
        Ok(events.into_iter().map(show).collect())
    }

    #[track_caller]
    fn check(fragments: &[&str], expected: &[&str]) {
        assert_eq!(calls(fragments, false), Ok(expected.iter().map(|call| (*call).to_owned()).collect()));
    }

    const OPEN_A: &str = r#"{"index":0,"id":"A","type":"function","function":{"name":"f","arguments":""}}"#;
    const OPEN_B: &str = r#"{"index":1,"id":"B","type":"function","function":{"name":"g","arguments":""}}"#;

    #[test]
    fn interleaved_fragments_find_their_call_by_index() {
        let (a, b) = (r#"{"index":0,"function":{"arguments":"[a"}}"#, r#"{"index":1,"function":{"arguments":"[b"}}"#);
        check(&[OPEN_A, OPEN_B, a, b, b, a], &["A f [a[a", "B g [b[b"]);
        check(&[OPEN_B, a, OPEN_A, a], &["B g ", "A f [a[a"]);
    }

    #[test]
    fn indexes_may_start_anywhere_and_have_gaps() {
        let far = r#"{"index":3000000,"id":"C","function":{"name":"h","arguments":"{}"}}"#;
        check(&[OPEN_B, far], &["B g ", "C h {}"]);
        let largest = format!(r#"{{"index":{},"id":"C","function":{{"name":"h"}}}}"#, u64::MAX);
        check(&[&largest, &largest], &["C h "]);
    }

    #[test]
    fn a_new_id_opens_a_call_even_if_the_index_repeats() {
        let again = r#"{"index":0,"id":"B","function":{"name":"g","arguments":"{"}}"#;
        let more = r#"{"index":0,"function":{"arguments":"}"}}"#;
        check(&[OPEN_A, again, more], &["A f ", "B g {}"]);
    }

    #[test]
    fn a_repeated_id_or_name_continues_the_call() {
        let piece = |name: &str, text: &str| {
            format!(r#"{{"index":0,"id":"A","function":{{"name":"{name}","arguments":"{text}"}}}}"#)
        };
        let pieces = [piece("f", "{"), piece("", " "), piece("f", "}"), piece("f", "")];
        check(&pieces.each_ref().map(String::as_str), &["A f { }"]);
    }

    #[test]
    fn calls_may_share_an_id() {
        let whole = |index: &str| format!(r#"{{{index}"id":"bash:0","function":{{"name":"f","arguments":"{{}}"}}}}"#);
        let (first, second, same) = (whole(r#""index":0,"#), whole(r#""index":1,"#), whole(""));
        check(&[&first, &second], &["bash:0 f {}", "bash:0 f {}"]);
        check(&[&first, &first], &["bash:0 f {}", "bash:0 f {}"]);
        check(&[&same, &same], &["bash:0 f {}", "bash:0 f {}"]);
    }

    #[test]
    fn calls_may_have_no_id() {
        let open = |index: u8| format!(r#"{{"index":{index},"id":"","function":{{"name":"f","arguments":"["}}}}"#);
        let more = r#"{"index":0,"id":"","function":{"name":null,"arguments":"]"}}"#;
        check(&[&open(0), &open(1), more], &["- f []", "- f ["]);
        let late = r#"{"index":0,"id":"A","function":{"arguments":"{}"}}"#;
        check(&[r#"{"index":0,"function":{"name":"f"}}"#, late], &["A f {}"]);
    }

    #[test]
    fn without_an_index_the_id_tells() {
        let (a, b) = (r#"{"id":"A","function":{"name":"f"}}"#, r#"{"id":"B","function":{"name":"g"}}"#);
        let (more_a, more_b) =
            (r#"{"id":"A","function":{"arguments":"[1"}}"#, r#"{"id":"B","function":{"arguments":"[2"}}"#);
        check(&[a, b, more_a, more_b, more_a], &["A f [1[1", "B g [2"]);
    }

    #[test]
    fn without_index_and_id_only_one_call_can_be_meant() {
        let more = r#"{"function":{"arguments":"[1"}}"#;
        let (a, b) = (r#"{"id":"A","function":{"name":"f"}}"#, r#"{"id":"B","function":{"name":"g"}}"#);
        check(&[a, more, more], &["A f [1[1"]);
        check(&[a, b, "{}", r#"{"function":{"arguments":""}}"#], &["A f ", "B g "]);
        assert!(calls(&[a, b, more], false).unwrap_err().contains("several"));
    }

    #[test]
    fn whole_calls_without_index_and_id_are_told_apart() {
        let whole = r#"{"function":{"name":"f","arguments":{"n":1}}}"#;
        check(&[whole, whole, whole], &[r#"- f {"n":1}"#; 3]);
    }

    #[test]
    fn fields_beyond_the_protocol_are_kept() {
        let open = r#"{"index":0,"id":"A","function":{"name":"f"},"extra_content":{"sig":"S"},"x":null}"#;
        check(&[open], &[r#"A f  {"extra_content":{"sig":"S"}}"#]);
    }

    #[test]
    fn a_call_that_was_cut_off_before_its_arguments_is_left_out() {
        let broken = r#"{"index":0,"id":"A","function":{"name":"f","arguments":"{\"pa"}}"#;
        assert_eq!(calls(&[broken], true).unwrap(), [r#"A f {"pa"#]);
        assert_eq!(calls(&[broken, OPEN_B], true).unwrap(), [r#"A f {"pa"#]);
        assert_eq!(calls(&[OPEN_A, OPEN_B], true).unwrap(), ["A f "]);
        assert!(calls(&[r#"{"index":0,"id":"A","function":{"arguments":"{}"}}"#], false).is_err());
    }

    #[test]
    fn their_number_is_bounded() {
        let open: Vec<String> = (0..=CALL_LIMIT)
            .map(|index| format!(r#"{{"index":{index},"id":"{index}","function":{{"name":"f"}}}}"#))
            .collect();
        let open: Vec<&str> = open.iter().map(String::as_str).collect();
        assert_eq!(calls(&open[1..], false).unwrap().len(), CALL_LIMIT);
        assert!(calls(&open, false).is_err());
    }
}
