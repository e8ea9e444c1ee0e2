//! Child processes: this test program once more, playing one of these parts.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use selvedge_event::{Step, Timestamp, TurnRecord};
use selvedge_sqlite::SqliteStore;
use selvedge_store::{Changes, ConversationStore, StoreErrorKind, SyncRequest, SyncToken};

use crate::work::{Driver, accept, user};

const PART: &str = "SELVEDGE_SQLITE_PART";
const DATABASE: &str = "SELVEDGE_SQLITE_DATABASE";
const NAME: &str = "SELVEDGE_SQLITE_NAME";

/// Starts a child, which prints a line when it has come to the point.
pub(crate) fn start(part: &str, database: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::plays_its_part", "--include-ignored", "--nocapture", "--quiet"])
        .env(PART, part)
        .env(DATABASE, database)
        .env(NAME, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the line of a child that begins with `ready`, and returns it.
pub(crate) fn ready(child: &mut Child) -> String {
    // The pipe stays open: the child's test runner has more to say.
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    lines.map(Result::unwrap).find(|line| line.starts_with("ready")).expect("the child comes to the point")
}

#[test]
#[ignore = "the part of a child process"]
fn plays_its_part() {
    let Ok(part) = std::env::var(PART) else { return };
    let (database, name) = (std::env::var_os(DATABASE).unwrap(), std::env::var(NAME).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(database).await.unwrap();
        match part.as_str() {
            "hold" => hold(&store, &name).await,
            "turns" => turns(&store, &name).await,
            "compete" => compete(&store, &name).await,
            other => panic!("there is no part {other}"),
        }
    });
}

/// How many turns a child does on a thread of its own.
pub(crate) const ROUNDS: u64 = 100;

/// How many a child does on a thread that it shares with another.
pub(crate) const SHARED_ROUNDS: u64 = 500;

/// Claims the thread `name` and keeps it until it is killed.
async fn hold(store: &SqliteStore, name: &str) {
    let driver = Driver::new(store, name).await;
    println!("ready {}", driver.owner.id());
    std::io::stdin().lines().next();
}

/// Does turns on a thread of its own.
async fn turns(store: &SqliteStore, name: &str) {
    println!("ready");
    let mut driver = Driver::new(store, name).await;
    for round in 0..ROUNDS {
        accept(store, name, &format!("{round}")).await.unwrap();
        driver.sync(&format!("{round}"), Changes::default()).await.unwrap();
    }
    store.close().await;
}

/// Does single steps on the thread `shared`, which others do too.
async fn compete(store: &SqliteStore, name: &str) {
    println!("ready");
    let owner = store.register(name).await.unwrap();
    let thread = "shared".into();
    let mut round = 0;
    while round < SHARED_ROUNDS {
        let epoch = match store.claim(&thread, &owner).await {
            Ok(epoch) => epoch,
            Err(error) if error.kind() == StoreErrorKind::Owned => {
                tokio::task::yield_now().await;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let step: Step = store.head(&thread).await.unwrap().step + 1;
        let turn = TurnRecord { step, at: Timestamp(0), messages: vec![user(&format!("{name} {round}"))] };
        let (token, committed, changes) = (SyncToken(step), step - 1, Changes::default());
        store.sync(SyncRequest { thread: thread.clone(), epoch, turn, token, committed, changes }).await.unwrap();
        store.release(&thread, epoch).await.unwrap();
        round += 1;
    }
    store.close().await;
}
