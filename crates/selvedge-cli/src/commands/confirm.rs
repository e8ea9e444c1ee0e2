//! Asking before something is gone for good.

use std::io::{IsTerminal, Write};

use crate::failure::Failure;

/// Asks whether to go on; without a terminal to ask on, a failure that tells how to `verb` unasked.
pub(super) fn confirm(question: &str, verb: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let advice = format!("say --yes to {verb} without being asked");
        return Err(Failure::usage("nobody is there to confirm").advise(advice));
    }
    print!("{question} [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
