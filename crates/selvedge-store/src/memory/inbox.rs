//! A thread's inbox: what waits, in order, and the ids of all that ever came.

use std::collections::{BTreeMap, HashSet};

use selvedge_event::InputId;

use crate::{Acceptance, InboxEntry, NewInput, SeqNo};

#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: BTreeMap<SeqNo, InboxEntry>,
    /// The ids of all inputs ever accepted. It only grows: a redelivery may come at any time.
    known: HashSet<InputId>,
    /// The newest number given out; 0 at first.
    last: SeqNo,
}

impl Inbox {
    pub(super) fn accept(&mut self, new: NewInput) -> Acceptance {
        let NewInput { id, input, at } = new;
        if !self.known.insert(id.clone()) {
            return Acceptance::Duplicate;
        }
        self.last += 1;
        self.waiting.insert(self.last, InboxEntry { seq: self.last, id, input, at });
        Acceptance::Accepted(self.last)
    }

    /// Takes an input out. Its id stays known.
    pub(super) fn consume(&mut self, seq: SeqNo) {
        self.waiting.remove(&seq);
    }

    pub(super) fn entries(&self) -> Vec<InboxEntry> {
        self.waiting.values().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
