//! Answers over a real connection: cut anywhere, cancelled, and one after another.

use futures_util::StreamExt;
use selvedge_event::FailureKind;
use selvedge_model::{ModelEvent, ModelProvider, StopReason};
use serde_json::json;

use crate::server::{Cut, DONE, Happening, Piece, Server, events, finish, hello, say, stream, unfinished_stream};
use crate::{Outcome, ask, builder};

async fn answer(pieces: Vec<Piece>) -> Outcome {
    let server = Server::new([pieces]);
    let model = builder(&server.base_url).build().unwrap();
    Outcome::of(model.complete(ask("hi"))).await
}

/// Text, reasoning and two calls whose arguments are hard to cut.
fn awkward() -> (String, &'static str, String) {
    const TEXT: &str = "阴气渐重 👩‍👩‍👧 é";
    let arguments = json!({ "q": TEXT }).to_string();
    let call = |index: u8| {
        json!({"choices": [{"delta": {"tool_calls": [
            {"index": index, "id": "same", "function": {"name": "f", "arguments": arguments}}]}}]})
    };
    let think = json!({"choices": [{"delta": {"reasoning_content": TEXT}}]});
    let events = events(&[think, say(TEXT), call(0), call(1), finish("tool_calls")]);
    (format!(": hello\n\n{events}{DONE}"), TEXT, arguments)
}

#[tokio::test]
async fn s44_an_answer_is_the_same_however_it_is_cut() {
    let (events, text, arguments) = awkward();
    let forms = [events.clone(), events.replace('\n', "\r\n"), events.replace('\n', "\r"), format!("\u{feff}{events}")];
    let cuts_of = |form: &str| {
        let awkward_bytes = (0..form.len()).filter(|at| !form.is_char_boundary(*at)).map(Cut::At);
        let cuts: Vec<Cut> = [Cut::Whole, Cut::Bytes].into_iter().chain(awkward_bytes).collect();
        cuts
    };
    let cuts: Vec<(&String, Cut)> =
        forms.iter().flat_map(|form| cuts_of(form).into_iter().map(move |cut| (form, cut))).collect();
    assert!(cuts.len() > 300, "the text has {} places to cut", cuts.len());
    let server = Server::new(cuts.iter().map(|(form, cut)| stream(form, *cut)));
    let model = builder(&server.base_url).build().unwrap();
    for (_, cut) in cuts {
        let outcome = Outcome::of(model.complete(ask("hi"))).await;
        assert_eq!((&*outcome.text, &*outcome.reasoning), (text, text), "{cut:?}");
        assert_eq!(outcome.calls, [("f".to_owned(), arguments.clone()), ("f".into(), arguments.clone())], "{cut:?}");
        assert_eq!(outcome.end, Some(StopReason::Done), "{cut:?}");
    }
}

#[tokio::test]
async fn a_whole_answer_leaves_its_connection_to_the_next() {
    let server = Server::new([stream(&hello(), Cut::Whole), stream(&hello(), Cut::Whole)]);
    let model = builder(&server.base_url).build().unwrap();
    for _ in 0..2 {
        assert_eq!(Outcome::of(model.complete(ask("hi"))).await.text, "hello");
        assert_eq!(server.next_request().connection, 0);
    }
}

#[tokio::test]
async fn text_comes_before_the_answer_is_over_and_a_drop_closes_the_connection() {
    let mut pieces = unfinished_stream(&events(&[say("hel"), say("lo")]), Cut::Whole);
    pieces.push(Piece::Hang);
    let server = Server::new([pieces]);
    let model = builder(&server.base_url).build().unwrap();
    let mut answer = model.complete(ask("hi"));
    assert_eq!(answer.next().await.unwrap().unwrap(), ModelEvent::Text("hel".into()));
    assert_eq!(answer.next().await.unwrap().unwrap(), ModelEvent::Text("lo".into()));
    server.next_request();
    drop(answer);
    // The connection is closed by the task of the client that owns it, which runs on this thread.
    closes(server).await;
}

#[tokio::test]
async fn a_drop_before_the_head_closes_the_connection_too() {
    let server = Server::new([vec![Piece::Hang]]);
    let model = builder(&server.base_url).build().unwrap();
    let mut answer = model.complete(ask("hi"));
    let server = tokio::select! {
        event = answer.next() => panic!("{event:?}"),
        server = tokio::task::spawn_blocking(move || { server.next_request(); server }) => server.unwrap(),
    };
    drop(answer);
    closes(server).await;
}

async fn closes(server: Server) {
    let gone = tokio::task::spawn_blocking(move || server.next()).await.unwrap();
    assert!(matches!(gone, Happening::Gone), "{gone:?}");
}

#[tokio::test]
async fn nothing_happens_before_the_first_poll() {
    let server = Server::new([stream(&hello(), Cut::Whole)]);
    let model = builder(&server.base_url).build().unwrap();
    drop(model.complete(ask("first")));
    assert_eq!(Outcome::of(model.complete(ask("second"))).await.text, "hello");
    assert!(String::from_utf8(server.next_request().body).unwrap().contains("second"));
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    let start = events(&[say("hel")]);
    // HTTP's end without the protocol's, and neither.
    let ended = answer(stream(&start, Cut::Whole)).await;
    assert_eq!((&*ended.text, ended.end), ("hel", None));
    assert_eq!(ended.error().kind(), FailureKind::Truncated);
    let mut broken = unfinished_stream(&(start + "data: {\"choices"), Cut::Whole);
    broken.push(Piece::Close);
    let broken = answer(broken).await;
    assert_eq!((&*broken.text, broken.end), ("hel", None));
    let error = broken.error();
    assert_eq!((error.kind(), error.is_retryable()), (FailureKind::Network, true));
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_end_takes_nothing_away() {
    let mut pieces = unfinished_stream(&events(&[say("hello"), finish("stop")]), Cut::Whole);
    pieces.push(Piece::Close);
    let outcome = answer(pieces).await;
    assert_eq!((&*outcome.text, outcome.end), ("hello", Some(StopReason::Done)));
}

#[tokio::test]
async fn what_comes_before_an_error_is_delivered_first() {
    let error = json!({"error": {"message": "gone", "code": 503}});
    let outcome = answer(stream(&events(&[say("a"), say("b"), error, say("c")]), Cut::Whole)).await;
    assert_eq!(outcome.text, "ab");
    assert_eq!(outcome.error().kind(), FailureKind::Overloaded);
}

#[tokio::test]
async fn an_event_without_end_is_an_error() {
    let endless = "x".repeat(9 << 20);
    let error = answer(stream(&endless, Cut::Whole)).await.error();
    assert_eq!(error.kind(), FailureKind::Protocol);
}

#[tokio::test]
async fn s55_ends_are_told_apart() {
    for (reason, end) in
        [("stop", StopReason::Done), ("length", StopReason::Length), ("content_filter", StopReason::ContentFilter)]
    {
        let outcome = answer(stream(&(events(&[say("par"), finish(reason)]) + DONE), Cut::Whole)).await;
        assert_eq!((&*outcome.text, outcome.end), ("par", Some(end)));
    }
}
