//! The barrier of Selvedge as types: sync, then commit, then dispatch, never in another order.
