//! The program selvedge: talk to durable agent threads in a terminal.
