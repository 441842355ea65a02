//! Which nodes of version 2 were changed, for NCZarr's keys.

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

    /// This thread looks at the keys of what was changed, which it takes.
    pub fn begin_look(&mut self) -> V2Changes {
        self.looking.push(this_thread());
        V2Changes { nodes: self.take_nodes(), others: std::mem::take(&mut self.others), looking: Vec::new() }
    }

    /// This thread is done with that, but for what is `left`.
    pub fn end_look(&mut self, left: V2Changes) {
        self.nodes.extend(left.nodes);
        self.others |= left.others;
        let me = this_thread();
        self.looking.iter().position(|thread| *thread == me).map(|at| self.looking.swap_remove(at));
    }
}
