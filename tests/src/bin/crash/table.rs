//! The table: what was tried, and what was found.

use std::fmt::Write;
use std::time::Duration;

use selvedge_testkit::explorer::{Broken, Tally};

/// One part, done.
pub(crate) struct Row {
    pub(crate) part: &'static str,
    pub(crate) took: Duration,
    pub(crate) tally: Tally,
}

impl Row {
    /// A line while others still run.
    pub(crate) fn progress(&self) -> String {
        let Self { part, took, tally } = self;
        format!(
            "{part}: {} runs, {} kills, {} violations in {:.1} s",
            tally.points,
            tally.kills,
            tally.violations(),
            took.as_secs_f64()
        )
    }
}

/// What was tried: one row per part.
pub(crate) fn done(rows: &[Row]) -> String {
    let mut table = format!(
        "{:<28}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        "tried", "cases", "runs", "kills", "turns", "unknown", "seconds"
    );
    for Row { part, took, tally } in rows {
        let Tally { cases, points, kills, turns, unknown, .. } = tally;
        let took = took.as_secs_f64();
        writeln!(table, "{part:<28}{cases:>8}{points:>9}{kills:>9}{turns:>9}{unknown:>9}{took:>9.1}").unwrap();
    }
    table
}

/// What was found: one row per promise, one column per part.
pub(crate) fn found(rows: &[Row]) -> String {
    let width = |row: &Row| row.part.len().max(6) + 2;
    let mut table = format!("{:<28}", "found");
    rows.iter().for_each(|row| write!(table, "{:>width$}", row.part, width = width(row)).unwrap());
    table.push('\n');
    for (broken, name) in Broken::ALL {
        write!(table, "{name:<28}").unwrap();
        rows.iter().for_each(|row| write!(table, "{:>width$}", row.tally.count(broken), width = width(row)).unwrap());
        table.push('\n');
    }
    table
}

/// The last line, which `cargo xtask ci` quotes.
pub(crate) fn summary(rows: &[Row]) -> String {
    let sum = |number: fn(&Tally) -> u64| rows.iter().map(|row| number(&row.tally)).sum::<u64>();
    format!(
        "crash: {} runs, {} kills, {} violations",
        sum(|tally| tally.points),
        sum(|tally| tally.kills),
        sum(Tally::violations)
    )
}
