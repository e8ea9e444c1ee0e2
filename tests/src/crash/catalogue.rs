//! The scenarios that are explored exhaustively: every kind of input, and whatever a turn can hold.

use selvedge::event::Delivery;
use selvedge::store::ToolDelivery::{self, AtLeastOnce, AtMostOnce};
use selvedge_testkit::explorer::Same;

use super::Piece::{BreaksOnce, Call, Hangs, Pause, Refuses, Say, Think};
use super::{Act, Does, Scenario};
use crate::Mode;

/// The turn of S16: reasoning, text and one call, then its answer; and another text.
pub fn s16(delivery: ToolDelivery) -> Scenario {
    Scenario::new(format!("one call, {delivery:?}"))
        .tool("act", delivery, Does::Answers)
        .says("hello", [vec![Think("hm"), Say("let me "), Pause, Say("see"), Call("act")]])
        .say("hello")
        .say("bye")
        .same(Same::Items)
}

/// All of them.
pub fn catalogue() -> Vec<Scenario> {
    let mut all = vec![s16(AtLeastOnce), s16(AtMostOnce)];
    all.extend(calls());
    all.extend(interruptions());
    all.extend(questions());
    all.extend(inputs());
    all
}

fn calls() -> Vec<Scenario> {
    let parallel = vec![Say("all at once"), Call("pay"), Call("look"), Call("fail"), Call("nothing")];
    vec![
        Scenario::new("parallel calls")
            .tool("pay", AtMostOnce, Does::Answers)
            .tool("look", AtLeastOnce, Does::Answers)
            .tool("fail", AtLeastOnce, Does::Fails)
            .says("hello", [parallel, vec![Say("once more"), Call("look")]])
            .say("hello")
            .say("bye"),
        Scenario::new("long output")
            .tool("long", AtLeastOnce, Does::Long)
            .says("hello", [vec![Call("long")]])
            .say("hello"),
        Scenario::new("long output, once")
            .tool("long", AtMostOnce, Does::Long)
            .says("hello", [vec![Call("long")]])
            .say("hello"),
        Scenario::new("three rounds of calls")
            .tool("look", AtLeastOnce, Does::Answers)
            .tool("pay", AtMostOnce, Does::Answers)
            .says("hello", [vec![Call("look")], vec![Call("pay")], vec![Say("and"), Call("look"), Call("pay")]])
            .say("hello"),
    ]
}

fn interruptions() -> Vec<Scenario> {
    let both = || [Act::SendAll(vec!["hello", "stop"]), Act::Rest];
    let hello = || Act::Send("hello", Delivery::Interrupt);
    let queued = || Scenario::new("text in line").says("hello", [vec![Say("well "), Hangs, Say("then")]]);
    vec![
        Scenario::new("text interrupts a completion")
            .says("hello", [vec![Think("hm"), Say("let me "), Hangs, Say("see")]])
            .then(hello())
            .then(Act::AwaitHang)
            .say("stop")
            .or(both())
            .only(Mode::Local),
        Scenario::new("interrupt without text")
            .says("hello", [vec![Say("let me "), Hangs, Say("see")]])
            .then(hello())
            .then(Act::AwaitHang)
            .then(Act::Interrupt)
            .say("bye")
            .only(Mode::Local),
        queued()
            .then(hello())
            .then(Act::AwaitHang)
            .then(Act::Send("bye", Delivery::Queued))
            .then(Act::Release)
            .then(Act::Rest)
            .or([Act::Release, Act::SendAll(vec!["hello", "bye"]), Act::Rest])
            .only(Mode::Local),
        Scenario::new("text interrupts a call")
            .tool("hang", AtLeastOnce, Does::Hangs)
            .says("hello", [vec![Call("hang")]])
            .then(hello())
            .then(Act::AwaitHang)
            .say("stop")
            .or(both())
            .only(Mode::Local),
        // Where its process dies, the call is settled and answered before the text comes.
        Scenario::new("text interrupts a call, once")
            .tool("hang", AtMostOnce, Does::Hangs)
            .says("hello", [vec![Call("hang")]])
            .then(hello())
            .then(Act::AwaitHang)
            .say("stop")
            .same(Same::Nothing)
            .only(Mode::Local),
        Scenario::new("interrupt a question")
            .tool("ask", AtLeastOnce, Does::Asks)
            .says("hello", [vec![Call("ask")]])
            .then(hello())
            .then(Act::AwaitChoice)
            .then(Act::Interrupt)
            .say("bye"),
    ]
}

fn questions() -> Vec<Scenario> {
    let ask = |name: &str, delivery, does| {
        let scenario = Scenario::new(name).tool("ask", delivery, does).says("hello", [vec![Call("ask")]]);
        scenario.then(Act::Send("hello", Delivery::Interrupt))
    };
    vec![
        ask("a choice is answered", AtLeastOnce, Does::Asks)
            .then(Act::AwaitChoice)
            .then(Act::Choose(0))
            .then(Act::Rest)
            .say("bye"),
        ask("a choice of a call that runs once", AtMostOnce, Does::Asks)
            .then(Act::AwaitChoice)
            .then(Act::Choose(0))
            .then(Act::Rest)
            .say("bye"),
        ask("a choice expires", AtLeastOnce, Does::AsksInPassing).then(Act::Rest).say("bye"),
        Scenario::new("a sign-in")
            .tool("sign", AtLeastOnce, Does::SignsIn)
            .says("hello", [vec![Call("sign")]])
            .then(Act::Send("hello", Delivery::Interrupt))
            .then(Act::AwaitSignIn)
            .then(Act::SignIn)
            .then(Act::Rest),
    ]
}

fn inputs() -> Vec<Scenario> {
    vec![
        Scenario::new("news of a subscription")
            .tool("watch", AtLeastOnce, Does::Watches)
            .says("hello", [vec![Call("watch")], vec![Say("I watch")], vec![Say("I see")]])
            .say("hello")
            .then(Act::News("one", false))
            .then(Act::Rest)
            .then(Act::News("two", true))
            .then(Act::Rest),
        Scenario::new("a view").tool("show", AtLeastOnce, Does::Shows).says("hello", [vec![Call("show")]]).say("hello"),
        Scenario::new("redelivery")
            .says("hello", [vec![Say("hi")]])
            .say("hello")
            .then(Act::Again("hello"))
            .say("bye")
            .then(Act::Again("hello"))
            .then(Act::Again("bye"))
            .then(Act::Rest)
            .same(Same::Items),
        Scenario::new("a completion fails and is tried again")
            .tool("look", AtLeastOnce, Does::Answers)
            .says("hello", [vec![Say("let "), BreaksOnce, Say("me see"), Call("look")], vec![BreaksOnce, Say("seen")]])
            .say("hello"),
        Scenario::new("a completion fails for good")
            .says("hello", [vec![Say("let "), Refuses]])
            .say("hello")
            .say("bye"),
        Scenario::new("a fork")
            .tool("look", AtLeastOnce, Does::Answers)
            .says("hello", [vec![Call("look")]])
            .says("other", [vec![Call("look")]])
            .say("hello")
            .then(Act::Fork("f"))
            .say("other"),
    ]
}
