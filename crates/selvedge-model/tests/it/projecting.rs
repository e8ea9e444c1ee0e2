//! The projection of histories.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use selvedge_event::{Block, CallId, CompactionSummary, Message, ToolStatus};
use selvedge_model::{ModelRequest, Projector, Reach, RequestMessage, validate};

use crate::histories::{Said, assistant, history, model, result, user};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() }
}

fn project(name: &str, messages: &[Message]) -> Projector {
    let mut projector = Projector::new(model(name));
    messages.iter().for_each(|message| projector.push(message));
    projector
}

fn context(projector: &Projector) -> Vec<RequestMessage> {
    projector.context().iter().cloned().collect()
}

/// Whether a thread would ask the model now.
fn is_asked(projector: &Projector) -> bool {
    projector.wants_answer() && !projector.is_waiting()
}

fn is_sendable(projector: &Projector) -> bool {
    validate(&ModelRequest::new(model("one"), projector.context().clone())).is_ok()
}

proptest! {
    #![proptest_config(config())]

    /// Every request that a thread could make at any point of its history is one that providers take.
    #[test]
    fn every_request_is_sendable(messages in history()) {
        for name in ["one", "two"] {
            let mut projector = Projector::new(model(name));
            for (place, message) in messages.iter().enumerate() {
                projector.push(message);
                if is_asked(&projector) {
                    let request = ModelRequest::new(model(name), projector.context().clone());
                    prop_assert_eq!(validate(&request), Ok(()), "after message {}", place);
                }
            }
        }
    }

    /// What was projected stays as it was, and projecting on from anywhere gives what projecting from scratch does.
    #[test]
    fn the_projection_is_incremental(messages in history(), cut in any::<prop::sample::Index>()) {
        let whole = project("one", &messages);
        let cut = cut.index(messages.len() + 1);
        let mut resumed = project("one", &messages[..cut]);
        let before = resumed.clone();
        let kept = context(&before);
        messages[cut..].iter().for_each(|message| resumed.push(message));
        prop_assert_eq!(context(&resumed), context(&whole));
        prop_assert_eq!(resumed.wants_answer(), whole.wants_answer());
        prop_assert!(resumed.open_calls().eq(whole.open_calls()));
        prop_assert_eq!(context(&before), kept.clone(), "a clone does not change");

        let compacted = messages[cut..].iter().any(|message| matches!(message, Message::Compaction(_)));
        if !compacted {
            prop_assert_eq!(&context(&resumed)[..kept.len()], &kept[..]);
            // The same messages, so that their encoded bytes are kept.
            for (old, new) in before.context().iter().zip(resumed.context().iter()) {
                prop_assert!(std::ptr::eq(old, new));
            }
        }
    }

    /// Damaged records leave holes: whatever is missing, the thread goes on.
    #[test]
    fn a_history_with_holes_is_sendable(messages in history(), holes in proptest::collection::vec(any::<bool>(), 41)) {
        let whole: Vec<Message> =
            messages.into_iter().zip(holes).filter(|(_, hole)| !hole).map(|(message, _)| message).collect();
        let mut projector = project("one", &whole);
        prop_assert!(!is_asked(&projector) || is_sendable(&projector), "at once");
        let open: Vec<CallId> = projector.open_calls().cloned().collect();
        open.into_iter().for_each(|call| projector.push(&result(call, ToolStatus::Error, "lost")));
        prop_assert!(!is_asked(&projector) || is_sendable(&projector), "when its calls are settled");
        projector.push(&user(99));
        prop_assert!(is_asked(&projector) && is_sendable(&projector), "after the next text");
    }

    /// S80: the part of a history that a request reaches back to projects as the whole does, at every point.
    #[test]
    fn a_request_needs_no_more_than_its_reach(messages in history()) {
        for end in 0..=messages.len() {
            let messages = &messages[..end];
            let whole = project("one", messages);
            let part = project("one", &messages[reach(messages, &whole)..]);
            prop_assert_eq!(context(&part), context(&whole), "after message {}", end);
            prop_assert_eq!(part.wants_answer(), whole.wants_answer());
            prop_assert!(part.open_calls().eq(whole.open_calls()));
        }
    }

    /// S72: a compaction at every index, also with calls open, and their results after it.
    #[test]
    fn a_compaction_anywhere_is_sendable(messages in history()) {
        for at in 0..=messages.len() {
            let mut projector = project("one", &messages[..at]);
            projector.push(&Message::Compaction(CompactionSummary { summary: "so far".into() }.into()));
            for message in &messages[at..] {
                projector.push(message);
                if is_asked(&projector) {
                    let request = ModelRequest::new(model("one"), projector.context().clone());
                    prop_assert_eq!(validate(&request), Ok(()), "compacted before message {}", at);
                }
            }
        }
    }
}

/// Where a request reaches back to.
fn reach(messages: &[Message], projector: &Projector) -> usize {
    let mut reach = Reach::new(projector.open_calls().cloned());
    let mut place = messages.len();
    while place > 0 && !reach.is_enough() {
        place -= 1;
        reach.look_at(&messages[place]);
    }
    place
}

