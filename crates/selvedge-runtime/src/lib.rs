//! The engine of Selvedge: steps, step mode, drivers, router, shards, interrupts and in-process tools.
