//! The catalogue of scenarios, struck at every point: once, and twice.

use selvedge_testkit::explorer::{self, Breadth, Subject, Tally};
use selvedge_tests::crash::{Disk, Explored, catalogue};

use crate::plan::Plan;

pub(crate) fn memory(plan: &Plan) -> Tally {
    explore(plan, Disk::Memory, plan.breadth(2, 1), explorer::once)
}

pub(crate) fn sqlite(plan: &Plan) -> Tally {
    explore(plan, Disk::Sqlite, plan.breadth(13, 1), explorer::once)
}

pub(crate) fn pairs_memory(plan: &Plan) -> Tally {
    explore(plan, Disk::Memory, plan.breadth(25, 1), explorer::twice)
}

pub(crate) fn pairs_sqlite(plan: &Plan) -> Tally {
    explore(plan, Disk::Sqlite, plan.breadth(900, 16), explorer::twice)
}

fn explore(plan: &Plan, disk: Disk, breadth: Breadth, how: fn(&dyn Subject, Breadth) -> Tally) -> Tally {
    let mut sum = Tally::default();
    for scenario in catalogue() {
        for mode in &scenario.modes {
            let subject = Explored::new(&scenario, *mode, disk);
            if !plan.chooses_case(&subject.name()) {
                continue;
            }
            sum += if plan.at.is_empty() { how(&subject, breadth) } else { explorer::at(&subject, &plan.at) };
        }
    }
    sum
}
