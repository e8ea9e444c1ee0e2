//! Live fan-out around whole systems: subscribers of `selvedge-live` see what threads do.

mod bounds;
mod kit;
mod resume;
mod subscribers;
