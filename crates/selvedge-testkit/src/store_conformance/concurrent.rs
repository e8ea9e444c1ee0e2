//! Operations at the same time: everything that is accepted is kept, and of those who compete, one wins.

use std::collections::BTreeSet;

use selvedge_event::{ThreadId, Timestamp};
use selvedge_store::{
    AcceptRequest, Acceptance, Changes, Create, Spawn, StoreError, StoreErrorKind, SyncRequest, SyncToken,
};

use super::{
    StoreHarness,
    kit::{
        Task, Writer, accept, create, history, inbox_ids, input, inputs, load, refused, register, steps, thread_ids,
        together, user,
    },
};

/// Many senders at once, some of whose inputs are the same: each is there once, and each sender's in its order.
pub async fn accepts_at_once_are_all_kept_once<H: StoreHarness>() {
    const SENDERS: usize = 8;
    const ROUNDS: usize = 40;
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let senders = (0..SENDERS).map(|sender| {
        let store = store.clone();
        async move {
            let mut own = Vec::new();
            let mut shared = 0;
            for round in 0..ROUNDS {
                let ids = [format!("{sender}/{round}"), format!("shared/{round}")];
                let acceptances = accept(&store, "t", vec![input(&ids[0]), input(&ids[1])]).await;
                let [Acceptance::Accepted(seq), second] = acceptances[..] else {
                    panic!("an input of its own is lost")
                };
                own.push(seq);
                shared += usize::from(second != Acceptance::Duplicate);
            }
            assert!(own.is_sorted(), "{own:?}");
            shared
        }
    });
    let shared: usize = together(senders).await.into_iter().sum();
    assert_eq!(shared, ROUNDS, "each shared input was accepted once");
    let inbox = load(&store, "t").await.inbox;
    assert!(inbox.is_sorted_by(|one, next| one.seq < next.seq), "the inbox is in order");
    let ids = inbox_ids(&store, "t").await;
    assert_eq!(ids.len(), 1 + ROUNDS * (SENDERS + 1));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}

/// Of many who create and claim a thread at once, one has it, and all their inputs are there.
pub async fn one_of_many_creators_gets_the_thread<H: StoreHarness>() {
    const CREATORS: usize = 4;
    let harness = H::fresh().await;
    let store = harness.store();
    for round in 0..20 {
        let thread = format!("t{round}");
        let creators = (0..CREATORS).map(|creator| {
            let (store, thread) = (store.clone(), thread.clone());
            async move {
                let owner = register(&store).await;
                let create = Create::ClaimedBy(owner.id().clone());
                let inputs = inputs(&[&format!("{creator}"), "same"]);
                let request = AcceptRequest { thread: thread.into(), inputs, create };
                let reply = store.accept(request).await.expect("an accept succeeds");
                (owner, reply)
            }
        });
        let replies = together(creators).await;
        let winners: Vec<_> = replies.iter().filter(|(_, reply)| reply.claimed.is_some()).collect();
        assert_eq!(winners.len(), 1, "one has created the thread");
        let mut ids = inbox_ids(&store, &thread).await;
        ids.sort();
        assert_eq!(ids, ["0", "1", "2", "3", "same"]);
        let other = register(&store).await;
        let message = refused(store.claim(&thread.as_str().into(), &other).await, StoreErrorKind::Owned);
        assert!(message.contains(winners[0].0.id().as_str()), "{message}");
    }
}

/// Of many who claim a thread at once, one has it.
pub async fn one_of_many_claims_succeeds<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    for round in 0..20 {
        let thread = format!("t{round}");
        create(&store, &thread).await;
        let claimants = (0..4).map(|_| {
            let (store, thread) = (store.clone(), thread.clone());
            async move {
                let owner = register(&store).await;
                let claim = store.claim(&thread.into(), &owner).await;
                (owner, claim)
            }
        });
        let claims = together(claimants).await;
        let (winners, losers): (Vec<_>, Vec<_>) = claims.into_iter().partition(|(_, claim)| claim.is_ok());
        assert_eq!(winners.len(), 1, "one has claimed the thread");
        for (_, claim) in losers {
            let message = refused(claim, StoreErrorKind::Owned);
            assert!(message.contains(winners[0].0.id().as_str()), "{message}");
        }
        assert_eq!(load(&store, &thread).await.head.epoch.0, 1);
    }
}

