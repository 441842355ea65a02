//! Archives in objects of other stores: read by ranges where the store has latency, or from memory where all bytes came with the opening.

use super::read::ArchiveBytes;
use crate::error::Result;
use crate::store::{Capabilities, Object, SharedStore};

/// A store with latency that an archive is in.
pub(super) struct Far {
    store: SharedStore,
    /// All bytes of the archive are in memory.
    pub is_kept: bool,
}

impl Far {
    /// Where the bytes of an archive come from that is `object` under `key`, and the store where that has latency.
    pub fn source(store: SharedStore, key: &str, object: Object) -> Result<(ArchiveBytes, Option<Far>)> {
        let is_kept = object.is_at_hand();
        let far = store.capabilities().latency.then(|| Far { store: store.clone(), is_kept });
        let source = match &far {
            Some(far) if !far.is_kept => ArchiveBytes::Far { version: object.version()?, store, key: key.to_string() },
            _ => ArchiveBytes::Near(object),
        };
        Ok((source, far))
    }

    /// Those of an archive that has `local` ones as a file.
    pub fn capabilities(&self, local: Capabilities) -> Capabilities {
        let far = self.store.capabilities();
        Capabilities { latency: !self.is_kept, any_thread: far.any_thread, tuning: far.tuning, retries: far.retries, ..local }
    }
}
