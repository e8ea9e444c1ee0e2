//! What must hold on every store alike. Time is real here: a store's own threads do not know of a paused one.

use std::sync::Arc;
use std::time::Duration;

use selvedge::event::Block;
use selvedge::model::{Gate, ModelEvent, ModelRequest, RequestMessage};
use selvedge::prelude::*;
use selvedge::store::ToolDelivery;
use selvedge_testkit::{Chance, Seen};
use selvedge_tests::{Mode, World, text_of};

use crate::durability::attach_sqlite::{folder, in_real_time};
use crate::durability::kit::Reached;

/// Runs a test on each store.
fn on_every_store(name: &str, test: impl AsyncFn(Arc<dyn ConversationStore>)) {
    in_real_time(async { test(Arc::new(MemoryStore::default())).await });
    let folder = folder(name);
    in_real_time(async {
        let store = SqliteStore::open(folder.join("threads.db")).await.unwrap();
        test(Arc::new(store.clone())).await;
        store.close().await;
    });
    std::fs::remove_dir_all(folder).unwrap();
}

/// How many threads are attached to, each after a chunk drawn by chance.
const DRAWS: usize = 100;
/// How many chunks an answer has.
const CHUNKS: u64 = 20;

/// S02: S01 on every store, at a hundred moments drawn by chance (`SELVEDGE_SEED` draws others): the text appears once,
/// whole. The transports come with those who serve them.
#[test]
fn s02_attach_after_a_chance_chunk_on_every_store() {
    let seed = std::env::var("SELVEDGE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("SELVEDGE_SEED={seed}");
    on_every_store("s02", async |store| {
        let chance = Chance::of_seed(seed);
        let draws: Vec<(u64, Gate)> = (0..DRAWS).map(|_| (chance.below(CHUNKS), Gate::new())).collect();
        let gates = draws.clone();
        let model = ScriptedModel::from_fn(move |request| {
            let (drawn, gate) = &gates[last_text(request).parse::<usize>().unwrap()];
            (0..CHUNKS).fold(Reply::new(), |reply, chunk| {
                let reply = reply.say(format!("{chunk} "));
                if chunk == *drawn { reply.wait(gate) } else { reply }
            })
        });
        let checked = model.clone();
        let world = World::over(Mode::Local, store, move |builder| builder.model(model.clone())).await;
        for number in 0..DRAWS {
            let text = number.to_string();
            world.send(&format!("t{number}"), &text, Input::text(&*text)).await.unwrap();
        }
        for (number, (_, gate)) in draws.iter().enumerate() {
            let thread = format!("t{number}").as_str().into();
            gate.reached().await;
            assert!(world.system().subscribe(&thread, ()).await.unwrap());
            gate.clone().open();
            assert!(world.system().subscribe(&thread, ()).await.unwrap());
        }
        while world.watcher.log().iter().filter(|seen| **seen == Seen::Committed).count() < DRAWS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let whole: String = (0..CHUNKS).map(|chunk| format!("{chunk} ")).collect();
        for number in 0..DRAWS {
            let thread = format!("t{number}");
            world.check(&thread).await;
            assert_eq!(world.watcher.subscribers(&thread), 2);
            assert_eq!(text_of(&world.shown(&thread).await), whole);
        }
        assert_eq!(checked.violations(), Vec::<String>::new());
        world.system().shutdown().await;
    });
}

/// S53: signed reasoning in three deltas, reasoning that is hidden, a call, more reasoning after it, its result, a
/// restart: the model reads its reasoning back byte for byte, on every store.
#[test]
fn s53_reasoning_is_replayed_byte_for_byte() {
    const SIGNED: &str = r#"{"type":"thinking","thinking":"first, é 阴","signature":"c2ln+/=\u0000"}"#;
    const HIDDEN: &str = r#"{ "type": "redacted_thinking",  "data": "AAAA" }"#;
    const AFTER: &str = r#"{"signature":"2nd"}"#;
    on_every_store("s53", async |store| {
        let ended = |native: &str| ModelEvent::ReasoningEnded { native: Some(native.into()) };
        let thinking = ["first", ", é", " 阴"]
            .iter()
            .fold(Reply::new(), |reply, delta| reply.event(ModelEvent::Reasoning((*delta).into())));
        let calling = thinking.event(ended(SIGNED)).event(ended(HIDDEN)).and_call("act", "{}");
        let calling = calling.event(ModelEvent::Reasoning("and now".into())).event(ended(AFTER)).say("see");
        let model = ScriptedModel::new([calling, Reply::text("done"), Reply::text("again")]);
        let (wired, reached) = (model.clone(), Reached::default());
        let mut world = World::over(Mode::Local, store, move |builder| {
            builder.model(wired.clone()).tool(reached.tool("act", ToolDelivery::AtLeastOnce))
        })
        .await;
        world.say("t", "hello").await;
        world.restart(&["t"]).await;
        world.say("t", "and?").await;
        let requests = model.requests();
        assert_eq!(requests.len(), 3);
        for request in &requests[1..] {
            assert_eq!(natives(request), [SIGNED, HIDDEN, AFTER]);
        }
        assert_eq!(model.violations(), Vec::<String>::new());
        world.check("t").await;
        world.system().shutdown().await;
    });
}

fn last_text(request: &ModelRequest) -> &str {
    match request.context.last() {
        Some(RequestMessage::User(text)) => text,
        _ => panic!("no text was asked"),
    }
}

/// The provider's own form of all reasoning in a request.
fn natives(request: &ModelRequest) -> Vec<String> {
    let blocks = request.context.iter().flat_map(|message| match message {
        RequestMessage::Assistant { blocks, .. } => blocks.clone(),
        _ => Vec::new(),
    });
    let natives = blocks.filter_map(|block| match block {
        Block::Reasoning { native, .. } => native.map(|native| native.to_string()),
        _ => None,
    });
    natives.collect()
}
