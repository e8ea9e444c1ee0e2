//! One database, and the processes that die on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use selvedge::prelude::*;
use selvedge::store::ToolDelivery;
use selvedge_testkit::Chance;
use selvedge_testkit::explorer::{Broken, CallSeen, Ended, Story, Violation};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row};

use super::process::{Process, Said};
use super::seen;
use crate::child::{Part, Stop, thread};

/// Kills of one database before its process is left alone.
const KILLS: u64 = 5;

/// How long a process may say nothing before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// When a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Killing {
    /// When its tool is reached.
    AtDispatch,
    /// At a random moment. The time is what the whole work takes where nothing is killed: as much as the last of the kills
    /// may wait, and the first a part of it, so that the run comes to an end.
    AtRandom(Duration),
}

/// What a run came to.
pub(super) struct Outcome {
    pub(super) ended: Ended,
    pub(super) processes: u64,
    /// What the last process worked, from when it was ready.
    pub(super) worked: Duration,
}

pub(super) struct Run {
    folder: Folder,
    turns: usize,
    /// Turns of each conversation that are done.
    done: Vec<usize>,
    /// Turns that were accepted, as far as it was said.
    accepted: BTreeSet<(usize, usize)>,
    /// Those of which it was said in so many words.
    announced: BTreeSet<(usize, usize)>,
    kills: u64,
    processes: u64,
    worked: Duration,
    violations: Vec<Violation>,
}

impl Run {
    pub(super) fn new(conversations: usize, turns: usize) -> Self {
        let (folder, done) = (Folder::new(), vec![0; conversations]);
        let (accepted, announced, violations) = Default::default();
        Self { folder, turns, done, accepted, announced, kills: 0, processes: 0, worked: Duration::ZERO, violations }
    }

    /// Kills and restarts until all turns are done, and compares.
    pub(super) fn finish(mut self, killing: Option<(Killing, u64)>) -> Outcome {
        let chance = Chance::of_seed(killing.map_or(0, |(_, seed)| seed));
        while !self.is_done() && self.violations.is_empty() {
            let killing = killing.map(|(killing, _)| killing).filter(|_| self.kills < KILLS);
            self.one_process(killing, &chance);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.compare())
    }

    fn is_done(&self) -> bool {
        self.done.iter().all(|done| *done == self.turns)
    }

    fn one_process(&mut self, killing: Option<Killing>, chance: &Chance) {
        let stop = (killing == Some(Killing::AtDispatch)).then(|| Stop { nth: 1, after: chance.below(2) == 1 });
        let lifetime = match killing {
            Some(Killing::AtRandom(work)) => {
                let within = u64::try_from(work.as_micros()).unwrap_or(u64::MAX) * (self.kills + 1) / KILLS;
                Some(Duration::from_micros(chance.below(within)))
            }
            _ => None,
        };
        // Most of them once they work, some while they start.
        let early = chance.below(4) == 0;
        let mut kill_at = lifetime.filter(|_| early).map(|lifetime| Instant::now() + lifetime);
        let conversations = self.done.len();
        self.processes += 1;
        let mut process = Process::start(&Part { folder: self.folder.0.clone(), conversations, stop });
        let mut ready = Instant::now();
        loop {
            if self.is_done() {
                self.worked = ready.elapsed();
                if !process.quit() {
                    self.found(Broken::Stuck, "a process does not end in order");
                }
                return;
            }
            match process.listen(kill_at.unwrap_or_else(|| Instant::now() + PATIENCE)) {
                Said::Line(line) if line == "reached" => return self.kill(process),
                Said::Line(line) => {
                    if line == "ready" {
                        ready = Instant::now();
                        kill_at = kill_at.or(lifetime.map(|lifetime| Instant::now() + lifetime));
                    }
                    self.hear(&line, Some(&mut process));
                }
                Said::TooLate if kill_at.is_some() => return self.kill(process),
                Said::TooLate => return self.found(Broken::Stuck, "a process makes no progress"),
                Said::Nothing => return self.found(Broken::Stuck, "a process ended by itself"),
            }
        }
    }

    fn kill(&mut self, process: Process) {
        for line in process.kill() {
            self.hear(&line, None);
        }
        self.kills += 1;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        if let Err(what) = runtime.block_on(self.check_files()) {
            self.found(Broken::Integrity, what);
        }
    }