/// Of two writers under one claim who sync the same step, one wins and the other gets a conflict; the history has the
/// winners' turns, each once.
pub async fn one_of_two_writers_wins_each_step<H: StoreHarness>() {
    const ROUNDS: u64 = 200;
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let mut writer = Writer::of(&store, "t").await;
    let mut expected = Vec::new();
    for round in 1..=ROUNDS {
        let texts = [format!("{round} of one"), format!("{round} of two")];
        let requests = [0, 1].map(|of| SyncRequest {
            token: SyncToken(2 * round + of as u64),
            ..writer.next(vec![user(&texts[of])], Changes::default())
        });
        let syncs = requests.map(|request| {
            let store = store.clone();
            async move { store.sync(request).await }
        });
        let results = together(syncs).await;
        let winner = results.iter().position(Result::is_ok).expect("one of two wins");
        for (of, result) in results.into_iter().enumerate() {
            if of != winner {
                refused(result, StoreErrorKind::Conflict);
            }
        }
        writer.step += 1;
        let head = store.head(&"t".into()).await.expect("a thread has a head");
        assert_eq!((head.step, head.token), (round, SyncToken(2 * round + winner as u64)));
        expected.push(vec![user(&texts[winner])]);
    }
    let turns = history(&store, "t").await;
    assert_eq!(steps(&turns), (1..=ROUNDS).collect::<Vec<_>>());
    assert_eq!(turns.iter().map(|turn| turn.messages.clone()).collect::<Vec<_>>(), expected);
}

/// Inputs that arrive while steps consume others are neither lost nor taken twice.
pub async fn inputs_that_arrive_during_syncs_are_kept<H: StoreHarness>() {
    const INPUTS: usize = 100;
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    let sending = {
        let store = store.clone();
        async move {
            for number in 0..INPUTS {
                accept(&store, "t", vec![input(&format!("{number}"))]).await;
            }
            Vec::new()
        }
    };
    let taking = {
        let store = store.clone();
        async move {
            let mut writer = Writer::of(&store, "t").await;
            let mut taken = Vec::new();
            while taken.len() < INPUTS + 1 {
                let waiting = load(&store, "t").await.inbox;
                let consumed = waiting.iter().map(|entry| entry.seq).collect();
                writer.change(Changes { consumed, ..Changes::default() }).await;
                taken.extend(waiting.into_iter().map(|entry| entry.id.to_string()));
                tokio::task::yield_now().await;
            }
            taken
        }
    };
    let tasks: [Task<Vec<String>>; 2] = [Box::pin(sending), Box::pin(taking)];
    let taken = together(tasks).await.remove(1);
    let expected: Vec<_> =
        ["first".to_owned()].into_iter().chain((0..INPUTS).map(|number| number.to_string())).collect();
    assert_eq!(taken, expected);
    assert_eq!(inbox_ids(&store, "t").await, [""; 0]);
}

/// Of a fork, a spawn and a fork of another thread that ask for one name at once, one gets it.
pub async fn forks_and_spawns_of_one_name_make_one_thread<H: StoreHarness>() {
    let harness = H::fresh().await;
    let store = harness.store();
    create(&store, "t").await;
    create(&store, "u").await;
    for round in 0..20 {
        let name = format!("new {round}");
        let spawned = vec![Spawn { thread: name.as_str().into(), inputs: inputs(&["x"]) }];
        let writer = Writer::of(&store, "t").await;
        let request = writer.next(vec![user("spawns")], Changes { spawned, ..Changes::default() });
        let spawning = store.clone();
        let mut tasks: Vec<Task<Result<(), StoreError>>> = vec![Box::pin(async move { spawning.sync(request).await })];
        for parent in ["t", "u"] {
            let (store, parent, name) = (store.clone(), ThreadId::from(parent), ThreadId::from(name.as_str()));
            tasks.push(Box::pin(async move { store.fork(&parent, 0, &name, Timestamp(1)).await }));
        }
        let results = together(tasks).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "one has made the thread");
        let spawned = results[0].is_ok();
        for result in results.into_iter().filter(Result::is_err) {
            refused(result, StoreErrorKind::Exists);
        }
        assert_eq!(inbox_ids(&store, &name).await.len(), usize::from(spawned));
        assert_eq!(load(&store, "t").await.head.step, writer.step + u64::from(spawned));
        assert_eq!(thread_ids(&store).await.len(), 3 + round);
    }
}
