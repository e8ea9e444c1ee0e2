//! Which step a thread's events and commits belong to.

use selvedge_event::{AgentEvent, Discard, ReplaySnapshot, Step};

/// Follows the steps of one thread's feed, for observers that keep something per step.
///
/// [`on_commit`](crate::ThreadObserver::on_commit) names no step, and not every step emits an event that does. Since each
/// step that synced anything is committed once before the next one begins, and one that is committed again is announced
/// by a [`TurnDiscarded`](AgentEvent::TurnDiscarded) of the whole step, counting tells it.
///
/// ```
/// # use selvedge_event::{AgentEvent, Discard};
/// # use selvedge_observer::{Follows, Steps};
/// let mut steps = Steps::from(4);
/// let event = |step| AgentEvent::CompletionStarted { step, attempt: 1 };
/// assert_eq!(steps.event(&event(5)), Follows::Begins(5));
/// assert_eq!(steps.commit(), 5);
/// assert_eq!(steps.commit(), 6, "a step without events");
/// assert_eq!(steps.event(&event(9)), Follows::Gap { expected: 7, found: 9 });
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Steps {
    /// The newest step that is over, as far as is known.
    newest: Step,
    /// The step whose events have come and whose commit has not.
    running: Option<Step>,
    /// Everything of the running step is void, and nothing of it has come since.
    void: bool,
}

/// What an event means for the step that its observer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// The event goes on with what runs, or belongs to no step.
    On,
    /// The event is the first of a step, the next one.
    Begins(Step),
    /// Everything of the step is void. Its events come again, or it is run again, or nothing more is heard of it.
    Discards(Step),
    /// The event belongs to a step that does not follow on the newest one: others have run this thread meanwhile, or it
    /// was deleted and there is another of its name.
    Gap {
        /// The step that would have followed.
        expected: Step,
        /// The step that came.
        found: Step,
    },
}

impl From<Step> for Steps {
    /// Begins after a step: that of a snapshot, or the newest that the observer has kept; 0 for a new thread.
    fn from(newest: Step) -> Self {
        Self { newest, running: None, void: false }
    }
}

impl From<&ReplaySnapshot> for Steps {
    /// Begins at a snapshot, which may have been taken between the sync and the commit of its step.
    fn from(snapshot: &ReplaySnapshot) -> Self {
        let ReplaySnapshot { step, committed, .. } = *snapshot;
        Self { newest: committed, running: (step > committed).then_some(step), void: false }
    }
}

impl Steps {
    /// The newest step that is over.
    pub fn newest(&self) -> Step {
        self.newest
    }

    /// The step whose events have come and whose commit has not.
    pub fn running(&self) -> Option<Step> {
        self.running
    }

    /// Takes in an event.
    pub fn event(&mut self, event: &AgentEvent) -> Follows {
        let Some(step) = event.step() else { return Follows::On };
        let discards = matches!(event, AgentEvent::TurnDiscarded { scope: Discard::Step, .. });
        // A step that another process has committed, and this one shows, is over when the next one begins.
        let over = match self.running {
            Some(running) if step > running && !self.void => running,
            _ => self.newest,
        };
        let follows = match self.running {
            _ if discards && (step == over || step == over + 1) => Follows::Discards(step),
            Some(running) if step == running => Follows::On,
            _ if step == over + 1 => Follows::Begins(step),
            _ => Follows::Gap { expected: over + 1, found: step },
        };
        if follows != Follows::On {
            self.newest = step.saturating_sub(1);
            self.running = Some(step);
        }
        self.void = matches!(follows, Follows::Discards(_));
        follows
    }

    /// Holds a snapshot against what was followed so far: [`Follows::On`] if it is of that moment, [`Follows::Gap`] if
    /// steps were missed, or there are some that the thread no longer has.
    pub fn snapshot(&mut self, snapshot: &ReplaySnapshot) -> Follows {
        let found = Self::from(snapshot);
        // The observer has had the commit, and the runtime has not had its answer.
        let ahead = self.running.is_none() && found.running == Some(self.newest);
        // A step that another process has committed, and this one has shown, is over.
        let shown = self.running == Some(found.newest) && !self.void;
        if found.newest != self.newest && !ahead && !shown {
            return Follows::Gap { expected: self.running.unwrap_or(self.newest), found: snapshot.step };
        }
        if !ahead {
            let running = found.running.or(self.running.filter(|_| !shown));
            *self = Self { newest: found.newest, running, void: self.void && running == self.running };
        }
        Follows::On
    }

