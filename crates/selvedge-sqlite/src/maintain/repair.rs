//! Repairs: what can be put right without losing anything, thread by thread.

use selvedge_event::{CallId, Message, ThreadId, Timestamp, ToolResult, ToolStatus, TurnRecord};
use selvedge_store::{Changes, ConversationStore, Epoch, StoreError, StoreErrorKind, SyncRequest, SyncToken};

use crate::write::{Op, Remedy};
use crate::{Finding, Problem, SqliteStore};

/// What became of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// It is put right.
    Done,
    /// It is left as it is, for it cannot be put right without losing something.
    Left,
    /// It is left as it is for now: an owner that is alive has the thread. The text names it.
    Owned(String),
}

impl SqliteStore {
    /// Puts right what [`verify`](Self::verify) finds and what can be put right without losing anything
    /// ([`Problem::is_repairable`]), and hands every finding with what became of it to `told`. `at` is the time of the
    /// turns that it appends. What it does:
    ///
    /// - The newest step and the newest inbox number are raised to what there is; a step that the thread has not reached
    ///   counts as committed no more.
    /// - The ids of inputs that were taken in, or wait, are known again.
    /// - The tokens of a thread become the sum of its messages'.
    /// - Calls that have their result are open no more; choices and sign-ins of calls that are not open go.
    /// - A call that has no result and is not open is settled as "outcome unknown" in a new step, which the observer
    ///   gets to see when the thread is next driven.
    ///
    /// It never changes or removes a record that cannot be read, a message, an input or an output. Each thread is
    /// claimed first, so that nobody drives it meanwhile, and checked again under that claim.
    ///
    /// # Errors
    /// As [`verify`](Self::verify), and those of writing. What was repaired before stays so.
    ///
    /// # Cancel safety
    /// If the future is dropped, the repairs end; each is done or not. A thread may stay claimed by an owner that is dead.
    pub async fn repair(
        &self,
        label: &str,
        at: Timestamp,
        mut told: impl FnMut(Finding, Repair),
    ) -> Result<(), StoreError> {
        let owner = self.register(label).await?;
        let mut damaged: Vec<ThreadId> = Vec::new();
        self.verify(|finding| match &finding.thread {
            Some(thread) if finding.problem.is_repairable() => {
                if damaged.last() != Some(thread) {
                    damaged.push(thread.clone());
                }
            }
            _ => told(finding, Repair::Left),
        })
        .await?;
        for thread in damaged {
            match self.claim(&thread, &owner).await {
                Ok(epoch) => {
                    let repaired = self.repair_thread(&thread, epoch, at).await;
                    self.release(&thread, epoch).await?;
                    for problem in repaired? {
                        told(Finding { thread: Some(thread.clone()), problem }, Repair::Done);
                    }
                }
                Err(error) if error.kind() == StoreErrorKind::Owned => {
                    let problems = self.check_thread(&thread).await?.problems;
                    for problem in problems.into_iter().filter(Problem::is_repairable) {
                        let finding = Finding { thread: Some(thread.clone()), problem };
                        told(finding, Repair::Owned(error.to_string()));
                    }
                }
                // It has been deleted meanwhile.
                Err(error) if error.kind() == StoreErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Repairs a thread that is claimed, and returns what it was.
    async fn repair_thread(&self, thread: &ThreadId, epoch: Epoch, at: Timestamp) -> Result<Vec<Problem>, StoreError> {
        let mut repaired = Vec::new();
        // Twice, for the choices of a call that is open no more are found only then.
        for _ in 0..2 {
            // ORDER: checked under the claim: nobody syncs between the check and the repair.
            let mut problems = self.check_thread(thread).await?.problems;
            problems.retain(Problem::is_repairable);
            let (remedy, lost) = remedies(&problems);
            if remedy != Remedy::default() {
                self.write(Op::Repair { thread: thread.clone(), epoch, remedy }).await?;
            }
            if !lost.is_empty() {
                self.settle(thread, epoch, lost, at).await?;
            }
            repaired.append(&mut problems);
        }
        Ok(repaired)
    }

    /// Settles calls in a turn of their own, like any other turn.
    async fn settle(
        &self,
        thread: &ThreadId,
        epoch: Epoch,
        calls: Vec<CallId>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let record = self.load(thread).await?;
        let step = record.head.step + 1;
        let result = |call| Message::ToolResult(ToolResult::text(call, ToolStatus::Unknown, UNKNOWN).into());
        let turn = TurnRecord { step, at, messages: calls.into_iter().map(result).collect() };
        // Nobody else has the claim, so any token tells this sync from another's.
        let (thread, token, committed) = (thread.clone(), SyncToken(step), record.committed);
        self.sync(SyncRequest { thread, epoch, turn, token, committed, changes: Changes::default() }).await
    }
}

/// What the model reads of a call whose record was lost.
const UNKNOWN: &str = "Outcome unknown: the record of the open call was lost; it may have run.";

/// What puts problems right, and the calls that are to be settled.
fn remedies(problems: &[Problem]) -> (Remedy, Vec<CallId>) {
    let (mut remedy, mut lost) = (Remedy::default(), Vec::new());
    for problem in problems {
        match problem {
            Problem::TurnBeyond { .. } | Problem::CommittedBeyond { .. } | Problem::InboxBeyond { .. } => {
                remedy.counters = true;
            }
            Problem::InputForgotten(input) => remedy.inputs.push(input.clone()),
            Problem::CallLost(call) => lost.push(call.clone()),
            Problem::CallSettled(call) => remedy.settled.push(call.clone()),
            Problem::ChoiceWithoutCall { call, choice } => remedy.choices.push((call.clone(), choice.clone())),
            Problem::SignInWithoutCall(call) => remedy.sign_ins.push(call.clone()),
            Problem::Usage { counted, .. } => remedy.usage = Some(*counted),
            _ => {}
        }
    }
    (remedy, lost)
}
