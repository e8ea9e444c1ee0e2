//! The whole of it in 30 lines: a store, a model, a tool, an observer. Run it twice: the second run goes on.

use selvedge::prelude::*;

struct Print;

impl ThreadObserver for Print {
    type SubscribeRequest = ();

    fn on_event(&self, thread_id: &str, event: &AgentEvent) {
        println!("{thread_id}: {event:?}");
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let weather = ToolSpec::new("weather", "Tells tomorrow's weather.").read_only();
    let weather = tool(weather, |_call: ToolContext| async { Ok(ToolOutput::text("sunny, 24 °C")) });
    let system = System::builder()
        .store(SqliteStore::open(std::env::temp_dir().join("selvedge-embed.db")).await?)
        .model(ScriptedModel::new([Reply::call("weather", "{}"), Reply::text("It will be sunny.")]))
        .tool(weather)
        .observer(|| Print)
        .start()
        .await?;
    // The text is durable once this has returned; the answer streams to the observer.
    system.send_text(&"demo".into(), "What will the weather be?").await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    system.shutdown().await;
    Ok(())
}
