//! Everything but the conversation: what is done to threads from outside.

mod backup;
mod confirm;
mod delete;
mod export;
mod fork;
mod import;
mod prune;
mod rebuild;
mod search;
mod show;
mod threads;
mod verify;

use std::path::PathBuf;

use crate::args::Command;
use crate::chat;
use crate::database::{Database, thread_id};
use crate::failure::Failure;

/// Does what the command line asks for.
pub(crate) async fn run(command: Command, db: Option<PathBuf>) -> Result<(), Failure> {
    let database = match &command {
        Command::Chat(_) | Command::Import { .. } => Database::create(db).await?,
        _ => Database::existing(db).await?,
    };
    let done = match command {
        Command::Chat(args) => chat::run(args, &database).await,
        Command::Threads { json } => threads::run(json, &database).await,
        Command::Show { thread, json } => show::run(&thread_id(&thread)?, json, &database).await,
        Command::Search { words, limit, json } => search::run(&words.join(" "), limit, json, &database).await,
        Command::Rebuild => rebuild::run(&database).await,
        Command::Export { thread, out } => export::run(&thread_id(&thread)?, out.as_deref(), &database).await,
        Command::Import { file, thread } => import::run(&file, thread.as_deref(), &database).await,
        Command::Delete { thread, yes } => delete::run(&thread_id(&thread)?, yes, &database).await,
        Command::Verify { repair } => verify::run(repair, &database).await,
        Command::Prune(args) => prune::run(&args, &database).await,
        Command::Backup { file } => backup::run(&file, &database).await,
        Command::Fork { thread, new, at } => fork::run(&thread_id(&thread)?, &thread_id(&new)?, at, &database).await,
    };
    database.close().await;
    done
}
