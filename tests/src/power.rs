//! Power cuts, as far as a file can show them: what a database and its write-ahead log might be after one.
//!
//! A store works, and its files are copied after each write that it has acknowledged. A cut is made of two such moments:
//! everything that was synced at the first is there, and of what was under way to the second any part may be, in any
//! order, torn at any byte. What opens must be the state of the first moment or that of the second, whole; and where a
//! disk has lost what it had said to hold, that of an earlier one, or a clear refusal.

mod wal;
mod work;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use selvedge::prelude::SqliteStore;
use selvedge_testkit::Chance;

use self::wal::synced_bytes;
use self::work::{Worker, content};

/// Writes of the store before its files are cut.
const WRITES: u64 = 160;
/// Sectors are what a disk writes at once.
const SECTOR: usize = 512;

/// What has come of some cuts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Copies that were made.
    pub copies: u64,
    /// Those that opened as everything that was acknowledged before the cut.
    pub complete: u64,
    /// Those that opened as an earlier state, where the disk had lost what it had said to hold.
    pub earlier: u64,
    /// Those that were refused with an error, likewise.
    pub refused: u64,
    /// What must not be: acknowledged writes missing though their bytes were there, states that never were.
    pub violations: Vec<String>,
}

/// The files of a store at rest, and what they hold.
struct Moment {
    database: Vec<u8>,
    log: Vec<u8>,
    state: u64,
}

/// How the power is cut.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// At rest.
    None,
    /// The log ends anywhere in what was being written.
    Truncated,
    /// Of the sectors that were being written, each is there, or old, or zero, or noise.
    Torn,
    /// While the log was copied into the database: some of its pages are new.
    Checkpoint,
    /// The disk lies, or nothing was synced: the log ends anywhere.
    LostEnd,
    /// The disk lies: a byte of the log has flipped.
    Flipped,
    /// The disk lies: the database ends anywhere.
    LostDatabase,
}

const CUTS: [Cut; 7] =
    [Cut::None, Cut::Truncated, Cut::Torn, Cut::Checkpoint, Cut::LostEnd, Cut::Flipped, Cut::LostDatabase];

impl Cut {
    /// Whether everything that was acknowledged must be there.
    fn is_honest(self) -> bool {
        matches!(self, Self::None | Self::Truncated | Self::Torn | Self::Checkpoint)
    }
}

/// Lets a store work in a folder, and cuts the power of copies of it.
///
/// # Errors
/// Those of the folder, and of the store before any power is cut.
pub async fn cut_power(folder: &Path, seed: u64, cases: u32) -> Result<Cuts, Box<dyn std::error::Error>> {
    let chance = Chance::of_seed(seed);
    let moments = work(folder, &chance).await?;
    let known: HashMap<u64, usize> =
        moments.iter().enumerate().map(|(number, moment)| (moment.state, number)).collect();
    let mut cuts = Cuts::default();
    for case in 0..cases {
        let number = 1 + index(&chance, moments.len() - 2);
        let cut = CUTS[index(&chance, CUTS.len())];
        let Some((database, log)) = cut_at(&moments, number, cut, &chance) else { continue };
        cuts.copies += 1;
        let copy = folder.join(format!("cut-{case}"));
        let opened = open(&copy, &database, &log).await;
        std::fs::remove_dir_all(&copy)?;
        judge(&mut cuts, cut, number, &known, opened);
    }
    Ok(cuts)
}

/// What a copy opened as, held against what it may be.
fn judge(cuts: &mut Cuts, cut: Cut, number: usize, known: &HashMap<u64, usize>, opened: Result<u64, String>) {
    let mut violation = |what: String| cuts.violations.push(format!("{cut:?} after write {number}: {what}"));
    let found = match opened {
        Err(error) if cut.is_honest() => return violation(format!("refused: {error}")),
        Err(_) => return cuts.refused += 1,
        Ok(state) => known.get(&state).copied(),
    };
    match found {
        Some(found) if found == number || found == number + 1 => cuts.complete += 1,
        Some(found) if found < number && !cut.is_honest() => cuts.earlier += 1,
        Some(found) => violation(format!("it opens as after write {found}")),
        None => violation("it opens as what it never was".into()),
    }
}

/// Lets a store work, one write after the other, and keeps what its files are after each.
async fn work(folder: &Path, chance: &Chance) -> Result<Vec<Moment>, Box<dyn std::error::Error>> {
    let path = folder.join("threads.db");
    let store = SqliteStore::open(&path).await?;
    let mut worker = Worker::new(store.clone()).await?;
    let mut moments = Vec::new();
    for write in 0..=WRITES {
        // The first moment is that of an empty store.
        if write > 0 {
            worker.write(write, chance).await?;
        }
        let (database, log) = (std::fs::read(&path)?, std::fs::read(log_of(&path))?);
        moments.push(Moment { database, log, state: content(&store).await? });
    }
    store.close().await;
    Ok(moments)
}

