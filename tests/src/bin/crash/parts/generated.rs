//! Scenarios by chance, struck by chance.

use selvedge_testkit::explorer::{Tally, in_parallel};
use selvedge_tests::crash::{Disk, generated};

use crate::plan::Plan;

pub(crate) fn run(plan: &Plan) -> Tally {
    let cases = plan.pick(100, 8_000);
    let numbers: Vec<u64> = match &plan.case {
        Some(number) => number.parse().into_iter().collect(),
        None => (0..cases).collect(),
    };
    let tallies = in_parallel(plan.workers(), &numbers, |number| {
        // A database costs more than the rest of the run.
        let disk = if number % 16 == 0 { Disk::Sqlite } else { Disk::Memory };
        generated(plan.seed, *number, disk)
    });
    tallies.into_iter().fold(Tally::default(), |sum, one| sum + one)
}
