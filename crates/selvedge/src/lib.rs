//! Selvedge: durable agent threads that anyone can watch live.
