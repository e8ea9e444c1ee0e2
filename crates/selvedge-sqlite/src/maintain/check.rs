//! The check of one thread: its row, what stands beside its history, and the two against each other.

use std::collections::HashSet;

use selvedge_event::{CallId, OAuthNotice, Step, ThreadId, Usage, UserChoice};
use selvedge_store::{Origin, PlannedCall, StoreError};
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::history::{self, Calls, Told};
use crate::Problem;
use crate::connection::Value;
use crate::read::{load_with, origin, unsigned, usage};
use crate::readers::Reader;

/// What a check has come to.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) problems: Vec<Problem>,
    /// Messages that were read.
    pub(super) messages: u64,
}

impl Checked {
    pub(super) fn unreadable(place: String, reason: String) -> Self {
        Self { problems: vec![Problem::Unreadable { place, reason }], messages: 0 }
    }

    pub(super) fn damaged(error: &StoreError) -> Self {
        Self { problems: vec![Problem::Damaged(with_source(error))], messages: 0 }
    }
}

/// An error and what caused it, in one line.
pub(super) fn with_source(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// The thread's row, and what is to be compared with it.
const FACTS: &str = "SELECT origin, parent, fork_step, id, threads.step, committed, last_seq, \
        coalesce((SELECT step FROM threads AS parents WHERE parents.name = threads.parent), -1), \
        (SELECT min(step) FROM messages WHERE thread = threads.id), \
        (SELECT max(step) FROM messages WHERE thread = threads.id), \
        coalesce((SELECT max(seq) FROM inbox WHERE thread = threads.id), 0), \
        threads.input_tokens, threads.output_tokens, threads.cache_read_tokens, threads.cache_write_tokens, \
        threads.reasoning_tokens, pruned.step, pruned.input_tokens, pruned.output_tokens, pruned.cache_read_tokens, \
        pruned.cache_write_tokens, pruned.reasoning_tokens \
    FROM threads LEFT JOIN pruned ON pruned.thread = threads.id WHERE name = ?";

#[derive(Debug)]
struct Facts {
    origin: Origin,
    id: i64,
    step: Step,
    committed: Step,
    last_seq: u64,
    parent_step: Option<Step>,
    /// The oldest turn and the newest, if there are any.
    turns: Option<(i64, i64)>,
    newest_seq: u64,
    usage: Usage,
    /// The last step that was removed, and the tokens of all that was.
    pruned: Option<(Step, Usage)>,
}

const CALLS: &str = "SELECT body, call_id FROM calls WHERE thread = ? ORDER BY step, place";
const CHOICES: &str = "SELECT body, call_id, choice_id FROM choices WHERE thread = ?1 \
    AND call_id NOT IN (SELECT call_id FROM calls WHERE thread = ?1) ORDER BY step, place";
const SIGN_INS: &str = "SELECT body, call_id FROM oauth WHERE thread = ?1 \
    AND call_id NOT IN (SELECT call_id FROM calls WHERE thread = ?1) ORDER BY step, place";
const FORGOTTEN: &str = "SELECT input_id FROM inbox WHERE thread = ?1 \
    AND input_id NOT IN (SELECT input_id FROM input_ids WHERE thread = ?1) ORDER BY seq";

/// Checks a thread, if it is there.
pub(super) async fn thread(reader: &mut Reader, thread: &ThreadId) -> Result<Checked, StoreError> {
    let rows = reader.select(FACTS, [Value::Text(thread.as_str())]).await?;
    let Some(row) = rows.first() else { return Ok(Checked::default()) };
    let facts = facts(row).map_err(|error| reader.failed(error))?;
    let mut problems = facts.problems();
    let record = load_with(reader, thread).await?;
    let unreadable = record.quarantined.into_iter();
    problems.extend(unreadable.map(|one| Problem::Unreadable { place: one.place, reason: one.reason }));

    let mut told = history::read(reader, thread, facts.id, matches!(facts.origin, Origin::Fork { .. })).await?;
    problems.append(&mut told.problems);
    beside(reader, facts.id, &told, &mut problems).await?;
    if !told.has_unreadable {
        let removed = facts.pruned.map(|(_, usage)| usage).unwrap_or_default();
        let (kept, counted) = (facts.usage, told.usage + removed);
        if kept != counted {
            problems.push(Problem::Usage { kept, counted });
        }
    }
    Ok(Checked { problems, messages: told.messages })
}

/// What stands beside the history, against it. What cannot be read is not judged; it is reported as such.
async fn beside(reader: &mut Reader, id: i64, told: &Told, problems: &mut Vec<Problem>) -> Result<(), StoreError> {
    let id = || Value::Integer(id);
    let rows = reader.select(CALLS, [id()]).await?;
    let open = rows.iter().map(|row| Ok((text(row, 1)?, is_readable::<PlannedCall>(row)?)));
    let open = open.collect::<Result<Vec<(CallId, bool)>, _>>().map_err(|error| reader.failed(error))?;
    let Calls { unanswered, answered, .. } = &told.calls;
    for (call, readable) in &open {
        if answered.contains(call) && *readable {
            problems.push(Problem::CallSettled(call.clone()));
        } else if !answered.contains(call) && !unanswered.contains(call) && !told.has_unreadable {
            problems.push(Problem::CallWithoutMessage(call.clone()));
        }
    }
    let open: HashSet<&CallId> = open.iter().map(|(call, _)| call).collect();
    if !told.has_unreadable {
        let lost = unanswered.iter().filter(|call| !open.contains(call));
        problems.extend(lost.map(|call| Problem::CallLost(call.clone())));
    }

    for row in reader.select(CHOICES, [id()]).await? {
        let read = || Ok((text(&row, 1)?, text(&row, 2)?, is_readable::<UserChoice>(&row)?));
        if let (call, choice, true) = read().map_err(|error| reader.failed(error))? {
            problems.push(Problem::ChoiceWithoutCall { call, choice });
        }
    }
    for row in reader.select(SIGN_INS, [id()]).await? {
        let read = || Ok((text(&row, 1)?, is_readable::<OAuthNotice>(&row)?));
        if let (call, true) = read().map_err(|error| reader.failed(error))? {
            problems.push(Problem::SignInWithoutCall(call));
        }
    }
    for row in reader.select(FORGOTTEN, [id()]).await? {
        problems.push(Problem::InputForgotten(text(&row, 0).map_err(|error| reader.failed(error))?));
    }
    Ok(())
}

impl Facts {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut first = 1;
        if let Origin::Fork { parent, step: fork } = &self.origin {
            first = fork.saturating_add(1);
            match self.parent_step {
                // A fork whose beginning was removed shares nothing any more.
                _ if self.pruned.is_some() => {}
                None => problems.push(Problem::ParentMissing(parent.clone())),
                Some(step) if step < *fork => {
                    problems.push(Problem::ForkBeyond { parent: parent.clone(), fork: *fork, step });
                }
                Some(_) => {}
            }
        }
        if let Some((removed, _)) = self.pruned {
            // A compaction stands at the last removed step.
            first = removed;
        }
        let Self { step, committed, last_seq, newest_seq, .. } = *self;
        if let Some((oldest, newest)) = self.turns {
            if oldest < first.cast_signed() {
                problems.push(Problem::TurnBefore { turn: oldest.cast_unsigned(), first });
            }
            if newest > step.cast_signed() {
                problems.push(Problem::TurnBeyond { turn: newest.cast_unsigned(), step });
            }
        }
        if committed > step {
            problems.push(Problem::CommittedBeyond { committed, step });
        }
        if newest_seq > last_seq {
            problems.push(Problem::InboxBeyond { seq: newest_seq, last: last_seq });
        }
        problems
    }
}

fn facts(row: &SqliteRow) -> Result<Facts, sqlx::Error> {
    let turns = row.try_get::<Option<i64>, _>(8)?.zip(row.try_get::<Option<i64>, _>(9)?);
    Ok(Facts {
        origin: origin(row, 0)?,
        id: row.try_get(3)?,
        step: unsigned(row, 4)?,
        committed: unsigned(row, 5)?,
        last_seq: unsigned(row, 6)?,
        parent_step: u64::try_from(row.try_get::<i64, _>(7)?).ok(),
        turns,
        newest_seq: unsigned(row, 10)?,
        usage: usage(row, 11)?,
        pruned: match row.try_get::<Option<i64>, _>(16)? {
            Some(step) => Some((step.cast_unsigned(), usage(row, 17)?)),
            None => None,
        },
    })
}

fn text<T: From<String>>(row: &SqliteRow, column: usize) -> Result<T, sqlx::Error> {
    row.try_get::<String, _>(column).map(T::from)
}

/// Whether the first column is the JSON of a `T`.
fn is_readable<T: DeserializeOwned>(row: &SqliteRow) -> Result<bool, sqlx::Error> {
    Ok(serde_json::from_slice::<T>(row.try_get(0)?).is_ok())
}
