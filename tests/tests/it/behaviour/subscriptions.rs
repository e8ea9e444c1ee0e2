//! Subscriptions: calls that go on sending news after their result.

use std::sync::{Arc, Mutex};

use selvedge::event::Subscription;
use selvedge::prelude::*;
use selvedge::runtime::SubscriptionHandle;
use selvedge_testkit::Watcher;
use selvedge_tests::{Mode, text_of};

use crate::behaviour::kit::{Build, Stage, T};

both_modes!(
    news_reaches_the_model_as_the_reserved_tool,
    news_of_no_subscription_is_dropped,
    news_may_overtake_the_result,
);

/// Where a test finds the handle of the newest call of `watch`.
type Handle = Arc<Mutex<Option<SubscriptionHandle>>>;

/// `watch` subscribes, and leaves its handle; with `early` it sends news before it returns.
fn watch(handle: &Handle, early: bool) -> impl Fn(Build, &Watcher) -> Build + 'static {
    let handle = handle.clone();
    move |builder: Build, _: &Watcher| {
        let handle = handle.clone();
        builder.tool(tool(ToolSpec::new("watch", "Subscribes."), move |call: ToolContext| {
            let handle = handle.clone();
            async move {
                let subscription = call.subscription();
                *handle.lock().expect("no test panics here") = Some(subscription.clone());
                if early {
                    subscription.send("early", false).await?;
                }
                Ok(ToolOutput::text("watching").subscribed())
            }
        }))
    }
}

fn take(handle: &Handle) -> SubscriptionHandle {
    handle.lock().expect("no test panics here").take().expect("the call has left its handle")
}

/// News wakes the thread, and the model reads it as a call of the reserved tool and its result; the last ends the
/// subscription, and what comes after it is dropped.
async fn news_reaches_the_model_as_the_reserved_tool(mode: Mode) {
    let handle = Handle::default();
    let replies = [
        Reply::call("watch", r#"{"place":"Ulm"}"#),
        Reply::text("watching"),
        Reply::text("rain"),
        Reply::text("sun, for good"),
    ];
    let stage = Stage::new(mode, replies, watch(&handle, false)).await;
    stage.say(T, "go").await;
    let kept: Vec<Subscription> = stage.record().await.subscriptions;
    assert_eq!(kept.iter().map(|known| known.call_id.as_str()).collect::<Vec<_>>(), ["call_1_0"]);

    let subscription = take(&handle);
    subscription.send("it rains", false).await.expect("the news is accepted");
    stage.rest(T).await;
    let request = stage.newest_request();
    let arguments =
        r#""original_args":{"place":"Ulm"},"original_tool_call_id":"call_1_0","original_tool_name":"watch""#;
    let (event, rest) = request[4].split_once('=').expect("a call");
    assert_eq!(rest, format!("subscription_event{{{arguments}}}"));
    assert_eq!(request[5], format!("results: {} Ok: it rains", event.trim_start_matches("model: ")));

    subscription.send("the sun shines", true).await.expect("the news is accepted");
    stage.rest(T).await;
    assert_eq!(stage.record().await.subscriptions, []);
    subscription.send("after the end", false).await.expect("the news is accepted");
    stage.rest(T).await;
    assert_eq!(stage.requests().len(), 4);
    let outline = stage.outline().await;
    assert_eq!(outline[4], "event call_1_0: it rains");
    assert_eq!(outline[6], "event call_1_0: the sun shines (last)");
    assert_eq!(outline.len(), 8);
    assert_eq!(text_of(&stage.shown(T).await), "watching|rain|sun, for good");
    stage.end().await;
}

/// News of a call that never subscribed, or was never made, is dropped: nothing is shown, and nobody is asked.
async fn news_of_no_subscription_is_dropped(mode: Mode) {
    let stage = Stage::new(mode, [Reply::text("hello")], watch(&Handle::default(), false)).await;
    stage.say(T, "hi").await;
    let news = Input::SubscriptionEvent { call_id: "call_1_0".into(), text: "news".into(), last: false };
    stage.post("e", news).await;
    stage.rest(T).await;
    assert_eq!(stage.record().await.inbox, []);
    assert_eq!(stage.outline().await, ["user: hi", "model: say(hello) -> Stopped"]);
    assert_eq!(stage.requests().len(), 1);
    stage.end().await;
}

/// News that comes before the result that subscribes counts.
async fn news_may_overtake_the_result(mode: Mode) {
    let stage =
        Stage::new(mode, [Reply::call("watch", "{}"), Reply::text("I see")], watch(&Handle::default(), true)).await;
    stage.say(T, "go").await;
    let outline = stage.outline().await;
    assert_eq!(outline[2..4], ["event call_1_0: early", "result: call_1_0 Ok: watching"]);
    assert_eq!(stage.record().await.subscriptions.len(), 1);
    let request = stage.newest_request();
    assert_eq!(request[2], "results: call_1_0 Ok: watching");
    assert!(request[4].ends_with("Ok: early"), "{}", request[4]);
    stage.end().await;
}
