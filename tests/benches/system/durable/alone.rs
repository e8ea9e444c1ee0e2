//! What the store takes of a tool step: the accepts and syncs that the runtime asks for, asked by nobody else.

use std::sync::Arc;

use selvedge::event::{
    Arguments, AssistantMessage, Block, CallId, Message, ModelRef, Timestamp, ToolCall, ToolReply, ToolResult,
    TurnRecord, Usage,
};
use selvedge::prelude::*;
use selvedge::store::{
    AcceptRequest, Acceptance, Changes, Create, NewInput, Owner, PlannedCall, SyncRequest, SyncToken, ToolDelivery,
};

use crate::measure::{Spent, Stopwatch};

const RESULT: &str = "a result of some sixty bytes, as a small tool may well give it";

/// Tool steps of `threads` threads, as nothing but what they ask of the store.
pub(crate) async fn tool_steps(store: &SqliteStore, threads: usize, steps: u64) -> Spent {
    let owner = Arc::new(store.register("bench").await.unwrap());
    let watch = Stopwatch::start();
    let tasks: Vec<_> = (0..threads)
        .map(|thread| tokio::spawn(thread_of(store.clone(), owner.clone(), format!("alone{thread}").into(), steps)))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    watch.stop()
}

async fn thread_of(store: SqliteStore, owner: Arc<Owner>, thread: ThreadId, steps: u64) {
    let mut epoch = None;
    for step in 1..=steps {
        let settled = CallId::of(step - 1, 0);
        let (id, input) = match epoch {
            None => ("go".into(), Input::text("go")),
            Some(_) => {
                let reply = ToolReply::text(settled.clone(), ToolStatus::Ok, RESULT);
                (format!("result:{settled}").into(), Input::ToolResult(reply))
            }
        };
        let create = epoch.map_or(Create::ClaimedBy(owner.id().clone()), |_| Create::No);
        let inputs = vec![NewInput { id, input, at: Timestamp(0) }];
        let reply = store.accept(AcceptRequest { thread: thread.clone(), inputs, create }).await.unwrap();
        epoch = epoch.or(reply.claimed);
        let Acceptance::Accepted(seq) = reply.acceptances[0] else { panic!("accepted before") };

        let call = CallId::of(step, 0);
        let planned =
            PlannedCall { call_id: call.clone(), tool: "work".into(), step, delivery: ToolDelivery::AtMostOnce };
        let changes = Changes {
            consumed: vec![seq],
            planned: vec![planned],
            settled: if step > 1 { vec![settled.clone()] } else { Vec::new() },
            ..Changes::default()
        };
        let result = Message::ToolResult(ToolResult::text(settled, ToolStatus::Ok, RESULT).into());
        let turn = TurnRecord { step, at: Timestamp(0), messages: vec![result, asks(call)] };
        let (token, committed, epoch) = (SyncToken(step), step - 1, epoch.unwrap());
        store.sync(SyncRequest { thread: thread.clone(), epoch, turn, token, committed, changes }).await.unwrap();
    }
}

fn asks(id: CallId) -> Message {
    let call = ToolCall {
        id,
        provider_id: Some("call_x".into()),
        name: "work".into(),
        arguments: Arguments::Object(r#"{"path":"src/main.rs","lines":[10,40]}"#.into()),
        display_as: None,
        native: None,
    };
    let answer = AssistantMessage {
        attempt: 1,
        model: ModelRef { api: "bench".into(), provider: "bench".into(), model: "bench".into() }.into(),
        blocks: vec![Block::ToolCall(call.into())],
        outcome: Outcome::ToolCalls,
        usage: Usage::default(),
    };
    Message::Assistant(answer.into())
}
