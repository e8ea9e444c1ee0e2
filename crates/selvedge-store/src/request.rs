//! What is asked of a store.

use selvedge_event::{
    CallId, ChoiceResolution, Input, InputId, OAuthNotice, Step, Subscription, Text, ThreadId, Timestamp, TurnRecord,
    Usage, UserChoice, View,
};
use serde::{Deserialize, Serialize};

use crate::{Epoch, OwnerId, SeqNo};

/// Inputs for one thread, to be accepted together.
#[derive(Debug, Clone)]
pub struct AcceptRequest {
    /// The thread.
    pub thread: ThreadId,
    /// The inputs, in order; at least one if the thread is to be created.
    pub inputs: Vec<NewInput>,
    /// What to do if there is no such thread.
    pub create: Create,
}

/// What to do if a thread that inputs are for does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Create {
    /// Fail with [`NotFound`](crate::StoreErrorKind::NotFound); nothing is written.
    No,
    /// Create it, claimed by nobody.
    Unclaimed,
    /// Create it, claimed by this owner with epoch 1, in the same transaction.
    ClaimedBy(OwnerId),
}

/// An input on its way in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInput {
    /// Its id; an id that the thread has ever accepted marks a redelivery.
    pub id: InputId,
    /// The input.
    pub input: Input,
    /// When it arrived.
    pub at: Timestamp,
}

/// What became of an [`AcceptRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptReply {
    /// One answer per input, in the order of the request.
    pub acceptances: Vec<Acceptance>,
    /// The epoch of the new claim, if the thread was created by [`Create::ClaimedBy`].
    pub claimed: Option<Epoch>,
}

/// What became of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// It is durable in the inbox, under this number.
    Accepted(SeqNo),
    /// The thread has accepted an input with this id before, whatever has become of it since.
    Duplicate,
}

/// One step's turn and everything that comes with it, to be made durable in one transaction.
#[derive(Debug, Clone)]
pub struct SyncRequest {
    /// The thread.
    pub thread: ThreadId,
    /// The epoch of the writer's claim; refused as [`Conflict`](crate::StoreErrorKind::Conflict) if it is not the
    /// thread's current one.
    pub epoch: Epoch,
    /// The new turn. Its step must be one more than the thread's; otherwise
    /// [`Conflict`](crate::StoreErrorKind::Conflict). Its messages may be none.
    pub turn: TurnRecord,
    /// A mark of this very request, by which its writer recognises it where the answer was lost.
    pub token: SyncToken,
    /// The newest step known to be committed, at most the one before the turn's; kept as the thread's mark if it is
    /// newer than that.
    pub committed: Step,
    /// Everything else.
    pub changes: Changes,
}

/// A number drawn by chance for one sync.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SyncToken(pub u64);

/// What a sync changes beside the history. What it both begins and ends is ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Inputs that the step has taken; they leave the inbox, their ids stay known.
    pub consumed: Vec<SeqNo>,
    /// Calls that the step makes.
    pub planned: Vec<PlannedCall>,
    /// Calls that are open no more. Their choices and sign-ins go with them.
    pub settled: Vec<CallId>,
    /// Choices that are now pending.
    pub choices_opened: Vec<UserChoice>,
    /// Choices that ended. A resolved choice is kept, with its resolution, until its call is settled.
    pub choices_closed: Vec<ChoiceResolution>,
    /// Calls that go on as subscriptions.
    pub subscriptions_opened: Vec<Subscription>,
    /// Subscriptions that ended.
    pub subscriptions_closed: Vec<CallId>,
    /// Sign-ins that calls wait for; one per call, a later one replaces it.
    pub oauth: Vec<OAuthNotice>,
    /// Views; one per type, a later one replaces it.
    pub views: Vec<View>,
    /// Tokens to add to the thread's.
    pub usage: Usage,
    /// Child threads to create.
    pub spawned: Vec<Spawn>,
}

/// A call that is open from its sync until it is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// The call; its arguments stand in the history.
    pub call_id: CallId,
    /// The tool's name.
    pub tool: Text,
    /// The step that makes it.
    pub step: Step,
    /// What may happen to it after a crash.
    pub delivery: ToolDelivery,
}

/// How often a call may reach its tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolDelivery {
    /// At most once: found open after a crash, it is settled as "outcome unknown". The default.
    #[default]
    AtMostOnce,
    /// At least once, always under the same key: for tools that are read-only or idempotent.
    AtLeastOnce,
}

/// A child thread to be created with its first inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// The child.
    pub thread: ThreadId,
    /// Its first inputs; at least one.
    pub inputs: Vec<NewInput>,
}
