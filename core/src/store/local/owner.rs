//! Which process a temporary file belongs to, as its name says, and whether that process is gone for certain.

use crate::fork::{ForkReset, Lazy};
use crate::platform::{has_ended, has_process, machine_run, start_of};
use crate::store::os;
use std::fmt;
use std::sync::OnceLock;

/// A process of a machine that has not been started anew since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The run of the machine and the process's view of it, in which `process` and `start` count; 0 where that cannot be told.
    place: u64,
    process: u32,
    /// When it started, in ticks of the machine, because numbers of processes come again; 0 where that cannot be told.
    start: u64,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}-{}", self.place, self.process, self.start)
    }
}

impl Owner {
    fn new(process: u32) -> Owner {
        Owner { place: place(), process, start: start_of(process).unwrap_or(0) }
    }

    /// Reads the owner from the beginning of `text`, as `Display` writes it.
    pub(super) fn parse(text: &str) -> Option<Owner> {
        let mut parts = text.split('-');
        let place = u64::from_str_radix(parts.next()?, 16).ok()?;
        Some(Owner { place, process: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? })
    }

    /// Gives a number for the run of the machine and for what its processes see of each other; 0 where that cannot be told.
    pub(super) fn run(&self) -> u64 {
        self.place
    }

    /// Says whether this process is gone, as `here` can tell for certain: nothing is known of processes on other machines, in other
    /// containers, and before the machine was started.
    pub(super) fn is_gone(&self, here: Owner) -> bool {
        if self.place != here.place || here.place == 0 || self.process == 0 {
            return false;
        }
        // Other users' processes may be hidden elsewhere, but not from this call.
        if !has_process(self.process) || has_ended(self.process) {
            return true;
        }
        self.start != 0 && start_of(self.process).is_some_and(|start| start != self.start)
    }
}

/// Calls `use_it` with this process and its name, which are looked at once after each fork.
fn with_here<T>(use_it: impl FnOnce(Owner, &str) -> T) -> T {
    static HERE: Lazy<ForkReset<OnceLock<(Owner, String)>>> = Lazy::new(|| ForkReset::new(OnceLock::new));
    let look = |process| {
        let owner = Owner::new(process);
        (owner, owner.to_string())
    };
    let process = std::process::id();
    let (known, name) = HERE.get().get().get_or_init(|| look(process));
    if known.process == process {
        return use_it(*known, name);
    }
    // A child that was made without `fork`'s handlers has another number.
    let (owner, name) = look(process);
    use_it(owner, &name)
}

/// Gives this process.
pub(super) fn here() -> Owner {
    with_here(|owner, _| owner)
}

/// Calls `use_it` with the name of this process, as [`Owner::parse`] reads it.
pub(super) fn with_name_here<T>(use_it: impl FnOnce(&str) -> T) -> T {
    with_here(|_, name| use_it(name))
}

/// A number for the run of the machine and the name spaces in which this process sees others; 0 where one of them cannot be told.
fn place() -> u64 {
    machine_run().map_or(0, |run| os::hash(run.as_bytes()))
}
