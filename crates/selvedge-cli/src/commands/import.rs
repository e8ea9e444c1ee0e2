//! `selvedge import`: a thread of what `export` wrote, through the same operations of the store as any other thread.
//!
//! Each turn is accepted, then synced, as it was when it happened: inputs under their own ids, calls planned where they
//! were made and settled where their results came. A call that was open when the thread was exported is open in the new
//! one as one that may have run, so that it is settled as unknown and never sent out.

use std::io::Read;
use std::path::Path;

use selvedge::event::{CallId, Message, Step, ToolReply, TurnRecord, Usage, View};
use selvedge::prelude::{ConversationStore, Input, InputId, SqliteStore, ThreadId};
use selvedge::store::{
    AcceptRequest, Acceptance, Changes, Create, Epoch, NewInput, PlannedCall, SeqNo, StoreError, StoreErrorKind,
    SyncRequest, SyncToken, ToolDelivery,
};

use crate::archive::{Archive, Line};
use crate::database::{Database, thread_id};
use crate::failure::Failure;

/// Makes the thread; says so.
pub(crate) async fn run(file: &Path, name: Option<&str>, database: &Database) -> Result<(), Failure> {
    let text = read(file).map_err(|error| Failure::new(format!("{} cannot be read: {error}", file.display())))?;
    let archive = Archive::parse(&text).map_err(|why| {
        Failure::new(format!("{} cannot be imported: {why}", file.display()))
            .advise("selvedge export writes what can be")
    })?;
    let thread = thread_id(name.unwrap_or(&archive.header.thread))?;
    match database.store_of(&thread).await {
        Err(error) if error.kind() == StoreErrorKind::NotFound => {}
        Err(error) => return Err(database.failure(&error, &thread)),
        Ok(_) => {
            return Err(
                Failure::new(format!("there is a thread {thread} already")).advise("name another with --thread")
            );
        }
    }
    let store = database.store();
    let steps = match recreate(store, &thread, &archive).await {
        Ok(steps) => steps,
        Err(error) => {
            // Half a thread must not be taken for a whole one. If it cannot be deleted, the first error says more.
            drop(store.delete(&thread).await);
            return Err(database.failure(&error, &thread));
        }
    };
    println!("{thread}: {} turns, up to step {steps}", archive.lines.len());
    Ok(())
}

fn read(file: &Path) -> std::io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}

async fn recreate(store: &SqliteStore, thread: &ThreadId, archive: &Archive) -> Result<Step, StoreError> {
    let owner = store.register(&format!("selvedge import (process {})", std::process::id())).await?;
    // A thread is created with its first input; the first step takes this one, which says nothing.
    let first = NewInput { id: "import".into(), input: Input::Interrupt, at: archive.header.created_at };
    let create = Create::ClaimedBy(owner.id().clone());
    let reply = store.accept(AcceptRequest { thread: thread.clone(), inputs: vec![first], create }).await?;
    let Some(epoch) = reply.claimed else {
        return Err(StoreError::new(StoreErrorKind::Exists, "somebody else made the thread meanwhile"));
    };
    let consumed = reply.acceptances.iter().filter_map(accepted).collect();
    let mut recreated = Recreated { store, thread, epoch, step: 0, consumed };
    for (line, place) in archive.lines.iter().zip(1..) {
        let views = if place == archive.lines.len() { archive.header.views.clone() } else { Vec::new() };
        recreated.append(line, views).await?;
    }
    let step = recreated.step;
    // ORDER: once all is known to be committed, nothing of it is emitted or sent out again.
    store.mark_committed(thread, epoch, step).await?;
    store.release(thread, epoch).await?;
    Ok(step)
}

/// The new thread, as far as it has come.
struct Recreated<'a> {
    store: &'a SqliteStore,
    thread: &'a ThreadId,
    epoch: Epoch,
    step: Step,
    /// Inputs that the next step takes.
    consumed: Vec<SeqNo>,
}

