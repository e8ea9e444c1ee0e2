//! `cargo xtask crash`: the proof that a crash loses nothing and doubles nothing, as a table of what was tried and found.
//!
//! Each row is a part, see [`parts`]. A violation anywhere ends the program with an error and is told with the command
//! that shows it again. The program is also its own victim: what the real kills kill is this program, as a [`child`].

#![allow(clippy::unwrap_used, reason = "what this program cannot do it ends with, as a test would")]

mod child;
mod parts;
mod plan;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use plan::{Command, Plan};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match plan::command(&args) {
        Ok(Command::Explore(plan)) => explore(&plan),
        Ok(Command::Child(part)) => child::live(&part),
        Ok(Command::Help) => {
            println!("{}", plan::USAGE);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}\n\n{}", plan::USAGE);
            ExitCode::FAILURE
        }
    }
}

/// Runs the parts that are asked for, and prints a row for each as it is done, with the violations that it found.
fn explore(plan: &Plan) -> ExitCode {
    let chosen: Vec<_> = parts::ALL.iter().filter(|part| plan.chooses(part.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = parts::ALL.iter().map(|part| part.name).collect();
        eprintln!("error: no part is called so; there are {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    // A run that panics is told in one line, and one that was asked to is not news.
    std::panic::set_hook(Box::new(|panic| {
        let asked = panic.payload_as_str().is_some_and(|message| message.contains("was told to panic"));
        if !asked {
            eprintln!("{panic}");
        }
    }));
    println!("seed {}, {}\n", plan.seed, if plan.long { "long form" } else { "short form" });
    let mut rows = Vec::new();
    for part in chosen {
        let start = Instant::now();
        let tally = (part.run)(plan);
        let row = table::Row { part: part.name, took: start.elapsed(), tally };
        println!("{}", row.progress());
        for failure in &row.tally.failures {
            println!("{}\n  {}", failure.what, plan.again(row.part, &failure.case, &failure.at));
        }
        rows.push(row);
    }
    println!("\n{}", table::done(&rows));
    println!("{}", table::found(&rows));
    println!("{}", table::summary(&rows));
    if rows.iter().all(|row| row.tally.violations() == 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
