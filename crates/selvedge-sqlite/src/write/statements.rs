//! The SQL of a transaction: a bounded number of statements, whatever the number of operations.
//!
//! Each takes its rows as values, in bunches of some fixed sizes, which are filled up with nulls: so the texts are few,
//! and compiled once. They call no function and undo nothing of their own accord (`OR ROLLBACK`): a statement that
//! fails takes its transaction with it, which is thrown away anyway. SQLite then need not write down what it would take
//! to undo the statement alone, which for `json_each` and its like it does.

use std::collections::HashMap;

use sqlx::Arguments;
use sqlx::error::BoxDynError;
use sqlx::sqlite::SqliteArguments;

use super::row::{Field, Rows};

/// What a row is for, in the order in which the statements run.
///
/// ORDER: what appears comes before what goes, so that a call that one sync plans and settles is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// The values of its rows, in order.
    fn columns(self) -> &'static [&'static str] {
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
                "owner",
                "created_at",
                "name",
                "origin",
                "parent",
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
                "owner",
            ],
            Self::InputIds => &["thread", "input_id"],
            Self::Inbox => &["thread", "seq", "at", "input_id", "body"],
            Self::Messages => &["thread", "step", "place", "at", "body"],
            Self::Calls | Self::Subscriptions | Self::OAuth => &["thread", "step", "place", "call_id", "body"],
            Self::Choices => &["thread", "step", "place", "call_id", "choice_id", "body"],
            Self::Views => &["thread", "step", "place", "view_type", "body"],
            Self::Consumed => &["thread", "seq"],
            Self::ChoicesClosed => &["thread", "call_id", "choice_id", "resolution"],
            Self::SubscriptionsClosed | Self::CallsSettled | Self::ChoicesSettled | Self::OAuthSettled => {
                &["thread", "call_id"]
            }
        }
    }

    /// The statement for a number of rows.
    fn statement(self, rows: usize) -> String {
        let columns = self.columns();
        let row = format!("({})", vec!["?"; columns.len()].join(", "));
        let values = format!("VALUES {}", vec![row; rows].join(", "));
        let named = columns.join(", ");
        let insert = |verb: &str, into: &str| {
            format!("{verb} INTO {into} ({named}) SELECT * FROM ({values}) WHERE column1 IS NOT NULL; ")
        };
        let delete = |from: &str| format!("DELETE FROM {from} WHERE ({named}) IN ({values}); ");
        match self {
            Self::ThreadsNew => insert("INSERT OR ROLLBACK", "threads"),
            Self::ThreadsChanged => {
                let set =
                    columns.iter().enumerate().skip(1).map(|(place, name)| format!("{name} = column{}", place + 1));
                let set = set.collect::<Vec<_>>().join(", ");
                format!("UPDATE OR ROLLBACK threads SET {set} FROM ({values}) WHERE threads.id = column1; ")
            }
            Self::InputIds => insert("INSERT OR ROLLBACK", "input_ids"),
            Self::Inbox => insert("INSERT OR ROLLBACK", "inbox"),
            Self::Messages => insert("INSERT OR ROLLBACK", "messages"),
            Self::Calls => insert("INSERT OR ROLLBACK", "calls"),
            Self::Choices => insert("INSERT OR ROLLBACK", "choices"),
            Self::Subscriptions => insert("INSERT OR ROLLBACK", "subscriptions"),
            Self::OAuth => insert("INSERT OR REPLACE", "oauth"),
            Self::Views => insert("INSERT OR REPLACE", "views"),
            Self::Consumed => delete("inbox"),
            Self::ChoicesClosed => format!(
                "UPDATE OR ROLLBACK choices SET resolution = column4 FROM ({values}) \
                 WHERE thread = column1 AND call_id = column2 AND choice_id = column3; "
            ),
            Self::SubscriptionsClosed => delete("subscriptions"),
            Self::CallsSettled => delete("calls"),
            Self::ChoicesSettled => delete("choices"),
            Self::OAuthSettled => delete("oauth"),
        }
    }
}

