//! The project's own commands, run as `cargo xtask …`.

fn main() {}
