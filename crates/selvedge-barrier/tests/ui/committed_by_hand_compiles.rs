//! A draft makes a staged turn.

use selvedge_barrier::{Staged, Turn, TurnDraft};

fn of_a_draft(draft: TurnDraft) -> Turn<Staged> {
    Turn::stage(draft)
}

fn main() {
    let _ = of_a_draft;
}
