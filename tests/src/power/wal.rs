//! As much of the format of write-ahead logs as it takes to see where one ends:
//! <https://www.sqlite.org/fileformat.html#the_write_ahead_log>.

/// The bytes of a log up to the end of its last whole transaction; 0 if it has none. What stands behind them is of an
/// earlier round of the log, or was never committed.
pub(super) fn synced_bytes(log: &[u8]) -> usize {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let number =
        |at: usize| log.get(at..at + 4).map(|four| four.iter().fold(0, |sum: u32, byte| sum << 8 | u32::from(*byte)));
    let (Some(page), Some(salt)) = (number(8), log.get(16..24)) else { return 0 };
    let frame = FRAME_HEADER + page as usize;
    let (mut at, mut end) = (HEADER, 0);
    while log.len() >= at + frame && log.get(at + 8..at + 16) == Some(salt) {
        let commits = number(at + 4).is_some_and(|pages| pages > 0);
        at += frame;
        if commits {
            end = at;
        }
    }
    end
}
