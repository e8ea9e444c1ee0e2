//! The program `selvedge`: talk to durable agent threads in a terminal.

mod archive;
mod args;
mod chat;
mod commands;
mod database;
mod failure;
mod index;
mod rehearsal;
mod render;
mod tools;

use std::process::ExitCode;

use clap::Parser;

use args::Args;
use failure::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    log();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                eprintln!("{failure}");
            }
            failure.exit_code()
        }
    }
}

/// One OS thread for everything: the display, the thread's steps and the tools take turns.
fn run(args: Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = tokio::task::LocalSet::new().block_on(&runtime, commands::run(args.command, args.db));
    // A file that a tool is still reading is not waited for.
    runtime.shutdown_background();
    result
}

/// Logs go to standard error, and nowhere unless they are asked for.
fn log() {
    let filter = ["SELVEDGE_LOG", "RUST_LOG"].iter().find_map(|name| std::env::var(name).ok());
    if let Some(filter) = filter.filter(|filter| !filter.is_empty()) {
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    }
}
