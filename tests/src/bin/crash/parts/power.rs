//! Power cuts: copies of a database and its log as a disk might hold them afterwards.

use selvedge_testkit::explorer::{Broken, Tally, Violation, in_parallel};
use selvedge_tests::power::cut_power;

use crate::plan::Plan;

pub(crate) fn run(plan: &Plan) -> Tally {
    let cuts = plan.pick(30, 100);
    let numbers: Vec<u64> = (0..plan.pick(2, 50)).filter(|number| plan.chooses_case(&number.to_string())).collect();
    let tallies = in_parallel(plan.workers(), &numbers, |number| {
        let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(*number);
        let folder = std::env::temp_dir().join(format!("selvedge-power-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let cut = runtime.block_on(cut_power(&folder, seed, cuts)).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let mut tally = Tally { cases: 1, points: cut.copies, ..Tally::default() };
        let violations = cut.violations.into_iter().map(|what| Violation::new(Broken::Integrity, what)).collect();
        tally.judged(&number.to_string(), &[], violations);
        tally
    });
    tallies.into_iter().fold(Tally::default(), |sum, one| sum + one)
}
