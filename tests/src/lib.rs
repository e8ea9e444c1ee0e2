//! Whole-system tests of Selvedge: the scenarios, run through the facade.
