//! The inbox: what is accepted waits in order, and counts once.

use selvedge_event::Timestamp;
use selvedge_store::{AcceptRequest, Acceptance, Changes, Create, NewInput};

use super::{
    StoreHarness,
    kit::{Writer, accept, crash, create, inbox_ids, input, inputs, load},
    samples,
};

/// Inputs wait in the order in which they were accepted, each as it came, under the number that the answer gave.
pub async fn inputs_wait_in_the_order_of_their_arrival<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    // Neither the ids nor the times say what the order is.
    let requests = [vec![timed("m", 30), timed("z", 20)], vec![timed("a", 10)], vec![timed("q", 40), timed("b", 10)]];
    let mut expected = Vec::new();
    for request in requests {
        let acceptances = accept(&store, "t", request.clone()).await;
        expected.extend(acceptances.into_iter().zip(request));
    }
    let inbox = load(&store, "t").await.inbox;
    let found: Vec<_> = inbox
        .into_iter()
        .map(|entry| (Acceptance::Accepted(entry.seq), NewInput { id: entry.id, input: entry.input, at: entry.at }))
        .collect();
    assert_eq!(found, expected);
}

/// Every kind of input comes back as it was, also after a crash.
pub async fn every_kind_of_input_comes_back<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    let every = samples::every_input("some text");
    for (number, input) in every.iter().enumerate() {
        let new = NewInput { id: format!("{number}").into(), input: input.clone(), at: Timestamp(5) };
        accept(&store, "t", vec![new]).await;
    }
    for _ in 0..2 {
        let found: Vec<_> = load(&store, "t").await.inbox.into_iter().map(|entry| entry.input).collect();
        assert_eq!(found, every);
        store = crash(&mut harness, store).await;
    }
}

/// Of two inputs with one id in a request, the first counts; the answers say which.
pub async fn an_id_twice_in_a_request_counts_once<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    let request = vec![timed("a", 1), timed("b", 2), timed("a", 3), timed("c", 4), timed("b", 5)];
    let acceptances = accept(&store, "t", request).await;
    let accepted: Vec<bool> = acceptances.iter().map(|answer| *answer != Acceptance::Duplicate).collect();
    assert_eq!(accepted, [true, true, false, true, false]);
    let inbox = load(&store, "t").await.inbox;
    let found: Vec<_> = inbox.iter().map(|entry| (entry.id.as_str(), entry.at.0)).collect();
    assert_eq!(found, [("a", 1), ("b", 2), ("c", 4)]);
}

/// An id that comes again, with whatever input, is a duplicate and changes nothing; new inputs beside it are accepted.
pub async fn an_id_that_comes_again_is_a_duplicate<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    accept(&store, "t", inputs(&["a", "b"])).await;
    let before = load(&store, "t").await;
    assert_eq!(accept(&store, "t", vec![timed("b", 99)]).await, [Acceptance::Duplicate]);
    assert_eq!(load(&store, "t").await, before);
    let acceptances = accept(&store, "t", inputs(&["b", "c", "a"])).await;
    assert!(
        matches!(acceptances[..], [Acceptance::Duplicate, Acceptance::Accepted(_), Acceptance::Duplicate]),
        "{acceptances:?}"
    );
    assert_eq!(inbox_ids(&store, "t").await, ["a", "b", "c"]);
}

/// An id stays known when its input has left the inbox.
pub async fn an_id_stays_known_when_its_input_is_consumed<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    accept(&store, "t", inputs(&["a", "b"])).await;
    Writer::of(&store, "t").await.finish().await;
    assert_eq!(accept(&store, "t", inputs(&["b", "a"])).await, [Acceptance::Duplicate; 2]);
    assert_eq!(inbox_ids(&store, "t").await, [""; 0]);
}

/// An id stays known across a crash, whether its input waits or was consumed.
pub async fn an_id_stays_known_across_a_crash<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let store = harness.store();
    accept(&store, "t", inputs(&["consumed"])).await;
    Writer::of(&store, "t").await.finish().await;
    accept(&store, "t", inputs(&["waiting"])).await;
    let store = crash(&mut harness, store).await;
    assert_eq!(accept(&store, "t", inputs(&["waiting", "consumed"])).await, [Acceptance::Duplicate; 2]);
    assert_eq!(inbox_ids(&store, "t").await, ["waiting"]);
}

/// One id may come to two threads.
pub async fn an_id_is_known_to_its_own_thread_only<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for thread in ["t", "t/child", "u"] {
        create(&store, thread).await;
        assert_eq!(inbox_ids(&store, thread).await, ["first"]);
    }
}

/// The numbers of inputs grow, and are not used again: not when their inputs were consumed, and not after a crash.
pub async fn numbers_grow_and_are_never_used_again<H: StoreHarness>() {
    let mut harness = H::fresh().await;
    let mut store = harness.store();
    let mut newest = None;
    for round in 0..4 {
        let acceptances = accept(&store, "t", inputs(&[&format!("a{round}"), &format!("b{round}")])).await;
        for acceptance in acceptances {
            let Acceptance::Accepted(seq) = acceptance else { panic!("a new input is a duplicate") };
            assert!(Some(seq) > newest, "{seq} comes after {newest:?}");
            newest = Some(seq);
        }
        Writer::of(&store, "t").await.finish().await;
        if round % 2 == 1 {
            store = crash(&mut harness, store).await;
        }
    }
}

/// A request without inputs is answered without answers, and changes nothing.
pub async fn nothing_is_accepted_from_an_empty_request<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let before = load(&store, "t").await;
    for create in [Create::No, Create::Unclaimed] {
        let request = AcceptRequest { thread: "t".into(), inputs: Vec::new(), create };
        let reply = store.accept(request).await.expect("an empty request is no error");
        assert_eq!((reply.acceptances, reply.claimed), (vec![], None));
    }
    assert_eq!(load(&store, "t").await, before);
    // What it did not do shows also in the next step.
    Writer::of(&store, "t").await.change(Changes::default()).await;
}

fn timed(id: &str, at: i64) -> NewInput {
    NewInput { at: Timestamp(at), ..input(id) }
}
