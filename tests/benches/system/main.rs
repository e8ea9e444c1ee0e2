//! The numbers of docs/performance.md: each measured beside its baseline in the same run.
//!
//! `cargo xtask bench [ROW…]` runs them all, or those whose name contains one of the words.

#![allow(clippy::disallowed_methods, reason = "a benchmark spawns on its own runtime")]
#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a benchmark fails by panicking, and prints ratios"
)]

mod durable;
mod fanout;
mod measure;
mod memory;
mod resident;
mod wiring;

use std::process::Command;

use measure::Table;

/// A measurement: its name, and what adds its rows.
type Row = (&'static str, fn(&mut Table));

const ROWS: [Row; 15] = [
    ("resident", resident::waiting_thread),
    ("idle", resident::idle_threads),
    ("events", memory::events_per_second),
    ("plain", memory::plain_step),
    ("step-length", memory::step_at_length),
    ("assembling", memory::assembling),
    ("attach-length", memory::attach_at_length),
    ("page", durable::attaching_to_a_page),
    ("durable-1", durable::one_thread),
    ("durable-100", durable::hundred_threads),
    ("cold", durable::cold_thread_fsyncs_and_bytes),
    ("fan-out", fanout::thousand_subscribers),
    ("fan-busy", fanout::busy_thread),
    ("fan-silent", fanout::silent_subscriber),
    ("observed", durable::observed_turns),
];

/// How a process is told to measure one row, and nothing else.
const ONE: &str = "row=";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    match args.iter().find_map(|arg| arg.strip_prefix(ONE)) {
        Some(name) => {
            let mut table = Table::default();
            ROWS.iter().filter(|(known, _)| *known == name).for_each(|(_, run)| run(&mut table));
            print!("{table}");
        }
        None => {
            let wanted = |name: &str| args.is_empty() || args.iter().any(|word| name.contains(word.as_str()));
            print!("{}", measure::HEAD);
            ROWS.iter().filter(|(name, _)| wanted(name)).for_each(|(name, _)| in_a_process_of_its_own(name));
        }
    }
}

/// Measures one row where no other has left anything behind: memory is read off the whole process.
fn in_a_process_of_its_own(name: &str) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let status = program.arg(format!("{ONE}{name}")).status().unwrap();
    assert!(status.success(), "{name}: {status}");
}
