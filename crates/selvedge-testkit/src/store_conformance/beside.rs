//! The state beside the history: open calls, choices, subscriptions, sign-ins, views, usage.

use selvedge_event::{CallId, ChoiceEnd, Usage};
use selvedge_store::{Changes, ThreadRecord, ToolDelivery};

use super::{
    StoreHarness,
    kit::{Store, Writer, crash, create, load},
    samples::{self, choice, planned, resolution, sign_in, subscription, usage, view},
};

/// Calls are open in the order in which they were planned, across steps, whatever their names.
pub async fn planned_calls_are_open_in_call_order<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    create(&store, "t").await;
    let mut expected = Vec::new();
    let mut writer = Writer::of(&store, "t").await;
    for step in 1..=11 {
        let of_step: Vec<_> = (0..12)
            .map(|index| {
                let delivery = if index % 2 == 0 { ToolDelivery::AtMostOnce } else { ToolDelivery::AtLeastOnce };
                planned(&CallId::of(step, index), step, "tool", delivery)
            })
            .collect();
        writer.change(Changes { planned: of_step.clone(), ..Changes::default() }).await;
        expected.extend(of_step);
    }
    // The order stays where calls in between are settled.
    let settled: Vec<_> = [13, 50, 7].map(|place| expected[place].call_id.clone()).into();
    expected.retain(|call| !settled.contains(&call.call_id));
    writer.change(Changes { settled, ..Changes::default() }).await;
    drop(writer);
    for _ in 0..2 {
        assert_eq!(load(&store, "t").await.open_calls, expected);
        store = crash(&mut harness, store).await;
    }
}

/// A settled call is open no more, and its choices and sign-in go with it; those of other calls stay.
pub async fn a_settled_call_takes_its_choices_and_sign_ins_along<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let mut writer = open_two_calls(&store).await;
    let [one, two] = calls();
    let oauth = vec![sign_in(&one, "one"), sign_in(&two, "two")];
    let choices_opened = vec![choice(&one, 1, "1"), choice(&two, 1, "2"), choice(&one, 2, "3"), choice(&two, 2, "4")];
    let closed = resolution(&choices_opened[2], ChoiceEnd::Answered, 0);
    writer.change(Changes { oauth, choices_opened: choices_opened.clone(), ..Changes::default() }).await;
    writer.change(Changes { choices_closed: vec![closed], ..Changes::default() }).await;

    writer.change(Changes { settled: vec![one], ..Changes::default() }).await;
    let record = load(&store, "t").await;
    assert_eq!(open_ids(&record), ["call_1_1"]);
    assert_eq!(record.choices, [(choices_opened[1].clone(), None), (choices_opened[3].clone(), None)]);
    assert_eq!(record.oauth, [sign_in(&two, "two")]);

    writer.change(Changes { settled: vec![two], ..Changes::default() }).await;
    let record = load(&store, "t").await;
    assert_eq!((record.open_calls, record.choices, record.oauth), (vec![], vec![], vec![]));
}

/// What one sync both begins and ends is ended: a call that is answered at once was never open.
pub async fn a_call_that_is_planned_and_settled_at_once_is_not_open<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let [one, two] = calls();
    let changes = Changes { settled: vec![one.clone()], subscriptions_closed: vec![one], ..samples::openings(1, "x") };
    writer.change(changes).await;
    let record = load(&store, "t").await;
    assert_eq!(open_ids(&record), ["call_1_1"]);
    assert_eq!((record.choices, record.subscriptions, record.oauth), (vec![], vec![], vec![sign_in(&two, "x")]));
}

/// Choices wait in the order in which they were opened, whatever their names.
pub async fn choices_wait_oldest_first<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    let mut writer = open_two_calls(&store).await;
    let [one, two] = calls();
    let mut expected = Vec::new();
    for number in 1..=12 {
        for call in [&two, &one] {
            let choice = choice(call, number, "which?");
            writer.change(Changes { choices_opened: vec![choice.clone()], ..Changes::default() }).await;
            expected.push((choice, None));
        }
    }
    drop(writer);
    for _ in 0..2 {
        assert_eq!(load(&store, "t").await.choices, expected);
        store = crash(&mut harness, store).await;
    }
}

/// A choice that ended is kept in its place with how it ended, also across a crash.
pub async fn a_resolved_choice_is_kept_until_its_call_is_settled<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    let mut writer = open_two_calls(&store).await;
    let [one, two] = calls();
    let choices: Vec<_> = (1..=4).map(|number| choice(&one, number, "which?")).collect();
    writer.change(Changes { choices_opened: choices.clone(), ..Changes::default() }).await;
    let ends = [(2, ChoiceEnd::Expired), (0, ChoiceEnd::Answered), (3, ChoiceEnd::Dismissed)];
    let mut expected: Vec<_> = choices.into_iter().map(|choice| (choice, None)).collect();
    for (place, end) in ends {
        let (choice, kept) = &mut expected[place];
        let resolution = resolution(choice, end, place);
        writer.change(Changes { choices_closed: vec![resolution.clone()], ..Changes::default() }).await;
        *kept = Some(resolution);
    }
    writer.change(Changes { settled: vec![two], ..Changes::default() }).await;
    drop(writer);
    for _ in 0..2 {
        assert_eq!(load(&store, "t").await.choices, expected);
        store = crash(&mut harness, store).await;
    }
    Writer::of(&store, "t").await.change(Changes { settled: vec![one], ..Changes::default() }).await;
    assert_eq!(load(&store, "t").await.choices, []);
}

