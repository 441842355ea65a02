//! Which nodes of version 2 were changed, for NCZarr's keys.

use crate::error::Result;
use crate::fork::ForkPreserved;
use crate::threads::this_thread;
use std::collections::BTreeSet;

/// The nodes of version 2 whose documents a handle on a store has changed, for NCZarr's keys.
#[derive(Default)]
pub(super) struct V2Changes {
    /// Their paths, since the keys of these nodes were looked at.
    pub nodes: BTreeSet<String>,
    /// Keys of other nodes are still to be compared with what was changed before.
    pub others: bool,
    /// The threads that look at the keys now: what they change are the keys.
    looking: Vec<usize>,
    /// One of these has found that the root lacks the object of the oldest keys.
    lacks_object: bool,
}

impl V2Changes {
    /// A document of the node was changed.
    pub fn note(&mut self, node: &str) {
        if self.looking.is_empty() || !self.looking.contains(&this_thread()) {
            self.nodes.insert(node.to_string());
        }
    }

    /// Takes the nodes.
    pub fn take_nodes(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.nodes)
    }

    /// Nothing is changed but (`others`) keys of other nodes may be to be compared.
    pub fn of_others(others: bool) -> V2Changes {
        V2Changes { others, ..V2Changes::default() }
    }

    /// Asks whether the root has the object of the oldest keys; where it does not, those that look at keys ask once.
    pub fn has_object(changes: &ForkPreserved<V2Changes>, ask: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let has = !changes.read(|all| all.lacks_object) && ask()?;
        changes.write(|all| all.lacks_object = !has && !all.looking.is_empty());
        Ok(has)
    }
}

/// A thread looks at keys. What is `left` of what was changed at the end is looked at again, with what other threads change meanwhile.
pub(super) struct ChangesLook<'a> {
    changes: &'a ForkPreserved<V2Changes>,
    pub left: V2Changes,
}

impl ChangesLook<'_> {
    /// Takes what was changed, to look at its keys.
    pub fn begin(changes: &ForkPreserved<V2Changes>) -> ChangesLook<'_> {
        let begin = |all: &mut V2Changes| {
            all.looking.push(this_thread());
            V2Changes { nodes: all.take_nodes(), ..V2Changes::of_others(std::mem::take(&mut all.others)) }
        };
        ChangesLook { changes, left: changes.write(begin) }
    }

    /// Changes keys for a thread that looks at them.
    pub fn help(changes: &ForkPreserved<V2Changes>) -> ChangesLook<'_> {
        changes.write(|all| all.looking.push(this_thread()));
        ChangesLook { changes, left: V2Changes::default() }
    }
}

impl Drop for ChangesLook<'_> {
    fn drop(&mut self) {
        let (left, me) = (std::mem::take(&mut self.left), this_thread());
        self.changes.write(|all| {
            all.nodes.extend(left.nodes);
            all.others |= left.others;
            all.looking.iter().position(|thread| *thread == me).map(|at| all.looking.swap_remove(at));
            all.lacks_object &= !all.looking.is_empty();
        });
    }
}
