//! The text of rows on their way into a statement: one JSON array per row, read with `json_each`.
//!
//! The number of the thread, which only the writer knows, comes first and is put before the rest when it is known.

use serde::Serialize;
use serde_json::Error;

/// The fields of a row but for those that the writer adds before them.
#[derive(Debug, Default)]
pub(crate) struct RowText(String);

impl RowText {
    pub(crate) fn number(mut self, number: i64) -> Self {
        self.0.push_str(&format!(",{number}"));
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Result<Self, Error> {
        self.0.push(',');
        self.0.push_str(&serde_json::to_string(text)?);
        Ok(self)
    }

    pub(crate) fn null(mut self) -> Self {
        self.0.push_str(",null");
        self
    }

    /// A column that holds JSON: the text of the value's JSON, as a JSON string.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<Self, Error> {
        self.text(&serde_json::to_string(value)?)
    }

    /// About how many bytes it holds.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The rows of one statement: a JSON array of arrays. Empty if there are none.
#[derive(Debug, Default)]
pub(crate) struct Rows(String);

impl Rows {
    pub(crate) fn push(&mut self, numbers: &[i64], rest: &RowText) {
        self.0.push_str(if self.0.is_empty() { "[" } else { "," });
        for (place, number) in numbers.iter().enumerate() {
            self.0.push_str(if place == 0 { "[" } else { "," });
            self.0.push_str(&number.to_string());
        }
        self.0.push_str(&rest.0);
        self.0.push(']');
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The whole array.
    pub(crate) fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('[');
        }
        self.0.push(']');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_one_array_of_arrays() {
        let mut rows = Rows::default();
        assert!(rows.is_empty());
        rows.push(&[1, 2], &RowText::default().text("a\0\"").unwrap());
        rows.push(&[3], &RowText::default().number(4).json(&["b"]).unwrap());
        assert_eq!(rows.finish(), r#"[[1,2,"a\u0000\""],[3,4,"[\"b\"]"]]"#);
        assert_eq!(Rows::default().finish(), "[]");
    }
}
