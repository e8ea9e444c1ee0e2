//! The behaviour suite: what a thread does, told through the facade and held in local mode and in step mode alike.
//!
//! A behaviour is one async function of the mode; `both_modes!` makes a test of it for either. What only a resident
//! thread can do (stop a completion midway, let somebody attach) is a test of local mode alone, and says so.

/// Makes tests of behaviours: one in local mode and one in step mode, both with paused time.
macro_rules! both_modes {
    ($($behaviour:ident),* $(,)?) => {$(
        mod $behaviour {
            #[test]
            fn local() {
                selvedge_tests::in_paused_time(super::$behaviour(selvedge_tests::Mode::Local));
            }

            #[test]
            fn step() {
                selvedge_tests::in_paused_time(super::$behaviour(selvedge_tests::Mode::Step));
            }
        }
    )*};
}

mod answers;
mod calls;
mod choices;
mod delivery;
mod failures;
mod inputs;
mod interrupts;
mod kit;
mod notices;
mod order;
mod parallel;
mod questions;
mod subscriptions;
mod text;
mod tools;
