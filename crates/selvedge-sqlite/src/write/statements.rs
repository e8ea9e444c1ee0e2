//! The SQL of a transaction: one statement per table, skipped when there is nothing for it.
//!
//! Each reads its rows with `json_each` from one argument, so that a batch of any size costs a bounded number of
//! statements. The texts are few and constant, so that they are compiled once.

use std::collections::HashMap;
use std::sync::Arc;

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

/// The statements, in the order of [`Table`].
const STATEMENTS: [&str; TABLES] = [
    "INSERT INTO threads (id, step, committed, epoch, token, last_seq, updated_at, input_tokens, output_tokens, \
         cache_read_tokens, cache_write_tokens, reasoning_tokens, owner, created_at, name, origin, parent, fork_step) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, \
         value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, \
         value ->> 15, value ->> 16, value ->> 17 FROM json_each(?)",
    "UPDATE threads SET step = new.value ->> 1, committed = new.value ->> 2, epoch = new.value ->> 3, \
         token = new.value ->> 4, last_seq = new.value ->> 5, updated_at = new.value ->> 6, \
         input_tokens = new.value ->> 7, output_tokens = new.value ->> 8, cache_read_tokens = new.value ->> 9, \
         cache_write_tokens = new.value ->> 10, reasoning_tokens = new.value ->> 11, owner = new.value ->> 12 \
     FROM json_each(?) AS new WHERE threads.id = new.value ->> 0",
    "INSERT INTO input_ids (thread, input_id) SELECT value ->> 0, value ->> 1 FROM json_each(?)",
    "INSERT INTO inbox (thread, seq, at, input_id, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)",
    "INSERT INTO messages (thread, step, place, at, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)",
    "INSERT INTO calls (thread, step, place, call_id, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)",
    "INSERT INTO choices (thread, step, place, call_id, choice_id, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?)",
    "INSERT INTO subscriptions (thread, step, place, call_id, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)",
    "INSERT OR REPLACE INTO oauth (thread, step, place, call_id, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)",
    "INSERT OR REPLACE INTO views (thread, step, place, view_type, body) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)",
    "DELETE FROM inbox WHERE (thread, seq) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
    "UPDATE choices SET resolution = ended.value ->> 3 FROM json_each(?) AS ended \
     WHERE thread = ended.value ->> 0 AND call_id = ended.value ->> 1 AND choice_id = ended.value ->> 2",
    "DELETE FROM subscriptions WHERE (thread, call_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
    "DELETE FROM calls WHERE (thread, call_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
    "DELETE FROM choices WHERE (thread, call_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
    "DELETE FROM oauth WHERE (thread, call_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
];

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
    pub(crate) fn into_arguments(self, present: Present) -> impl Iterator<Item = String> {
        let rows = self.rows.into_iter().enumerate().filter(move |(place, _)| present.has(*place));
        rows.map(|(_, rows)| rows.finish())
    }
}

/// Which statements run: one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Present(u32);

impl Present {
    const ALL: Self = Self((1 << TABLES) - 1);

    fn has(self, place: usize) -> bool {
        self.0 & (1 << place) != 0
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
            let statements = STATEMENTS.iter().enumerate().filter(|(place, _)| present.has(*place));
            let mut text: String = statements.map(|(_, statement)| format!("{statement}; ")).collect();
            text.push_str("COMMIT");
            text.into()
        });
        (Arc::clone(text), present)
    }
}
