//! Where a process is struck, and how that is written.

use std::fmt;
use std::str::FromStr;

use crate::{Fault, Moment};

/// A place in the life of a process, counted from 1 since it started, and what happens there.
///
/// Written as in `store:12:die-after`, `hook:2:fail-before`, `tool:1:die-before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// At the nth operation of its store: it fails, or the process dies.
    Store(u64, Fault),
    /// In the nth hook of its observer: it errs, or the process dies.
    Hook(u32, Fault),
    /// In the nth call that reaches a tool the process dies, before or after the tool has done its part.
    Tool(u32, Moment),
}

const FAULTS: [(Fault, &str); 4] = [
    (Fault::FailBefore, "fail-before"),
    (Fault::FailAfter, "fail-after"),
    (Fault::DieBefore, "die-before"),
    (Fault::DieAfter, "die-after"),
];

impl Point {
    /// All points of a process that has done so many operations, hooks and calls.
    pub fn all(operations: u64, hooks: u32, calls: u32) -> Vec<Self> {
        let stores = (1..=operations).flat_map(|n| FAULTS.map(|(fault, _)| Self::Store(n, fault)));
        let hooks = (1..=hooks).flat_map(|n| FAULTS.map(|(fault, _)| Self::Hook(n, fault)));
        let calls = (1..=calls).flat_map(|n| Moment::BOTH.map(|moment| Self::Tool(n, moment)));
        stores.chain(hooks).chain(calls).collect()
    }

    /// Whether the process dies.
    pub fn is_death(self) -> bool {
        matches!(self.fault(), Fault::DieBefore | Fault::DieAfter)
    }

    /// Whether the process dies when the store, the hook or the tool has done its part.
    pub fn is_death_after(self) -> bool {
        self.fault() == Fault::DieAfter
    }

    fn fault(self) -> Fault {
        match self {
            Self::Store(_, fault) | Self::Hook(_, fault) => fault,
            Self::Tool(_, moment) => Fault::die(moment),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = FAULTS.iter().find(|(fault, _)| *fault == self.fault()).map_or("", |(_, name)| name);
        match self {
            Self::Store(n, _) => write!(f, "store:{n}:{fault}"),
            Self::Hook(n, _) => write!(f, "hook:{n}:{fault}"),
            Self::Tool(n, _) => write!(f, "tool:{n}:{fault}"),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("`{text}` is no point: write one as in store:12:die-after");
        let mut parts = text.split(':');
        let (Some(what), Some(n), Some(fault), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err(unknown());
        };
        let (fault, _) = FAULTS.into_iter().find(|(_, name)| *name == fault).ok_or_else(unknown)?;
        let number: u32 = n.parse().map_err(|_| unknown())?;
        match (what, fault) {
            ("store", fault) => Ok(Self::Store(number.into(), fault)),
            ("hook", fault) => Ok(Self::Hook(number, fault)),
            ("tool", Fault::DieBefore) => Ok(Self::Tool(number, Moment::Before)),
            ("tool", Fault::DieAfter) => Ok(Self::Tool(number, Moment::After)),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_read_as_it_is_written() {
        for point in Point::all(2, 2, 2) {
            assert_eq!(point.to_string().parse(), Ok(point));
        }
        for other in ["store:1", "tool:1:fail-before", "disk:1:die-after", "store:x:die-after", ""] {
            assert!(other.parse::<Point>().is_err(), "{other}");
        }
    }
}