/// A compaction ends it, unless something from before it is still needed: a call that was open, or whatever said that
/// the model is to answer.
#[test]
fn a_request_reaches_back_to_the_compaction_and_what_it_left_open() {
    let asks = |step| Message::Assistant(assistant(step, "one", &[Said::Call { broken: false }]).into());
    let says = |step| Message::Assistant(assistant(step, "one", &[Said::Text("so")]).into());
    let compaction = || Message::Compaction(CompactionSummary { summary: "so far".into() }.into());
    let answers = |step| result(CallId::of(step, 0), ToolStatus::Ok, "42");
    let check = |messages: &[Message], expected: usize| {
        assert_eq!(reach(messages, &project("one", messages)), expected, "{messages:#?}");
    };
    check(&[user(1), says(2), compaction(), user(3), says(4)], 2);
    check(&[user(1), asks(2), compaction(), user(3), answers(2)], 1);
    check(&[user(1), asks(2), compaction(), user(3)], 1);
    check(&[user(1), says(2), user(3), compaction()], 2);
    check(&[user(1), says(2), compaction()], 1);
    check(&[user(1), says(2), user(3)], 0);
}

/// Two calls at once, the results in each order, texts and a compaction in between: results stand in call order.
#[test]
fn results_stand_in_call_order() {
    let calls = [Said::Text("I look."), Said::Call { broken: false }, Said::Call { broken: false }];
    let asks = Message::Assistant(assistant(2, "one", &calls).into());
    for order in [[0, 1], [1, 0]] {
        let [first, second] =
            order.map(|index| result(CallId::of(2, index), ToolStatus::Ok, &format!("result {index}")));
        let mut projector = project("one", &[user(1), asks.clone(), first, user(3)]);
        assert!(projector.is_waiting());
        assert_eq!(projector.open_calls().collect::<Vec<_>>(), [&CallId::of(2, order[1])]);
        assert_eq!(context(&projector).len(), 1, "what waits is not in the context yet");
        projector.push(&second);

        let context = context(&projector);
        let [_, RequestMessage::Assistant { .. }, RequestMessage::ToolResults(results), RequestMessage::User(text)] =
            &context[..]
        else {
            panic!("{context:#?}")
        };
        let told: Vec<String> = results.iter().map(|answered| answered.result.joined_text()).collect();
        assert_eq!(told, ["result 0", "result 1"]);
        assert_eq!(&**text, "text 3");
    }
}

/// S72: the late result of a call that was open at a compaction reaches the model after the summary.
#[test]
fn a_late_result_counts_after_a_compaction() {
    let asks = Message::Assistant(assistant(2, "one", &[Said::Call { broken: false }]).into());
    let compaction = Message::Compaction(CompactionSummary { summary: "so far".into() }.into());
    let late = result(CallId::of(2, 0), ToolStatus::Ok, "late");
    let context = context(&project("one", &[user(1), asks, compaction, late]));
    let [RequestMessage::User(summary), RequestMessage::Assistant { .. }, RequestMessage::ToolResults(results)] =
        &context[..]
    else {
        panic!("{context:#?}")
    };
    assert_eq!((&**summary, results[0].result.joined_text()), ("so far", "late".to_owned()));
}

/// A result whose record is damaged, found out when the model has answered: what came meanwhile is kept.
#[test]
fn a_lost_result_loses_nothing_else() {
    let asks = |step| Message::Assistant(assistant(step, "one", &[Said::Call { broken: false }]).into());
    let context = context(&project(
        "one",
        &[user(1), asks(2), user(3), asks(4), result("call_4_0".into(), ToolStatus::Ok, "42")],
    ));
    let [_, _, RequestMessage::ToolResults(lost), RequestMessage::User(kept), _, RequestMessage::ToolResults(_)] =
        &context[..]
    else {
        panic!("{context:#?}")
    };
    assert!(lost[0].result.joined_text().contains("damaged"));
    assert_eq!(&**kept, "text 3");
}

#[test]
fn reasoning_goes_only_to_the_model_that_made_it() {
    let said = [Said::Reasoning { complete: true }, Said::Reasoning { complete: false }, Said::Text("a")];
    let messages = [user(1), Message::Assistant(assistant(2, "one", &said).into()), user(3)];
    let kinds = |name: &str| {
        let context = context(&project(name, &messages));
        let RequestMessage::Assistant { blocks, .. } = &context[1] else { panic!("{context:#?}") };
        let kinds = blocks.iter().map(|block| match block {
            Block::Reasoning { .. } => "reasoning",
            Block::Text { native: Some(_), .. } => "native text",
            Block::Text { native: None, .. } => "text",
            Block::ToolCall(_) => "call",
        });
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(kinds("one"), ["reasoning", "native text"]);
    assert_eq!(kinds("two"), ["text"]);
}

#[test]
fn results_of_an_interruption_alone_call_for_no_answer() {
    let asks = Message::Assistant(assistant(2, "one", &[Said::Call { broken: false }]).into());
    for (status, wants) in [
        (ToolStatus::Ok, true),
        (ToolStatus::Error, true),
        (ToolStatus::Unknown, true),
        (ToolStatus::Interrupted, false),
        (ToolStatus::NotExecuted, false),
    ] {
        let projector = project("one", &[user(1), asks.clone(), result(CallId::of(2, 0), status, "x")]);
        assert_eq!(projector.wants_answer(), wants, "{status:?}");
    }
}
