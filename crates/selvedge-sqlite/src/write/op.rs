//! What can be asked of the writer. Bodies are turned into JSON here, on the caller's thread.

use selvedge_event::{InputId, Step, ThreadId, Timestamp, Usage};
use selvedge_store::{
    AcceptReply, AcceptRequest, Create, Epoch, NewInput, OwnerId, StoreError, StoreErrorKind, SyncRequest, SyncToken,
};

use super::repair::Remedy;
use super::row::Row;
use super::statements::Table;

/// An operation that writes.
#[derive(Debug)]
pub(crate) enum Op {
    Accept(Accept),
    Sync(Box<Sync>),
    Claim { thread: ThreadId, owner: OwnerId },
    Release { thread: ThreadId, epoch: Epoch },
    Mark { thread: ThreadId, epoch: Epoch, step: Step },
    Fork { parent: ThreadId, step: Step, thread: ThreadId, at: Timestamp },
    PutBlob { thread: ThreadId, id: String, bytes: Vec<u8> },
    Delete { thread: ThreadId },
    Repair { thread: ThreadId, epoch: Epoch, remedy: Remedy },
}

/// The answer to an operation that has succeeded.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    Accepted(AcceptReply),
    Claimed(Epoch),
}

/// Inputs for one thread.
#[derive(Debug)]
pub(crate) struct Accept {
    pub(crate) thread: ThreadId,
    pub(crate) inputs: Inputs,
    pub(crate) create: Create,
}

/// Encoded inputs.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// When the first arrived; `None` if there are none.
    pub(crate) first_at: Option<Timestamp>,
    /// Their ids, each with its rows.
    pub(crate) rows: Vec<(InputId, InputRows)>,
}

/// The rows of one input.
#[derive(Debug)]
pub(crate) struct InputRows {
    /// Of the inbox, after the sequence number.
    pub(crate) inbox: Row,
    /// Of the ids, after the thread's number.
    pub(crate) id: Row,
}

/// A turn and all that comes with it.
#[derive(Debug)]
pub(crate) struct Sync {
    pub(crate) thread: ThreadId,
    pub(crate) epoch: Epoch,
    pub(crate) step: Step,
    pub(crate) at: Timestamp,
    pub(crate) token: SyncToken,
    pub(crate) committed: Step,
    pub(crate) usage: Usage,
    pub(crate) spawned: Vec<Spawned>,
    /// Everything else: rows for one statement each, after the thread's number.
    pub(crate) rows: Vec<(Table, Row)>,
    /// Calls that are open no more, with what hangs on them.
    pub(crate) settled: Vec<Row>,
}

/// A child to be created.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) thread: ThreadId,
    pub(crate) inputs: Inputs,
}

impl Op {
    /// Whether it may be lost in a power cut, so that it needs no fsync.
    pub(crate) fn may_be_lost(&self) -> bool {
        matches!(self, Self::Claim { .. } | Self::Release { .. } | Self::Mark { .. })
    }

    /// Whether it is a transaction of its own.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Delete { .. } | Self::Repair { .. })
    }

    /// About how many bytes it writes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Accept(accept) => accept.inputs.size(),
            Self::Sync(sync) => {
                let spawned = sync.spawned.iter().map(|child| child.inputs.size()).sum::<usize>();
                spawned + sync.rows.iter().map(|(_, row)| row.len()).sum::<usize>()
            }
            Self::PutBlob { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }
}

impl Accept {
    pub(crate) fn encode(request: AcceptRequest) -> Result<Self, StoreError> {
        let AcceptRequest { thread, inputs, create } = request;
        Ok(Self { thread, inputs: Inputs::encode(inputs)?, create })
    }
}

impl Inputs {
    fn encode(inputs: Vec<NewInput>) -> Result<Self, StoreError> {
        let first_at = inputs.first().map(|input| input.at);
        let row = |new: NewInput| {
            let inbox = Row::default().number(new.at.0).text(new.id.as_str()).json(&new.input)?;
            let id = Row::default().text(new.id.as_str());
            Ok((new.id, InputRows { inbox, id }))
        };
        let rows = inputs.into_iter().map(row).collect::<Result<_, _>>().map_err(not_json)?;
        Ok(Self { first_at, rows })
    }

    fn size(&self) -> usize {
        self.rows.iter().map(|(_, rows)| rows.inbox.len() + rows.id.len()).sum()
    }
}

impl Sync {
    pub(crate) fn encode(request: SyncRequest) -> Result<Self, StoreError> {
        let rows = rows(&request).map_err(not_json)?;
        let SyncRequest { thread, epoch, turn, token, committed, changes } = request;
        let spawned = changes
            .spawned
            .into_iter()
            .map(|spawn| Ok(Spawned { thread: spawn.thread, inputs: Inputs::encode(spawn.inputs)? }))
            .collect::<Result<_, StoreError>>()?;
        let usage = changes.usage;
        let settled = changes.settled.iter().map(|call| Row::default().text(call.as_str())).collect();
        Ok(Self { thread, epoch, step: turn.step, at: turn.at, token, committed, usage, spawned, rows, settled })
    }
}

/// The rows of a sync. Their order within one table is kept; that of the tables is said at [`Table`].
fn rows(request: &SyncRequest) -> Result<Vec<(Table, Row)>, serde_json::Error> {
    let (turn, changes) = (&request.turn, &request.changes);
    let step = number(turn.step);
    let mut rows = Vec::new();
    let at = |place: usize| Row::default().number(step).number(place as i64);

    for (place, message) in turn.messages.iter().enumerate() {
        rows.push((Table::Messages, at(place).number(turn.at.0).json(message)?));
    }
    for seq in &changes.consumed {
        rows.push((Table::Consumed, Row::default().number(number(*seq))));
    }
    for (place, call) in changes.planned.iter().enumerate() {
        rows.push((Table::Calls, at(place).text(call.call_id.as_str()).json(call)?));
    }
    for (place, choice) in changes.choices_opened.iter().enumerate() {
        let row = at(place).text(choice.call_id.as_str()).text(choice.id.as_str());
        rows.push((Table::Choices, row.json(choice)?));
    }
    for end in &changes.choices_closed {
        let row = Row::default().text(end.call_id.as_str()).text(end.id.as_str());
        rows.push((Table::ChoicesClosed, row.json(end)?));
    }
    for (place, subscription) in changes.subscriptions_opened.iter().enumerate() {
        rows.push((Table::Subscriptions, at(place).text(subscription.call_id.as_str()).json(subscription)?));
    }
    for call in &changes.subscriptions_closed {
        rows.push((Table::SubscriptionsClosed, Row::default().text(call.as_str())));
    }
    for (place, notice) in changes.oauth.iter().enumerate() {
        rows.push((Table::OAuth, at(place).text(notice.call_id.as_str()).json(notice)?));
    }
    for (place, view) in changes.views.iter().enumerate() {
        rows.push((Table::Views, at(place).text(&*view.view_type).json(view)?));
    }
    Ok(rows)
}

/// Steps, sequence numbers and tokens are 64 bits here and there; what is beyond `i64` keeps its bits.
pub(super) fn number(number: u64) -> i64 {
    number.cast_signed()
}

fn not_json(error: serde_json::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, "a value has no JSON form").with_source(error)
}
