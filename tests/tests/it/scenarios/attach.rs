//! Attaching to a thread at any moment.

use selvedge::prelude::*;
use selvedge_tests::{Mode, World, in_paused_time, text_of};

/// S01: 20 chunks, somebody attaches after each of them, also mid-reasoning: the text appears once, whole.
#[test]
fn s01_attach_after_every_chunk() {
    in_paused_time(async {
        let mut reply = Reply::new();
        for chunk in 0..20 {
            reply = reply.say(format!("{chunk} ")).pause();
        }
        let reply = std::sync::Mutex::new(Some(reply));
        let world =
            World::new(Mode::Local, move |builder| builder.model(ScriptedModel::new(reply.lock().unwrap().take())))
                .await;
        world.send("t", "hello", Input::text("hello")).await.unwrap();
        for _ in 0..50 {
            world.system().subscribe(&"t".into(), ()).await.unwrap();
        }
        world.rest("t").await;
        world.check("t").await;
        let text: String = (0..20).map(|chunk| format!("{chunk} ")).collect();
        assert_eq!(text_of(&world.shown("t").await), text);
        assert!(world.watcher.subscribers("t") >= 20);
    });
}
