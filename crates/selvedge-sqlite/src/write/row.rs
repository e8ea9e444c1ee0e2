//! Rows on their way into a statement: the values that are bound to it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Error;

/// The values of a row, but for those that the writer puts before them.
#[derive(Debug, Default)]
pub(crate) struct Row(Vec<Field>);

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Field {
    Number(i64),
    /// Shared, so that an operation can be tried again.
    Text(Arc<str>),
    Null,
}

impl Row {
    pub(crate) fn number(mut self, number: impl Into<Option<i64>>) -> Self {
        self.0.push(number.into().map_or(Field::Null, Field::Number));
        self
    }

    pub(crate) fn text<'a>(mut self, text: impl Into<Option<&'a str>>) -> Self {
        self.0.push(text.into().map_or(Field::Null, |text| Field::Text(text.into())));
        self
    }

    /// A text that is the JSON of a value.
    pub(crate) fn json(mut self, value: &impl Serialize) -> Result<Self, Error> {
        self.0.push(Field::Text(serde_json::to_string(value)?.into()));
        Ok(self)
    }

    /// About how many bytes it holds.
    pub(crate) fn len(&self) -> usize {
        let text = |field: &Field| if let Field::Text(text) = field { text.len() } else { 0 };
        self.0.iter().map(|field| 8 + text(field)).sum()
    }
}

/// The rows of one table, their values one after another.
#[derive(Debug, Default)]
pub(crate) struct Rows(Vec<Field>);

impl Rows {
    pub(crate) fn push(&mut self, numbers: &[i64], rest: &Row) {
        self.0.extend(numbers.iter().map(|number| Field::Number(*number)));
        self.0.extend(rest.0.iter().cloned());
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.0
    }
}
