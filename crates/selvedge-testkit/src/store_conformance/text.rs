//! Text of every kind comes back as it was, in every place that holds text. Ids are compared byte by byte.

use std::sync::Arc;

use selvedge_event::{InputId, Message, Timestamp, TurnRecord, UserMessage};
use selvedge_store::{Acceptance, Changes, NewInput, Spawn, ToolDelivery};

use super::{
    StoreHarness,
    kit::{Writer, accept, crash, create, history, inbox_ids, input, load, summaries, thread_ids, user},
    samples,
};

/// Texts that something on the way to a disk and back might take for something else.
const AWKWARD: [&str; 24] = [
    "",
    "\0",
    "before\0after",
    "\u{301}lone",
    "👩‍👩‍👧",
    "阴气渐重 é e\u{301} \u{1f9ff}",
    "\u{feff}marked",
    "\u{202e}backwards",
    "\u{fffd}",
    "\u{fffe}\u{ffff}\u{10ffff}",
    "\r\n\t\u{1b}[31m\u{7f}\u{85}\u{2028}\u{2029}",
    "'; drop table threads; --",
    "\"quoted\" 'quoted' `quoted` [quoted]",
    "back\\slash \\u0000 \\",
    "%s %00 100% _ * ?",
    "? ?1 $1 :name @name",
    "{\"json\": [null, 1e400]}",
    "{\"cut off",
    "null",
    "true",
    "007",
    "1e400",
    "-0.0",
    "  spaces around  ",
];

/// Ids are text from outside too, though printable and never empty.
const AWKWARD_IDS: [&str; 16] = [
    "\u{301}lone",
    "👩‍👩‍👧",
    "阴气渐重 é",
    "\u{202e}backwards",
    "\u{fffe}\u{10ffff}",
    "'; drop table threads; --",
    "\"quoted\" 'quoted'",
    "back\\slash",
    "%s %00 100% _ * ?",
    "? ?1 $1 :name @name",
    "{\"json\": [null, 1e400]}",
    "null",
    "007",
    "1e400",
    "  spaces around  ",
    "../../etc/passwd",
];

/// Ids that are different, but not by much.
const ALIKE: [&str; 14] = ["a", "A", "a ", " a", "á", "a\u{301}", "а", "1", "01", "1.0", "1e0", "0x1", "ss", "ß"];

/// In the texts of inputs.
pub async fn any_text_comes_back_in_inputs<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    let mut expected = Vec::new();
    for text in AWKWARD {
        for input in samples::every_input(text) {
            let id = format!("{}", expected.len()).into();
            accept(&store, "t", vec![NewInput { id, input: input.clone(), at: Timestamp(1) }]).await;
            expected.push(input);
        }
    }
    for _ in 0..2 {
        let found: Vec<_> = load(&store, "t").await.inbox.into_iter().map(|entry| entry.input).collect();
        assert_eq!(found, expected);
        store = crash(&mut harness, store).await;
    }
}

/// In the texts of messages.
pub async fn any_text_comes_back_in_messages<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    for text in AWKWARD {
        writer.sync(samples::every_message(text), Changes::default()).await;
    }
    drop(writer);
    for _ in 0..2 {
        let found: Vec<_> = history(&store, "t").await.iter().map(|turn| turn.messages.clone()).collect();
        assert_eq!(found, AWKWARD.map(samples::every_message));
        store = crash(&mut harness, store).await;
    }
}

/// In the texts of calls, choices, subscriptions, sign-ins and views.
pub async fn any_text_comes_back_beside_the_history<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let openings: Vec<Changes> = (1..).zip(AWKWARD).map(|(step, text)| samples::openings(step, text)).collect();
    for opening in &openings {
        writer.change(opening.clone()).await;
    }
    drop(writer);
    for _ in 0..2 {
        let record = load(&store, "t").await;
        assert_eq!(record.open_calls, all(&openings, |opening| &opening.planned));
        assert_eq!(record.subscriptions, all(&openings, |opening| &opening.subscriptions_opened));
        assert_eq!(record.oauth, all(&openings, |opening| &opening.oauth));
        assert_eq!(record.views, all(&openings, |opening| &opening.views));
        let choices: Vec<_> = record.choices.into_iter().map(|(choice, _)| choice).collect();
        assert_eq!(choices, all(&openings, |opening| &opening.choices_opened));
        store = crash(&mut harness, store).await;
    }
}

