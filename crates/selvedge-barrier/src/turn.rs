//! A turn on its way through the barrier.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use selvedge_event::{Step, ThreadId, ToolCall, TurnRecord};
use selvedge_observer::{ThreadObserver, guard_hook};
use selvedge_store::{Changes, ConversationStore, Epoch, StoreErrorKind, SyncRequest, SyncToken, ToolDelivery};

use crate::{CommitFailed, DispatchPermit, SyncFailed};

/// What a step wants to make durable.
#[derive(Debug, Clone)]
pub struct TurnDraft {
    /// The thread.
    pub thread: ThreadId,
    /// The epoch of its claim.
    pub epoch: Epoch,
    /// The turn; its step is one more than the thread's.
    pub record: Arc<TurnRecord>,
    /// A number drawn for this turn, by which it is recognised where the answer to its sync was lost.
    pub token: SyncToken,
    /// The newest step known to be committed.
    pub committed: Step,
    /// What changes beside the history. The calls of `changes.planned` stand in `record`; each gets a permit.
    pub changes: Changes,
}

/// A turn in a phase.
pub struct Turn<P: Phase> {
    draft: Box<TurnDraft>,
    /// Calls to dispatch, each with how often it may reach its tool and which try this is.
    calls: Vec<(Arc<ToolCall>, ToolDelivery, u32)>,
    phase: PhantomData<P>,
}

/// Phase: put together, nothing is durable.
#[derive(Debug)]
pub struct Staged;

/// Phase: durable in the store.
#[derive(Debug)]
pub struct Synced;

/// Phase: the observer has committed it.
#[derive(Debug)]
pub struct Committed;

/// A phase of a turn. There are no others than these three.
pub trait Phase: sealed::Sealed {}

impl Phase for Staged {}
impl Phase for Synced {}
impl Phase for Committed {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Staged {}
    impl Sealed for super::Synced {}
    impl Sealed for super::Committed {}
}

impl<P: Phase> Turn<P> {
    /// The thread.
    pub fn thread(&self) -> &ThreadId {
        &self.draft.thread
    }

    /// The turn's messages.
    pub fn record(&self) -> &Arc<TurnRecord> {
        &self.draft.record
    }

    /// What changes beside the history.
    pub fn changes(&self) -> &Changes {
        &self.draft.changes
    }

    fn into_phase<Q: Phase>(self) -> Turn<Q> {
        Turn { draft: self.draft, calls: self.calls, phase: PhantomData }
    }
}

impl Turn<Staged> {
    /// A turn at the beginning of its way.
    ///
    /// # Panics
    /// If a planned call does not stand in the turn: a bug of whoever drafted it.
    pub fn stage(draft: TurnDraft) -> Self {
        let calls = draft.changes.planned.iter().map(|planned| {
            let call = find_call(&draft.record, &planned.call_id).expect("bug: a planned call stands in its turn");
            (call, planned.delivery, 1)
        });
        Self { calls: calls.collect(), draft: Box::new(draft), phase: PhantomData }
    }

    /// Makes the turn durable, with everything that comes with it.
    ///
    /// A conflict with this very turn, because an earlier try was durable and only its answer was lost, is a success.
    ///
    /// # Errors
    /// The store's error, and the turn as it was.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the turn durable or not, never half; the turn itself is lost.
    pub async fn sync(self, store: &dyn ConversationStore) -> Result<Turn<Synced>, SyncFailed> {
        let request = SyncRequest {
            thread: self.draft.thread.clone(),
            epoch: self.draft.epoch,
            turn: TurnRecord::clone(&self.draft.record),
            token: self.draft.token,
            committed: self.draft.committed,
            changes: self.draft.changes.clone(),
        };
        match store.sync(request).await {
            Ok(()) => Ok(self.into_phase()),
            Err(error) if error.kind() == StoreErrorKind::Conflict && self.is_head_of(store).await => {
                Ok(self.into_phase())
            }
            Err(error) => Err(SyncFailed { turn: self, error }),
        }
    }

    /// Whether the thread's newest sync is this turn's. If the store cannot tell, it is taken for another's.
    async fn is_head_of(&self, store: &dyn ConversationStore) -> bool {
        let head = store.head(&self.draft.thread).await;
        head.is_ok_and(|head| head.step == self.draft.record.step && head.token == self.draft.token)
    }
}

impl Turn<Synced> {
    /// A turn that was found synced when its thread was loaded.
    pub(crate) fn found(draft: TurnDraft, calls: Vec<(Arc<ToolCall>, ToolDelivery, u32)>) -> Self {
        Self { draft: Box::new(draft), calls, phase: PhantomData }
    }

    /// Lets the observer keep its own: first each choice that the turn opens, then the commit.
    ///
    /// # Errors
    /// What a hook said, or its panic, and the turn, which stays synced.
    ///
    /// # Cancel safety
    /// Dropping the future drops the hook that runs; the turn stays synced in the store, to be resumed.
    pub async fn commit<O: ThreadObserver + ?Sized>(self, observer: &O) -> Result<Turn<Committed>, CommitFailed> {
        let thread = self.draft.thread.as_str();
        for choice in &self.draft.changes.choices_opened {
            if let Err(error) = guard_hook(|| observer.on_user_choice_required(thread, choice)).await {
                return Err(CommitFailed { turn: self, error });
            }
        }
        // ORDER: the hook returns before any permit exists (invariant "events, sync, commit, dispatch").
        match guard_hook(|| observer.on_commit(thread)).await {
            Ok(()) => Ok(self.into_phase()),
            Err(error) => Err(CommitFailed { turn: self, error }),
        }
    }
}

impl Turn<Committed> {
    /// A turn that was found committed when its thread was loaded.
    pub(crate) fn found_committed(turn: Turn<Synced>) -> Self {
        turn.into_phase()
    }

    /// One permit per call, in call order.
    pub fn into_permits(self) -> Vec<DispatchPermit> {
        let Self { draft, calls, .. } = self;
        let step = draft.record.step;
        let permits = calls
            .into_iter()
            .map(|(call, delivery, attempt)| DispatchPermit::new(draft.thread.clone(), step, call, delivery, attempt));
        permits.collect()
    }
}

impl<P: Phase> fmt::Debug for Turn<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = std::any::type_name::<P>().rsplit("::").next().unwrap_or_default();
        f.debug_struct("Turn")
            .field("phase", &phase)
            .field("thread", &self.draft.thread)
            .field("step", &self.draft.record.step)
            .finish_non_exhaustive()
    }
}

fn find_call(record: &TurnRecord, id: &selvedge_event::CallId) -> Option<Arc<ToolCall>> {
    record.messages.iter().find_map(|message| match message {
        selvedge_event::Message::Assistant(assistant) => assistant.calls().find(|call| call.id == *id).cloned(),
        _ => None,
    })
}
