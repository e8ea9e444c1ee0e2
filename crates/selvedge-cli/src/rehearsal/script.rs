//! What the rehearsal says to what: a pure function of the request.

use selvedge::event::{FailureKind, Usage};
use selvedge::model::{
    AnsweredCall, ModelError, ModelEvent, ModelRequest, RESERVED_EVENT_TOOL, RequestMessage, StopReason,
};
use serde_json::json;

const WORDS: &str = "Say \"tools\", \"ask\", \"think\", \"retry\", \"long\", \"news\", \"sign in\" or \"help\".";

/// An answer, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Script {
    events: Vec<Result<ModelEvent, ModelError>>,
    /// Whether the first attempt at it is to fail.
    pub(super) fails_once: bool,
}

impl Script {
    /// An answer that fails at once.
    pub(super) fn failing(error: ModelError) -> Self {
        Self { events: vec![Err(error)], fails_once: false }
    }

    /// The first half of it, and then a failure.
    pub(super) fn cut_off(mut self) -> Self {
        self.events.truncate(self.events.len() / 2);
        self.events.push(Err(ModelError::new(FailureKind::Overloaded, "the rehearsal pretends to be overloaded")));
        self
    }

    /// The pieces, ended by the protocol's own word.
    pub(super) fn into_events(self) -> impl Iterator<Item = Result<ModelEvent, ModelError>> {
        self.events.into_iter().chain([Ok(ModelEvent::Finished(StopReason::Done))])
    }

    fn say(mut self, text: &str) -> Self {
        self.events.extend(text.split_inclusive(' ').map(|word| Ok(ModelEvent::Text(word.into()))));
        self
    }

    fn think(mut self, text: &str) -> Self {
        self.events.push(Ok(ModelEvent::ReasoningStarted));
        self.events.extend(text.split_inclusive(' ').map(|word| Ok(ModelEvent::Reasoning(word.into()))));
        self.events.push(Ok(ModelEvent::ReasoningEnded { native: None }));
        self
    }

    fn call(mut self, name: &str, arguments: serde_json::Value) -> Self {
        let (name, arguments) = (name.into(), arguments.to_string().into());
        self.events.push(Ok(ModelEvent::ToolCall { provider_id: None, name, arguments, native: None }));
        self
    }

    fn failing_once(mut self) -> Self {
        self.fails_once = true;
        self
    }

    /// Words, for want of tokens.
    fn count(mut self, request: &ModelRequest) -> Self {
        let input: usize = request.context.iter().map(words).sum();
        let usage = Usage { input: input as u64, output: self.events.len() as u64, ..Usage::default() };
        self.events.push(Ok(ModelEvent::Usage(usage)));
        self
    }
}

/// The answer to a request.
pub(super) fn answer(request: &ModelRequest) -> Script {
    let users = request.context.iter().filter(|message| matches!(message, RequestMessage::User(_))).count();
    let script = match request.context.last() {
        Some(RequestMessage::User(text)) if users == 1 => begin_tour(text),
        Some(RequestMessage::User(text)) => to_words(&text.to_lowercase()),
        Some(RequestMessage::ToolResults(results)) => to_results(results, users == 1),
        _ => Script::default().say("I have nothing to say to that."),
    };
    script.count(request)
}

fn begin_tour(text: &str) -> Script {
    Script::default()
        .think(
            "No model is configured, so I am the rehearsal. This is our first exchange: I show what a thread can do.",
        )
        .say(&format!(
            "You said {text:?}, and that was durable before I began. I am a rehearsal: a script in place of a model. \
             Watch me call two tools at once. Neither goes out before this step is on the disk.\n"
        ))
        .call("look_up", json!({ "place": "Oslo" }))
        .call("survey", json!({ "places": ["Bergen", "Oslo", "Tromsø"] }))
}

