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

use measure::Table;

/// A measurement: its name, and what adds its rows.
type Row = (&'static str, fn(&mut Table));

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let mut table = Table::default();
    // Memory first: it is read off the whole process.
    let rows: [Row; 15] = [
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
    for (name, run) in rows {
        if wanted(name) {
            eprintln!("measuring {name} …");
            run(&mut table);
        }
    }
    println!("{table}");
}
