//! The durable observer in a whole system, and the observers of the examples against the conformance suite.

mod examples;
mod kills;
mod whole;
