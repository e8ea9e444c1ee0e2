//! What the program is asked to do.

use std::num::NonZeroUsize;

use selvedge_testkit::explorer::{Breadth, Point};

use crate::child;

pub(crate) const USAGE: &str = "\
usage: cargo xtask crash [--long] [--seed N] [--only PART[,PART…]] [--case NAME [--at POINT[,POINT…]]]

  --long          everything, for some tens of minutes; without it, a sample within two
  --seed N        another seed for what is generated or happens at random moments; 1 by default
  --only PART     only the parts whose names begin so
  --case NAME     only this case of them: a scenario, or the number of a generated one
  --at POINT      strike it only there, as in store:12:die-after,tool:1:die-before";

/// One way to use the program.
pub(crate) enum Command {
    /// Explore, and print what was found.
    Explore(Plan),
    /// Live until killed.
    Child(child::Part),
    /// Tell how it is used.
    Help,
}

/// What to explore.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Everything, rather than a sample.
    pub(crate) long: bool,
    pub(crate) seed: u64,
    only: Vec<String>,
    /// One case alone.
    pub(crate) case: Option<String>,
    /// Where that case is struck; empty for everywhere.
    pub(crate) at: Vec<Point>,
}

impl Plan {
    /// Whether a part is asked for.
    pub(crate) fn chooses(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| part.starts_with(name.as_str()))
    }

    /// Whether a case is asked for.
    pub(crate) fn chooses_case(&self, case: &str) -> bool {
        self.case.as_deref().is_none_or(|only| only == case)
    }

    /// A number: one for the short form, another for the long one.
    pub(crate) fn pick<T>(&self, short: T, long: T) -> T {
        if self.long { long } else { short }
    }

    /// As many workers as there are cores; of the points every `short`th in the short form, every `long`th in the long.
    pub(crate) fn breadth(&self, short: usize, long: usize) -> Breadth {
        let every = if self.case.is_some() { 1 } else { self.pick(short, long) };
        Breadth { every: NonZeroUsize::new(every).unwrap_or(NonZeroUsize::MIN), workers: self.workers() }
    }

    pub(crate) fn workers(&self) -> NonZeroUsize {
        std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    }

    /// The command that shows a failure again.
    pub(crate) fn again(&self, part: &str, case: &str, at: &str) -> String {
        let long = if self.long { " --long" } else { "" };
        let at = if at.is_empty() { String::new() } else { format!(" --at {at}") };
        format!("cargo xtask crash{long} --seed {} --only '{part}' --case '{case}'{at}", self.seed)
    }
}

/// Reads the arguments.
pub(crate) fn command(args: &[String]) -> Result<Command, String> {
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some((child::NAME, rest)) => return child::Part::read(rest).map(Command::Child),
        Some(("help" | "--help" | "-h", _)) => return Ok(Command::Help),
        _ => {}
    }
    let mut plan = Plan { long: false, seed: 1, only: Vec::new(), case: None, at: Vec::new() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--long" => plan.long = true,
            "--seed" => plan.seed = value()?.parse().map_err(|_| "a seed is a number".to_owned())?,
            "--only" => plan.only = value()?.split(',').map(str::to_owned).collect(),
            "--case" => plan.case = Some(value()?.clone()),
            "--at" => plan.at = value()?.split(',').map(str::parse).collect::<Result<_, String>>()?,
            other => return Err(format!("`{other}` is not known")),
        }
    }
    if plan.case.is_none() && !plan.at.is_empty() {
        return Err("--at needs a --case".to_owned());
    }
    Ok(Command::Explore(plan))
}
