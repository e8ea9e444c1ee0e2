//! Step mode: one call runs one step and returns, with no resident task. For serverless handlers and queue workers.

use selvedge::prelude::*;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let add = ToolSpec::new("add", "Adds two numbers.").idempotent();
    let add = tool(add, |call: ToolContext| async move {
        let sum: f64 =
            call.arguments().as_object().into_iter().flat_map(|all| all.values()).filter_map(|n| n.as_f64()).sum();
        Ok(ToolOutput::text(sum.to_string()))
    });
    let events = EventCollector::new();
    let observer = events.clone();
    let runner = System::builder()
        .store(MemoryStore::default())
        .model(ScriptedModel::new([
            Reply::new().and_call("add", r#"{"a":1,"b":2}"#).and_call("add", r#"{"a":3,"b":4}"#),
            Reply::text("3 and 7."),
        ]))
        .tool(add)
        .observer(move || observer.clone())
        .step_runner()
        .await?;

    let thread = ThreadId::from("invoice-7");
    runner.send(&thread, "message-1".into(), Input::text("1 + 2, and 3 + 4?")).await?;
    loop {
        // In a real handler, each of these is an invocation of its own: everything between them is in the store.
        let report = runner.step(&thread).await?;
        println!("step {}: {} events", report.step, events.of_thread(thread.as_str()).len());
        if !report.more {
            break;
        }
    }
    let mut transcript = Transcript::default();
    events.of_thread(thread.as_str()).iter().for_each(|event| transcript.apply(event));
    transcript.items().iter().for_each(|item| println!("{}: {:?}", item.id, item.kind));
    Ok(())
}
