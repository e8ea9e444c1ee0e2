//! A shard: one router, one observer, and the drivers of the threads that live here.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt;
use selvedge_event::ThreadId;
use selvedge_observer::ThreadObserver;
use selvedge_store::Owner;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

use super::command::{Command, tell};
use super::driver::Driver;
use super::lifecycle::{Lifecycle, LifecycleKind};
use crate::SendError;
use crate::thread::Env;

/// What a shard is told.
pub(super) enum ShardMessage<R> {
    /// Something for the driver of a thread.
    ForThread(ThreadId, Command<R>),
    /// End all drivers in order, then answer and end.
    ShutDown(oneshot::Sender<()>),
}

type DriverBox<R> = mpsc::Sender<Box<Command<R>>>;

/// What the tasks of a shard share.
pub(super) struct Shard<O: ThreadObserver> {
    pub(super) env: Rc<Env<O>>,
    pub(super) owner: Arc<Owner>,
    pub(super) lifecycle: broadcast::Sender<Lifecycle>,
    drivers: RefCell<HashMap<ThreadId, DriverBox<O::SubscribeRequest>>>,
    /// Drivers whose tasks have not ended.
    alive: Cell<usize>,
    one_ended: Notify,
    stopping: Cell<bool>,
}

impl<O: ThreadObserver + 'static> Shard<O> {
    pub(super) fn new(env: Rc<Env<O>>, owner: Arc<Owner>, lifecycle: broadcast::Sender<Lifecycle>) -> Rc<Self> {
        Rc::new(Self {
            env,
            owner,
            lifecycle,
            drivers: RefCell::default(),
            alive: Cell::new(0),
            one_ended: Notify::new(),
            stopping: Cell::new(false),
        })
    }

    /// Routes messages until the system is shut down or all its handles are gone. Must run within a `LocalSet`.
    pub(super) async fn run(self: Rc<Self>, mut messages: mpsc::Receiver<ShardMessage<O::SubscribeRequest>>) {
        while let Some(message) = messages.recv().await {
            match message {
                ShardMessage::ForThread(thread, command) => self.route(&thread, command),
                ShardMessage::ShutDown(reply) => {
                    self.shut_down(&mut messages).await;
                    tell(reply, ());
                    return;
                }
            }
        }
        // Every handle is gone: drivers whose mailboxes nobody can reach stop where they are.
        self.drivers.borrow_mut().clear();
    }

    /// Hands a command to the thread's driver, which is started if there is none.
    fn route(self: &Rc<Self>, thread: &ThreadId, command: Command<O::SubscribeRequest>) {
        let mut command = Box::new(command);
        let known = self.drivers.borrow().get(thread).cloned();
        if let Some(driver) = known {
            match driver.try_send(command) {
                Ok(()) => return,
                Err(TrySendError::Full(command)) => return command.refuse(SendError::Full(thread.clone())),
                Err(TrySendError::Closed(refused)) => command = refused,
            }
        }
        if self.stopping.get() || matches!(*command, Command::Close { .. } | Command::Show(_)) {
            return command.refuse(SendError::ShutDown);
        }
        let (sender, mailbox) = mpsc::channel(self.env.limits.mailbox);
        if let Err(error) = sender.try_send(command) {
            return error.into_inner().refuse(SendError::Full(thread.clone()));
        }
        self.drivers.borrow_mut().insert(thread.clone(), sender);
        self.alive.set(self.alive.get() + 1);
        let (shard, thread) = (self.clone(), thread.clone());
        tokio::task::spawn_local(async move {
            let mut driver = Driver::new(shard.clone(), thread.clone(), mailbox);
            if AssertUnwindSafe(driver.run()).catch_unwind().await.is_err() {
                // A bug; the thread is durable, and its next command finds a fresh driver.
                tracing::error!(%thread, "a driver panicked");
                shard.forget(&thread);
            }
            drop(driver);
            shard.alive.set(shard.alive.get() - 1);
            shard.one_ended.notify_one();
            shard.notify(&thread, LifecycleKind::Gone);
        });
    }

    /// Lets the thread's next command find another driver.
    pub(super) fn forget(&self, thread: &ThreadId) {
        self.drivers.borrow_mut().remove(thread);
    }

    pub(super) fn notify(&self, thread: &ThreadId, kind: LifecycleKind) {
        // Nobody need listen.
        drop(self.lifecycle.send(Lifecycle { thread: thread.clone(), kind }));
    }

    /// Ends all drivers in order. Results of calls that end meanwhile still find their threads.
    async fn shut_down(self: &Rc<Self>, messages: &mut mpsc::Receiver<ShardMessage<O::SubscribeRequest>>) {
        self.stopping.set(true);
        let drivers: Vec<_> = self.drivers.borrow().values().cloned().collect();
        for driver in drivers {
            // One whose mailbox is closed is ending already.
            drop(driver.send(Box::new(Command::Stop)).await);
        }
        while self.alive.get() > 0 {
            tokio::select! {
                () = self.one_ended.notified() => {}
                message = messages.recv() => match message {
                    Some(ShardMessage::ForThread(thread, command)) => self.route(&thread, command),
                    Some(ShardMessage::ShutDown(reply)) => tell(reply, ()),
                    None => {}
                },
            }
        }
        messages.close();
        while let Some(message) = messages.recv().await {
            match message {
                ShardMessage::ForThread(_, command) => command.refuse(SendError::ShutDown),
                ShardMessage::ShutDown(reply) => tell(reply, ()),
            }
        }
    }
}
