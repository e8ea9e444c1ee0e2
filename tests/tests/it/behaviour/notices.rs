//! What a running call shows: progress, sign-ins, views.

use selvedge::event::{OAuthNotice, View};
use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge_testkit::Watcher;
use selvedge_tests::Mode;

use crate::behaviour::kit::{Build, Stage, T};

both_modes!(
    progress_is_shown_with_its_call,
    a_sign_in_is_shown_until_its_call_is_done,
    the_latest_view_of_each_type_is_kept,
);

/// A note of a running call is shown, and is no part of the transcript.
async fn progress_is_shown_with_its_call(mode: Mode) {
    let tools = |builder: Build, _: &Watcher| {
        builder.tool(tool(ToolSpec::new("count", "Counts."), |call: ToolContext| async move {
            call.progress("half way");
            Ok(ToolOutput::text("all"))
        }))
    };
    let stage = Stage::new(mode, [Reply::call("count", "{}"), Reply::text("done")], tools).await;
    stage.say(T, "go").await;
    let note = AgentEvent::Info { text: "half way".into(), call_id: Some("call_1_0".into()) };
    assert_eq!(stage.watcher.events(T).iter().filter(|event| **event == note).count(), 1);
    assert_eq!(stage.shown(T).await.len(), 3);
    stage.end().await;
}

/// A call asks for a sign-in and waits: everybody is told, also who attaches later, until the call has its result.
async fn a_sign_in_is_shown_until_its_call_is_done(mode: Mode) {
    let signed_in = Gate::new();
    let gate = signed_in.clone();
    let tools = move |builder: Build, _: &Watcher| {
        let gate = gate.clone();
        builder.tool(tool(ToolSpec::new("mail", "Reads mail."), move |call: ToolContext| {
            let gate = gate.clone();
            async move {
                call.require_oauth("https://example.com/sign-in").await?;
                gate.pass().await;
                Ok(ToolOutput::text("no mail"))
            }
        }))
    };
    let stage = Stage::new(mode, [Reply::call("mail", "{}"), Reply::text("done")], tools).await;
    stage.post("go", Input::text("go")).await;
    stage.until_record(|record| record.oauth.len() == 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let notice = OAuthNotice { call_id: "call_1_0".into(), auth_url: "https://example.com/sign-in".into() };
    assert_eq!(stage.watcher.transcript(T).oauth(), std::slice::from_ref(&notice));
    if mode == Mode::Local {
        assert_eq!(stage.attach().await.oauth, [notice]);
    }
    signed_in.open();
    stage.rest(T).await;
    assert_eq!(stage.record().await.oauth, []);
    assert_eq!(stage.watcher.transcript(T).oauth(), []);
    if mode == Mode::Local {
        assert_eq!(stage.attach().await.oauth, []);
    }
    assert_eq!(stage.newest_request()[2], "results: call_1_0 Ok: no mail");
    stage.end().await;
}

/// Of each type of view the latest is kept, across calls and restarts, and each change is shown.
async fn the_latest_view_of_each_type_is_kept(mode: Mode) {
    let tools = |builder: Build, _: &Watcher| {
        builder.tool(tool(ToolSpec::new("plan", "Plans."), |call: ToolContext| async move {
            call.update_view("plan", "one").await?;
            call.update_view("files", "a").await?;
            call.update_view("plan", "two").await?;
            Ok(ToolOutput::text("planned"))
        }))
    };
    let mut stage = Stage::new(mode, [Reply::call("plan", "{}"), Reply::text("done")], tools).await;
    stage.say(T, "go").await;
    let view = |view_type: &str, content: &str| View { view_type: view_type.into(), content: content.into() };
    let kept = [view("files", "a"), view("plan", "two")];
    assert_eq!(stage.record().await.views, kept);
    assert_eq!(stage.watcher.transcript(T).views(), kept);
    let shown = stage.watcher.events(T).into_iter().filter_map(|event| match event {
        AgentEvent::ViewUpdated(view) => Some(view),
        _ => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), [view("plan", "one"), view("files", "a"), view("plan", "two")]);
    stage.world.restart(&[T]).await;
    assert_eq!(stage.record().await.views, kept);
    if mode == Mode::Local {
        assert_eq!(stage.attach().await.views, kept);
    }
    stage.end().await;
}
