//! The SQL of a transaction: one statement per table, skipped when there is nothing for it.
//!
//! Each reads its rows with `json_each` from one argument, so that a batch of any size costs a bounded number of
//! statements. The texts are few and constant, so that they are compiled once.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::Arguments;
use sqlx::error::BoxDynError;
use sqlx::sqlite::SqliteArguments;

use super::row::Rows;

/// What a row is for, in the order in which the statements run.
///
/// ORDER: what appears comes before what goes, so that a call that one sync plans and settles is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Table {
    ThreadsNew,
    ThreadsChanged,
    InputIds,
    Inbox,
    Messages,
    Calls,
    Choices,
    Subscriptions,
    OAuth,
    Views,
    Consumed,
    ChoicesClosed,
    SubscriptionsClosed,
    CallsSettled,
    ChoicesSettled,
    OAuthSettled,
}

/// How many kinds of rows there are.
const TABLES: usize = Table::OAuthSettled as usize + 1;

/// All of them, in order.
const ALL: [Table; TABLES] = [
    Table::ThreadsNew,
    Table::ThreadsChanged,
    Table::InputIds,
    Table::Inbox,
    Table::Messages,
    Table::Calls,
    Table::Choices,
    Table::Subscriptions,
    Table::OAuth,
    Table::Views,
    Table::Consumed,
    Table::ChoicesClosed,
    Table::SubscriptionsClosed,
    Table::CallsSettled,
    Table::ChoicesSettled,
    Table::OAuthSettled,
];

impl Table {
    /// The fields of its rows, in order; texts are marked with `$`.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::ThreadsNew => &[
                "id",
                "step",
                "committed",
                "epoch",
                "token",
                "last_seq",
                "updated_at",
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "reasoning_tokens",
                "$owner",
                "created_at",
                "$name",
                "$origin",
                "$parent",
                "fork_step",
            ],
            Self::ThreadsChanged => &[
                "id",
                "step",
                "committed",
                "epoch",
                "token",
                "last_seq",
                "updated_at",
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "reasoning_tokens",
                "$owner",
            ],
            Self::InputIds => &["thread", "$input_id"],
            Self::Inbox => &["thread", "seq", "at", "$input_id", "$body"],
            Self::Messages => &["thread", "step", "place", "at", "$body"],
            Self::Calls | Self::Subscriptions | Self::OAuth => &["thread", "step", "place", "$call_id", "$body"],
            Self::Choices => &["thread", "step", "place", "$call_id", "$choice_id", "$body"],
            Self::Views => &["thread", "step", "place", "$view_type", "$body"],
            Self::Consumed => &["thread", "seq"],
            Self::ChoicesClosed => &["thread", "$call_id", "$choice_id", "$resolution"],
            Self::SubscriptionsClosed | Self::CallsSettled | Self::ChoicesSettled | Self::OAuthSettled => {
                &["thread", "$call_id"]
            }
        }
    }

    /// How many of the fields are texts.
    fn texts(self) -> usize {
        self.fields().iter().filter(|field| field.starts_with('$')).count()
    }

    /// The statement that the rows are for.
    ///
    /// A statement that fails takes its transaction with it (`OR ROLLBACK`), which is thrown away anyway: so SQLite
    /// need not write down what it would take to undo the statement alone.
    fn statement(self) -> String {
        let insert = |into: &str| self.insert("INSERT OR ROLLBACK", into);
        match self {
            Self::ThreadsNew => insert("threads"),
            Self::ThreadsChanged => {
                let columns = self.fields().iter().skip(1).map(|field| field.trim_start_matches('$'));
                let set: Vec<String> = columns.map(|column| format!("{column} = new.{column}")).collect();
                let (set, rows) = (set.join(", "), self.rows());
                format!("UPDATE OR ROLLBACK threads SET {set} FROM ({rows}) AS new WHERE threads.id = new.id")
            }
            Self::InputIds => insert("input_ids"),
            Self::Inbox => insert("inbox"),
            Self::Messages => insert("messages"),
            Self::Calls => insert("calls"),
            Self::Choices => insert("choices"),
            Self::Subscriptions => insert("subscriptions"),
            Self::OAuth => self.insert("INSERT OR REPLACE", "oauth"),
            Self::Views => self.insert("INSERT OR REPLACE", "views"),
            Self::Consumed => self.delete("inbox"),
            Self::ChoicesClosed => format!(
                "UPDATE OR ROLLBACK choices SET resolution = ended.resolution FROM ({}) AS ended \
                 WHERE choices.thread = ended.thread AND choices.call_id = ended.call_id \
                 AND choices.choice_id = ended.choice_id",
                self.rows()
            ),
            Self::SubscriptionsClosed => self.delete("subscriptions"),
            Self::CallsSettled => self.delete("calls"),
            Self::ChoicesSettled => self.delete("choices"),
            Self::OAuthSettled => self.delete("oauth"),
        }
    }

    fn insert(self, verb: &str, into: &str) -> String {
        format!("{verb} INTO {into} ({}) {}", self.columns(), self.rows())
    }

    fn delete(self, from: &str) -> String {
        format!("DELETE FROM {from} WHERE ({}) IN ({})", self.columns(), self.rows())
    }

    fn columns(self) -> String {
        self.fields().join(", ").replace('$', "")
    }

    /// The rows as a table: the texts are an argument once for each text of a row, and the fields come last.
    fn rows(self) -> String {
        let mut place = 0;
        let fields = self.fields().iter().map(|field| match field.strip_prefix('$') {
            Some(text) => {
                place += 2;
                format!("CAST(substr(?, value ->> {}, value ->> {}) AS TEXT) AS {text}", place - 2, place - 1)
            }
            None => {
                place += 1;
                format!("value ->> {} AS {field}", place - 1)
            }
        });
        format!("SELECT {} FROM json_each(?)", fields.collect::<Vec<_>>().join(", "))
    }
}

