//! Real processes, killed with SIGKILL: at the instant of dispatch, at random moments with one conversation, and with
//! sixteen at once.
//!
//! A case is a database. Its process is killed, started again, killed again, until all turns are done; then the
//! history, the lines that the tools have left and what the observer was told are compared.

mod process;
mod run;
mod seen;

use std::time::Duration;

use selvedge_testkit::explorer::{self, Broken, Same, Tally, Violation, judge};

use self::run::{Killing, Run};
use crate::plan::Plan;

/// The process stops inside the tool that may run once, before or after it has written its line, and is killed there.
pub(crate) fn at_dispatch(plan: &Plan) -> Tally {
    part(plan, 1, 3, plan.pick(10, 100), |_| Killing::AtDispatch)
}

/// One conversation.
pub(crate) fn at_random(plan: &Plan) -> Tally {
    part(plan, 1, 3, plan.pick(10, 200), Killing::AtRandom)
}

/// Sixteen conversations at once.
pub(crate) fn at_random_of_sixteen(plan: &Plan) -> Tally {
    part(plan, 16, plan.pick(1, 3), plan.pick(10, 200), Killing::AtRandom)
}

/// `killing` is told how long the work takes where nothing is killed.
fn part(plan: &Plan, conversations: usize, turns: usize, cases: u64, killing: impl Fn(Duration) -> Killing) -> Tally {
    let calm = Run::new(conversations, turns).finish(None);
    let killing = killing(calm.worked);
    let numbers: Vec<u64> = (0..cases).filter(|number| plan.chooses_case(&number.to_string())).collect();
    let tallies = explorer::in_parallel(plan.workers(), &numbers, |number| {
        let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(*number);
        let outcome = Run::new(conversations, turns).finish(Some((killing, seed)));
        let (points, turns) = (outcome.processes, (conversations * turns) as u64);
        let (kills, unknown) = (outcome.ended.kills, outcome.ended.unknown());
        let mut tally = Tally { cases: 1, points, kills, turns, unknown, ..Tally::default() };
        let mut violations = judge(Same::Lines, std::slice::from_ref(&calm.ended), &outcome.ended, kills > 0);
        if kills == 0 && killing == Killing::AtDispatch {
            violations.push(Violation::new(Broken::Stuck, "nothing was dispatched"));
        }
        tally.judged(&number.to_string(), &[], violations);
        tally
    });
    let undisturbed = judge(Same::Lines, std::slice::from_ref(&calm.ended), &calm.ended, false);
    let mut sum = tallies.into_iter().fold(Tally::default(), |sum, one| sum + one);
    sum.judged("undisturbed", &[], undisturbed);
    sum
}