/// The files after a cut between a moment and the next one; `None` where the cut has nothing to cut.
fn cut_at(moments: &[Moment], number: usize, cut: Cut, chance: &Chance) -> Option<(Vec<u8>, Vec<u8>)> {
    let (now, next) = (&moments[number], &moments[number + 1]);
    let (mut database, mut log) = (now.database.clone(), now.log.clone());
    match cut {
        Cut::None => {}
        // The next write's log: what was synced is as it was, behind it stands what was being written.
        Cut::Truncated => {
            let written = written(now, next)?;
            database = base(now, next);
            let end = written.start + index(chance, written.len());
            log = next.log[..end].to_vec();
            // Bytes behind a log that begins again are those of its earlier round.
            log.extend(now.log.get(end..).unwrap_or_default());
        }
        Cut::Torn => {
            let written = written(now, next)?;
            database = base(now, next);
            log = next.log.clone();
            for start in written.clone().step_by(SECTOR) {
                let sector = start..(start + SECTOR).min(written.end);
                tear(&mut log, sector, &now.log, chance);
            }
        }
        Cut::Checkpoint => {
            let before = &moments[number - 1];
            if before.database == now.database {
                return None;
            }
            database.clone_from(&before.database);
            database.resize(now.database.len().max(before.database.len()), 0);
            for start in (0..now.database.len()).step_by(SECTOR) {
                let sector = start..(start + SECTOR).min(now.database.len());
                if chance.below(2) == 0 {
                    database[sector.clone()].copy_from_slice(&now.database[sector]);
                }
            }
        }
        Cut::LostEnd => log.truncate(index(chance, log.len())),
        Cut::Flipped => {
            let place = index(chance, synced_bytes(&log));
            log[place] ^= 1 << chance.below(8);
        }
        Cut::LostDatabase => database.truncate(index(chance, database.len())),
    }
    Some((database, log))
}

/// The bytes of the log that were being written between two moments. One that has begun again is written over from its
/// beginning, which says nothing until its first transaction is whole.
fn written(now: &Moment, next: &Moment) -> Option<Range<usize>> {
    let start = if log_goes_on(now, next) { synced_bytes(&now.log) } else { 0 };
    let range = start..synced_bytes(&next.log);
    (!range.is_empty()).then_some(range)
}

/// Whether the log of a moment is the beginning of the next one's.
fn log_goes_on(now: &Moment, next: &Moment) -> bool {
    let (start, end) = (synced_bytes(&now.log), synced_bytes(&next.log));
    end > start && next.log.get(..start) == now.log.get(..start)
}

/// The database that a log was being written beside. One log begins again only when all that the last one held stands in
/// the database, synced: if not yet at a moment, then in between, for a write may be more than one transaction.
fn base(now: &Moment, next: &Moment) -> Vec<u8> {
    let base = if log_goes_on(now, next) { now } else { next };
    base.database.clone()
}

/// Lets a sector be new, as it was, zero, or noise.
fn tear(log: &mut [u8], sector: Range<usize>, old: &[u8], chance: &Chance) {
    match chance.below(4) {
        0 => {}
        1 => {
            for place in sector {
                log[place] = old.get(place).copied().unwrap_or(0);
            }
        }
        2 => log[sector].fill(0),
        _ => log[sector].iter_mut().for_each(|byte| *byte = chance.below(256).to_le_bytes()[0]),
    }
}

/// Opens a copy, and reads all of it; it must take another write, too.
async fn open(copy: &Path, database: &[u8], log: &[u8]) -> Result<u64, String> {
    let path = copy.join("threads.db");
    let written = std::fs::create_dir(copy)
        .and_then(|()| std::fs::write(&path, database))
        .and_then(|()| std::fs::write(log_of(&path), log));
    written.map_err(|error| error.to_string())?;
    let store = SqliteStore::open(&path).await.map_err(|error| error.to_string())?;
    let read = async {
        let state = content(&store).await?;
        let mut worker = Worker::new(store.clone()).await?;
        worker.write(0, &Chance::of_seed(0)).await?;
        Ok::<_, Box<dyn std::error::Error>>(state)
    };
    let state = read.await.map_err(|error| error.to_string());
    store.close().await;
    state
}

fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn index(chance: &Chance, bound: usize) -> usize {
    usize::try_from(chance.below(bound as u64)).expect("bug: an index is below its bound")
}
