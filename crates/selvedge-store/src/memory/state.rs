//! All threads and all owners, and the operations on them: check everything, then change everything.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    iter,
    ops::Bound,
    sync::{Arc, Weak},
};

use selvedge_event::{Step, ThreadId, Timestamp};

use super::{thread::Thread, turns::Turn};
use crate::{
    AcceptReply, AcceptRequest, Create, Epoch, HistoryPage, Origin, Owner, OwnerId, Spawn, StoreError, StoreErrorKind,
    SyncRequest, ThreadSummary, ThreadsAfter,
};

#[derive(Debug, Default)]
pub(super) struct State {
    threads: BTreeMap<ThreadId, Thread>,
    /// What each owner holds for as long as it lives. Who is not here is dead.
    owners: HashMap<OwnerId, Weak<()>>,
    /// How many owners there have been.
    registered: u64,
}

impl State {
    pub(super) fn thread(&self, thread: &ThreadId) -> Result<&Thread, StoreError> {
        self.threads.get(thread).ok_or_else(|| not_found(thread))
    }

    fn thread_mut(&mut self, thread: &ThreadId) -> Result<&mut Thread, StoreError> {
        self.threads.get_mut(thread).ok_or_else(|| not_found(thread))
    }

    pub(super) fn register(&mut self, label: &str) -> Owner {
        self.owners.retain(|_, alive| alive.strong_count() > 0);
        self.registered += 1;
        let id = OwnerId::new(format!("{label}#{}", self.registered));
        let alive = Arc::new(());
        self.owners.insert(id.clone(), Arc::downgrade(&alive));
        Owner::new(id, alive)
    }

    /// The living owner of a thread.
    fn owner(&self, thread: &Thread) -> Option<&OwnerId> {
        let (id, alive) = self.owners.get_key_value(thread.owner.as_ref()?)?;
        (alive.strong_count() > 0).then_some(id)
    }

    pub(super) fn claim(&mut self, thread: &ThreadId, owner: &Owner) -> Result<Epoch, StoreError> {
        match self.owner(self.thread(thread)?) {
            Some(other) if other != owner.id() => Err(owned(thread, other)),
            _ => Ok(self.thread_mut(thread)?.claimed_by(owner.id().clone())),
        }
    }

    pub(super) fn release(&mut self, thread: &ThreadId, epoch: Epoch) {
        if let Some(found) = self.threads.get_mut(thread).filter(|found| found.head.epoch == epoch) {
            found.owner = None;
        }
    }

    pub(super) fn accept(&mut self, request: AcceptRequest) -> Result<AcceptReply, StoreError> {
        let AcceptRequest { thread, inputs, create } = request;
        let mut claimed = None;
        if !self.threads.contains_key(&thread) {
            let owner = match create {
                Create::No => return Err(not_found(&thread)),
                Create::Unclaimed => None,
                Create::ClaimedBy(owner) => Some(owner),
            };
            let Some(first) = inputs.first() else {
                return Err(without_input());
            };
            let mut created = Thread::new(Origin::Root, first.at);
            claimed = owner.map(|owner| created.claimed_by(owner));
            self.threads.insert(thread.clone(), created);
        }
        let inbox = &mut self.thread_mut(&thread)?.inbox;
        let acceptances = inputs.into_iter().map(|input| inbox.accept(input)).collect();
        Ok(AcceptReply { acceptances, claimed })
    }

    pub(super) fn sync(&mut self, request: SyncRequest) -> Result<(), StoreError> {
        let SyncRequest { thread: id, epoch, turn, token, committed, mut changes } = request;
        let thread = self.thread(&id)?;
        thread.check_epoch(epoch)?;
        thread.check_next(turn.step)?;
        thread.check_mark(committed)?;
        let mut spawned = BTreeSet::new();
        for Spawn { thread: child, inputs } in &changes.spawned {
            if self.threads.contains_key(child) || !spawned.insert(child) {
                return Err(exists(child));
            }
            if inputs.is_empty() {
                return Err(without_input());
            }
        }

        // ORDER: nothing is changed above, nothing fails below: a refused sync leaves nothing.
        for Spawn { thread: child, inputs } in std::mem::take(&mut changes.spawned) {
            let created_at = inputs[0].at;
            let mut created = Thread::new(Origin::Child { parent: id.clone() }, created_at);
            for input in inputs {
                created.inbox.accept(input);
            }
            self.threads.insert(child, created);
        }
        let thread = self.thread_mut(&id)?;
        thread.append(turn, token, changes);
        thread.mark_committed(committed);
        Ok(())
    }

    pub(super) fn mark_committed(&mut self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        let thread = self.thread_mut(thread)?;
        thread.check_epoch(epoch)?;
        thread.check_mark(step)?;
        thread.mark_committed(step);
        Ok(())
    }

