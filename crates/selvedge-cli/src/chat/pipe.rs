//! The conversation as a pipe: lines in, plain text out.
//!
//! A line is sent once the thread is at rest, so that each gets its answer. A question that waits is answered by a
//! number, or interrupted by anything else. When the input has ended and the thread is at rest, so has the chat.

use std::io::BufRead;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::session::{Rest, Session, Submitted};
use super::signal;
use crate::failure::Failure;
use crate::render::{Page, Printer, Style};

/// How long to wait for news of a subscription when the input has ended.
const NEWS: Duration = Duration::from_secs(1);
/// How often the thread is looked at when nothing is heard of it.
const LOOK: Duration = Duration::from_millis(100);
/// Lines that are read ahead.
const LINES: usize = 16;

/// Talks until the input has ended.
pub(super) async fn talk(session: &mut Session, printer: &mut Printer<std::io::Stdout>) -> Result<(), Failure> {
    let mut lines = lines();
    let mut ended = false;
    let mut heard = Instant::now();
    let mut signals = signal::Signals::new()?;
    loop {
        let rest = session.rest().await?;
        if ended && is_over(rest, heard) {
            if rest == (Rest::Asking { expires: false }) {
                let text =
                    format!("the question stays open: answer it with selvedge chat --thread {}", session.thread());
                printer.print(&Page::of_line(Style::Dim, &text))?;
            }
            return Ok(());
        }
        tokio::select! {
            page = session.next() => {
                printer.print(&page?)?;
                heard = Instant::now();
            }
            line = lines.recv(), if rest != Rest::Busy && !ended => match line {
                Some(line) => match session.submit(&line) {
                    Submitted::Page(page) => printer.print(&page)?,
                    Submitted::End => ended = true,
                },
                None => ended = true,
            },
            signal = signals.next() => {
                if ended || signal == signal::Signal::End || !session.is_busy() {
                    return Ok(());
                }
                session.interrupt();
                ended = true;
            }
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

fn is_over(rest: Rest, heard: Instant) -> bool {
    match rest {
        Rest::Quiet | Rest::Asking { expires: false } => true,
        Rest::Subscribed => heard.elapsed() > NEWS,
        Rest::Busy | Rest::Asking { expires: true } => false,
    }
}

/// The lines of standard input, read on an OS thread of their own: reading cannot be interrupted.
fn lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut line = Vec::new();
        // An error of reading is the end of the input, like any other.
        while input.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    lines
}