/// How many rows a statement may take: not many sizes, so that statements are compiled once, nor far apart.
const SIZES: [usize; 6] = [1, 4, 16, 64, 128, LARGEST];

/// More rows take several statements.
const LARGEST: usize = 256;

/// Begins a transaction and reads what deciding takes, as one row, for each row costs its way between threads: the
/// threads of some names; which of some inputs are known, as their places in the argument; the newest thread's number.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE; SELECT \
    (SELECT json_group_array(json_array(name, id, step, committed, epoch, token, last_seq, updated_at, \
            input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, owner, \
            EXISTS (SELECT 1 FROM choices WHERE thread = threads.id) \
                + 2 * EXISTS (SELECT 1 FROM oauth WHERE thread = threads.id), \
            (SELECT step FROM pruned WHERE thread = threads.id))) \
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
}

/// The texts of statements, made once each.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashMap<(Table, usize), String>);

impl Texts {
    /// What writes the rows and ends the transaction: the text and its arguments.
    pub(crate) fn commit(&mut self, effects: &Effects) -> Result<(String, SqliteArguments), BoxDynError> {
        let mut text = String::new();
        let mut arguments = SqliteArguments::default();
        for (table, rows) in ALL.into_iter().zip(&effects.rows) {
            let width = table.columns().len();
            for bunch in rows.fields().chunks(width * LARGEST) {
                let rows = bunch.len() / width;
                let size = SIZES.into_iter().find(|size| *size >= rows).unwrap_or(LARGEST);
                text.push_str(self.0.entry((table, size)).or_insert_with(|| table.statement(size)));
                add(&mut arguments, bunch)?;
                for _ in bunch.len()..size * width {
                    arguments.add(None::<i64>)?;
                }
            }
        }
        text.push_str("COMMIT");
        Ok((text, arguments))
    }
}

fn add(arguments: &mut SqliteArguments, fields: &[Field]) -> Result<(), BoxDynError> {
    fields.iter().try_for_each(|field| match field {
        Field::Number(number) => arguments.add(*number),
        Field::Text(text) => arguments.add(std::sync::Arc::clone(text)),
        Field::Null => arguments.add(None::<i64>),
    })
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnection;
    use sqlx::{AssertSqlSafe, Connection, Row};

    use super::*;

    async fn plan(connection: &mut SqliteConnection, sql: &str) -> Vec<String> {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(explain).fetch_all(connection).await.unwrap();
        rows.iter().map(|row| row.get("detail")).collect()
    }

    #[tokio::test]
    async fn no_statement_looks_through_a_table() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        for migration in crate::schema::MIGRATIONS {
            sqlx::raw_sql(*migration).execute(&mut connection).await.unwrap();
        }
        let mut statements: Vec<String> =
            ALL.into_iter().flat_map(|table| SIZES.map(|size| table.statement(size))).collect();
        statements.push(BEGIN.trim_start_matches("BEGIN IMMEDIATE;").to_owned());
        for sql in statements {
            for step in plan(&mut connection, &sql).await {
                let harmless = ["CONSTANT ROW", "VIRTUAL TABLE", "sqlite_sequence", "VALUES", "subquery", "asked"];
                let scans = step.starts_with("SCAN") && !harmless.iter().any(|word| step.contains(word));
                assert!(!scans && !step.contains("AUTOMATIC"), "{step}: {:.300}", sql);
            }
        }
    }

    #[test]
    fn more_rows_than_a_statement_takes_go_into_several() {
        let mut effects = Effects::default();
        for number in 0..LARGEST as i64 + 3 {
            effects.of(Table::Consumed).push(&[1, number], &Default::default());
        }
        let (text, arguments) = Texts::default().commit(&effects).unwrap();
        assert_eq!(text.matches("DELETE").count(), 2);
        assert_eq!((text.matches('?').count(), arguments.len()), (2 * (LARGEST + 4), 2 * (LARGEST + 4)));
    }
}
