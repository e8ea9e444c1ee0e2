//! Generated runs: what the model answers, which tools it has, and what happens to the thread meanwhile.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use selvedge::Builder;
use selvedge::event::FailureKind;
use selvedge::model::{ModelError, ModelEvent, StopReason};
use selvedge::prelude::*;
use selvedge_testkit::Moment;

use super::Reached;

/// One run, as it is printed when it fails.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// What the model answers, request by request; further requests fail for good.
    pub(super) answers: Vec<Answer>,
    /// What happens, in order.
    pub(super) acts: Vec<Act>,
    /// How often a turn may be synced before it is discarded.
    pub(super) sync_tries: u32,
    /// What orders what is due at the same moment; `None` for no pauses at all.
    pub(super) seed: Option<u64>,
    /// How many bytes of history the thread keeps for viewers, if not all that such a run makes.
    pub(super) page: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pieces: Vec<Piece>,
    end: End,
}

#[derive(Debug, Clone)]
enum Piece {
    Say(&'static str),
    Think(&'static str),
    /// Reasoning that the provider hides.
    Hidden,
    /// Reasoning that ends with whatever comes next.
    Muse(&'static str),
    Call(&'static str, &'static str),
    Usage(u64),
    Pause,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Done,
    Length,
    ContentFilter,
    /// Worth another attempt.
    Fails,
    /// Not worth another attempt.
    Refused,
    Cut,
}

/// Something that happens to the thread.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    Interrupting,
    Queued,
    Interrupt,
    Wait(u64),
    /// The oldest open choice is answered.
    Choose(usize),
    /// The next sync fails, and its turn is synced again, or, if not even that may be, run again.
    FailSync(Moment),
    /// The next write finds the store busy.
    Busy,
    FailCommit,
    /// The observer panics at the next event of a kind.
    Panic(&'static str),
    Restart,
    Crash,
}

pub(super) fn script() -> impl Strategy<Value = Script> {
    let answers = proptest::collection::vec(answer(), 1..8);
    let acts = proptest::collection::vec(act(), 1..10);
    let seed = proptest::option::weighted(0.75, any::<u64>());
    let page = proptest::option::weighted(0.75, select(vec![0, 250, 500, 1_000]));
    (answers, acts, 1u32..3, seed, page).prop_map(|(answers, acts, sync_tries, seed, page)| Script {
        answers,
        acts,
        sync_tries,
        seed,
        page,
    })
}

fn answer() -> impl Strategy<Value = Answer> {
    let end = prop_oneof![
        8 => Just(End::Done),
        1 => Just(End::Length),
        1 => Just(End::ContentFilter),
        3 => Just(End::Fails),
        1 => Just(End::Refused),
        1 => Just(End::Cut),
    ];
    (proptest::collection::vec(piece(), 0..8), end).prop_map(|(pieces, end)| Answer { pieces, end })
}

fn piece() -> impl Strategy<Value = Piece> {
    let text = select(vec!["a", "bé ", " ", "\n", "", "阴气", "渐 重"]);
    let call = select(vec![
        ("echo", r#"{"text":"hi"}"#),
        ("echo", ""),
        ("echo", r#"{"text":"#),
        ("echo", r#"{"text":7}"#),
        ("nope", "{}"),
        ("slow", "{}"),
        ("fail", "{}"),
        ("ask", r#"{"patient":true}"#),
        ("ask", r#"{"patient":false}"#),
        ("sign", "{}"),
        ("show", "{}"),
        ("watch", "{}"),
    ]);
    prop_oneof![
        6 => text.clone().prop_map(Piece::Say),
        2 => text.clone().prop_map(Piece::Think),
        1 => text.prop_map(Piece::Muse),
        1 => Just(Piece::Hidden),
        5 => call.prop_map(|(tool, arguments)| Piece::Call(tool, arguments)),
        1 => (1u64..9).prop_map(Piece::Usage),
        1 => Just(Piece::Pause),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => Just(Act::Interrupting),
        4 => Just(Act::Queued),
        2 => Just(Act::Interrupt),
        6 => (0u64..40).prop_map(Act::Wait),
        2 => (0usize..2).prop_map(Act::Choose),
        1 => select(Moment::BOTH.to_vec()).prop_map(Act::FailSync),
        1 => Just(Act::Busy),
        1 => Just(Act::FailCommit),
        1 => select(vec!["text_chunk", "tool_call", "tool_result", "completion_finished"]).prop_map(Act::Panic),
        1 => Just(Act::Restart),
        1 => Just(Act::Crash),
    ]
}

impl Answer {
    pub(super) fn reply(&self) -> Reply {
        let reply = self.pieces.iter().fold(Reply::new(), |reply, piece| match piece {
            Piece::Say(text) => reply.say(*text),
            Piece::Think(text) => reply.think(*text),
            Piece::Hidden => reply.event(ModelEvent::ReasoningEnded { native: Some(r#"{"hidden":1}"#.into()) }),
            Piece::Muse(text) => reply.event(ModelEvent::Reasoning((*text).into())),
            Piece::Call(tool, arguments) => reply.and_call(tool, *arguments),
            Piece::Usage(tokens) => reply.usage(*tokens, 1),
            Piece::Pause => reply.pause(),
        });
        match self.end {
            End::Done => reply,
            End::Length => reply.stop(StopReason::Length),
            End::ContentFilter => reply.stop(StopReason::ContentFilter),
            End::Fails => reply.fail(ModelError::new(FailureKind::Server, "down")),
            End::Refused => reply.fail(ModelError::new(FailureKind::Auth, "who are you")),
            End::Cut => reply.cut(),
        }
    }
}

/// The tools that the calls of [`piece`] reach; `once` counts the calls of those that may be reached only once.
pub(super) fn with_tools<F>(builder: Builder<F>, once: &Reached) -> Builder<F> {
    let [slow, fail, show, watch] = std::array::from_fn(|_| once.clone());
    let text = serde_json::json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let patient = serde_json::json!({ "type": "object", "required": ["patient"] });
    builder
        .tool(tool(ToolSpec::new("echo", "Echoes.").read_only().with_parameters(text), |call| async move {
            Ok(call.arguments()["text"].as_str().unwrap_or_default().into())
        }))
        .tool(tool(ToolSpec::new("slow", "Takes its time."), move |call: ToolContext| {
            slow.note(&call);
            call.progress("on my way");
            async {
                wait(9).await;
                Ok("done".into())
            }
        }))
        .tool(tool(ToolSpec::new("fail", "Fails."), move |call: ToolContext| {
            fail.note(&call);
            async { Err("no such luck".into()) }
        }))
        .tool(tool(ToolSpec::new("ask", "Asks.").read_only().with_parameters(patient), ask))
        .tool(tool(ToolSpec::new("sign", "Needs a sign-in.").idempotent(), |call| async move {
            call.require_oauth("https://example.com/sign-in").await?;
            wait(7).await;
            Ok("signed in".into())
        }))
        .tool(tool(ToolSpec::new("show", "Shows a view."), move |call: ToolContext| {
            show.note(&call);
            async move {
                call.update_view("plan", call.call_id().as_str()).await?;
                Ok("shown".into())
            }
        }))
        .tool(tool(ToolSpec::new("watch", "Subscribes."), move |call: ToolContext| {
            watch.note(&call);
            let news = call.subscription();
            tokio::runtime::Handle::current().spawn(async move {
                for (number, last) in [(1, false), (2, true)] {
                    wait(5).await;
                    // The system may be gone by now.
                    if news.send(format!("news {number}"), last).await.is_err() {
                        return;
                    }
                }
            });
            async { Ok(ToolOutput::text("watching").subscribed()) }
        }))
}

async fn ask(call: ToolContext) -> Result<ToolOutput, BoxError> {
    let patient = call.arguments()["patient"] == true;
    let expires_in = (!patient).then_some(Duration::from_millis(11));
    let chosen = call.choose("Which?", vec!["this".into(), "that".into()], 1, expires_in).await?;
    Ok(ToolOutput::text(format!("{:?} {}", chosen.end, chosen.selected)))
}

async fn wait(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
