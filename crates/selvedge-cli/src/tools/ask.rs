//! A tool that asks the user.

use std::time::Duration;

use async_trait::async_trait;
use selvedge::event::ChoiceEnd;
use selvedge::prelude::{BoxError, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

/// Asks a question with answers to choose from; the first one counts if the time runs out.
///
/// It is idempotent, so a call that was open when the process died is dispatched again, under the same key, and finds
/// the question as it was: still open, or with its answer.
pub(crate) struct Ask {
    spec: ToolSpec,
    expires_in: Option<Duration>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    answers: Vec<String>,
}

impl Ask {
    /// The tool under a name; its questions expire after a time, if one is given.
    pub(crate) fn new(name: &str, expires_in: Option<Duration>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "The question, in one sentence." },
                "answers": { "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 9 },
            },
            "required": ["question", "answers"],
        });
        let spec = ToolSpec::new(name, "Asks the user a question, with two to nine answers to choose from.");
        Self { spec: spec.with_parameters(schema).idempotent().long_running(), expires_in }
    }
}

#[async_trait]
impl Tool for Ask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn display(&self, arguments: &Value) -> Option<String> {
        arguments["question"].as_str().map(str::to_owned)
    }

    async fn call(&self, call: ToolContext) -> Result<ToolOutput, BoxError> {
        let Question { question, answers } = call.parse()?;
        let options = answers.iter().map(|answer| answer.as_str().into()).collect();
        let chosen = call.choose(question, options, 0, self.expires_in).await?;
        let answer = answers.get(chosen.selected).map_or("", String::as_str);
        Ok(ToolOutput::text(match chosen.end {
            ChoiceEnd::Answered => format!("The user chose: {answer}"),
            ChoiceEnd::Dismissed | ChoiceEnd::Expired => format!("Nobody chose; this counts: {answer}"),
        }))
    }
}
