//! A chunk of the stream, read leniently: servers add fields, leave fields out and write `null`, and none of that is a
//! reason to lose an answer.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The data of one event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Value,
    pub(super) error: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    /// Only the first of several answers is read.
    pub(super) index: Option<u64>,
    pub(super) delta: Option<Delta>,
    pub(super) finish_reason: LaxText,
}

/// What one chunk adds to the answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: LaxText,
    pub(super) refusal: LaxText,
    pub(super) reasoning_content: LaxText,
    pub(super) reasoning: LaxText,
    pub(super) reasoning_details: Option<Vec<Map<String, Value>>>,
    pub(super) tool_calls: Option<Vec<Map<String, Value>>>,
}

/// A text; empty for `null` and for whatever is none. Of a list of parts, their texts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LaxText(pub(super) String);

impl LaxText {
    /// The text, if there is one.
    pub(super) fn some(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(&self.0)
    }
}

impl<'de> Deserialize<'de> for LaxText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LaxVisitor).map(Self)
    }
}

struct LaxVisitor;

impl<'de> Visitor<'de> for LaxVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or anything in its place")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_bool<E>(self, _: bool) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_u64<E>(self, _: u64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_i64<E>(self, _: i64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_f64<E>(self, _: f64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(LaxText(part)) = parts.next_element()? {
            text.push_str(&part);
        }
        Ok(text)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut part: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(field) = part.next_key::<String>()? {
            if field == "text" {
                text = part.next_value::<LaxText>()?.0;
            } else {
                part.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_in_all_its_forms() {
        let rows = [
            (r#""a""#, "a"),
            (r#""\u00e9\n""#, "é\n"),
            ("null", ""),
            ("true", ""),
            ("1", ""),
            ("-1.5", ""),
            ("{}", ""),
            (r#"[{"type":"text","text":"a"},{"type":"thinking","thinking":[1]},"b",null]"#, "ab"),
        ];
        for (json, text) in rows {
            assert_eq!(serde_json::from_str::<LaxText>(json).unwrap().0, text, "{json}");
        }
    }

    #[test]
    fn everything_may_be_missing_or_null() {
        for json in [
            "{}",
            r#"{"choices":null,"usage":null,"error":null}"#,
            r#"{"choices":[{}]}"#,
            r#"{"choices":[{"index":null,"delta":null,"finish_reason":null,"new":{"a":[1]}}]}"#,
            r#"{"choices":[{"delta":{"content":null,"tool_calls":null,"reasoning_details":null,"role":7}}]}"#,
        ] {
            assert!(serde_json::from_str::<Chunk>(json).is_ok(), "{json}");
        }
    }
}
