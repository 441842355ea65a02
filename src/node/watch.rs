//! Following an array that another handle, process or machine makes longer: looking at its document again, and waiting for more.

use super::document::{self, DocumentLock, array_document};
use super::state::ArrayState;
use super::stored::StoredDocument;
use super::{Array, Store, lookup, path};
use crate::counting;
use crate::engine::{Growing, Growths};
use crate::error::{Result, bail};
use crate::limits::MAX_CONSOLIDATED;
use crate::metadata::v3::Document;
use crate::metadata::{Format, Map, v3};
use crate::store::{Condition, Stamp};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first and the longest pause between two looks at the document of a file system.
const NEAR: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(64));
/// The first and the longest pause between two looks at a store with latency.
const FAR: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1600));

/// The pauses between looks, until a time is over.
pub(super) struct Pauses {
    began: Instant,
    timeout: Duration,
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// The first look is taken now.
    pub fn new(store: &Store, timeout: Duration) -> Pauses {
        let (next, longest) = if store.shared().capabilities().latency { FAR } else { NEAR };
        Pauses { began: Instant::now(), timeout, next, longest }
    }

    /// Sleeps until it is time to look again; `false` if the time is over.
    pub fn sleep(&mut self) -> bool {
        let left = self.timeout.saturating_sub(self.began.elapsed());
        if !left.is_zero() {
            std::thread::sleep(self.next.min(left));
            self.next = (self.next * 2).min(self.longest);
        }
        !left.is_zero()
    }
}

impl Array {
    /// Reads the documents again, as the program asks: shape, attributes and all else of this handle are what they say now. It is one of the array
    /// that is there, which may have taken the place of another one.
    pub fn refresh(&self) -> Result<()> {
        self.take_fresh(|as_of, fresh| {
            self.attributes().renew(own_attributes(&fresh))?;
            self.attributes().found_again(as_of);
            Ok(self.found_again(fresh, as_of))
        })
    }

    /// Reads the documents again for a call of another purpose: a handle that has lost its array stays without it.
    pub(super) fn read_again(&self) -> Result<()> {
        self.take_fresh(|_, fresh| self.attributes().renew(own_attributes(&fresh)).map(|()| fresh))
    }

    /// Reads the document again, and uses what `take` makes of its state from now on, with the losses from before it was read. Where another thread
    /// gives the handle a state meanwhile, which may be of a later document, it is read once more.
    fn take_fresh(&self, take: impl Fn(&Growths, ArrayState) -> Result<ArrayState>) -> Result<()> {
        loop {
            let (seen, as_of) = (self.state(), self.growths().as_of_now());
            let fresh = take(&as_of, self.read_fresh(self.format())?)?;
            if self.set_state_after(&seen, self.telling_of(fresh)) {
                return Ok(());
            }
        }
    }

    /// The array as its document says now, with this handle's settings. Errors: `NotFound` if the checkpoint that it was opened in is gone.
    pub(super) fn read_fresh(&self, format: Format) -> Result<ArrayState> {
        let (fresh, ..) = self.read_with_text(format)?;
        self.store().check_kept().map(|()| fresh)
    }

    /// Reads the array like [`Array::read_with_text`] before a change of its document, or of chunks by what that says. Errors: `State` if it was lost,
    /// also while it was read: what is there then may be another array.
    pub(super) fn read_to_change(&self) -> Result<(ArrayState, Vec<u8>, Condition)> {
        let seen = self.state();
        let read = self.read_with_text(seen.meta.format);
        seen.check_there()?;
        read
    }

    /// Reads the array like [`Array::read_fresh`], and gives the text of its document and the condition on which that may be replaced.
    pub(super) fn read_with_text(&self, format: Format) -> Result<(ArrayState, Vec<u8>, Condition)> {
        let seen = self.state();
        let (name, as_of) = (array_document(format), self.store().as_of());
        let key = path::join(self.path(), name);
        let (bytes, condition) = document::read(self.store(), &key, MAX_CONSOLIDATED)?;
        let found = match &bytes {
            Some(bytes) => Some(StoredDocument::from_bytes(self.store(), name, key, bytes, as_of)?),
            None if format == Format::V2 => lookup::find_v2(self.store(), self.path())?,
            None => None,
        };
        let found = found.ok_or_else(|| lookup::not_found(self.store(), self.path(), "array"))?;
        match found.parse(self.store())? {
            Document::Array(meta) => Ok((self.state_of(*meta, &seen)?, bytes.unwrap_or_default(), condition)),
            Document::Group(_) => {
                self.lose();
                bail!(NodeKind, "{} is a group by now", path::display(self.path()))
            }
        }
    }

    /// Looks at the document again before chunks of it are changed, where that was not done yet. An error unless they may be.
    pub(super) fn check_changeable(&self) -> Result<()> {
        self.store().check_writable()?;
        self.renew_listed()?;
        self.check_there()?;
        self.state().meta.dialect.refuse()
    }

    /// Refuses to change an array that this process has erased or replaced since the program had the handle read its document.
    pub(super) fn check_there(&self) -> Result<()> {
        self.state().check_there()
    }

    /// Locks the document of an array that gets another shape, and tells of a growth; the lock is let go of last.
    pub(super) fn lock_to_reshape(&self) -> Result<(Growing, DocumentLock)> {
        let lock = document::lock(self.store(), self.path(), array_document(self.format()))?;
        self.check_there()?;
        Ok((self.begin_growth(), lock))
    }

