//! Text that stores and wires are known to trip over.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge::prelude::*;
use selvedge_tests::{Mode, in_paused_time, text_of};

use crate::behaviour::kit::{Stage, T, text_arguments, with_echo};

both_modes!(s43_awkward_text_in_memory);

/// NUL, escapes that look like it, control characters, a byte-order mark, separators, combining and joined characters,
/// right-to-left marks, the last code points, and what ends strings in other languages.
const AWKWARD: [&str; 9] = [
    "a\0b",
    "\0",
    r"\u0000 \0 %00 \x00",
    "\u{1}\u{1b}[31m\u{7f}\u{85}",
    "\u{feff}x\u{2028}y\u{2029}z\r\n\t",
    "阴气渐重 👩‍👩‍👧 é e\u{301} \u{301}",
    "\u{202e}abc\u{202c} שלום",
    "\u{ffff}\u{fffd}\u{10ffff}",
    r#"'; drop table threads; -- "quoted" \ {{}} $1 ?"#,
];

/// S43: the same text comes back, through user text, chunks, arguments and results, before a restart and after.
async fn s43_awkward_text_in_memory(mode: Mode) {
    round_trips(mode, Arc::new(MemoryStore::default())).await;
}

async fn round_trips(mode: Mode, store: Arc<dyn ConversationStore>) {
    let replies = AWKWARD.into_iter().flat_map(|text| {
        [
            Reply::new().think(text).say("x").say(text).and_call("echo", text_arguments(text)),
            Reply::text(format!("{text}.")),
        ]
    });
    let model = ScriptedModel::new(replies.chain([Reply::text("end")]).collect::<Vec<_>>());
    let mut stage = Stage::over(mode, store, model, with_echo).await;
    for (number, text) in AWKWARD.into_iter().enumerate() {
        stage.send(T, &format!("{number}"), Input::text(text)).await.expect("the text is accepted");
        stage.rest(T).await;
        let request = stage.newest_request();
        let [.., asked, answered, results] = &request[..] else { panic!("a round is missing: {request:?}") };
        let call = results.split([' ']).nth(1).expect("a call");
        assert_eq!(*asked, format!("user: {text}"));
        assert_eq!(*answered, format!("model: think({text}) say(x{text}) {call}=echo{}", text_arguments(text)));
        assert_eq!(*results, format!("results: {call} Ok: {text}"));
    }
    let (messages, shown) = (stage.messages(T).await, stage.shown(T).await);
    let last = stage.newest_request();
    stage.world.restart(&[T]).await;
    assert_eq!(stage.messages(T).await, messages);
    stage.say(T, "end").await;
    let request = stage.newest_request();
    assert_eq!(request[..last.len()], last);
    assert_eq!(stage.shown(T).await[..shown.len()], shown);
    assert!(text_of(&shown).contains("x\0|\0."), "a text of only a NUL is kept");
    stage.end().await;
}

/// S43: the same in SQLite, in local mode.
#[test]
fn s43_awkward_text_in_sqlite_local() {
    in_sqlite(Mode::Local, "local");
}

/// S43: the same in SQLite, in step mode.
#[test]
fn s43_awkward_text_in_sqlite_step() {
    in_sqlite(Mode::Step, "step");
}

/// Real time: the threads of SQLite do not know of a paused clock.
fn in_sqlite(mode: Mode, name: &str) {
    let folder: PathBuf = std::env::temp_dir().join(format!("selvedge-awkward-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the database");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let test = async {
        let store = SqliteStore::open(folder.join("threads.db")).await.expect("the database opens");
        round_trips(mode, Arc::new(store.clone())).await;
        store.close().await;
    };
    let bounded = async { tokio::time::timeout(Duration::from_secs(100), test).await.expect("the test hangs") };
    tokio::task::LocalSet::new().block_on(&runtime, bounded);
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}

/// A result of only a NUL, and text that is blank: the first is kept, the second refused.
#[test]
fn blank_user_text_is_refused() {
    in_paused_time(async {
        let stage = Stage::new(Mode::Local, [Reply::text("hello")], with_echo).await;
        for blank in ["", " ", "\u{2003}\n"] {
            let refused = stage.send(T, "blank", Input::text(blank)).await;
            assert!(matches!(refused, Err(selvedge::runtime::SendError::Refused(_))), "{refused:?}");
        }
        stage.say(T, "\0").await;
        assert_eq!(stage.newest_request(), ["user: \0"]);
        stage.end().await;
    });
}
