//! A batch: decides operations one after another against the threads' rows, and gathers what they change.
//!
//! Nothing here touches the database. Each operation is checked whole before it changes anything, so that a refused
//! one leaves nothing, and it sees what those before it in the batch have changed.

use std::collections::{HashMap, HashSet};

use selvedge_event::{InputId, Step, ThreadId, Timestamp};
use selvedge_store::{AcceptReply, Acceptance, Create, Epoch, Origin, OwnerId, StoreError, StoreErrorKind};

use super::op::{Accept, Answer, Inputs, Op, Spawned, Sync, number};
use super::statements::{Effects, Table};
use super::thread::Thread;
use crate::owners::Owners;

#[derive(Debug)]
pub(super) struct Batch<'a> {
    owners: &'a Owners,
    threads: HashMap<String, Thread>,
    /// Inputs that are known: those among the batch's that the database has, and those that the batch has accepted.
    known: HashSet<(i64, InputId)>,
    /// The newest number of a thread.
    last_thread: i64,
    effects: Effects,
    blobs: Vec<Blob<'a>>,
}

/// A blob to be written, unless there is one of that name.
#[derive(Debug)]
pub(super) struct Blob<'a> {
    pub(super) thread: i64,
    pub(super) id: &'a str,
    pub(super) bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    pub(super) fn new(owners: &'a Owners, last_thread: i64, threads: HashMap<String, Thread>) -> Self {
        let (known, effects, blobs) = (HashSet::new(), Effects::default(), Vec::new());
        Self { owners, threads, known, last_thread, effects, blobs }
    }

    /// Remembers that the database knows an input.
    pub(super) fn know(&mut self, thread: &str, input: &InputId) {
        if let Some(thread) = self.threads.get(thread) {
            self.known.insert((thread.id, input.clone()));
        }
    }

    /// Decides an operation.
    pub(super) fn apply(&mut self, op: &'a Op) -> Result<Answer, StoreError> {
        match op {
            Op::Accept(accept) => self.accept(accept).map(Answer::Accepted),
            Op::Sync(sync) => self.sync(sync).map(|()| Answer::Done),
            Op::Claim { thread, owner } => self.claim(thread, owner).map(Answer::Claimed),
            Op::Release { thread, epoch } => {
                self.release(thread, *epoch);
                Ok(Answer::Done)
            }
            Op::Mark { thread, epoch, step } => self.mark(thread, *epoch, *step).map(|()| Answer::Done),
            Op::Fork { parent, step, thread, at } => self.fork(parent, *step, thread, *at).map(|()| Answer::Done),
            Op::PutBlob { thread, id, bytes } => {
                let thread = self.thread(thread)?.id;
                self.blobs.push(Blob { thread, id, bytes });
                Ok(Answer::Done)
            }
            Op::Delete { .. } | Op::Repair { .. } => unreachable!("bug: {op:?} is never part of a batch"),
        }
    }

    /// What is to be written.
    pub(super) fn finish(mut self) -> (Effects, Vec<Blob<'a>>) {
        let (mut new, mut changed) = Default::default();
        for thread in self.threads.values() {
            thread.write(&mut new, &mut changed);
        }
        *self.effects.of(Table::ThreadsNew) = new;
        *self.effects.of(Table::ThreadsChanged) = changed;
        (self.effects, self.blobs)
    }

    fn thread(&mut self, thread: &ThreadId) -> Result<&mut Thread, StoreError> {
        self.threads.get_mut(thread.as_str()).ok_or_else(|| not_found(thread))
    }

    fn create(&mut self, thread: &ThreadId, origin: Origin, at: Timestamp) -> &mut Thread {
        self.last_thread += 1;
        let name = thread.as_str().to_owned();
        let created = Thread::new(self.last_thread, name.clone(), origin, at);
        self.threads.entry(name).or_insert(created)
    }

    fn accept(&mut self, accept: &Accept) -> Result<AcceptReply, StoreError> {
        let Accept { thread, inputs, create } = accept;
        let mut claimed = None;
        if !self.threads.contains_key(thread.as_str()) {
            let owner = match create {
                Create::No => return Err(not_found(thread)),
                Create::Unclaimed => None,
                Create::ClaimedBy(owner) => Some(owner),
            };
            let first_at = inputs.first_at.ok_or_else(without_input)?;
            let created = self.create(thread, Origin::Root, first_at);
            claimed = owner.map(|owner| created.claimed_by(owner.as_str()));
        }
        Ok(AcceptReply { acceptances: self.take_in(thread, inputs)?, claimed })
    }

    fn take_in(&mut self, thread: &ThreadId, inputs: &Inputs) -> Result<Vec<Acceptance>, StoreError> {
        let Self { threads, known, effects, .. } = self;
        let thread = threads.get_mut(thread.as_str()).ok_or_else(|| not_found(thread))?;
        let mut acceptances = Vec::with_capacity(inputs.rows.len());
        for (id, row) in &inputs.rows {
            if !known.insert((thread.id, id.clone())) {
                acceptances.push(Acceptance::Duplicate);
                continue;
            }
            thread.last_seq += 1;
            thread.changed();
            effects.of(Table::Inbox).push(&[thread.id, number(thread.last_seq)], &row.inbox);
            effects.of(Table::InputIds).push(&[thread.id], &row.id);
            acceptances.push(Acceptance::Accepted(thread.last_seq));
        }
        Ok(acceptances)
    }

    fn sync(&mut self, sync: &Sync) -> Result<(), StoreError> {
        let thread = self.thread(&sync.thread)?;
        thread.check_epoch(sync.epoch)?;
        thread.check_next(sync.step)?;
        thread.check_mark(sync.committed)?;
        let mut spawned = HashSet::new();
        let mut children = Vec::new();
        for Spawned { thread: child, inputs } in &sync.spawned {
            if self.threads.contains_key(child.as_str()) || !spawned.insert(child) {
                return Err(exists(child));
            }
            children.push((child, inputs, inputs.first_at.ok_or_else(without_input)?));
        }

        // ORDER: nothing is changed above, nothing fails below: a refused sync leaves nothing.
        for (child, inputs, at) in children {
            self.create(child, Origin::Child { parent: sync.thread.clone() }, at);
            self.take_in(child, inputs)?;
        }
        let thread = self.thread(&sync.thread)?;
        thread.step = sync.step;
        thread.token = sync.token;
        thread.updated_at = sync.at;
        thread.add_usage(sync.usage);
        thread.changed();
        thread.mark_committed(sync.committed);
        let (id, mut choices, mut oauth) = (thread.id, thread.has_choices, thread.has_oauth);
        for (table, row) in &sync.rows {
            choices |= *table == Table::Choices;
            oauth |= *table == Table::OAuth;
            self.effects.of(*table).push(&[id], row);
        }
        let settled = [(Table::CallsSettled, true), (Table::ChoicesSettled, choices), (Table::OAuthSettled, oauth)];
        for (table, _) in settled.into_iter().filter(|(_, has_any)| *has_any) {
            for row in &sync.settled {
                self.effects.of(table).push(&[id], row);
            }
        }
        Ok(())
    }

    fn claim(&mut self, thread: &ThreadId, owner: &OwnerId) -> Result<Epoch, StoreError> {
        let owners = self.owners;
        let found = self.thread(thread)?;
        if let Some(other) = found.owner.as_deref().filter(|other| *other != owner.as_str()) {
            check_dead(owners, thread, other)?;
        }
        Ok(found.claimed_by(owner.as_str()))
    }

    fn release(&mut self, thread: &ThreadId, epoch: Epoch) {
        if let Some(found) = self.threads.get_mut(thread.as_str()).filter(|found| found.epoch == epoch) {
            found.owner = None;
            found.changed();
        }
    }

    fn mark(&mut self, thread: &ThreadId, epoch: Epoch, step: Step) -> Result<(), StoreError> {
        let thread = self.thread(thread)?;
        thread.check_epoch(epoch)?;
        thread.check_mark(step)?;
        thread.mark_committed(step);
        Ok(())
    }

    fn fork(&mut self, parent: &ThreadId, step: Step, thread: &ThreadId, at: Timestamp) -> Result<(), StoreError> {
        let found = self.thread(parent)?;
        let (reached, removed) = (found.step, found.removed);
        if self.threads.contains_key(thread.as_str()) {
            return Err(exists(thread));
        }
        if step > reached {
            let message = format!("thread {parent:?} is at step {reached} and cannot be forked at step {step}");
            return Err(StoreError::new(StoreErrorKind::Invalid, message));
        }
        if let Some(removed) = removed.filter(|removed| step < *removed) {
            let message = format!("the beginning of thread {parent:?}, up to step {removed}, was removed");
            return Err(StoreError::new(StoreErrorKind::Invalid, message));
        }
        self.create(thread, Origin::Fork { parent: parent.clone(), step }, at);
        Ok(())
    }
}

/// Refuses to take a thread from an owner that lives.
pub(crate) fn check_dead(owners: &Owners, thread: &ThreadId, owner: &str) -> Result<(), StoreError> {
    match owners.is_alive(owner) {
        Ok(false) => Ok(()),
        Ok(true) => {
            let message = format!("thread {thread:?} is driven by {owner}");
            Err(StoreError::new(StoreErrorKind::Owned, message))
        }
        Err(error) => {
            let message = format!("whether {owner} lives cannot be seen");
            Err(StoreError::new(StoreErrorKind::Unavailable, message).with_source(error))
        }
    }
}

pub(super) fn not_found(thread: &ThreadId) -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, format!("there is no thread {thread:?}"))
}

fn exists(thread: &ThreadId) -> StoreError {
    StoreError::new(StoreErrorKind::Exists, format!("there is a thread {thread:?} already"))
}

fn without_input() -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, "a thread is not created without an input")
}
