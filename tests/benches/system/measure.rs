//! Clocks, memory, and the table.

use std::fmt;
use std::time::{Duration, Instant};

/// Wall and processor time of a piece of work.
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// Measures what runs between its making and [`Stopwatch::stop`].
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu() }
    }

    pub(crate) fn stop(self) -> Spent {
        Spent { wall: self.wall.elapsed(), cpu: cpu().saturating_sub(self.cpu) }
    }
}

/// Processor time of this process, all threads, user and system; in steps of 10 ms.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<u64> = after_name.split(' ').skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    Duration::from_millis(fields.iter().sum::<u64>() * 10)
}

/// Resident memory of this process in bytes.
pub(crate) fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// The head of the table.
pub(crate) const HEAD: &str = "| what | measured | bar | |\n|---|---|---|---|\n";

/// What was measured, held against a bar: rows of the table.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<[String; 4]>,
}

impl Table {
    /// Adds a row; `met` says whether the bar is.
    pub(crate) fn row(&mut self, what: &str, measured: impl Into<String>, bar: &str, met: bool) {
        let verdict = if met { "met" } else { "missed" };
        self.rows.push([what.into(), measured.into(), bar.into(), verdict.into()]);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for [what, measured, bar, verdict] in &self.rows {
            writeln!(f, "| {what} | {measured} | {bar} | {verdict} |")?;
        }
        Ok(())
    }
}
