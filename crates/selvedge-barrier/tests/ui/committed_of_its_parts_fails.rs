//! A committed turn cannot be made of its parts.

use std::marker::PhantomData;

use selvedge_barrier::{Committed, Turn, TurnDraft};

fn forge(draft: TurnDraft) -> Turn<Committed> {
    Turn { draft: Box::new(draft), calls: Vec::new(), phase: PhantomData }
}

fn main() {}
