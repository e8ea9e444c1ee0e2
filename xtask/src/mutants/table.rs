//! The mutants, and the tests that must catch each.

/// A deliberate fault.
pub(super) struct Mutant {
    pub(super) name: &'static str,
    /// What is changed, in order.
    pub(super) edits: &'static [Edit],
    /// Tests that must all fail.
    pub(super) caught_by: &'static [Test],
}

/// Text that stands in a file exactly once, and what takes its place.
pub(super) struct Edit {
    pub(super) file: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

/// A test: its package, and the end of its name.
pub(super) struct Test {
    pub(super) package: &'static str,
    pub(super) name: &'static str,
}

const fn edit(file: &'static str, from: &'static str, to: &'static str) -> Edit {
    Edit { file, from, to }
}

const fn test(package: &'static str, name: &'static str) -> Test {
    Test { package, name }
}

const TURN: &str = "crates/selvedge-barrier/src/turn.rs";
const RESUME: &str = "crates/selvedge-barrier/src/resume.rs";
const STEP: &str = "crates/selvedge-runtime/src/thread/step.rs";
const REQUESTS: &str = "crates/selvedge-runtime/src/local/driver/requests.rs";
const MEMORY: &str = "crates/selvedge-store/src/memory.rs";
const MEMORY_STATE: &str = "crates/selvedge-store/src/memory/state.rs";
const MEMORY_THREAD: &str = "crates/selvedge-store/src/memory/thread.rs";
const MEMORY_INBOX: &str = "crates/selvedge-store/src/memory/inbox.rs";
const STATEMENTS: &str = "crates/selvedge-sqlite/src/write/statements.rs";
const SQLITE_THREAD: &str = "crates/selvedge-sqlite/src/write/thread.rs";
const BATCH: &str = "crates/selvedge-sqlite/src/write/batch.rs";

/// All of them.
pub(super) const ALL: &[Mutant] = &[
    Mutant {
        name: "dispatch moved before commit",
        edits: &[
            edit(
                TURN,
                "    /// One permit per call, in call order.
    pub fn into_permits(self) -> Vec<DispatchPermit> {
        let Self { draft, calls, .. } = self;
",
                "}

impl<P: Phase> Turn<P> {
    /// Mutated.
    pub fn into_permits(&self) -> Vec<DispatchPermit> {
        let (draft, calls) = (&self.draft, self.calls.clone());
",
            ),
            edit(
                STEP,
                "fn dispatch(&self, turn: Turn<Committed>,",
                "fn dispatch<P: selvedge_barrier::Phase>(&self, turn: &Turn<P>,",
            ),
            edit(
                STEP,
                "        match turn.commit(",
                "        let config = self.config().await?;
        self.dispatch(&turn, &config);
        match turn.commit(",
            ),
            edit(
                STEP,
                "                let config = self.config().await?;
                self.dispatch(turn, &config);
",
                "",
            ),
            edit(STEP, "self.dispatch(turn, &config);", "self.dispatch(&turn, &config);"),
        ],
        caught_by: &[
            test("selvedge-tests", "s17_nothing_is_dispatched_before_sync_and_commit"),
            test("selvedge-tests", "s16_local_an_idempotent_call_ends_as_if_nothing_had_happened"),
            test("selvedge-tests", "s16_step_any_other_call_never_runs_twice"),
        ],
    },
    Mutant {
        name: "permits of a turn that is only synced",
        edits: &[edit(
            TURN,
            "    /// One permit per call, in call order.\n    pub fn into_permits(",
            "}

impl<P: Phase> Turn<P> {
    /// Mutated.
    pub fn into_permits(",
        )],
        // The types catch it: a fixture that must not compile does.
        caught_by: &[test("selvedge-barrier", "compile_fail_around_the_barrier")],
    },
    Mutant {
        name: "an error of the commit ignored",
        edits: &[edit(
            TURN,
            "            Err(error) => Err(CommitFailed { turn: self, error }),
",
            "            Err(_) => Ok(self.into_phase()),
",
        )],
        caught_by: &[
            test("selvedge-barrier", "an_error_of_the_commit_hands_the_synced_turn_back"),
            test("selvedge-barrier", "a_panic_of_the_commit_hands_the_synced_turn_back"),
        ],
    },
    Mutant {
        name: "a call that runs once sent out again",
        edits: &[edit(
            RESUME,
            "(ToolDelivery::AtLeastOnce, Some(call)) => calls.push((call, ToolDelivery::AtLeastOnce, 2)),",
            "(delivery, Some(call)) => calls.push((call, delivery, 2)),",
        )],
        caught_by: &[
            test("selvedge-tests", "s16_local_any_other_call_never_runs_twice"),
            test("selvedge-tests", "s16_step_any_other_call_never_runs_twice"),
        ],
    },
    Mutant {
        name: "a turn resumed without its events",
        edits: &[edit(STEP, "and_then(|_| self.emit_again(&turn))", "map(drop)")],
        caught_by: &[
            test("selvedge-tests", "s16_local_an_idempotent_call_ends_as_if_nothing_had_happened"),
            test("selvedge-tests", "s16_step_an_idempotent_call_ends_as_if_nothing_had_happened"),
        ],
    },
    Mutant {
        name: "an attach whose snapshot is older than it",
        edits: &[edit(
            REQUESTS,
            "        let id = self.thread.id.as_str();
        let installed = guard(|| self.shard.env.observer.on_subscribe(id, request, snapshot));
        if let Err(panic) = &installed {
            tracing::error!(thread = %id, %panic, \"a subscriber could not be installed\");
        }
        tell(reply, Ok(installed.is_ok()));
",
            "        let (shard, id) = (self.shard.clone(), self.thread.id.clone());
        tokio::task::spawn_local(async move {
            let installed = guard(|| shard.env.observer.on_subscribe(id.as_str(), request, snapshot));
            tell(reply, Ok(installed.is_ok()));
        });
",
        )],
        caught_by: &[test("selvedge-tests", "the_attach_law")],
    },
    Mutant {
        name: "memory: sync split in two",
        edits: &[
            edit(
                MEMORY,
                "        self.state().sync(request)
",
                "        let mut request = request;
        let consumed = std::mem::take(&mut request.changes.consumed);
        let thread = request.thread.clone();
        self.state().sync(request)?;
        std::thread::sleep(std::time::Duration::from_millis(1));
        self.state().consume(&thread, consumed)
",
            ),
            edit(
                MEMORY_STATE,
                "    pub(super) fn mark_committed(",
                "    pub(super) fn consume(&mut self, thread: &ThreadId, consumed: Vec<crate::SeqNo>) -> Result<(), StoreError> {
        let inbox = &mut self.thread_mut(thread)?.inbox;
        consumed.into_iter().for_each(|seq| inbox.consume(seq));
        Ok(())
    }

    pub(super) fn mark_committed(",
            ),
        ],
        caught_by: &[test("selvedge-store", "readers_see_whole_syncs")],
    },
    Mutant {
        name: "sqlite: sync split in two",
        edits: &[edit(
            STATEMENTS,
            "Self::Consumed => delete(\"inbox\"),",
            "Self::Consumed => format!(\"COMMIT; BEGIN IMMEDIATE; {}\", delete(\"inbox\")),",
        )],
        caught_by: &[test("selvedge-sqlite", "readers_see_whole_syncs")],
    },
    Mutant {
        name: "memory: the step number not checked",
        edits: &[edit(MEMORY_THREAD, "if step == self.head.step + 1 {", "if step <= self.head.step + 1 {")],
        caught_by: &[test("selvedge-store", "a_step_out_of_turn_is_a_conflict")],
    },
    Mutant {
        name: "sqlite: the step number not checked",
        edits: &[edit(
            SQLITE_THREAD,
            "if self.step.checked_add(1) == Some(step) {",
            "if self.step.saturating_add(1) >= step {",
        )],
        caught_by: &[test("selvedge-sqlite", "a_step_out_of_turn_is_a_conflict")],
    },
    Mutant {
        name: "sqlite: the epoch not checked",
        edits: &[edit(SQLITE_THREAD, "if epoch == self.epoch {", "if epoch <= self.epoch {")],
        caught_by: &[test("selvedge-sqlite", "another_epoch_is_a_conflict")],
    },
    Mutant {
        name: "memory: an input accepted twice",
        edits: &[edit(
            MEMORY_INBOX,
            "if !self.known.insert(id.clone()) {",
            "if !self.known.insert(id.clone()) && self.last == 0 {",
        )],
        caught_by: &[
            test("selvedge-store", "an_id_that_comes_again_is_a_duplicate"),
            test("selvedge-store", "an_id_stays_known_when_its_input_is_consumed"),
        ],
    },
    Mutant {
        name: "sqlite: an input accepted twice",
        edits: &[edit(
            BATCH,
            "if !known.insert((thread.id, id.clone())) {",
            "if !known.insert((thread.id, id.clone())) && thread.last_seq == 0 {",
        )],
        caught_by: &[
            test("selvedge-sqlite", "an_id_that_comes_again_is_a_duplicate"),
            test("selvedge-sqlite", "an_id_stays_known_across_a_crash"),
        ],
    },
];
