//! From histories to requests, from outside.

mod histories;
mod poisons;
mod projecting;
