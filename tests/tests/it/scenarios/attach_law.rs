//! The attach law, over generated runs: whoever attaches, whenever, ends up seeing what everybody sees.
//!
//! `SELVEDGE_SEED` chooses other runs, `SELVEDGE_CASES` more of them.

/// For every run and every moment k in it: the snapshot at k and the events after it fold to what all events fold to, and
/// to what the final history folds to. Three quarters of the runs leave the order of things to a seed.
#[test]
fn the_attach_law() {
    let seed = number("SELVEDGE_SEED", 1);
    let cases = u32::try_from(number("SELVEDGE_CASES", 128)).expect("not that many");
    if let Err(error) = selvedge_tests::law::hold(seed, cases) {
        panic!("SELVEDGE_SEED={seed}: {error}");
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |value| value.parse().expect("a number"))
}
