//! Interleavings by seed: the runs of the attach law, with faults, restarts and crashes among them.

use selvedge_testkit::explorer::{Broken, Tally, Violation, in_parallel};
use selvedge_tests::law;

use crate::plan::Plan;

/// Runs of one seed, which are generated together.
const RUNS: u64 = 25;

pub(crate) fn run(plan: &Plan) -> Tally {
    let seeds = plan.pick(4, 1000);
    let numbers: Vec<u64> = match &plan.case {
        Some(number) => number.parse().into_iter().collect(),
        None => (0..seeds).collect(),
    };
    let tallies = in_parallel(plan.workers(), &numbers, |number| {
        let mut tally = Tally { cases: 1, points: RUNS, ..Tally::default() };
        let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(*number);
        if let Err(what) = law::hold(seed, u32::try_from(RUNS).unwrap()) {
            tally.judged(&number.to_string(), &[], vec![Violation::new(Broken::Viewer, what)]);
        }
        tally
    });
    tallies.into_iter().fold(Tally::default(), |sum, one| sum + one)
}
