//! What is left after a power cut is a state that was, and nothing that was acknowledged is missing from it.

use crate::durability::attach_sqlite::{folder, in_real_time};

/// `SELVEDGE_SEED` cuts elsewhere, `SELVEDGE_CASES` more often.
#[test]
fn a_power_cut_leaves_everything_that_was_acknowledged() {
    let number = |variable, default| std::env::var(variable).map_or(default, |value| value.parse().expect("a number"));
    let (seed, cases) = (number("SELVEDGE_SEED", 1), number("SELVEDGE_CASES", 100));
    println!("SELVEDGE_SEED={seed}");
    let folder = folder("power");
    in_real_time(async {
        let cuts = selvedge_tests::power::cut_power(&folder, seed, u32::try_from(cases).unwrap()).await.unwrap();
        println!("{cuts:?}");
        assert_eq!(cuts.violations, Vec::<String>::new(), "SELVEDGE_SEED={seed}");
        assert!(cuts.complete > 0 && cuts.earlier > 0 && cuts.refused > 0, "each kind has its turn: {cuts:?}");
    });
    std::fs::remove_dir_all(folder).unwrap();
}
