//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Talk to durable agent threads in a terminal.
///
/// A thread is one conversation between you, a model and tools. Every step of it is durable before anything follows from
/// it: end the program at any moment, even with `kill -9`, and it goes on where it was.
#[derive(Debug, Parser)]
#[command(name = "selvedge", version, max_term_width = 100)]
#[command(
    after_help = "The first minute needs no key: `selvedge chat` without a model talks to a scripted rehearsal.\n\
    Logs go to standard error: SELVEDGE_LOG=info (or RUST_LOG).\n\
    Exit codes: 0 fine, 1 something failed, 2 the command line makes no sense."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The database file [default: selvedge/selvedge.db in the user's data folder].
    #[arg(long, global = true, env = "SELVEDGE_DB", value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk to a thread, which is begun if it is not there.
    Chat(ChatArgs),
    /// List the threads.
    Threads {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what was said in a thread.
    Show {
        /// The thread.
        thread: String,
        /// The items of the transcript as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Find what was said, called or answered, in all threads.
    ///
    /// Finds texts that have all of the words; the last word may be the beginning of one. Case and accents do not count.
    Search {
        /// The words.
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// At most so many hits.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Derive sessions, transcripts and the search index anew from the histories.
    Rebuild,
    /// Write a thread as lines of JSON: a header, then one line per turn.
    Export {
        /// The thread.
        thread: String,
        /// A file instead of standard output; it must not exist.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Make a thread of what `export` wrote.
    Import {
        /// The file; `-` for standard input.
        file: PathBuf,
        /// The new thread's name [default: the one in the file].
        #[arg(long, value_name = "NAME")]
        thread: Option<String>,
    },
    /// Delete a thread with all that is kept of it.
    Delete {
        /// The thread.
        thread: String,
        /// Without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Make a new thread of a thread's history, which both share.
    Fork {
        /// The thread.
        thread: String,
        /// The new thread's name.
        new: String,
        /// The last step that they share [default: the newest at which no call is open].
        #[arg(long, value_name = "STEP")]
        at: Option<u64>,
    },
    /// Tell what in the database is not as it should be; changes nothing. Exits with 1 if anything is found.
    Verify {
        /// Copy the database to a new file beside it, then put right what can be without losing anything: counters, sums,
        /// leftovers; calls that nobody will ever settle are settled as unknown. What cannot be read is left as it is.
        /// Exits with 0 if nothing is left.
        #[arg(long)]
        repair: bool,
    },
    /// Copy the database to a new file, also while others write to it.
    Backup {
        /// The copy; it must not exist.
        file: PathBuf,
    },
    /// Remove the beginnings of long threads, or whole threads that nobody has used for long.
    Prune(PruneArgs),
}

/// What to remove.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["older_than", "keep"])))]
#[command(
    after_help = "Without --threads, old turns of each thread go; what remains of it is a conversation that can go on.\n\
    Nothing goes of a thread that another process has open, that shares its history with a fork, or, with --threads,\n\
    that has something to do. `selvedge prune --keep 100 --dry-run` shows what would go."
)]
pub(crate) struct PruneArgs {
    /// Remove what is older: turns, or threads by their newest turn. Such as 12h, 30d, 8w.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Option<Duration>,
    /// Remove all but the newest N: turns of each thread, or threads.
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<u64>,
    /// Whole threads instead of old turns.
    #[arg(long)]
    pub(crate) threads: bool,
    /// Old turns of this thread only.
    #[arg(long, value_name = "NAME", conflicts_with = "threads")]
    pub(crate) thread: Option<String>,
    /// Only show what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Leave the space in the file, for what comes later, instead of rewriting the file without it, which keeps other
    /// processes waiting.
    #[arg(long)]
    pub(crate) no_shrink: bool,
}

/// An age: a number of hours, days or weeks.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no age: write a number of hours, days or weeks, such as 12h, 30d, 8w");
    let hours = match text.chars().last() {
        Some('h') => 1,
        Some('d') => 24,
        Some('w') => 7 * 24,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(hours * 3600).map(Duration::from_secs).ok_or_else(wrong)
}

/// How to talk.
#[derive(Debug, clap::Args)]
#[command(after_help = "On a terminal: Ctrl-C interrupts what runs, Ctrl-D at an empty prompt ends.\n\
    Type the number of an answer to choose it; any other text interrupts and is answered.\n\
    `/queue TEXT` waits in line instead of interrupting, `/help` tells the rest.\n\
    With input or output that is no terminal, each line is sent once the thread is at rest, and the program ends when\n\
    the input does and the thread is at rest.")]
pub(crate) struct ChatArgs {
    /// The thread.
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) thread: String,
    /// The model: `openai:NAME` for any server that speaks the OpenAI chat-completions protocol [default: `rehearsal`,
    /// which needs no key].
    #[arg(long, env = "SELVEDGE_MODEL", value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Where the server is, version included, such as http://127.0.0.1:11434/v1 [default: OpenAI's].
    #[arg(long, env = "SELVEDGE_BASE_URL", value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The environment variable that holds the key [default: OPENAI_API_KEY for OpenAI's own server, and no key for any
    /// other].
    #[arg(long, env = "SELVEDGE_KEY_ENV", value_name = "VARIABLE")]
    pub(crate) key_env: Option<String>,
    /// A further field of each request to the model, such as temperature=0.2; the value is JSON, or else text.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) extra: Vec<String>,
    /// The rehearsal's pause between two words, in milliseconds [default: 25 on a terminal, else 0].
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) pace: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("2w"), age("14d"));
        assert_eq!(age("24h"), age("1d"));
        for wrong in ["", "d", "30", "3.5d", "-1d", "30 d", "30é", "99999999999999999999d", "9999999999999999d"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
