//! Rows on their way into a statement.
//!
//! All rows of a statement come in two arguments. The *fields* are JSON, one array per row, read with `json_each`:
//! numbers as they are, and for a text its place and length in the *texts*, which is all texts one after another.
//! So no text is escaped on its way, whatever is in it, and SQLite parses little JSON.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Error;

/// The fields of a row but for those that the writer adds before them.
#[derive(Debug, Default)]
pub(crate) struct RowText {
    fields: Vec<Field>,
    texts: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Field {
    Number(i64),
    /// The next of the texts, and its length.
    Text(usize),
    /// No number.
    None,
    /// No text.
    NoText,
}

impl RowText {
    pub(crate) fn number(mut self, number: impl Into<Option<i64>>) -> Self {
        self.fields.push(number.into().map_or(Field::None, Field::Number));
        self
    }

    pub(crate) fn text<'a>(mut self, text: impl Into<Option<&'a str>>) -> Self {
        match text.into() {
            Some(text) => {
                self.fields.push(Field::Text(text.len()));
                self.texts.extend_from_slice(text.as_bytes());
            }
            None => self.fields.push(Field::NoText),
        }
        self
    }

    /// A text that is the JSON of a value.
    pub(crate) fn json(mut self, value: &impl Serialize) -> Result<Self, Error> {
        let start = self.texts.len();
        serde_json::to_writer(&mut self.texts, value)?;
        self.fields.push(Field::Text(self.texts.len() - start));
        Ok(self)
    }

    /// About how many bytes it holds.
    pub(crate) fn len(&self) -> usize {
        self.texts.len() + 8 * self.fields.len()
    }
}

/// The rows of one statement.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    fields: String,
    texts: Vec<u8>,
}

impl Rows {
    pub(crate) fn push(&mut self, numbers: &[i64], rest: &RowText) {
        let numbers = numbers.iter().map(|number| Field::Number(*number));
        self.fields.push_str(if self.fields.is_empty() { "[" } else { "," });
        let mut place = self.texts.len();
        let mut separator = '[';
        for field in numbers.chain(rest.fields.iter().copied()) {
            let written = match field {
                Field::Number(number) => write!(self.fields, "{separator}{number}"),
                // SQLite counts from 1.
                Field::Text(length) => write!(self.fields, "{separator}{},{length}", place + 1),
                Field::None => write!(self.fields, "{separator}null"),
                Field::NoText => write!(self.fields, "{separator}null,null"),
            };
            written.expect("bug: writing to a string fails");
            if let Field::Text(length) = field {
                place += length;
            }
            separator = ',';
        }
        self.fields.push(']');
        self.texts.extend_from_slice(&rest.texts);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields and the texts.
    pub(crate) fn finish(mut self) -> (String, Vec<u8>) {
        if self.fields.is_empty() {
            self.fields.push('[');
        }
        self.fields.push(']');
        (self.fields, self.texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_tell_where_the_texts_are() {
        let mut rows = Rows::default();
        assert!(rows.is_empty());
        rows.push(&[1, 2], &RowText::default().text("a\0\"").text(None));
        rows.push(&[3], &RowText::default().number(4).number(None).json(&["b"]).unwrap().text("é"));
        let (fields, texts) = rows.finish();
        assert_eq!(fields, r#"[[1,2,1,3,null,null],[3,4,null,4,5,9,2]]"#);
        assert_eq!(String::from_utf8(texts).unwrap(), "a\0\"[\"b\"]é");
        assert_eq!(Rows::default().finish(), ("[]".to_owned(), Vec::new()));
    }
}
