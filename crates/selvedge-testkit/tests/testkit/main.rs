//! The testkit does what it says: faults strike where they are asked for, and the suite leaves out none of its cases.

mod conformance;
mod faults;
mod gates;
mod observers;
mod suite;
