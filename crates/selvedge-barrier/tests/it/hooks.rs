//! The way from synced to committed: what the observer's hooks may do to it.

use std::cell::{Cell, RefCell};

use async_trait::async_trait;
use selvedge_barrier::{Synced, Turn};
use selvedge_event::{AgentEvent, UserChoice};
use selvedge_observer::{BoxError, ThreadObserver};
use selvedge_store::ToolDelivery;

use crate::kit::{Kit, choice, now};

/// Keeps what it was asked, and fails the hooks that it is told to.
#[derive(Default)]
struct Hooks {
    asked: RefCell<Vec<String>>,
    /// The next hook that begins so errs.
    errs: Cell<&'static str>,
    /// The next hook that begins so panics.
    panics: Cell<&'static str>,
}

impl Hooks {
    fn asked(&self, what: String) -> Result<(), BoxError> {
        let strikes = |told: &Cell<&'static str>| !told.get().is_empty() && what.starts_with(told.get());
        let (errs, panics) = (strikes(&self.errs), strikes(&self.panics));
        self.asked.borrow_mut().push(what);
        if panics {
            self.panics.set("");
            panic!("told to panic");
        }
        if errs {
            self.errs.set("");
            return Err("told to err".into());
        }
        Ok(())
    }

    fn take(&self) -> Vec<String> {
        self.asked.take()
    }
}

#[async_trait(?Send)]
impl ThreadObserver for Hooks {
    type SubscribeRequest = ();

    fn on_event(&self, _: &str, _: &AgentEvent) {}

    async fn on_user_choice_required(&self, thread: &str, choice: &UserChoice) -> Result<(), BoxError> {
        self.asked(format!("choice {} in {thread}", choice.id))
    }

    async fn on_commit(&self, thread: &str) -> Result<(), BoxError> {
        self.asked(format!("commit in {thread}"))
    }
}

/// A turn that makes a call and opens two choices, synced.
fn synced() -> Turn<Synced> {
    let kit = Kit::new();
    let mut draft = kit.draft(1, 7, &[("pay", ToolDelivery::AtMostOnce)]);
    draft.changes.choices_opened = vec![choice("call_1_0", 1), choice("call_1_0", 2)];
    now(Turn::stage(draft).sync(&kit.store)).unwrap()
}

const ALL: [&str; 3] = ["choice call_1_0:1 in t", "choice call_1_0:2 in t", "commit in t"];

#[test]
fn choices_are_required_before_the_commit() {
    let hooks = Hooks::default();
    let committed = now(synced().commit(&hooks)).unwrap();
    assert_eq!(hooks.take(), ALL);
    assert_eq!(committed.into_permits().len(), 1);
}

#[test]
fn an_error_of_the_commit_hands_the_synced_turn_back() {
    let hooks = Hooks::default();
    hooks.errs.set("commit");
    let failed = now(synced().commit(&hooks)).unwrap_err();
    assert_eq!(failed.error.to_string(), "told to err");
    let turn: Turn<Synced> = failed.turn;
    hooks.take();
    assert_eq!(now(turn.commit(&hooks)).unwrap().into_permits().len(), 1);
    assert_eq!(hooks.take(), ALL, "every hook is awaited again");
}

#[test]
fn a_panic_of_the_commit_hands_the_synced_turn_back() {
    let hooks = Hooks::default();
    hooks.panics.set("commit");
    let failed = now(synced().commit(&hooks)).unwrap_err();
    assert_eq!(failed.error.to_string(), "the observer panicked: told to panic");
    assert_eq!(now(failed.turn.commit(&hooks)).unwrap().into_permits().len(), 1);
}

#[test]
fn a_choice_that_is_not_kept_is_not_committed() {
    for panics in [false, true] {
        let hooks = Hooks::default();
        if panics { &hooks.panics } else { &hooks.errs }.set("choice call_1_0:2");
        let failed = now(synced().commit(&hooks)).unwrap_err();
        assert_eq!(hooks.take(), &ALL[..2], "the commit is not begun");
        now(failed.turn.commit(&hooks)).unwrap();
        assert_eq!(hooks.take(), ALL);
    }
}