/// A choice that one sync both opens and closes is kept with how it ended.
pub async fn a_choice_that_is_opened_and_closed_at_once_is_resolved<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let mut writer = open_two_calls(&store).await;
    let [one, _] = calls();
    let choice = choice(&one, 1, "which?");
    let end = resolution(&choice, ChoiceEnd::Dismissed, 1);
    let changes =
        Changes { choices_opened: vec![choice.clone()], choices_closed: vec![end.clone()], ..Changes::default() };
    writer.change(changes).await;
    assert_eq!(load(&store, "t").await.choices, [(choice, Some(end))]);
}

/// A call that goes on as a subscription is settled, and the subscription lives until it is closed.
pub async fn subscriptions_outlive_their_calls_until_they_are_closed<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    let mut writer = open_two_calls(&store).await;
    let [one, two] = calls();
    let opened = [subscription(&two, "2"), subscription(&one, "1")];
    for (call, subscription) in [&two, &one].into_iter().zip(&opened) {
        let changes = Changes {
            settled: vec![call.clone()],
            subscriptions_opened: vec![subscription.clone()],
            ..Changes::default()
        };
        writer.change(changes).await;
    }
    drop(writer);
    let store = crash(&mut harness, store).await;
    assert_eq!(load(&store, "t").await.subscriptions, opened);
    let mut writer = Writer::of(&store, "t").await;
    writer.change(Changes { subscriptions_closed: vec![two], ..Changes::default() }).await;
    assert_eq!(load(&store, "t").await.subscriptions, [subscription(&one, "1")]);
    writer.change(Changes { subscriptions_closed: vec![one], ..Changes::default() }).await;
    assert_eq!(load(&store, "t").await.subscriptions, []);
}

/// A call waits for one sign-in at a time, the latest; they stand in the order in which they came.
pub async fn a_later_sign_in_of_a_call_replaces_the_earlier<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    let mut writer = open_two_calls(&store).await;
    let [one, two] = calls();
    let notices = vec![sign_in(&one, "early"), sign_in(&two, "other"), sign_in(&one, "late")];
    writer.change(Changes { oauth: notices, ..Changes::default() }).await;
    assert_eq!(load(&store, "t").await.oauth, [sign_in(&two, "other"), sign_in(&one, "late")]);
    writer.change(Changes { oauth: vec![sign_in(&two, "latest")], ..Changes::default() }).await;
    drop(writer);
    let store = crash(&mut harness, store).await;
    assert_eq!(load(&store, "t").await.oauth, [sign_in(&one, "late"), sign_in(&two, "latest")]);
}

/// A thread shows one view of a type, the latest; they stand in the order in which they came.
pub async fn a_later_view_of_a_type_replaces_the_earlier<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let views = vec![view("plan", "early"), view("cost", "1"), view("plan", "late"), view("Plan", "another type")];
    writer.change(Changes { views, ..Changes::default() }).await;
    let shown = [view("cost", "1"), view("plan", "late"), view("Plan", "another type")];
    assert_eq!(load(&store, "t").await.views, shown);
    writer.change(Changes { views: vec![view("cost", "2")], ..Changes::default() }).await;
    drop(writer);
    let store = crash(&mut harness, store).await;
    let shown = [view("plan", "late"), view("Plan", "another type"), view("cost", "2")];
    assert_eq!(load(&store, "t").await.views, shown);
}

/// The usage of a thread's steps adds up, also across a crash.
pub async fn usage_adds_up<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    create(&store, "t").await;
    let mut total = Usage::default();
    for seed in [3, 0, 5_000_000_000, 1] {
        let mut writer = Writer::of(&store, "t").await;
        writer.change(Changes { usage: usage(seed), ..Changes::default() }).await;
        total += usage(seed);
        assert_eq!(load(&store, "t").await.usage, total);
        drop(writer);
        store = crash(&mut harness, store).await;
        assert_eq!(load(&store, "t").await.usage, total);
    }
}

fn open_ids(record: &ThreadRecord) -> Vec<&str> {
    record.open_calls.iter().map(|call| call.call_id.as_str()).collect()
}

/// The two calls that are open after [`open_two_calls`].
fn calls() -> [CallId; 2] {
    [CallId::of(1, 0), CallId::of(1, 1)]
}

/// Makes `t` with two open calls.
async fn open_two_calls(store: &Store) -> Writer<'_> {
    create(store, "t").await;
    let mut writer = Writer::of(store, "t").await;
    let planned = calls().iter().map(|call| planned(call, 1, "tool", ToolDelivery::AtMostOnce)).collect();
    writer.change(Changes { planned, ..Changes::default() }).await;
    writer
}
