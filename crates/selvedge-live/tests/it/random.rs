//! Random threads, watched by random viewers: at every cursor, everybody sees what there was to see at that cursor.

use std::collections::HashMap;
use std::sync::Arc;

use selvedge_event::Transcript;
use selvedge_live::{Cursor, Live, LiveOptions, ResyncReason, Subscribe};
use selvedge_testkit::Chance;

use crate::stage::{Stage, Viewer, choice, in_paused_time, now};

const SEEDS: u64 = 60;
const ACTS: usize = 120;

#[test]
fn everybody_sees_the_same_at_every_cursor() {
    let first = std::env::var("SELVEDGE_SEED").ok().and_then(|seed| seed.parse().ok());
    let (first, seeds) = first.map_or((1, SEEDS), |seed: u64| (seed, 1));
    let mut resyncs = Vec::new();
    for seed in first..first + seeds {
        println!("SELVEDGE_SEED={seed}");
        resyncs.extend(in_paused_time(run(Chance::of_seed(seed))));
    }
    if seeds > 1 {
        // The runs reach what they are meant to reach.
        for reason in
            [ResyncReason::Lagging, ResyncReason::Overrun, ResyncReason::Discontinued, ResyncReason::OtherEpoch]
        {
            assert!(resyncs.contains(&reason), "no run had to resync because of {reason:?}");
        }
    }
}

/// Where the thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Rest,
    Completion,
    /// Synced, and not committed.
    Synced,
}

struct Run {
    chance: Chance,
    live: Live,
    stage: Stage,
    at: At,
    choices: u32,
    /// Reads everything at once: what there is to see at each cursor.
    scribe: Viewer,
    seen: HashMap<Cursor, Transcript>,
    viewers: Vec<Viewer>,
    /// Cursors of viewers that left, and what they showed.
    left: Vec<(Cursor, Transcript)>,
    resyncs: Vec<ResyncReason>,
}

async fn run(chance: Chance) -> Vec<ResyncReason> {
    let mut options = LiveOptions::default();
    options.ring_bytes = 12_000;
    options.lag_bytes = 9_000;
    options.coalesce_bytes = 2_000;
    let live = Live::new(options);
    let stage = Stage::new(&live, "t");
    let scribe = Viewer::new(stage.subscribe(&live, Subscribe::default()).await);
    let mut run = Run {
        chance,
        live,
        stage,
        at: At::Rest,
        choices: 0,
        scribe,
        seen: HashMap::new(),
        viewers: Vec::new(),
        left: Vec::new(),
        resyncs: Vec::new(),
    };
    run.note().await;
    for _ in 0..ACTS {
        if run.chance.below(2) == 0 {
            run.act().await;
        } else {
            run.watch().await;
        }
    }
    for viewer in &mut run.viewers {
        while let Some(frame) = now(&mut viewer.subscriber).await {
            viewer.take(&frame);
        }
        if viewer.subscriber.ended().is_none() {
            viewer.check(&run.stage.reference(), "at the end");
        }
        run.resyncs.append(&mut viewer.resyncs);
    }
    run.resyncs
}

impl Run {
    /// The thread does something.
    async fn act(&mut self) {
        match (self.at, self.chance.below(12)) {
            (At::Rest, 0) => {
                self.stage.sync_silently();
                self.at = At::Synced;
            }
            (At::Rest, 1) if self.choices > 0 => {
                self.stage.dismiss(&choice(self.choices).id);
                self.note().await;
                self.choices = 0;
                self.stage.sync_dismissal();
                self.at = At::Synced;
            }
            (At::Rest, 2) if self.choices == 0 => {
                self.stage.step_elsewhere("elsewhere");
                self.stage.begin();
                self.at = At::Completion;
            }
            (At::Rest, 3) => {
                self.stage.restart(&self.live);
                while self.scribe.subscriber.next().await.is_some() {}
                self.scribe = Viewer::new(self.stage.subscribe(&self.live, Subscribe::default()).await);
            }
            (At::Rest, _) => {
                self.stage.begin();
                self.at = At::Completion;
            }
            (At::Completion, 0) => self.stage.retry(),
            (At::Completion, 1) => {
                self.stage.discard();
                self.at = At::Rest;
            }
            (At::Completion, 2) => {
                self.stage.sync();
                self.at = At::Synced;
            }
            (At::Completion, 3) => self.stage.think(&["first", "second", "third"]),
            (At::Completion, _) => {
                for number in 0..=self.chance.below(9) {
                    self.stage.say(&format!("{number} "));
                    self.note().await;
                }
            }
            (At::Synced, 0..4) if self.choices == 0 => {
                self.choices = 1;
                self.stage.commit(&[choice(1)]);
                self.at = At::Rest;
            }
            (At::Synced, _) => {
                self.stage.commit(&[]);
                self.at = At::Rest;
            }
        }
        self.note().await;
    }

    /// Notes what there is to see now.
    async fn note(&mut self) {
        while let Some(frame) = now(&mut self.scribe.subscriber).await {
            self.scribe.take(&frame);
            self.seen.insert(frame.cursor, self.scribe.transcript.clone());
        }
        self.scribe.check(&self.stage.reference(), "the scribe");
    }

    /// A viewer comes, reads or leaves.
    async fn watch(&mut self) {
        let somebody = usize::try_from(self.chance.below(self.viewers.len() as u64)).unwrap();
        match self.chance.below(10) {
            0 | 1 => {
                let client = (self.chance.below(2) == 0).then(|| "one of two".into());
                let subscribe = Subscribe { client, ..Subscribe::default() };
                let subscriber = self.stage.subscribe(&self.live, subscribe).await;
                self.viewers.push(Viewer::new(subscriber));
            }
            2 | 3 if !self.left.is_empty() => {
                let (cursor, shown) = self.left.swap_remove(0);
                let resume = Subscribe { resume: Some(cursor), ..Subscribe::default() };
                let subscriber = self.stage.subscribe(&self.live, resume).await;
                self.viewers.push(Viewer::resumed(subscriber, shown));
            }
            4 if !self.viewers.is_empty() => {
                let mut viewer = self.viewers.swap_remove(somebody);
                if let Some(cursor) = viewer.subscriber.cursor() {
                    self.left.push((cursor, viewer.transcript));
                }
                self.resyncs.append(&mut viewer.resyncs);
            }
            _ if !self.viewers.is_empty() => {
                for _ in 0..=self.chance.below(6) {
                    self.read(somebody).await;
                }
            }
            _ => {}
        }
    }

    async fn read(&mut self, somebody: usize) {
        let viewer = &mut self.viewers[somebody];
        let frame: Option<Arc<_>> = now(&mut viewer.subscriber).await;
        let Some(frame) = frame else { return };
        viewer.take(&frame);
        // What a cursor that had to resync shows is of no account: a snapshot follows.
        if let Some(seen) = self.seen.get(&frame.cursor).filter(|_| !is_resync(&frame)) {
            viewer.check(seen, &format!("at {}", frame.cursor));
        }
    }
}

fn is_resync(frame: &selvedge_live::Frame) -> bool {
    matches!(frame.kind, selvedge_live::FrameKind::Resync { .. })
}