/// In the names of threads, inputs, calls, owners and blobs.
pub async fn any_text_comes_back_in_ids<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    for id in AWKWARD_IDS {
        accept(&store, id, vec![input(id)]).await;
        let owner = store.register(id).await.expect("an owner registers");
        assert!(owner.id().as_str().contains(id), "{} tells {id}", owner.id());
        store.put_blob(&id.into(), id, id.as_bytes().to_vec()).await.expect("a blob is kept");
        let mut writer = Writer::of(&store, id).await;
        let planned = vec![samples::planned(&id.into(), 1, id, ToolDelivery::AtMostOnce)];
        let spawned = vec![Spawn { thread: format!("{id}/child").into(), inputs: vec![input(id)] }];
        let message = Message::User(Arc::new(UserMessage { input_id: id.into(), text: id.into() }));
        writer.sync(vec![message], Changes { planned, spawned, ..Changes::default() }).await;
        store.fork(&id.into(), 1, &format!("{id}#").into(), Timestamp(1)).await.expect("a thread can be forked");
    }
    for _ in 0..2 {
        let mut expected: Vec<_> =
            AWKWARD_IDS.iter().flat_map(|id| [(*id).to_owned(), format!("{id}/child"), format!("{id}#")]).collect();
        expected.sort();
        assert_eq!(thread_ids(&store).await, expected);
        for id in AWKWARD_IDS {
            let record = load(&store, id).await;
            assert_eq!(record.thread.as_str(), id);
            assert_eq!(record.inbox[0].id.as_str(), id);
            assert_eq!(record.open_calls[0].call_id.as_str(), id);
            assert_eq!(inbox_ids(&store, &format!("{id}/child")).await, [id]);
            assert_eq!(accept(&store, id, vec![input(id)]).await, [Acceptance::Duplicate]);
            let Message::User(message) = &history(&store, &format!("{id}#")).await[0].messages[0] else {
                panic!("the message is of another kind")
            };
            assert_eq!(message.input_id, InputId::from(id));
            assert_eq!(store.blob(&id.into(), id, 0, 1_000).await.expect("a blob can be read"), id.as_bytes());
        }
        store = crash(&mut harness, store).await;
    }
}

/// Ids that differ in a byte are different: no folding of case, space, accents or numbers.
pub async fn ids_that_look_alike_are_different<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for id in ALIKE {
        create(&store, id).await;
        let acceptances = accept(&store, "t", vec![input(id)]).await;
        assert!(matches!(acceptances[..], [Acceptance::Accepted(_)]), "{id:?} is new: {acceptances:?}");
        store.put_blob(&"t".into(), id, id.as_bytes().to_vec()).await.expect("a blob is kept");
    }
    assert_eq!(thread_ids(&store).await.len(), ALIKE.len() + 1);
    assert_eq!(inbox_ids(&store, "t").await, ALIKE);
    for id in ALIKE {
        assert_eq!(store.blob(&"t".into(), id, 0, 10).await.expect("a blob can be read"), id.as_bytes());
    }
    let mut writer = Writer::of(&store, "t").await;
    let views = ALIKE.map(|id| samples::view(id, id)).to_vec();
    let planned = ALIKE.map(|id| samples::planned(&id.into(), 1, id, ToolDelivery::AtMostOnce)).to_vec();
    writer.change(Changes { views: views.clone(), planned, ..Changes::default() }).await;
    writer.change(Changes { settled: vec!["a".into(), "01".into()], ..Changes::default() }).await;
    let record = load(&store, "t").await;
    assert_eq!((record.views, record.open_calls.len()), (views, ALIKE.len() - 2));
}

/// A text of a megabyte comes back, as an input and as a message.
pub async fn a_megabyte_comes_back<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    let text = "é\0👩‍👩‍👧".repeat(1 << 16);
    assert!(text.len() > 1 << 20);
    let large = NewInput { input: selvedge_event::Input::text(text.as_str()), ..input("large") };
    accept(&store, "t", vec![large.clone()]).await;
    let mut writer = Writer::of(&store, "t").await;
    writer.sync(vec![user(&text)], Changes { views: vec![samples::view("large", &text)], ..Changes::default() }).await;
    drop(writer);
    let store = crash(&mut harness, store).await;
    let record = load(&store, "t").await;
    assert!(record.inbox[0].input == large.input, "the input comes back");
    assert!(*record.views[0].content == text, "the view comes back");
    assert!(history(&store, "t").await[0].messages == [user(&text)], "the message comes back");
}

/// Times come back, whatever the clock says.
pub async fn extreme_times_come_back<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    let times = [i64::MIN, -1, 0, 1, 253_402_300_800_000, i64::MAX].map(Timestamp);
    for (number, at) in times.iter().enumerate() {
        let thread = format!("{number}");
        accept(&store, &thread, vec![NewInput { at: *at, ..input("a") }]).await;
        let mut request = Writer::of(&store, &thread).await.next(vec![user("said")], Changes::default());
        request.turn = TurnRecord { at: *at, ..request.turn };
        store.sync(request).await.expect("a sync of the next step succeeds");
    }
    for _ in 0..2 {
        let listed: Vec<_> =
            summaries(&store).await.iter().map(|summary| (summary.created_at, summary.updated_at)).collect();
        assert_eq!(listed, times.map(|at| (at, at)));
        for (number, at) in times.iter().enumerate() {
            let thread = format!("{number}");
            assert_eq!(load(&store, &thread).await.inbox[0].at, *at);
            assert_eq!(history(&store, &thread).await[0].at, *at);
        }
        store = crash(&mut harness, store).await;
    }
}

/// A part of all openings, in order.
fn all<T: Clone>(openings: &[Changes], part: impl Fn(&Changes) -> &Vec<T>) -> Vec<T> {
    openings.iter().flat_map(|opening| part(opening).clone()).collect()
}
