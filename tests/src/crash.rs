//! Crash scenarios: what a client does, what the model answers and which tools there are, as data; and how one is run
//! while its processes die. The exploring itself is `selvedge_testkit::explorer`.

mod catalogue;
mod generate;
mod run;
mod scenario;
mod script;
mod stage;
mod tools;

pub use catalogue::{catalogue, s16};
pub use generate::{Generated, generated};
pub use run::{Disk, Explored};
pub use scenario::{Act, Does, Scenario, ToolPart};
pub use script::{Answer, End, Piece};