    /// Takes in what a process has said. One that lives is told what to do next.
    fn hear(&mut self, line: &str, process: Option<&mut Process>) {
        let words: Vec<&str> = line.split(' ').collect();
        let next: Vec<usize> = match words[..] {
            // What was accepted before is not sent again: it must not be needed.
            ["ready"] => (0..self.done.len()).collect(),
            ["accepted", conversation, turn, news] => {
                let turn = (conversation.parse().unwrap(), turn.parse().unwrap());
                self.accepted.insert(turn);
                if !self.announced.insert(turn) && news == "new" {
                    self.found(Broken::InputDoubled, format!("{turn:?} was accepted again"));
                }
                Vec::new()
            }
            ["done", conversation, turn] => {
                let (conversation, turn): (usize, usize) = (conversation.parse().unwrap(), turn.parse().unwrap());
                // What was answered has been accepted, though the process may have died before it could say so, or not be
                // there yet.
                self.accepted.insert((conversation, turn));
                let news = turn > self.done[conversation];
                self.done[conversation] = turn.max(self.done[conversation]);
                news.then_some(conversation).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let Some(process) = process else { return };
        for conversation in next {
            let turn = self.done[conversation] + 1;
            if turn <= self.turns && !self.accepted.contains(&(conversation, turn)) {
                process.order(conversation, turn);
            }
        }
    }

    fn found(&mut self, broken: Broken, what: impl Into<String>) {
        self.violations.push(Violation::new(broken, what));
    }

    /// SQLite's own check, on a copy of the files as the dead process has left them.
    async fn check_files(&self) -> Result<(), String> {
        let copy = Folder::new();
        for name in ["threads.db", "threads.db-wal"] {
            let from = self.folder.0.join(name);
            // A process that died before it wrote anything has left none.
            if from.exists() {
                std::fs::copy(from, copy.0.join(name)).unwrap();
            }
        }
        if !copy.0.join("threads.db").exists() {
            return Ok(());
        }
        let options = SqliteConnectOptions::new().filename(copy.0.join("threads.db"));
        let mut connection = options.connect().await.map_err(|error| error.to_string())?;
        let rows = sqlx::query("PRAGMA integrity_check").fetch_all(&mut connection).await;
        let found: Vec<String> = rows.map_err(|error| error.to_string())?.iter().map(|row| row.get(0)).collect();
        connection.close().await.map_err(|error| error.to_string())?;
        if found == ["ok"] { Ok(()) } else { Err(found.join("; ")) }
    }

    async fn compare(mut self) -> Outcome {
        if let Err(what) = self.check_files().await {
            self.found(Broken::Integrity, what);
        }
        let store = SqliteStore::open(self.folder.0.join("threads.db")).await.unwrap();
        let mut stories = Vec::new();
        for conversation in 0..self.done.len() {
            let thread = ThreadId::from(thread(conversation).as_str());
            let page = store.history(&thread, None, u64::MAX).await;
            let history = page.map(|page| page.turns.into_iter().collect()).unwrap_or_default();
            let own = self.accepted.iter().filter(|(number, _)| *number == conversation);
            let accepted = own.map(|(_, turn)| turn.to_string().as_str().into()).collect();
            stories.push(Story { thread, accepted, history, forked_at: 0 });
        }
        store.close().await;
        self.violations.extend(seen::compare(&self.folder.0.join("seen"), &stories));
        let deliveries = [("append", ToolDelivery::AtMostOnce), ("note", ToolDelivery::AtLeastOnce)];
        let ended = Ended {
            stories,
            calls: self.calls(),
            deliveries: deliveries
                .map(|(name, delivery)| (name.to_owned(), delivery))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
            violations: self.violations,
            points: Vec::new(),
            spared: 0,
            kills: self.kills,
        };
        Outcome { ended, processes: self.processes, worked: self.worked }
    }

    /// The lines that the tools have left.
    fn calls(&self) -> Vec<CallSeen> {
        let side = std::fs::read_to_string(self.folder.0.join("side")).unwrap_or_default();
        let calls = side.lines().map(|line| {
            let (key, attempt) = line.split_once(' ').unwrap();
            CallSeen { key: key.to_owned(), attempt: attempt.parse().unwrap() }
        });
        calls.collect()
    }
}

/// A folder of one run, gone with it: beside the program, and so on a disk rather than in memory.
pub(super) struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let program = std::env::current_exe().unwrap();
        let path = program.with_file_name(format!("crash-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}
