//! Which threads a system works off when it starts.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use selvedge_event::ThreadId;

/// Which of the threads that an earlier process left unfinished a system goes on with when it starts: those whose inbox
/// is filled, whose calls are open or whose last step is not known to be committed. The others go on when somebody asks
/// for them.
///
/// ```
/// use selvedge_runtime::Wake;
///
/// let mine = Wake::only(["t1".into(), "t2".into()]);
/// let chats = Wake::those(|thread| thread.as_str().starts_with("chat-"));
/// # drop((mine, chats));
/// ```
#[derive(Clone, Default)]
pub struct Wake(Chosen);

#[derive(Clone, Default)]
enum Chosen {
    #[default]
    All,
    None,
    Those(Arc<dyn Fn(&ThreadId) -> bool + Send + Sync>),
}

impl Wake {
    /// Every unfinished thread of the store. The default.
    pub fn all() -> Self {
        Self(Chosen::All)
    }

    /// None: for a process that serves only what it is asked for, beside others that share its store.
    pub fn none() -> Self {
        Self(Chosen::None)
    }

    /// These, as far as they are unfinished.
    pub fn only(threads: impl IntoIterator<Item = ThreadId>) -> Self {
        let threads: HashSet<ThreadId> = threads.into_iter().collect();
        Self::those(move |thread| threads.contains(thread))
    }

    /// Those of which `chosen` says so, such as the threads of one tenant.
    pub fn those(chosen: impl Fn(&ThreadId) -> bool + Send + Sync + 'static) -> Self {
        Self(Chosen::Those(Arc::new(chosen)))
    }

    /// Whether there is anything to ask the store for.
    pub(super) fn is_none(&self) -> bool {
        matches!(self.0, Chosen::None)
    }

    pub(super) fn chooses(&self, thread: &ThreadId) -> bool {
        match &self.0 {
            Chosen::All => true,
            Chosen::None => false,
            Chosen::Those(chosen) => chosen(thread),
        }
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Chosen::All => "Wake::all",
            Chosen::None => "Wake::none",
            Chosen::Those(_) => "Wake::those",
        })
    }
}
