//! Which step a thread's events and commits belong to.

use selvedge_event::{AgentEvent, Discard, Step};

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
        Self { newest, running: None }
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
            Some(running) if step > running => running,
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
        follows
    }

    /// Takes in a commit; returns the step that it commits.
    pub fn commit(&mut self) -> Step {
        self.newest = self.running.take().unwrap_or(self.newest + 1);
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

    #[test]
    fn a_thread_that_begins_anew_is_a_gap() {
        let mut steps = Steps::from(7);
        assert_eq!(steps.event(&event(1)), Follows::Gap { expected: 8, found: 1 });
        assert_eq!(steps.event(&event(1)), Follows::On);
        assert_eq!(steps.commit(), 1);
        assert_eq!(steps.event(&event(2)), Follows::Begins(2));
    }
}
