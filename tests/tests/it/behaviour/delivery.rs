//! What becomes of a call when the process dies while it runs.

use std::sync::Arc;

use async_trait::async_trait;
use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge::runtime::KeyOutcome;
use selvedge::store::ToolDelivery;
use selvedge_testkit::Watcher;
use selvedge_tests::{Mode, text_of};

use crate::behaviour::kit::{Build, Stage, T, gated};

both_modes!(
    an_idempotent_call_goes_out_again_under_its_key,
    a_call_of_a_tool_that_says_nothing_is_never_repeated,
    a_delivery_of_its_own_overrides_the_annotations,
    a_tool_that_remembers_the_call_is_believed,
    a_tool_that_knows_that_it_never_ran_is_believed,
    a_tool_that_knows_nothing_leaves_the_call_unknown,
);

/// A stage whose model calls `slow`, killed while the call runs, and started again.
async fn killed(mode: Mode, spec: ToolSpec, gate: &Gate) -> Stage {
    let gate = gate.clone();
    let tools = move |builder: Build, watcher: &Watcher| builder.tool(gated(watcher, spec.clone(), &gate));
    let mut stage = Stage::new(mode, [Reply::call("slow", "{}"), Reply::text("done")], tools).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("slow begins t/call_1_0 try 1").await;
    stage.world.crash_and_restart(&[T]).await;
    stage.go(T);
    stage
}

/// The calls that reached the tool. Who dies in local mode is in the same process, and may cancel its calls.
fn begun(stage: &Stage) -> Vec<String> {
    stage.notes().into_iter().filter(|note| note.contains("begins")).collect()
}

fn spec() -> ToolSpec {
    ToolSpec::new("slow", "Waits.")
}

/// An idempotent tool gets its call again, under the same key, as the second try; the model reads one result.
async fn an_idempotent_call_goes_out_again_under_its_key(mode: Mode) {
    let gate = Gate::new();
    let stage = killed(mode, spec().idempotent(), &gate).await;
    stage.until_noted("slow begins t/call_1_0 try 2").await;
    gate.open();
    stage.rest(T).await;
    assert_eq!(begun(&stage), ["slow begins t/call_1_0 try 1", "slow begins t/call_1_0 try 2"]);
    let outline = stage.outline().await;
    assert_eq!(outline[2..], ["result: call_1_0 Ok: slow is done", "model: say(done) -> Stopped"]);
    stage.end().await;
}

/// By default a call goes out once: its outcome is unknown, and the model reads that it may have run.
async fn a_call_of_a_tool_that_says_nothing_is_never_repeated(mode: Mode) {
    settled_as_unknown(killed(mode, spec(), &Gate::new()).await).await;
}

/// A tool may say that even its idempotent calls are not to be repeated.
async fn a_delivery_of_its_own_overrides_the_annotations(mode: Mode) {
    let spec = spec().read_only().with_delivery(ToolDelivery::AtMostOnce);
    settled_as_unknown(killed(mode, spec, &Gate::new()).await).await;
}

async fn settled_as_unknown(stage: Stage) {
    stage.rest(T).await;
    assert_eq!(begun(&stage), ["slow begins t/call_1_0 try 1"]);
    let request = stage.newest_request();
    assert!(request[2].starts_with("results: call_1_0 Unknown: Outcome unknown"), "{}", request[2]);
    assert!(request[2].contains("may have run"), "{}", request[2]);
    assert_eq!(text_of(&stage.shown(T).await), "done");
    stage.end().await;
}

/// A payment: it hangs, and knows afterwards what became of it.
struct Payment {
    spec: ToolSpec,
    watcher: Watcher,
    known: KeyOutcome,
}

#[async_trait]
impl Tool for Payment {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        self.watcher.note(format!("pays {}", call.key()));
        std::future::pending().await
    }

    async fn outcome(&self, key: &str) -> KeyOutcome {
        self.watcher.note(format!("asked about {key}"));
        self.known.clone()
    }
}

/// What the model reads of a payment that was under way when the process died.
async fn paid(mode: Mode, known: KeyOutcome) -> String {
    let known = Arc::new(known);
    let tools = move |builder: Build, watcher: &Watcher| {
        let known = KeyOutcome::clone(&known);
        builder.tool(Payment { spec: ToolSpec::new("pay", "Pays."), watcher: watcher.clone(), known })
    };
    let mut stage = Stage::new(mode, [Reply::call("pay", "{}"), Reply::text("done")], tools).await;
    stage.post("go", Input::text("go")).await;
    stage.until_noted("pays t/call_1_0").await;
    stage.world.crash_and_restart(&[T]).await;
    stage.rest(T).await;
    assert_eq!(stage.notes(), ["pays t/call_1_0", "asked about t/call_1_0"]);
    let mut request = stage.newest_request();
    stage.end().await;
    request.remove(2)
}

/// What a tool remembers of a call stands for its result.
async fn a_tool_that_remembers_the_call_is_believed(mode: Mode) {
    let read = paid(mode, KeyOutcome::Ran("paid 3 euro".into())).await;
    assert_eq!(read, "results: call_1_0 Ok: paid 3 euro");
}

/// A tool that knows that the call never reached it: the model reads that it was not executed.
async fn a_tool_that_knows_that_it_never_ran_is_believed(mode: Mode) {
    let read = paid(mode, KeyOutcome::NotRun).await;
    assert!(read.starts_with("results: call_1_0 Error: Not executed: "), "{read}");
}

/// A tool that is asked and does not know.
async fn a_tool_that_knows_nothing_leaves_the_call_unknown(mode: Mode) {
    let read = paid(mode, KeyOutcome::Unknown).await;
    assert!(read.starts_with("results: call_1_0 Unknown: "), "{read}");
}
