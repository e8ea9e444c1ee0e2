//! `selvedge rebuild`: everything that is derived from the histories, derived again.

use std::io::{IsTerminal, Write};

use selvedge::durable::Progress;

use crate::database::Database;
use crate::failure::Failure;
use crate::render::clean_line;

/// How many characters the bar has.
const BAR: u64 = 30;

/// Rebuilds sessions, transcripts and the search index of all threads, with a bar on a terminal.
pub(crate) async fn run(database: &Database) -> Result<(), Failure> {
    let sessions = database.sessions().await?;
    let mut bar = Bar { on_terminal: std::io::stderr().is_terminal(), threads: 0 };
    let rebuilt = sessions.rebuild(database.store(), |progress| bar.show(&progress)).await;
    bar.end();
    rebuilt.map_err(|error| Failure::of_sessions(&error, sessions.path()))?;
    println!("{} threads are rebuilt in {}", bar.threads, sessions.path().display());
    Ok(())
}

/// A line on standard error that is written over and over.
struct Bar {
    on_terminal: bool,
    threads: u64,
}

impl Bar {
    fn show(&mut self, progress: &Progress<'_>) {
        self.threads = progress.done;
        if self.on_terminal {
            let bar = bar(progress.done, progress.total);
            let thread = clean_line(progress.thread.as_str(), 40);
            // A terminal that is gone stops nothing.
            drop(write!(std::io::stderr(), "\r\u{1b}[K{bar} {}/{} {thread}", progress.done, progress.total));
        }
    }

    fn end(&self) {
        if self.on_terminal && self.threads > 0 {
            eprint!("\r\u{1b}[K");
        }
    }
}

fn bar(done: u64, total: u64) -> String {
    let full = (done.min(total) * BAR).checked_div(total).unwrap_or(BAR);
    (0..BAR).map(|place| if place < full { '█' } else { '░' }).collect()
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_fills() {
        let full = |done, total| bar(done, total).chars().filter(|char| *char == '█').count();
        assert_eq!([full(0, 10), full(1, 10), full(10, 10), full(11, 10), full(0, 0)], [0, 3, 30, 30, 30]);
    }
}
