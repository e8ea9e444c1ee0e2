//! A committed turn cannot be made of a draft, nor of a turn in another phase.

use selvedge_barrier::{Committed, Staged, Synced, Turn, TurnDraft};

fn of_a_draft(draft: TurnDraft) -> Turn<Committed> {
    Turn::<Committed>::stage(draft)
}

fn of_a_staged_turn(turn: Turn<Staged>) -> Turn<Committed> {
    turn.into_phase()
}

fn of_a_synced_turn(turn: Turn<Synced>) -> Turn<Committed> {
    Turn::found_committed(turn)
}

fn main() {}
