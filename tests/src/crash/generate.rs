//! Scenarios by chance: the same from the same seed, and made small when they fail.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use selvedge::event::Delivery;
use selvedge::store::ToolDelivery::{AtLeastOnce, AtMostOnce};
use selvedge_testkit::explorer::{Point, Same, Subject, Tally, struck, undisturbed};

use super::{Act, Answer, Disk, Does, End, Explored, Piece, Scenario};
use crate::Mode;

/// Texts of the user, in the order in which they are said.
const TEXTS: [&str; 4] = ["one", "two", "three", "four"];

/// Attempts to make a scenario that fails smaller.
const SHRINKS: usize = 300;

/// A scenario, and where it is struck.
#[derive(Debug, Clone)]
pub struct Generated {
    /// What happens.
    pub scenario: Scenario,
    /// How the thread is driven.
    pub mode: Mode,
    /// Strikes of as many runs, each a place among the points that the process before has.
    strikes: Vec<Vec<Index>>,
}

/// Generates the `number`th scenario of a seed, strikes it at a few places, and judges the runs. One that breaks a promise
/// is told as small as it could be made.
pub fn generated(seed: u64, number: u64, disk: Disk) -> Tally {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut tree = strategy().new_tree(&mut runner).expect("bug: nothing is filtered out");
    let tally = tree.current().explore(disk);
    if tally.violations() == 0 {
        return tally;
    }
    let (mut smallest, mut found) = (tree.current(), tally.clone());
    for _ in 0..SHRINKS {
        let simpler = tree.simplify();
        let fails = simpler && {
            let tally = tree.current().explore(disk);
            let fails = tally.violations() > 0;
            if fails {
                (smallest, found) = (tree.current(), tally);
            }
            fails
        };
        if !fails && !tree.complicate() {
            break;
        }
    }
    let mut told = Tally { failures: Vec::new(), ..tally };
    for mut failure in found.failures.into_iter().take(1) {
        failure.what = format!("{}\n  {smallest:?}\n  at {}", failure.what, failure.at);
        (failure.case, failure.at) = (number.to_string(), String::new());
        told.failures.push(failure);
    }
    told
}

impl Generated {
    fn explore(&self, disk: Disk) -> Tally {
        let subject = Explored::new(&self.scenario, self.mode, disk);
        let (calm, mut sum) = match undisturbed(&subject) {
            Ok(known) => known,
            Err(stuck) => return stuck,
        };
        for places in &self.strikes {
            let mut strikes: Vec<Point> = Vec::new();
            let mut points = calm[0].points.clone();
            for place in places {
                if !strikes.is_empty() {
                    // Only a process that dies has a successor to be struck.
                    points = subject.run(&strikes).points;
                    points.retain(|point| point.is_death());
                }
                if points.is_empty() || strikes.iter().any(|point| !point.is_death()) {
                    break;
                }
                strikes.push(*place.get(&points));
            }
            sum += struck(&subject, &calm, &strikes);
        }
        sum
    }
}

fn strategy() -> impl Strategy<Value = Generated> {
    let says = proptest::collection::vec(proptest::collection::vec(answer(), 0..3), TEXTS.len());
    let acts = proptest::collection::vec(acts(), 1..=TEXTS.len());
    let strikes = proptest::collection::vec(proptest::collection::vec(any::<Index>(), 1..3), 1..8);
    (says, acts, any::<bool>(), strikes).prop_map(|(says, acts, local, strikes)| {
        let mode = if local { Mode::Local } else { Mode::Step };
        Generated { scenario: scenario(says, acts), mode, strikes }
    })
}

fn scenario(says: Vec<Vec<Answer>>, acts: Vec<After>) -> Scenario {
    let mut scenario = Scenario::new("generated")
        .tool("pay", AtMostOnce, Does::Answers)
        .tool("look", AtLeastOnce, Does::Answers)
        .tool("fail", AtLeastOnce, Does::Fails)
        .tool("long", AtMostOnce, Does::Long)
        .tool("show", AtLeastOnce, Does::Shows)
        .tool("ask", AtLeastOnce, Does::AsksInPassing)
        .tool("watch", AtLeastOnce, Does::Watches);
    scenario.says = TEXTS.iter().map(|text| (*text).to_owned()).zip(says).collect();
    // News goes to the oldest subscription, and which of several that is may depend on a crash.
    let mut watches = 0;
    for answer in scenario.says.iter_mut().flat_map(|(_, answers)| answers) {
        answer.pieces.retain(|piece| {
            watches += u32::from(*piece == Piece::Call("watch"));
            *piece != Piece::Call("watch") || watches == 1
        });
    }
    for (text, after) in TEXTS.into_iter().zip(acts) {
        let delivery = if after == After::Queue { Delivery::Queued } else { Delivery::Interrupt };
        scenario.acts.push(Act::Send(text, delivery));
        match after {
            After::Rest => scenario.acts.push(Act::Rest),
            After::Again => scenario.acts.extend([Act::Rest, Act::Again(text), Act::Rest]),
            After::News => {
                scenario.acts.extend([Act::Rest, Act::News(NEWS[text.len() % NEWS.len()], false), Act::Rest])
            }
            // Which inputs meet in one step is up to the moment.
            After::Queue | After::GoOn => scenario.same = Same::Nothing,
            After::Interrupt => {
                scenario.acts.push(Act::Interrupt);
                scenario.same = Same::Nothing;
            }
        }
    }
    scenario.acts.push(Act::Rest);
    scenario
}

/// News, one of which comes once at most.
const NEWS: [&str; 3] = ["rain", "snow", "sun"];

/// What the client does once it has said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Rest,
    Again,
    News,
    Queue,
    GoOn,
    Interrupt,
}

fn acts() -> impl Strategy<Value = After> {
    prop_oneof![
        8 => Just(After::Rest),
        1 => Just(After::Again),
        2 => Just(After::News),
        1 => Just(After::Queue),
        1 => Just(After::GoOn),
        1 => Just(After::Interrupt),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let end = prop_oneof![9 => Just(End::Done), 1 => Just(End::Length)];
    (proptest::collection::vec(piece(), 0..5), end).prop_map(|(pieces, end)| Answer { pieces, end })
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        4 => select(vec!["a", "bé ", "\n", "阴气"]).prop_map(Piece::Say),
        1 => Just(Piece::Think("hm")),
        1 => Just(Piece::Pause),
        1 => Just(Piece::BreaksOnce),
        1 => Just(Piece::Refuses),
        6 => select(vec!["pay", "look", "fail", "long", "show", "ask", "watch", "nothing"]).prop_map(Piece::Call),
    ]
}
