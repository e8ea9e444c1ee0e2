//! The crash explorer: a run is struck at each of its points, restarted, finished, and judged.
//!
//! A *subject* is anything that can be run from a beginning to an end on a store: threads, a client that insists, a model
//! that answers by script, tools. It is run once undisturbed, which counts its [`Point`]s: every operation of its store,
//! every hook of its observer, every call that reaches a tool. Then it is run again for each of them, and there something
//! fails, loses its answer, or the process dies and another goes on with the store; [`twice`] strikes the process that
//! recovers, too. However it was struck, a run must end as [`judge`] says.
//!
//! - [`Strikes`] arms one process after the other, and counts their points.
//! - [`Probe`] wraps tools: it sees each call that arrives, and whether it might.
//! - [`Ended`] is what a run came to, and [`judge`] says what is wrong with it.
//! - [`Tally`] sums up, in the numbers that `cargo xtask crash` prints.
//!
//! It knows neither how threads are driven nor what they do: that is the subject's.

mod ended;
mod judge;
mod point;
mod probe;
mod strikes;
mod tally;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub use self::ended::{CallSeen, Ended, Line, Same, Story};
pub use self::judge::judge;
pub use self::point::Point;
pub use self::probe::Probe;
pub use self::strikes::Strikes;
pub use self::tally::{Broken, Failure, Tally, Violation};

/// Something that can be run, struck, and finished.
pub trait Subject: Sync {
    /// Its name, by which it is found again.
    fn name(&self) -> String;

    /// How much of its transcript must be as in the undisturbed run.
    fn same(&self) -> Same;

    /// Undisturbed runs whose end is as good: at least one, the first of which counts the points.
    fn calm(&self) -> Vec<Ended>;

    /// Runs to the end, while the first process is struck at the first point, the second at the second, and so on.
    fn run(&self, strikes: &[Point]) -> Ended;
}

/// How much is explored.
#[derive(Debug, Clone, Copy)]
pub struct Breadth {
    /// Every how manyth point, or pair of points, is struck.
    pub every: NonZeroUsize,
    /// How many runs go on at the same time.
    pub workers: NonZeroUsize,
}

impl Breadth {
    /// Every point, one run after the other.
    pub const ALL: Self = Self { every: NonZeroUsize::MIN, workers: NonZeroUsize::MIN };
}

/// Runs a subject undisturbed, and strikes it once at each of its points.
pub fn once(subject: &dyn Subject, breadth: Breadth) -> Tally {
    let (calm, mut tally) = match undisturbed(subject) {
        Ok(known) => known,
        Err(stuck) => return stuck,
    };
    let points: Vec<Vec<Point>> = calm[0].points.iter().map(|point| vec![*point]).collect();
    tally += strike_all(subject, &calm, &points, breadth);
    tally
}

/// Strikes a subject dead at each of its points, and the process that recovers at each of its own. To die before something
/// is done is to die after what came before it, so every other death is enough here.
pub fn twice(subject: &dyn Subject, breadth: Breadth) -> Tally {
    let (calm, mut tally) = match undisturbed(subject) {
        Ok(known) => known,
        Err(stuck) => return stuck,
    };
    let deaths = calm[0].points.iter().copied().filter(|point| point.is_death_after());
    // A sample of pairs is a sample of both: each first strike costs a run that counts the points after it.
    let every = NonZeroUsize::new(breadth.every.get().isqrt()).unwrap_or(NonZeroUsize::MIN);
    let first: Vec<Vec<Point>> = deaths.step_by(every.get()).map(|point| vec![point]).collect();
    let seconds = in_parallel(breadth.workers, &first, |strikes| {
        let once = catch_unwind(AssertUnwindSafe(|| subject.run(strikes)));
        // A run that panics is a violation that `once` reports.
        let points = once.map(|ended| ended.points).unwrap_or_default();
        points.into_iter().filter(|point| point.is_death_after()).map(|second| vec![strikes[0], second]).collect()
    });
    let pairs: Vec<Vec<Point>> = seconds.into_iter().flat_map(|pairs: Vec<Vec<Point>>| pairs).collect();
    tally += strike_all(subject, &calm, &pairs, Breadth { every, ..breadth });
    tally
}

/// Strikes a subject once, at these points.
pub fn at(subject: &dyn Subject, strikes: &[Point]) -> Tally {
    match undisturbed(subject) {
        Ok((calm, tally)) => tally + struck(subject, &calm, strikes),
        Err(stuck) => stuck,
    }
}

/// Runs a subject undisturbed, in all ways, and judges those runs too.
///
/// # Errors
/// The tally of a run that panics.
pub fn undisturbed(subject: &dyn Subject) -> Result<(Vec<Ended>, Tally), Tally> {
    let calm = catch_unwind(AssertUnwindSafe(|| subject.calm())).map_err(|_| stuck(subject, &[]))?;
    let mut tally = Tally { cases: 1, ..Tally::default() };
    for ended in &calm {
        let violations = judge(subject.same(), &calm, ended, false);
        tally.judged(&subject.name(), &[], violations);
    }
    Ok((calm, tally))
}

fn strike_all(subject: &dyn Subject, calm: &[Ended], points: &[Vec<Point>], breadth: Breadth) -> Tally {
    let chosen: Vec<&Vec<Point>> = points.iter().step_by(breadth.every.get()).collect();
    let tallies = in_parallel(breadth.workers, &chosen, |strikes| struck(subject, calm, strikes));
    tallies.into_iter().fold(Tally::default(), |sum, one| sum + one)
}

/// Strikes a subject, whose undisturbed runs are known, at these points.
pub fn struck(subject: &dyn Subject, calm: &[Ended], strikes: &[Point]) -> Tally {
    let Ok(ended) = catch_unwind(AssertUnwindSafe(|| subject.run(strikes))) else { return stuck(subject, strikes) };
    let mut tally = Tally { points: 1, kills: ended.kills, unknown: ended.unknown(), ..Tally::default() };
    let died = strikes.iter().any(|point| point.is_death());
    tally.judged(&subject.name(), strikes, judge(subject.same(), calm, &ended, died));
    tally
}

/// A run that panicked: its message has been printed.
fn stuck(subject: &dyn Subject, strikes: &[Point]) -> Tally {
    let mut tally = Tally { points: 1, ..Tally::default() };
    let violation = Violation::new(Broken::Stuck, "the run did not come to an end, or panicked");
    tally.judged(&subject.name(), strikes, vec![violation]);
    tally
}

/// Does something with each of many, on a few OS threads; the results are in the order of what they come from.
pub fn in_parallel<T: Sync, R: Send>(workers: NonZeroUsize, all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(all.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers.get() {
            scope.spawn(|| {
                while let Some((place, one)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, all.get(n)?)))
                {
                    let result = work(one);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
