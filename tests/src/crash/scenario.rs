//! What happens in a run, as data.

use selvedge::event::Delivery;
use selvedge::store::ToolDelivery;
use selvedge_testkit::explorer::Same;

use super::{Answer, Piece};
use crate::Mode;

/// One run: a client, a model and tools. Nothing in it knows of crashes.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, as it is printed.
    pub name: String,
    /// What the model says to a text: one answer for the text itself and one more for each round of results after it.
    /// Beyond that it says "done", and "you said …" to any other text.
    pub says: Vec<(String, Vec<Answer>)>,
    /// The tools that the model may call.
    pub tools: Vec<ToolPart>,
    /// What the client does, one thing after the other. It insists on each until it is done.
    pub acts: Vec<Act>,
    /// Other orders of the same inputs, after which the threads may look as well: a crash makes inputs meet that would
    /// have come one after the other.
    pub also: Vec<Vec<Act>>,
    /// How the threads may be driven.
    pub modes: Vec<Mode>,
    /// How much of the transcript must be as in an undisturbed run.
    pub same: Same,
}

/// A tool of a scenario.
#[derive(Debug, Clone)]
pub struct ToolPart {
    /// Its name.
    pub name: String,
    /// How often a call may reach it.
    pub delivery: ToolDelivery,
    /// What a call does.
    pub does: Does,
}

/// What a call of a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// It answers at once.
    Answers,
    /// It fails.
    Fails,
    /// It answers with more than the model reads.
    Long,
    /// It waits until it is cancelled.
    Hangs,
    /// It asks the user, and answers what was chosen.
    Asks,
    /// It asks the user, who has a moment to answer.
    AsksInPassing,
    /// It waits until the user has signed in.
    SignsIn,
    /// It shows a view.
    Shows,
    /// It subscribes.
    Watches,
}

/// Something that the client does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Sends a text, under itself as its id.
    Send(&'static str, Delivery),
    /// Sends several texts, to be accepted together.
    SendAll(Vec<&'static str>),
    /// Sends a text that was accepted before once more.
    Again(&'static str),
    /// Waits until the thread has nothing to do.
    Rest,
    /// Waits until the model, or a tool, hangs, or the thread rests.
    AwaitHang,
    /// Lets whatever hangs, or will, go on.
    Release,
    /// Interrupts without text, until nothing runs.
    Interrupt,
    /// Waits until a choice is open, or the thread rests.
    AwaitChoice,
    /// Answers the oldest open choice, when there is one, unless the thread rests without.
    Choose(usize),
    /// Waits until a call asks for a sign-in, or the thread rests.
    AwaitSignIn,
    /// Signs in.
    SignIn,
    /// News arrives for the live subscription, if there is one: the last, or not.
    News(&'static str, bool),
    /// Forks the thread where that is possible, under this name, and goes on in the fork.
    Fork(&'static str),
}

impl Scenario {
    /// A scenario of a name without anything, for both ways to drive a thread.
    pub fn new(name: impl Into<String>) -> Self {
        let (says, tools, acts, also) = Default::default();
        Self { name: name.into(), says, tools, acts, also, modes: vec![Mode::Local, Mode::Step], same: Same::Lines }
    }

    /// What the model says to a text, completion by completion.
    #[must_use]
    pub fn says(mut self, text: &str, answers: impl IntoIterator<Item = Vec<Piece>>) -> Self {
        self.says.push((text.to_owned(), answers.into_iter().map(Answer::of).collect()));
        self
    }

    /// A tool.
    #[must_use]
    pub fn tool(mut self, name: &str, delivery: ToolDelivery, does: Does) -> Self {
        self.tools.push(ToolPart { name: name.to_owned(), delivery, does });
        self
    }

    /// Then the client does this.
    #[must_use]
    pub fn then(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    /// Then the client says something, and waits until the thread rests.
    #[must_use]
    pub fn say(self, text: &'static str) -> Self {
        self.then(Act::Send(text, Delivery::Interrupt)).then(Act::Rest)
    }

    /// It may end as well as if the client had done this.
    #[must_use]
    pub fn or(mut self, acts: impl IntoIterator<Item = Act>) -> Self {
        self.also.push(acts.into_iter().collect());
        self
    }

    /// Only for threads that are driven in this way.
    #[must_use]
    pub fn only(mut self, mode: Mode) -> Self {
        self.modes = vec![mode];
        self
    }

    /// With this much of the transcript as in an undisturbed run.
    #[must_use]
    pub fn same(mut self, same: Same) -> Self {
        self.same = same;
        self
    }
}
