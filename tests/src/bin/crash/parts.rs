//! The parts of the proof. Another one is a file here and a line in [`ALL`].

mod explorer;
mod generated;
mod kills;
mod power;
mod schedules;

use selvedge_testkit::explorer::Tally;

use crate::plan::Plan;

/// One part: a row of the table.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Plan) -> Tally,
}

/// All of them, in the order in which they run.
pub(crate) const ALL: &[Part] = &[
    Part { name: "explorer/memory", run: explorer::memory },
    Part { name: "explorer/sqlite", run: explorer::sqlite },
    Part { name: "pairs/memory", run: explorer::pairs_memory },
    Part { name: "pairs/sqlite", run: explorer::pairs_sqlite },
    Part { name: "generated", run: generated::run },
    Part { name: "schedules", run: schedules::run },
    Part { name: "power", run: power::run },
    Part { name: "kills/dispatch", run: kills::at_dispatch },
    Part { name: "kills/random", run: kills::at_random },
    Part { name: "kills/random-16", run: kills::at_random_of_sixteen },
];