impl Recreated<'_> {
    async fn append(&mut self, line: &Line, views: Vec<View>) -> Result<(), StoreError> {
        if self.step == 0 && line.turn.step > 1 {
            // The beginning of the thread was removed, or has appended nothing.
            self.step = line.turn.step - 1;
            self.store.skip_to(self.thread, self.epoch, self.step).await?;
        }
        // Steps that appended nothing have left gaps.
        while self.step + 1 < line.turn.step {
            let turn = TurnRecord { step: self.step + 1, at: line.turn.at, messages: Vec::new() };
            self.sync(turn, Changes::default()).await?;
        }
        for (id, text) in &line.blobs {
            self.store.put_blob(self.thread, id, text.clone().into_bytes()).await?;
        }
        let inputs = inputs(&line.turn);
        if !inputs.is_empty() {
            let request = AcceptRequest { thread: self.thread.clone(), inputs, create: Create::No };
            let reply = self.store.accept(request).await?;
            self.consumed.extend(reply.acceptances.iter().filter_map(accepted));
        }
        self.sync(line.turn.clone(), Changes { views, ..changes(&line.turn) }).await
    }

    async fn sync(&mut self, turn: TurnRecord, changes: Changes) -> Result<(), StoreError> {
        let (thread, epoch, committed, step) = (self.thread.clone(), self.epoch, self.step, turn.step);
        let changes = Changes { consumed: std::mem::take(&mut self.consumed), ..changes };
        // Nobody else writes to the thread, so any token tells this sync from another's.
        let token = SyncToken(step);
        self.store.sync(SyncRequest { thread, epoch, turn, token, committed, changes }).await?;
        self.step = step;
        Ok(())
    }
}

fn accepted(acceptance: &Acceptance) -> Option<SeqNo> {
    match acceptance {
        Acceptance::Accepted(seq) => Some(*seq),
        Acceptance::Duplicate => None,
    }
}

/// The inputs that brought a turn's messages: their ids stay known, so that a redelivery is harmless here too.
fn inputs(turn: &TurnRecord) -> Vec<NewInput> {
    let input = |message: &Message| match message {
        Message::User(user) => Some((user.input_id.clone(), Input::queued(user.text.clone()))),
        Message::SubscriptionEvent(event) => {
            let (call_id, text, last) = (event.call_id.clone(), event.text.clone(), event.last);
            Some((event.input_id.clone(), Input::SubscriptionEvent { call_id, text, last }))
        }
        Message::ToolResult(result) => {
            let reply = ToolReply::text(result.call_id.clone(), result.status, "");
            Some((InputId::from(format!("result:{}", result.call_id)), Input::ToolResult(reply)))
        }
        _ => None,
    };
    let inputs = turn.messages.iter().filter_map(input);
    inputs.map(|(id, input)| NewInput { id, input, at: turn.at }).collect()
}

/// What the turn's step changed beside the history.
fn changes(turn: &TurnRecord) -> Changes {
    let assistants = turn.messages.iter().filter_map(|message| match message {
        Message::Assistant(assistant) => Some(assistant),
        _ => None,
    });
    let results = turn.messages.iter().filter_map(|message| match message {
        Message::ToolResult(result) => Some(&result.call_id),
        _ => None,
    });
    let (mut planned, mut usage) = (Vec::new(), Usage::default());
    for assistant in assistants {
        usage += assistant.usage;
        planned.extend(assistant.calls().map(|call| PlannedCall {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            step: turn.step,
            delivery: ToolDelivery::AtMostOnce,
        }));
    }
    let answered: Vec<&CallId> = results.collect();
    // A call that is answered in the turn that makes it was never open.
    let settled = answered.iter().filter(|call| planned.iter().all(|planned| planned.call_id != ***call));
    let settled = settled.map(|call| (*call).clone()).collect();
    planned.retain(|planned| !answered.contains(&&planned.call_id));
    Changes { planned, settled, usage, ..Changes::default() }
}
