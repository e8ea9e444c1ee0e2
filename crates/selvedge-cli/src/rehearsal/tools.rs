//! The rehearsal's own tools. None of them touches anything.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use selvedge::prelude::{BoxError, Tool, ToolContext, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::tools::Ask;

/// How long the rehearsal's question waits where nobody may be there to answer it.
const QUESTION: Duration = Duration::from_secs(2);

/// The tools. With a `pace` of zero they do not dawdle, and questions expire: nobody watches.
pub(crate) fn tools(pace: Duration) -> Vec<Arc<dyn Tool>> {
    let beat = if pace.is_zero() { Duration::from_millis(5) } else { pace * 25 };
    let expires = pace.is_zero().then_some(QUESTION);
    vec![
        Arc::new(LookUp(string_arguments("look_up", "Looks up the weather of a place.", "place").read_only())),
        Arc::new(Survey { spec: survey_spec(), beat }),
        Arc::new(Ask::new("ask", expires)),
        Arc::new(SignIn { spec: ToolSpec::new("sign_in", "Waits for a sign-in.").idempotent(), beat }),
        Arc::new(LookOut { spec: string_arguments("look_out", "Looks out for something.", "for"), beat }),
    ]
}

fn string_arguments(name: &str, description: &str, field: &str) -> ToolSpec {
    let field = json!({ field: { "type": "string" } });
    ToolSpec::new(name, description).with_parameters(json!({ "type": "object", "properties": field }))
}

fn survey_spec() -> ToolSpec {
    let places = json!({ "places": { "type": "array", "items": { "type": "string" } } });
    let schema = json!({ "type": "object", "properties": places, "required": ["places"] });
    ToolSpec::new("survey", "Compares the weather of places, one after the other.").with_parameters(schema).read_only()
}

fn weather(place: &str) -> String {
    let degrees = place.bytes().map(u32::from).sum::<u32>() % 15 + 4;
    format!("{place}: {degrees} °C, a little rain")
}

/// A quick tool, whose calls are shown in its own words.
struct LookUp(ToolSpec);

#[async_trait]
impl Tool for LookUp {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn display(&self, arguments: &Value) -> Option<String> {
        Some(format!("the weather in {}", arguments["place"].as_str()?))
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        let place = call.arguments()["place"].as_str().unwrap_or("nowhere");
        Ok(ToolOutput::text(weather(place)))
    }
}

/// A slow tool, which shows how far it has come, and keeps a view.
struct Survey {
    spec: ToolSpec,
    beat: Duration,
}

#[async_trait]
impl Tool for Survey {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        let places: Vec<String> = serde_json::from_value(call.arguments()["places"].clone())?;
        let mut lines = Vec::new();
        for (place, number) in places.iter().zip(1..) {
            tokio::select! {
                () = call.cancelled() => return Ok(ToolOutput::error("interrupted between two places")),
                () = tokio::time::sleep(self.beat) => {}
            }
            lines.push(weather(place));
            call.progress(format!("{number} of {} places", places.len()));
        }
        call.update_view("weather", lines.join("\n")).await?;
        Ok(ToolOutput::text(lines.join("\n")))
    }
}

/// A tool that needs a sign-in, which it then pretends has happened.
struct SignIn {
    spec: ToolSpec,
    beat: Duration,
}

#[async_trait]
impl Tool for SignIn {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        call.require_oauth("https://example.com/sign-in (a pretence: it signs in by itself)").await?;
        tokio::select! {
            () = call.cancelled() => Ok(ToolOutput::error("interrupted before the sign-in")),
            () = tokio::time::sleep(self.beat * 4) => Ok(ToolOutput::text("signed in")),
        }
    }
}

/// A tool whose call goes on as a subscription: its news come after its result.
struct LookOut {
    spec: ToolSpec,
    beat: Duration,
}

#[async_trait]
impl Tool for LookOut {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        let (news, beat) = (call.subscription(), self.beat);
        let what = call.arguments()["for"].as_str().unwrap_or("it").to_owned();
        // Ids of its own make the news harmless to repeat, should the call be dispatched twice.
        let (first, last) = (format!("news:{}:1", call.call_id()), format!("news:{}:2", call.call_id()));
        tokio::runtime::Handle::current().spawn(async move {
            tokio::time::sleep(beat * 6).await;
            // Whoever has deleted the thread meanwhile does not want the news.
            drop(news.send_once(first.into(), format!("{what} is in sight"), false).await);
            tokio::time::sleep(beat * 10).await;
            drop(news.send_once(last.into(), format!("{what} is here"), true).await);
        });
        Ok(ToolOutput::text("looking out").subscribed())
    }
}