    /// Takes in a commit; returns the step that it commits.
    pub fn commit(&mut self) -> Step {
        self.newest = self.running.take().unwrap_or(self.newest + 1);
        self.void = false;
        self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(step: Step) -> AgentEvent {
        AgentEvent::CompletionStarted { step, attempt: 1 }
    }

    fn discarded(step: Step) -> AgentEvent {
        AgentEvent::TurnDiscarded { step, attempt: 0, scope: Discard::Step }
    }

    #[test]
    fn a_step_that_is_committed_again_keeps_its_number() {
        let mut steps = Steps::from(0);
        assert_eq!(steps.event(&event(1)), Follows::Begins(1));
        assert_eq!(steps.commit(), 1);
        // The hook had erred after all, or the process died: its events come again, or there are none to come.
        assert_eq!(steps.event(&discarded(1)), Follows::Discards(1));
        assert_eq!(steps.event(&event(1)), Follows::On);
        assert_eq!(steps.commit(), 1);
        assert_eq!(steps.event(&discarded(1)), Follows::Discards(1));
        assert_eq!(steps.commit(), 1);
        assert_eq!(steps.event(&event(2)), Follows::Begins(2));
    }

    #[test]
    fn a_step_that_is_run_again_keeps_its_number() {
        let mut steps = Steps::from(7);
        assert_eq!(steps.event(&event(8)), Follows::Begins(8));
        assert_eq!(steps.event(&discarded(8)), Follows::Discards(8));
        assert_eq!(steps.event(&event(8)), Follows::On);
        assert_eq!(steps.commit(), 8);
    }

    #[test]
    fn steps_that_others_committed_follow_on_one_another() {
        let mut steps = Steps::from(7);
        assert_eq!(steps.event(&event(8)), Follows::Begins(8));
        assert_eq!(steps.event(&event(9)), Follows::Begins(9));
        assert_eq!(steps.newest(), 8);
        assert_eq!(steps.commit(), 9);
    }

    fn snapshot(step: Step, committed: Step) -> ReplaySnapshot {
        ReplaySnapshot {
            thread_id: "t".into(),
            created_at: selvedge_event::Timestamp(0),
            step,
            committed,
            history: selvedge_event::History::default(),
            older: None,
            partial: None,
            open_calls: Vec::new(),
            choices: Vec::new(),
            oauth: Vec::new(),
            views: Vec::new(),
            usage: selvedge_event::Usage::default(),
        }
    }

    #[test]
    fn a_snapshot_of_the_moment_follows_and_another_does_not() {
        let mut steps = Steps::from(&snapshot(4, 4));
        assert_eq!(steps.event(&event(5)), Follows::Begins(5));
        assert_eq!(steps.snapshot(&snapshot(4, 4)), Follows::On, "before the sync");
        assert_eq!(steps.snapshot(&snapshot(5, 4)), Follows::On, "before the commit");
        assert_eq!(steps.commit(), 5);
        assert_eq!(steps.snapshot(&snapshot(5, 4)), Follows::On, "before the runtime knows of the commit");
        assert_eq!(steps.snapshot(&snapshot(5, 5)), Follows::On, "at rest");
        assert_eq!(steps.snapshot(&snapshot(6, 5)), Follows::On, "a step without events");
        assert_eq!(steps.commit(), 6, "and its commit");
        for (step, committed) in [(7, 7), (8, 7), (5, 5), (1, 1), (0, 0)] {
            assert_eq!(steps.snapshot(&snapshot(step, committed)), Follows::Gap { expected: 6, found: step });
        }
        assert_eq!(Steps::from(&snapshot(6, 5)).commit(), 6);
    }

    #[test]
    fn a_step_that_another_process_committed_and_this_one_showed_is_over() {
        let mut steps = Steps::from(4);
        assert_eq!(steps.event(&event(5)), Follows::Begins(5));
        assert_eq!(steps.snapshot(&snapshot(5, 5)), Follows::On);
        assert_eq!(steps.commit(), 6);
    }

    #[test]
    fn a_step_that_is_void_here_and_was_run_elsewhere_is_a_gap() {
        let mut steps = Steps::from(4);
        steps.event(&event(5));
        steps.event(&discarded(5));
        assert_eq!({ steps }.snapshot(&snapshot(5, 5)), Follows::Gap { expected: 5, found: 5 });
        assert_eq!(steps.event(&event(6)), Follows::Gap { expected: 5, found: 6 });
    }

    #[test]
    fn a_thread_that_begins_anew_is_a_gap() {
        let mut steps = Steps::from(7);
        assert_eq!(steps.event(&event(1)), Follows::Gap { expected: 8, found: 1 });
        assert_eq!(steps.event(&event(1)), Follows::On);
        assert_eq!(steps.commit(), 1);
        assert_eq!(steps.event(&event(2)), Follows::Begins(2));
    }
}
