//! The plain data from outside: the attach law of its pure functions, and its wire forms.

mod attach_law;
mod samples;
mod wire;
