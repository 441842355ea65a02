//! An appender's looks at its array's document: whether the array is still its own, and the mark that makes it so.

use super::Appender;
use crate::counting;
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT};
use crate::metadata::ArrayMeta;
use crate::node::document;
use crate::node::state::ArrayState;
use crate::store::swap;
use std::sync::Arc;

impl Appender {
    /// Whether the array is to be claimed before anything of it is stored.
    pub(in crate::node) fn is_to_claim(&self) -> bool {
        self.claim.is_due()
    }

    /// Claims the array where that is due. A document that was replaced on a condition is not looked at again.
    pub(in crate::node) fn claim(&mut self) -> Result<()> {
        if !self.is_to_claim() {
            return Ok(());
        }
        let array = self.array.clone();
        let _lock = document::lock_often(array.store(), array.path(), document::array_document(array.format()))?;
        let claimed = swap::make(&**array.store().shared(), || {
            let (_, text) = self.look_checked()?;
            if self.claim.is_due() { self.put_claim(text) } else { Ok(()) }
        });
        self.or_lost(claimed)
    }

    /// Looks whether the document has the length that this appender gave it, and may get the length `end`; claims the array where that is due.
    pub(in crate::node) fn look_again(&mut self, end: u64) -> Result<()> {
        self.end_after(end.saturating_sub(self.position))?;
        self.alone(|_, _| Ok(()))
    }

    /// Looks whether the document has the length that this appender gave it, and claims nothing.
    pub(in crate::node) fn look_only(&mut self) -> Result<()> {
        let looked = self.look_checked().map(drop);
        self.or_lost(looked)
    }

    /// Does what stores chunks, with the array's document locked, after a look whether it has the length that this appender gave it: what
    /// another one has appended is not overwritten.
    pub(super) fn alone(&mut self, work: impl FnOnce(&mut Self, Arc<ArrayState>) -> Result<()>) -> Result<()> {
        let array = self.array.clone();
        let _lock = document::lock_often(array.store(), array.path(), document::array_document(array.format()))?;
        let looked = swap::make(&**array.store().shared(), || self.look_alone());
        let fresh = self.or_lost(looked)?;
        if [Some(self.published), self.doubtful].into_iter().flatten().any(|end| !end.is_multiple_of(self.depth)) {
            self.growing.get_or_insert_with(|| array.begin_growth());
        }
        work(self, fresh)
    }

    /// Gives what a look at the document has found. Where that is another one's by now, steps of this appender that are stored are not published any
    /// more: whatever length there is, is somebody else's.
    fn or_lost<T>(&mut self, looked: Result<T>) -> Result<T> {
        looked.inspect_err(|e| {
            if e.kind() == ErrorKind::State {
                (self.growing, self.doubtful) = (None, None);
            }
        })
    }

    /// The array as its document says now, which this appender claims first where that is due. Errors: those of [`Appender::look_checked`].
    pub(super) fn look_alone(&mut self) -> Result<Arc<ArrayState>> {
        loop {
            let (fresh, text) = self.look_checked()?;
            if !self.claim.is_due() {
                return Ok(fresh);
            }
            self.put_claim(text)?;
        }
    }

    /// Gives what [`Appender::look`] does. Errors: `State` if the array has another length than this appender gave it, is claimed by another one, or
    /// was erased or replaced by this process.
    fn look_checked(&mut self) -> Result<(Arc<ArrayState>, Vec<u8>)> {
        self.first.check_there()?;
        let (fresh, text) = self.look()?;
        self.folder.check(&self.array)?;
        self.check_length(&fresh)?;
        Ok((fresh, text))
    }

    /// Stores the document, `text` as it was read, with the mark of this appender, which has the array from then on.
    fn put_claim(&mut self, mut text: Vec<u8>) -> Result<()> {
        let key = self.array.document_key();
        if text.is_empty() {
            return Err(err!(Conflict, "the document was replaced while it was read").at_key(key));
        }
        self.claim.mark(&mut text);
        self.first.while_there(|| document::publish_text(self.array.store(), &key, &text, MAX_DOCUMENT, self.condition))?;
        self.claim.check(&text).map_err(|e| e.at_key(key))?;
        if std::mem::take(&mut self.is_beside_cut) {
            self.array.let_others_look();
        }
        Ok(())
    }

    fn check_length(&self, fresh: &ArrayState) -> Result<()> {
        let expected = |length: u64| fresh.meta.shape == self.shape_of(length);
        if !expected(self.published) && !self.doubtful.is_some_and(expected) {
            let known = self.shape_of(self.published);
            let (found, known) = (counting::shape(&fresh.meta.shape), counting::shape(&known));
            let this = if self.silent { "series" } else { "appender" };
            let e = err!(
                State,
                "the array has shape {found} by now, this {this} expected {known}: another program or another call of this one has changed it; \
                 close this {this}, which has written over nothing that is published"
            );
            return Err(e.at_field("shape").at_key(self.array.document_key()));
        }
        Ok(())
    }

    /// The array as its document says now, and the text of that unless it is the one that this appender published.
    fn look(&mut self) -> Result<(Arc<ArrayState>, Vec<u8>)> {
        let (store, state) = (self.array.store(), self.array.state());
        // Another state: the handle was told something meanwhile.
        self.known.take_if(|known| !Arc::ptr_eq(&known.state, &state));
        if let Some(known) = self.known.take() {
            let (now, condition) = document::read(store, &self.array.document_key(), MAX_CONSOLIDATED)?;
            self.condition = condition;
            if now.is_some_and(|now| now == known.text) {
                self.known = Some(known);
                return Ok((state, Vec::new()));
            }
        }
        let (fresh, text, condition) = self.array.read_with_text(self.array.format())?;
        self.condition = condition;
        self.claim.check(&text).and_then(|()| self.check_alike(&fresh)).map_err(|e| e.at_key(self.array.document_key()))?;
        Ok((Arc::new(fresh), text))
    }

    /// Errors: `State` if another array, whose chunks are not those of this appender, is in the place of this one.
    fn check_alike(&self, fresh: &ArrayState) -> Result<()> {
        let expected = ArrayMeta { shape: fresh.meta.shape.clone(), ..self.first.meta.clone() };
        match fresh.meta.difference(&expected)? {
            None => Ok(()),
            Some(text) => bail!(
                State,
                "the array has {text} by now: another program has replaced it; close this one, which has written nothing to the new one"
            ),
        }
    }
}