    pub(super) fn history(
        &self,
        thread: &ThreadId,
        before: Option<Step>,
        max_bytes: u64,
    ) -> Result<HistoryPage, StoreError> {
        let mut newest_first = self.newest_first(thread, before.unwrap_or(Step::MAX))?.peekable();
        let mut turns = Vec::new();
        let mut bytes = 0_u64;
        while let Some(turn) = newest_first.next_if(|turn| turns.is_empty() || bytes + turn.bytes <= max_bytes) {
            bytes += turn.bytes;
            turns.push(turn.record.clone());
        }
        let oldest = turns.last().map(|turn| turn.step);
        let older = newest_first.peek().and(oldest);
        turns.reverse();
        Ok(HistoryPage { turns, older, quarantined: Vec::new() })
    }

    /// The turns of a history before a step, newest first: the thread's own, then those that it shares.
    fn newest_first(&self, thread: &ThreadId, before: Step) -> Result<impl Iterator<Item = &Turn>, StoreError> {
        Ok(self.lineage(thread, before)?.flat_map(|(thread, before)| thread.turns.newest_before(before)))
    }

    /// A thread, the one that it was forked from, and so on; each with the step before which its history counts.
    fn lineage(&self, thread: &ThreadId, before: Step) -> Result<impl Iterator<Item = (&Thread, Step)>, StoreError> {
        let first = (self.thread(thread)?, before);
        Ok(iter::successors(Some(first), |(thread, before)| match &thread.origin {
            Origin::Fork { parent, step } => {
                let parent = self.threads.get(parent).expect("bug: a thread with forks was deleted");
                Some((parent, step.saturating_add(1).min(*before)))
            }
            Origin::Root | Origin::Child { .. } => None,
        }))
    }

    pub(super) fn summaries(&self, range: ThreadsAfter) -> Vec<ThreadSummary> {
        let after = range.after.map_or(Bound::Unbounded, Bound::Excluded);
        let threads = self.threads.range((after, Bound::Unbounded)).take(range.limit);
        threads.map(|(id, thread)| thread.summary(id.clone())).collect()
    }

    pub(super) fn unfinished(&self) -> Vec<ThreadId> {
        let unfinished = self.threads.iter().filter(|(_, thread)| thread.is_unfinished());
        unfinished.map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn fork(
        &mut self,
        parent: &ThreadId,
        step: Step,
        thread: &ThreadId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let reached = self.thread(parent)?.head.step;
        if self.threads.contains_key(thread) {
            return Err(exists(thread));
        }
        if step > reached {
            let message = format!("thread {parent:?} is at step {reached} and cannot be forked at step {step}");
            return Err(StoreError::new(StoreErrorKind::Invalid, message));
        }

        self.thread_mut(parent)?.forks.insert(thread.clone());
        self.threads.insert(thread.clone(), Thread::new(Origin::Fork { parent: parent.clone(), step }, at));
        Ok(())
    }

    pub(super) fn delete(&mut self, thread: &ThreadId) -> Result<(), StoreError> {
        let found = self.thread(thread)?;
        if let Some(owner) = self.owner(found) {
            return Err(owned(thread, owner));
        }
        if !found.forks.is_empty() {
            let message = format!("the history of thread {thread:?} is shared by {:?}", found.forks);
            return Err(StoreError::new(StoreErrorKind::InUse, message));
        }

        if let Origin::Fork { parent, .. } = found.origin.clone() {
            self.thread_mut(&parent)?.forks.remove(thread);
        }
        self.threads.remove(thread);
        Ok(())
    }

    pub(super) fn put_blob(&mut self, thread: &ThreadId, id: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.thread_mut(thread)?.blobs.entry(id.to_owned()).or_insert(bytes);
        Ok(())
    }

    pub(super) fn blob(&self, thread: &ThreadId, id: &str, offset: u64, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        let kept = self.lineage(thread, Step::MAX)?.find_map(|(thread, _)| thread.blobs.get(id));
        let Some(kept) = kept else {
            let message = format!("thread {thread:?} has no blob {id:?}");
            return Err(StoreError::new(StoreErrorKind::NotFound, message));
        };
        // A place beyond what the machine can address lies past the end of any blob.
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(kept.len());
        Ok(kept[place(offset)..place(offset.saturating_add(max_bytes))].to_vec())
    }
}

fn not_found(thread: &ThreadId) -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, format!("there is no thread {thread:?}"))
}

fn exists(thread: &ThreadId) -> StoreError {
    StoreError::new(StoreErrorKind::Exists, format!("there is a thread {thread:?} already"))
}

fn without_input() -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, "a thread is not created without an input")
}

fn owned(thread: &ThreadId, owner: &OwnerId) -> StoreError {
    StoreError::new(StoreErrorKind::Owned, format!("thread {thread:?} is driven by {owner}"))
}
