//! What a thread runs with is found out when it is first needed, and may not be found at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use selvedge::prelude::*;
use selvedge::runtime::{Configure, StepError, ThreadConfig};
use selvedge_tests::{Mode, World, in_paused_time, text_of};

use crate::scenarios::kit::{obliging, written};

/// Fails a number of times.
struct Unsteady {
    failures: AtomicU32,
    config: ThreadConfig,
}

#[async_trait]
impl Configure for Unsteady {
    async fn configure(&self, thread: &ThreadId) -> Result<ThreadConfig, BoxError> {
        let fails = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fails { Err(format!("nobody knows {thread}").into()) } else { self.config.configure(thread).await }
    }
}

async fn world(mode: Mode, failures: u32) -> (World, ScriptedModel) {
    let model = obliging();
    let wired = model.clone();
    let world = World::new(mode, move |builder| {
        let config = ThreadConfig::new(Arc::new(wired.clone()));
        builder.configure(Unsteady { failures: AtomicU32::new(failures), config })
    });
    (world.await, model)
}

/// S101: the inputs wait meanwhile, and are processed when it resolves; attaching does not wait for it.
#[test]
fn s101_a_configuration_that_fails_is_asked_again() {
    for failures in [1, 8] {
        in_paused_time(async {
            let (world, model) = world(Mode::Local, failures).await;
            world.send("t", "one", Input::text("one")).await.unwrap();
            world.send("t", "two", Input::queued("two")).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            assert_eq!(model.requests().len(), 0);
            assert!(world.system().subscribe(&"t".into(), ()).await.unwrap());
            world.rest("t").await;
            world.check("t").await;
            assert_eq!(written(&world, "t").await, ["one", "two"]);
            assert_eq!(text_of(&world.shown("t").await), "re: two", "one answer to both");
        });
    }
}

#[test]
fn s101_a_step_says_that_the_configuration_fails() {
    in_paused_time(async {
        let (world, _) = world(Mode::Step, 1).await;
        world.send("t", "one", Input::text("one")).await.unwrap();
        let failed = world.runner().step(&"t".into()).await;
        assert!(matches!(failed, Err(StepError::Configure(_))), "{failed:?}");
        assert_eq!(world.store.load(&"t".into()).await.unwrap().inbox.len(), 1);
        world.rest("t").await;
        world.check("t").await;
        assert_eq!(text_of(&world.shown("t").await), "re: one");
    });
}
