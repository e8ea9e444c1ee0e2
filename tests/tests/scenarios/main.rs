//! The scenarios: faults that users of comparable systems reported, each a test that can fail, named by its number.

mod attach;
