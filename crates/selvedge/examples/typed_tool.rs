//! A tool whose arguments are a Rust type: the schema that the model sees, and is held to, is derived from it.

use std::time::Duration;

use schemars::JsonSchema;
use selvedge::prelude::*;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Convert {
    /// The temperature in degrees Celsius.
    celsius: f64,
    /// How many digits after the point.
    #[serde(default)]
    digits: u8,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let spec = ToolSpec::new("to_fahrenheit", "Converts a temperature.").read_only();
    let convert = typed_tool(spec, |convert: Convert, _call| async move {
        let fahrenheit = convert.celsius * 9.0 / 5.0 + 32.0;
        Ok(ToolOutput::text(format!("{fahrenheit:.*} °F", usize::from(convert.digits))))
    });
    println!("the model sees: {}", convert.spec().parameters);

    let events = EventCollector::new();
    let observer = events.clone();
    let system = System::builder()
        .store(MemoryStore::default())
        // The first call does not fit the schema: it is answered with an error, and never dispatched.
        .model(ScriptedModel::new([
            Reply::call("to_fahrenheit", r#"{"celsius":"warm"}"#),
            Reply::call("to_fahrenheit", r#"{"celsius":24.5,"digits":1}"#),
            Reply::text("76.1 °F."),
        ]))
        .tool(convert)
        .observer(move || observer.clone())
        .start()
        .await?;
    system.send_text(&"demo".into(), "24.5 °C in Fahrenheit?").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    system.shutdown().await;
    for event in events.of_thread("demo") {
        if let AgentEvent::ToolResult { result, .. } = event {
            println!("{:?}: {}", result.status, result.joined_text());
        }
    }
    Ok(())
}