fn to_words(text: &str) -> Script {
    let said = |word: &str| text.contains(word);
    if said("help") || said("?") {
        Script::default().say(
            "I know these words:\n\
             - tools: two calls at once, one of them slow, with a view\n\
             - ask: a question with answers to choose from\n\
             - think: reasoning, and then text\n\
             - retry: an attempt that fails and is tried again\n\
             - long: an answer that invites Ctrl-C\n\
             - news: a call that goes on sending news after its result\n\
             - sign in: a call that waits for a sign-in\n\
             Kill me at any moment, even with kill -9: this thread goes on where it was.",
        )
    } else if said("tool") {
        Script::default()
            .say("Two calls at once; each result is shown when it comes.\n")
            .call("look_up", json!({ "place": "Oslo" }))
            .call("survey", json!({ "places": ["Bergen", "Oslo", "Tromsø"] }))
    } else if said("ask") {
        Script::default().call("ask", json!({ "question": "Tea or coffee?", "answers": ["tea", "coffee", "neither"] }))
    } else if said("think") {
        Script::default()
            .think("A thread is woven of steps. Each is a turn, and no turn is seen to act before it is kept. So the edge holds.")
            .say("Reasoning is shown dimmed. It is kept as it came, and goes back to the model that made it, whole or not at all.")
    } else if said("retry") {
        retried()
    } else if said("long") {
        long()
    } else if said("news") {
        Script::default().call("look_out", json!({ "for": "the ferry" }))
    } else if said("sign") {
        Script::default().call("sign_in", json!({}))
    } else {
        Script::default().say(&format!("I am only a rehearsal, and have no answer of my own to that. {WORDS}"))
    }
}

fn to_results(results: &[AnsweredCall], tour: bool) -> Script {
    let Some(last) = results.last() else { return Script::default().say(WORDS) };
    let text = last.result.joined_text();
    match &*last.name {
        "survey" if tour => Script::default()
            .say("Both results are in the thread now. A call can also ask you something; the question survives a crash.\n")
            .call(
                "ask",
                json!({
                    "question": "What shall I show next?",
                    "answers": ["an attempt that fails and is tried again", "reasoning", "nothing more"],
                }),
            ),
        "survey" => Script::default().say("Both results are there; I was asked again only when the last had come."),
        "ask" if tour => end_tour(&text),
        "ask" => Script::default().say(&format!("Noted. {text}")),
        "sign_in" => Script::default().say("The sign-in is done, and the call has gone on by itself."),
        "look_out" => Script::default().say("The call has its result, and goes on as a subscription: wait for its news."),
        RESERVED_EVENT_TOOL => Script::default().say(&format!("News has come in and woken me: {text}")),
        _ => Script::default().say(&format!("The result is: {text}")),
    }
}

fn end_tour(chosen: &str) -> Script {
    if chosen.contains("fails") {
        return retried().say(&format!("\nThat was the tour. {WORDS}"));
    }
    let script = if chosen.contains("reasoning") {
        Script::default().think("What is dimmed is reasoning: shown to you, and kept for the model that made it.")
    } else {
        Script::default()
    };
    script.say(&format!("That was the tour. {WORDS}"))
}

fn retried() -> Script {
    Script::default()
        .say(
            "The first attempt at this answer breaks off in its middle, as providers sometimes do. What it had said is \
             void, and says so; the second attempt says it all, and only that is kept.",
        )
        .failing_once()
}

fn long() -> Script {
    let mut script = Script::default().say(
        "This is a long answer. Press Ctrl-C to interrupt it, or just type something else: what I have said is kept.\n",
    );
    for row in 1..=80 {
        script =
            script.say(&format!("{row}. The shuttle carries the weft through the warp, and the reed beats it home.\n"));
    }
    script.say("That was all of it.")
}

fn words(message: &RequestMessage) -> usize {
    let count = |text: &str| text.split_whitespace().count();
    match message {
        RequestMessage::User(text) => count(text),
        RequestMessage::Assistant { blocks, .. } => blocks
            .iter()
            .map(|block| match block {
                selvedge::event::Block::Text { text, .. } | selvedge::event::Block::Reasoning { text, .. } => {
                    count(text)
                }
                selvedge::event::Block::ToolCall(call) => count(call.arguments.raw()),
            })
            .sum(),
        RequestMessage::ToolResults(results) => results.iter().map(|result| count(&result.result.joined_text())).sum(),
    }
}
