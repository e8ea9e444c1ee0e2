//! A tool that asks the user.

use std::time::Duration;

use selvedge::event::ChoiceEnd;
use selvedge::prelude::{Tool, ToolContext, ToolOutput, ToolSpec, tool};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Question {
    question: String,
    answers: Vec<String>,
}

/// Asks a question with answers to choose from; the first one counts if the time runs out.
///
/// It is idempotent, so a call that was open when the process died is dispatched again, under the same key, and finds
/// the question as it was: still open, or with its answer.
pub(crate) fn ask(name: &str, expires_in: Option<Duration>) -> impl Tool {
    let spec = ToolSpec::new(name, "Asks the user a question, with two to nine answers to choose from.")
        .with_parameters(json!({
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "The question, in one sentence." },
                "answers": { "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 9 },
            },
            "required": ["question", "answers"],
        }))
        .idempotent()
        .long_running();
    tool(spec, move |call: ToolContext| async move {
        let Question { question, answers } = call.parse()?;
        let options = answers.iter().map(|answer| answer.as_str().into()).collect();
        let chosen = call.choose(question, options, 0, expires_in).await?;
        let answer = answers.get(chosen.selected).map_or("", String::as_str);
        Ok(ToolOutput::text(match chosen.end {
            ChoiceEnd::Answered => format!("The user chose: {answer}"),
            ChoiceEnd::Dismissed | ChoiceEnd::Expired => format!("Nobody chose; this counts: {answer}"),
        }))
    })
}
