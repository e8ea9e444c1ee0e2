//! S16: a turn with a call is struck at every point that there is, and finished. And so is every other scenario of the
//! catalogue, once each; `cargo xtask crash` does the same over SQLite, strikes twice, and generates more.

use std::num::NonZeroUsize;

use selvedge::store::ToolDelivery;
use selvedge_testkit::explorer::{Breadth, Subject, Tally, once, twice};
use selvedge_tests::Mode;
use selvedge_tests::crash::{Disk, Explored, catalogue, s16};

fn assert_sound(tally: &Tally) {
    assert_eq!(tally.violations(), 0, "{:#?}", tally.failures);
}

fn subject(mode: Mode, delivery: ToolDelivery) -> Explored {
    Explored::new(&s16(delivery), mode, Disk::Memory)
}

/// Strikes one process at each of its points: the same strike always comes to the same end.
fn strike_everywhere(mode: Mode, delivery: ToolDelivery) {
    let subject = subject(mode, delivery);
    let tally = once(&subject, Breadth::ALL);
    assert!(tally.points > 50, "{tally:?}");
    assert_sound(&tally);
    for point in &subject.calm()[0].points {
        assert_eq!(subject.run(&[*point]), subject.run(&[*point]), "{point}: the same strike, another end");
    }
}

/// Strikes a process dead at each of its points, and the one that recovers at each of its own.
fn strike_everywhere_twice(mode: Mode, delivery: ToolDelivery) {
    let tally = twice(&subject(mode, delivery), Breadth::ALL);
    assert!(tally.points > 100, "{tally:?}");
    assert_sound(&tally);
}

/// S16 in local mode, an idempotent tool: reached at least once under one key, and the same transcript whatever happens.
#[test]
fn s16_local_an_idempotent_call_ends_as_if_nothing_had_happened() {
    strike_everywhere(Mode::Local, ToolDelivery::AtLeastOnce);
}

/// S16 in local mode, any other tool: reached at most once; what a crash left open is settled as unknown.
#[test]
fn s16_local_any_other_call_never_runs_twice() {
    strike_everywhere(Mode::Local, ToolDelivery::AtMostOnce);
}

/// S16 in step mode, an idempotent tool.
#[test]
fn s16_step_an_idempotent_call_ends_as_if_nothing_had_happened() {
    strike_everywhere(Mode::Step, ToolDelivery::AtLeastOnce);
}

/// S16 in step mode, any other tool.
#[test]
fn s16_step_any_other_call_never_runs_twice() {
    strike_everywhere(Mode::Step, ToolDelivery::AtMostOnce);
}

/// S16, where the recovery dies too, in local mode.
#[test]
fn s16_local_a_crash_while_recovering() {
    strike_everywhere_twice(Mode::Local, ToolDelivery::AtLeastOnce);
    strike_everywhere_twice(Mode::Local, ToolDelivery::AtMostOnce);
}

/// S16, where the recovery dies too, in step mode.
#[test]
fn s16_step_a_crash_while_recovering() {
    strike_everywhere_twice(Mode::Step, ToolDelivery::AtLeastOnce);
    strike_everywhere_twice(Mode::Step, ToolDelivery::AtMostOnce);
}

/// S16, S18 to S20, S24, S26, S27, S29: every kind of input, parallel calls, questions, failures, forks. A sample of the
/// points: the program takes them all.
#[test]
fn every_scenario_survives_a_strike_anywhere() {
    let [every, workers] = [5, 2].map(|n| NonZeroUsize::new(n).unwrap());
    let breadth = Breadth { every, workers };
    let mut sum = Tally::default();
    for scenario in catalogue() {
        for mode in &scenario.modes {
            sum += once(&Explored::new(&scenario, *mode, Disk::Memory), breadth);
        }
    }
    assert!(sum.points > 500, "{sum:?}");
    assert_sound(&sum);
}
