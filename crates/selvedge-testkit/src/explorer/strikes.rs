//! One process after the other is struck.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::FutureExt;
use selvedge_model::Gate;

use super::{Point, Probe, Violation};
use crate::{FaultStore, Select, Watcher};

/// Arms each process with the next strike, says when it has struck, and counts the points that there are.
#[derive(Debug)]
pub struct Strikes {
    left: VecDeque<Point>,
    watcher: Watcher,
    probe: Probe,
    /// Faults of the process that runs.
    faults: FaultStore,
    /// What is to strike it.
    armed: Option<Point>,
    /// Where it is held to die.
    held: Gate,
    /// Operations and hooks before it was armed.
    before: (usize, u32),
    spared: usize,
    kills: u64,
}

impl Strikes {
    /// Strikes for the processes that follow one another on a store, the first of which has started with these faults.
    pub fn new(points: &[Point], watcher: Watcher, probe: Probe, faults: &FaultStore) -> Self {
        let (left, faults) = (points.iter().copied().collect(), faults.clone());
        let (armed, held, before) = (None, Gate::new(), (0, 0));
        let mut strikes = Self { left, watcher, probe, faults, armed, held, before, spared: 0, kills: 0 };
        strikes.arm();
        strikes
    }

    /// The process has died, and another has started with these faults.
    pub fn restarted(&mut self, faults: &FaultStore) {
        self.kills += 1;
        self.spared += usize::from(!self.is_spent());
        self.faults = faults.clone();
        self.arm();
    }

    /// Waits until the process is dead, or held where it is to die. Needs a runtime with time.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn struck(&self) {
        while !self.has_struck() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether the process is dead, or held where it is to die.
    pub fn has_struck(&self) -> bool {
        self.faults.is_dead() || self.held.reached().now_or_never().is_some()
    }

    /// All points of the process that runs.
    pub fn points(&self) -> Vec<Point> {
        let (operations, hooks, calls) = self.counts();
        Point::all(operations, hooks, calls)
    }

    /// How many strikes were not needed, because the run ended before them.
    pub fn spared(&self) -> usize {
        self.spared + self.left.len() + usize::from(!self.is_spent())
    }

    /// How many processes have died.
    pub fn kills(&self) -> u64 {
        self.kills
    }

    /// What calls did that they may not do.
    pub fn violations(&self) -> Vec<Violation> {
        self.probe.violations()
    }

    fn arm(&mut self) {
        self.held = Gate::new();
        self.before = (self.faults.log().len(), self.watcher.hooks());
        self.armed = self.left.pop_front();
        let call = match self.armed {
            Some(Point::Tool(n, moment)) => Some((n, moment, self.held.clone())),
            _ => None,
        };
        self.probe.arm(call);
        match self.armed {
            Some(Point::Store(n, fault)) => self.faults.inject(Select::any().nth(n), fault),
            Some(Point::Hook(n, fault)) => self.watcher.strike_hook(n, fault, &self.held),
            Some(Point::Tool(..)) | None => {}
        }
    }

    /// Operations, hooks and calls since the process was armed.
    fn counts(&self) -> (u64, u32, u32) {
        let operations = (self.faults.log().len() - self.before.0) as u64;
        (operations, self.watcher.hooks() - self.before.1, self.probe.in_process())
    }

    fn is_spent(&self) -> bool {
        let (operations, hooks, calls) = self.counts();
        match self.armed {
            Some(Point::Store(n, _)) => n <= operations,
            Some(Point::Hook(n, _)) => n <= hooks,
            Some(Point::Tool(n, _)) => n <= calls,
            None => true,
        }
    }
}