/// Begins a transaction and reads what deciding takes, as one row, for each row costs its way between threads: the
/// threads of some names; which of some inputs are known, as their places in the argument; the newest thread's number.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE; SELECT \
    (SELECT json_group_array(json_array(name, id, step, committed, epoch, token, last_seq, updated_at, \
            input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, owner)) \
        FROM threads WHERE name IN (SELECT value FROM json_each(?))), \
    (SELECT json_group_array(asked.key) FROM json_each(?) AS asked \
        CROSS JOIN threads ON threads.name = asked.value ->> 0 \
        CROSS JOIN input_ids ON input_ids.thread = threads.id AND input_ids.input_id = asked.value ->> 1), \
    (SELECT max(seq) FROM sqlite_sequence WHERE name = 'threads')";

/// The rows of a transaction, by what they are for.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    rows: [Rows; TABLES],
}

impl Effects {
    pub(crate) fn of(&mut self, table: Table) -> &mut Rows {
        &mut self.rows[table as usize]
    }

    /// Which statements there are rows for.
    pub(crate) fn present(&self) -> Present {
        let places = self.rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        Present(places.map(|(place, _)| 1 << place).sum())
    }

    /// The arguments of the statements that are `present`, in their order.
    pub(crate) fn into_arguments(self, present: Present) -> Result<SqliteArguments, BoxDynError> {
        let mut arguments = SqliteArguments::default();
        for (table, rows) in ALL.into_iter().zip(self.rows).filter(|(table, _)| present.has(*table)) {
            let (fields, texts) = rows.finish();
            for _ in 0..table.texts() {
                arguments.add(texts.as_slice())?;
            }
            arguments.add(fields)?;
        }
        Ok(arguments)
    }
}

/// Which statements run: one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Present(u32);

impl Present {
    const ALL: Self = Self((1 << TABLES) - 1);

    fn has(self, table: Table) -> bool {
        self.0 & (1 << table as u32) != 0
    }
}

/// The texts that write and commit, made once each.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashMap<Present, Arc<str>>);

impl Texts {
    /// How many different texts are kept. Batches differ in few ways; should they not, the text with all statements
    /// does for the rest, so that neither the texts nor their compiled forms grow without end.
    const BOUND: usize = 200;

    /// A text with the statements that are `present`, and the end of the transaction; and which statements it has.
    pub(crate) fn of(&mut self, present: Present) -> (Arc<str>, Present) {
        let known = self.0.contains_key(&present) || self.0.len() < Self::BOUND;
        let present = if known { present } else { Present::ALL };
        let text = self.0.entry(present).or_insert_with(|| {
            let statements = ALL.into_iter().filter(|table| present.has(*table));
            let mut text: String = statements.map(|table| format!("{}; ", table.statement())).collect();
            text.push_str("COMMIT");
            text.into()
        });
        (Arc::clone(text), present)
    }
}
