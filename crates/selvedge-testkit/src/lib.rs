//! Conformance suites, fault injection and a manual clock for Selvedge stores and observers.
