//! Archives in objects of other stores: read by ranges where the store has latency, or from memory where all bytes came with the opening.

use super::ZipStore;
use super::read::ArchiveBytes;
use crate::error::{Result, bail};
use crate::store::{Capabilities, SharedStore};

/// A store with latency that an archive is in.
pub(super) struct Far {
    store: SharedStore,
    /// All bytes of the archive are in memory.
    pub is_kept: bool,
}

impl Far {
    /// Those of an archive that has `local` ones as a file.
    pub fn capabilities(&self, local: Capabilities) -> Capabilities {
        let far = self.store.capabilities();
        Capabilities { latency: !self.is_kept, any_thread: far.any_thread, tuning: far.tuning, retries: far.retries, ..local }
    }
}

impl ZipStore {
    /// The archive in an object of another store, for reading only.
    pub fn over(store: SharedStore, key: &str) -> Result<ZipStore> {
        let shown = format!("{}/{key}", store.describe().trim_end_matches('/')).trim_end_matches('/').to_string();
        let Some(object) = store.open(key).map_err(|e| e.at_key(key))? else { bail!(NotFound, "there is no zip archive {shown}") };
        let (len, is_kept) = (object.len()?, object.is_at_hand());
        let far = store.capabilities().latency.then(|| Far { store: store.clone(), is_kept });
        let source = match &far {
            Some(far) if !far.is_kept => ArchiveBytes::Far { version: object.version()?, store, key: key.to_string() },
            _ => ArchiveBytes::Near(object),
        };
        let mut archive = ZipStore::read(shown, source, len, None, false)?;
        archive.far = far;
        Ok(archive)
    }

    /// Fails where an archive that is read from memory was replaced since: its documents are read to learn what has changed.
    pub(super) fn check_kept(&self) -> Result<()> {
        if !self.far.as_ref().is_some_and(|far| far.is_kept) {
            return Ok(());
        }
        match self.content.read(|content| content.source.clone()).as_deref() {
            Some(ArchiveBytes::Near(object)) if !object.still_current()? => {
                bail!(Conflict, "the zip archive was replaced while it was open; open it again")
            }
            _ => Ok(()),
        }
    }
}
