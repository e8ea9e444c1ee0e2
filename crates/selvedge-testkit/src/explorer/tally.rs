//! What exploring came to, in numbers.

use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};

use super::Point;

/// A promise that a run did not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Broken {
    /// An accepted input is not in the history.
    InputLost,
    /// An input is in the history twice, or was accepted twice.
    InputDoubled,
    /// Inputs are not in the order of their acceptance.
    InputOrder,
    /// A call reached its tool without a durable record of it.
    CallUnrecorded,
    /// A call reached its tool before its commit.
    CallUncommitted,
    /// A call that may reach its tool once reached it again, or a repetition did not say that it is one.
    CallDoubled,
    /// A call has a result and never reached its tool, or is settled as something that it cannot be.
    CallLost,
    /// A call has no result, or more than one.
    ResultCount,
    /// What the observer kept at its last commit is not what the history says.
    State,
    /// The transcript is another than that of the undisturbed run.
    Transcript,
    /// Oracle V: a request that a provider would refuse.
    Request,
    /// Oracle F: a subscriber saw something else than the others, or than the history.
    Viewer,
    /// A run that does not end, panics, or did not follow the path that was counted.
    Stuck,
    /// The store's own check of its files found something.
    Integrity,
}

impl Broken {
    /// All of them, in the order in which they are printed, each with its name there.
    pub const ALL: [(Self, &str); 14] = [
        (Self::InputLost, "inputs lost"),
        (Self::InputDoubled, "inputs doubled"),
        (Self::InputOrder, "inputs out of order"),
        (Self::CallUnrecorded, "calls without a record"),
        (Self::CallUncommitted, "calls before their commit"),
        (Self::CallDoubled, "calls doubled"),
        (Self::CallLost, "calls lost"),
        (Self::ResultCount, "calls without one result"),
        (Self::State, "observer state differs"),
        (Self::Transcript, "transcript differs"),
        (Self::Request, "requests refused (V)"),
        (Self::Viewer, "viewers differ (F)"),
        (Self::Stuck, "stuck"),
        (Self::Integrity, "database damaged"),
    ];
}

/// One promise that one run did not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which promise.
    pub broken: Broken,
    /// What was found.
    pub what: String,
}

impl Violation {
    /// A violation, in words.
    pub fn new(broken: Broken, what: impl Into<String>) -> Self {
        Self { broken, what: what.into() }
    }
}

/// A run that broke a promise, and how to see it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The subject, or the seed.
    pub case: String,
    /// Where it was struck, as in `store:3:die-after,tool:1:die-before`; empty for an undisturbed run.
    pub at: String,
    /// What was found.
    pub what: String,
}

/// How many failures are told in words; all are counted.
const TOLD: usize = 20;

/// Numbers of one part of the exploration, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Scenarios, seeds or databases.
    pub cases: u64,
    /// Runs that were struck somewhere.
    pub points: u64,
    /// Processes that died.
    pub kills: u64,
    /// Turns of conversations that were finished, where they are counted.
    pub turns: u64,
    /// Calls that were settled as "outcome unknown": no violation, but the price of at most once.
    pub unknown: u64,
    /// How often each promise was broken.
    pub broken: BTreeMap<Broken, u64>,
    /// Some of the runs that broke one.
    pub failures: Vec<Failure>,
}

impl Tally {
    /// Adds what was found in one run.
    pub fn judged(&mut self, case: &str, strikes: &[Point], violations: Vec<Violation>) {
        for violation in &violations {
            *self.broken.entry(violation.broken).or_default() += 1;
        }
        if let Some(Violation { broken, what }) = violations.first()
            && self.failures.len() < TOLD
        {
            let at: Vec<String> = strikes.iter().map(Point::to_string).collect();
            let more = violations.len() - 1;
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            let what = format!("{broken:?}: {what}{more}");
            self.failures.push(Failure { case: case.to_owned(), at: at.join(","), what });
        }
    }

    /// How often a promise was broken.
    pub fn count(&self, broken: Broken) -> u64 {
        self.broken.get(&broken).copied().unwrap_or_default()
    }

    /// How often any was.
    pub fn violations(&self) -> u64 {
        self.broken.values().sum()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cases += other.cases;
        self.points += other.points;
        self.kills += other.kills;
        self.turns += other.turns;
        self.unknown += other.unknown;
        for (broken, count) in other.broken {
            *self.broken.entry(broken).or_default() += count;
        }
        self.failures.extend(other.failures.into_iter().take(TOLD.saturating_sub(self.failures.len())));
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}
