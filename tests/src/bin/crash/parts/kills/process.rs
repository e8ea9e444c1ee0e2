//! One child process, as its parent sees it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::child::Part;

/// A child that runs. It is killed when this is dropped.
pub(super) struct Process {
    child: Child,
    orders: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// What a child said.
pub(super) enum Said {
    Line(String),
    /// It has ended.
    Nothing,
    /// Nothing, up to the deadline.
    TooLate,
}

impl Process {
    pub(super) fn start(part: &Part) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.args(part.args()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (orders, out) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // Ends with the child, or with whoever listens.
            BufReader::new(out).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        Self { child, orders, lines }
    }

    /// The next line, if it comes in time.
    pub(super) fn listen(&self, until: Instant) -> Said {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => Said::Line(line),
            Err(RecvTimeoutError::Timeout) => Said::TooLate,
            Err(RecvTimeoutError::Disconnected) => Said::Nothing,
        }
    }

    /// Tells it to send a turn. It may be dead by then.
    pub(super) fn order(&mut self, conversation: usize, turn: usize) {
        if let Some(orders) = &mut self.orders {
            drop(writeln!(orders, "{conversation} {turn}").and_then(|()| orders.flush()));
        }
    }

    /// Kills it: on Unix, with SIGKILL. What it has said before is given back.
    pub(super) fn kill(mut self) -> Vec<String> {
        self.end();
        self.lines.iter().collect()
    }

    /// Lets it end in order; whether it did.
    pub(super) fn quit(mut self) -> bool {
        self.orders = None;
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }

    fn end(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
