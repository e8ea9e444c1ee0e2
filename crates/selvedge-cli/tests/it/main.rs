//! The program as its users run it: the built binary, with pipes for a terminal.

mod archives;
mod chat;
mod errors;
mod large_outputs;
mod maintenance;
mod program;
mod sessions;
