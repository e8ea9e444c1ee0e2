//! What a long life costs.

use selvedge::event::View;
use selvedge::prelude::*;
use selvedge::store::NewInput;
use selvedge_testkit::{Operation, OperationKind};
use selvedge_tests::{World, in_paused_time};

use crate::scenarios::kit::{local, obliging};

/// What the store is asked for one text and its answer, with the thread resident or not.
async fn operations(world: &World, text: &str) -> Vec<OperationKind> {
    let before = world.faults().log().len();
    world.say("t", text).await;
    // The mark of the last commit comes with the end of the driver.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    world.faults().log()[before..].iter().map(|Operation { kind, .. }| *kind).collect()
}

/// S102: 100,000 inputs have passed through a thread: the next asks of the store what the first did, and what a load
/// finds beside the history has not grown.
#[test]
fn s102_the_next_input_costs_what_the_first_did() {
    const INPUTS: usize = 100_000;
    in_paused_time(async {
        let mut world = local(&obliging()).await;
        world.say("t", "zero").await;
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let first = operations(&world, "one").await;

        for batch in 0..INPUTS / 5000 {
            let input = |number: usize| {
                let view = View { view_type: "plan".into(), content: format!("{batch} {number}").into() };
                NewInput {
                    id: format!("view {batch} {number}").into(),
                    input: Input::ViewUpdate(view),
                    at: selvedge::event::Timestamp(0),
                }
            };
            world.system().send_all(&"t".into(), (0..5000).map(input).collect()).await.unwrap();
            world.until("t", |record| record.inbox.is_empty()).await;
        }
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let taken: usize =
            world.watcher.events("t").iter().filter(|event| matches!(event, AgentEvent::ViewUpdated(_))).count();
        assert_eq!(taken, INPUTS, "all of them have passed through");

        assert_eq!(operations(&world, "two").await, first);
        let record = world.store.load(&"t".into()).await.unwrap();
        assert_eq!((record.inbox.len(), record.views.len(), record.choices.len()), (0, 1, 0));
        assert_eq!(world.history("t").await.len(), 3, "and the history holds what was said");

        world.restart(&["t"]).await;
        assert_eq!(operations(&world, "three").await, first, "a cold start included");
    });
}
