//! A thread as a file: lines of JSON, a header and then one line per turn.
//!
//! The file holds all that was said and done, in the form in which it is kept, and the whole of large tool outputs. It
//! does not hold what belongs to a moment: inputs that wait, open questions, sign-ins and subscriptions.

use std::collections::{BTreeMap, HashSet};

use selvedge::event::{CallId, Message, ModelRef, Step, Timestamp, TurnRecord, UserMessage, View};
use selvedge::model::{ModelRequest, Projector, validate};
use serde::{Deserialize, Serialize};

/// The format's name in the header.
const FORMAT: &str = "selvedge-thread";
/// The format's version, which a change that older programs would misread raises.
const VERSION: u32 = 1;
/// The most steps without messages that may stand between two turns: each costs a write.
const LONGEST_GAP: Step = 10_000;

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    format: String,
    version: u32,
    /// The thread's name.
    pub(crate) thread: String,
    /// When it was created.
    pub(crate) created_at: Timestamp,
    /// When it was exported.
    pub(crate) exported_at: Timestamp,
    /// How many turns follow.
    pub(crate) turns: usize,
    /// The latest view of each type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) views: Vec<View>,
}

/// Each further line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    /// The turn.
    #[serde(flatten)]
    pub(crate) turn: TurnRecord,
    /// The whole of outputs that the turn's results hold only in part, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) blobs: BTreeMap<String, String>,
}

/// A whole file.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The first line.
    pub(crate) header: Header,
    /// The rest.
    pub(crate) lines: Vec<Line>,
}

impl Header {
    pub(crate) fn new(
        thread: &str,
        created_at: Timestamp,
        exported_at: Timestamp,
        turns: usize,
        views: Vec<View>,
    ) -> Self {
        let (format, version, thread) = (FORMAT.into(), VERSION, thread.into());
        Self { format, version, thread, created_at, exported_at, turns, views }
    }
}

impl Archive {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let (first, _) = lines.next().ok_or("it is empty")?;
        let header: Header = serde_json::from_str(first)
            .map_err(|error| format!("line 1 is no header of an exported thread ({error})"))?;
        if header.format != FORMAT {
            return Err(format!("it is a {:?}, not a {FORMAT:?}", header.format));
        }
        if header.version != VERSION {
            return Err(format!(
                "it has version {} of the format, and this program reads version {VERSION}",
                header.version
            ));
        }
        let parse = |(line, number): (&str, usize)| {
            serde_json::from_str::<Line>(line).map_err(|error| format!("line {number} is no turn: {error}"))
        };
        let lines: Vec<Line> = lines.map(parse).collect::<Result<_, _>>()?;
        if lines.len() != header.turns {
            return Err(format!("it should have {} turns and has {}; it may be cut off", header.turns, lines.len()));
        }
        let archive = Self { header, lines };
        archive.check()?;
        Ok(archive)
    }

    /// Everything that a thread's history keeps to, so that what is imported can go on.
    fn check(&self) -> Result<(), String> {
        if self.lines.is_empty() {
            return Err("it has no turns".into());
        }
        let (mut calls, mut open, mut inputs) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut before: Step = 0;
        for Line { turn, .. } in &self.lines {
            let step = turn.step;
            // The beginning of a thread may have been removed.
            if step <= before || before > 0 && step - before > LONGEST_GAP {
                return Err(format!("step {step} cannot follow step {before}"));
            }
            if turn.messages.is_empty() {
                return Err(format!("step {step} has no messages"));
            }
            before = step;
            for message in &turn.messages {
                let made: Vec<CallId> = match message {
                    Message::Assistant(assistant) => assistant.calls().map(|call| call.id.clone()).collect(),
                    _ => Vec::new(),
                };
                for call in made {
                    if !calls.insert(call.clone()) {
                        return Err(format!("step {step} makes the call {call} for the second time"));
                    }
                    open.insert(call);
                }
                let input = match message {
                    Message::User(user) => Some(&user.input_id),
                    Message::SubscriptionEvent(event) => Some(&event.input_id),
                    _ => None,
                };
                if let Some(input) = input
                    && !inputs.insert(input.clone())
                {
                    return Err(format!("step {step} takes the input {input} for the second time"));
                }
                if let Message::ToolResult(result) = message
                    && !open.remove(&result.call_id)
                {
                    return Err(format!("step {step} has a result for {}, which is no open call", result.call_id));
                }
            }
        }
        self.check_sendable()
    }

    /// A history that no model would take bricks its thread.
    fn check_sendable(&self) -> Result<(), String> {
        let model = ModelRef { api: "import".into(), provider: "none".into(), model: "none".into() };
        let mut projector = Projector::new(model.clone());
        self.lines.iter().flat_map(|line| &line.turn.messages).for_each(|message| projector.push(message));
        // What would be sent next time somebody speaks.
        let next = UserMessage { input_id: "next".into(), text: "go on".into() };
        projector.push(&Message::User(next.into()));
        let request = ModelRequest::new(model, projector.context().clone());
        validate(&request).map_err(|violation| format!("no model would take it: {violation}"))
    }
}

/// A line as it is written: JSON in which no control character is left, not even those that JSON allows.
pub(crate) fn to_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut line = String::new();
    for char in serde_json::to_string(value)?.chars() {
        // Such characters stand within strings only, where an escape means the same.
        if char.is_control() {
            line.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            line.push(char);
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(turns: usize) -> String {
        let header = Header::new("t", Timestamp(1), Timestamp(2), turns, Vec::new());
        serde_json::to_string(&header).unwrap()
    }

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let error = Archive::parse(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn what_is_no_exported_thread_is_refused() {
        refused("", "it is empty");
        refused("{}", "no header");
        refused("hello", "no header");
        refused(&header(0).replace(FORMAT, "other"), "\"other\"");
        refused(&header(0).replace("\"version\":1", "\"version\":7"), "version 7");
        refused(&header(0), "no turns");
        refused(&header(1), "cut off");
        refused(&format!("{}\n{{\"step\":1}}", header(1)), "line 2 is no turn");
    }

    #[test]
    fn histories_that_cannot_be_are_refused() {
        let user = |step: u64, id: &str| {
            format!(r#"{{"step":{step},"at":0,"messages":[{{"kind":"user","input_id":"{id}","text":"hi"}}]}}"#)
        };
        let ok = format!("{}\n{}\n{}\n", header(2), user(1, "a"), user(3, "b"));
        assert_eq!(Archive::parse(&ok).unwrap().lines.len(), 2);
        refused(&format!("{}\n{}\n{}", header(2), user(1, "a"), user(1, "b")), "step 1 cannot follow step 1");
        refused(&format!("{}\n{}\n{}", header(2), user(1, "a"), user(2, "a")), "for the second time");
        let far = format!("{}\n{}\n{}", header(2), user(999_999_999, "a"), user(1_999_999_999, "b"));
        refused(&far, "step 1999999999 cannot follow step 999999999");
        let result =
            r#"{"step":1,"at":0,"messages":[{"kind":"tool_result","call_id":"x","status":"ok","content":[]}]}"#;
        refused(&format!("{}\n{result}", header(1)), "no open call");
    }

    #[test]
    fn no_control_character_is_written() {
        assert_eq!(to_line(&"a\u{9b}\u{7f}\u{1b}b").unwrap(), r#""a\u009b\u007f\u001bb""#);
    }
}
