//! S16: a turn with a call is struck at every point that there is, and finished.

use selvedge::prelude::*;
use selvedge::store::ToolDelivery;
use selvedge_tests::Mode;

use crate::durability::explorer::{Ended, Point, run};

/// What must hold of every run, wherever it was struck.
fn check(calm: &Ended, ended: &Ended, delivery: ToolDelivery, strikes: &[Point]) {
    let at = format!("{delivery:?}, struck at {strikes:?}");
    assert_eq!(ended.spared, 0, "{at}: a strike was not needed");
    assert_eq!(ended.texts, ["hello", "bye"], "{at}: an input is lost, or there twice");
    assert_eq!(ended.statuses.len(), 1, "{at}: one result per call");
    let keys: Vec<&String> = ended.reached.iter().map(|(key, _)| key).collect();
    assert!(keys.iter().all(|key| **key == calm.reached[0].0), "{at}: reached under {keys:?}");
    let died = strikes.iter().any(|point| point.is_death());
    match delivery {
        ToolDelivery::AtLeastOnce => {
            assert!(!keys.is_empty(), "{at}: the tool was never reached");
            assert!(died || keys.len() == 1, "{at}: reached again though nobody died");
            assert_eq!(ended.items, calm.items, "{at}: another transcript");
        }
        ToolDelivery::AtMostOnce => {
            assert!(keys.len() <= 1, "{at}: reached {} times", keys.len());
            let expected = if ended.statuses == [ToolStatus::Ok] { keys.len() == 1 } else { died };
            assert!(expected, "{at}: {:?}, reached {} times", ended.statuses, keys.len());
            assert!(matches!(ended.statuses[0], ToolStatus::Ok | ToolStatus::Unknown), "{at}: {:?}", ended.statuses);
            assert_eq!(without_results(&ended.items), without_results(&calm.items), "{at}: another transcript");
        }
    }
}

/// The items, the outcome of calls apart.
fn without_results(items: &[Item]) -> Vec<Item> {
    let mut items = items.to_vec();
    for item in &mut items {
        if let ItemKind::ToolCall { result: Some((_, result)), .. } = &mut item.kind {
            let plain = selvedge::event::ToolResult::text(result.call_id.clone(), ToolStatus::Ok, "");
            *result = plain.into();
        }
    }
    items
}

/// Strikes one process at each of its points.
fn strike_everywhere(mode: Mode, delivery: ToolDelivery) {
    let calm = run(mode, delivery, &[]);
    check(&calm, &calm, delivery, &[]);
    assert!(calm.points.len() > 50, "{:?}", calm.points);
    for point in &calm.points {
        let ended = run(mode, delivery, &[*point]);
        check(&calm, &ended, delivery, &[*point]);
        assert_eq!(ended, run(mode, delivery, &[*point]), "{point:?}: the same strike, another end");
    }
}

/// Strikes a process dead at each of its points, and the one that recovers at each of its own. To die before something is
/// done is to die after what came before it, so every other point is enough here.
fn strike_everywhere_twice(mode: Mode, delivery: ToolDelivery) {
    let calm = run(mode, delivery, &[]);
    for first in calm.points.iter().copied().filter(|point| point.is_death_after()) {
        let once = run(mode, delivery, &[first]);
        for second in once.points.iter().copied().filter(|point| point.is_death_after()) {
            check(&calm, &run(mode, delivery, &[first, second]), delivery, &[first, second]);
        }
    }
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