    /// Stores nothing by this handle any more, what waits neither, as after a change by this process: the program has found that another one has
    /// renamed, erased or replaced the array. It goes on with what is there once it is refreshed.
    pub fn lose(&self) {
        self.growths().lose();
    }

    /// Whether nothing is stored by this handle, because the array was renamed, erased or replaced.
    pub fn is_lost(&self) -> bool {
        self.state().is_lost()
    }

    /// Looks at the document again where the handle knows it from consolidated metadata only and the store can be written: before a call that
    /// writes counts by the array's lengths.
    pub fn renew_listed(&self) -> Result<()> {
        if self.is_listed() && self.store().check_writable().is_ok() {
            self.state().check_there()?;
            self.take_fresh(|_, fresh| Ok(fresh))?;
        }
        Ok(())
    }

    /// What [`Array::refresh`] does, with a document that another process exported.
    pub(super) fn refresh_from(&self, found: StoredDocument) -> Result<()> {
        let as_of = self.growths().as_of_now();
        let (fresh, attributes) = self.stated(found)?;
        self.renew(self.found_again(fresh, &as_of), attributes)?;
        self.attributes().found_again(&as_of);
        Ok(())
    }

    /// What [`Array::renew_after`] does, with a document that was read.
    pub(super) fn renew_from(&self, seen: &Arc<ArrayState>, found: StoredDocument) -> Result<bool> {
        let (fresh, attributes) = self.stated(found)?;
        self.renew_after(seen, fresh, attributes)
    }

    fn stated(&self, found: StoredDocument) -> Result<(ArrayState, Option<Map>)> {
        let attributes = found.attributes.clone();
        match found.parse(self.store())? {
            Document::Array(meta) => Ok((self.state_of(*meta, &self.state())?, attributes)),
            Document::Group(_) => bail!(NodeKind, "found a group, expected the array {}", path::display(self.path())),
        }
    }

    /// Uses that state and its attributes from now on; those of v2, which are not in it, are read where they are not known.
    pub(super) fn renew(&self, fresh: ArrayState, attributes: Option<Map>) -> Result<()> {
        self.attributes().renew(own_attributes(&fresh).or(attributes))?;
        self.set_state(self.telling_of(fresh));
        Ok(())
    }

    /// What [`Array::renew`] does, with a state that was read while `seen` was the handle's, unless another thread has given it another one since,
    /// which may be newer; false then.
    pub(super) fn renew_after(&self, seen: &Arc<ArrayState>, fresh: ArrayState, attributes: Option<Map>) -> Result<bool> {
        self.attributes().renew(own_attributes(&fresh).or(attributes))?;
        Ok(self.set_state_after(seen, self.telling_of(fresh)))
    }

    /// Tells calls of this handle that are under way that another one has made the array longer, before the handle knows: they keep what they find
    /// behind the end that they know, stored or waiting.
    pub(super) fn telling_of(&self, fresh: ArrayState) -> ArrayState {
        let (old, new) = (self.shape(), &fresh.meta.shape);
        if old.len() != new.len() || old.iter().zip(new).all(|(old, new)| old >= new) {
            return fresh;
        }
        drop(self.begin_growth());
        fresh.knowing(self.growths().as_of_now())
    }

    /// Waits until dimension `dim` is longer than `beyond`, and gives its length, which is the handle's from then on. The document is looked
    /// at again after pauses that grow from 1 to 64 ms (0.1 to 1.6 s where the store has latency); of a file its times tell whether it
    /// has to be read. It is looked at once in any case: where another program has cut steps that the handle knew, they are waited for. Errors: `Timeout` after `timeout`; any error of reading the document ends it at once.
    pub fn wait_growth(&self, dim: usize, beyond: u64, timeout: Duration) -> Result<u64> {
        let (mut pauses, format, store) = (Pauses::new(self.store(), timeout), self.format(), self.store().shared());
        let (key, near) = (path::join(self.path(), array_document(format)), !store.capabilities().latency);
        let (mut seen, mut is_new): (Option<Stamp>, bool) = (None, true);
        let mut length = length_of(&self.shape(), dim)?;
        while std::mem::take(&mut is_new) || length <= beyond {
            let mark = if near { store.stamp(&key).map_err(|e| e.at_key(&key))? } else { None };
            if mark.is_none() || mark != seen {
                let known = self.state();
                let fresh = self.read_fresh(format)?;
                length = length_of(&fresh.meta.shape, dim)?;
                if fresh.meta.shape != known.meta.shape && !self.set_state_after(&known, self.telling_of(fresh)) {
                    self.take_fresh(|_, fresh| Ok(fresh))?;
                    length = length_of(&self.shape(), dim)?;
                }
                if length > beyond {
                    continue;
                }
                seen = mark.filter(Stamp::is_settled);
            }
            if !pauses.sleep() {
                bail!(
                    Timeout,
                    "{} of {} is {length} long at the end of the wait, expected more than {beyond}",
                    counting::dimension(dim, self.rank()),
                    path::display(self.path())
                );
            }
        }
        Ok(length)
    }
}

/// The attributes of a document of version 3, which are in it.
fn own_attributes(state: &ArrayState) -> Option<Map> {
    (state.meta.format == Format::V3).then(|| v3::attributes(&state.meta.document).cloned().unwrap_or_default())
}

fn length_of(shape: &[u64], dim: usize) -> Result<u64> {
    match shape.get(dim) {
        Some(&length) => Ok(length),
        None => bail!(Bounds, "{} of an array of rank {}", counting::dimension(dim, shape.len()), shape.len()),
    }
}
