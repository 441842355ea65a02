//! The stores that transformers make over a store: what they keep is stored when that is flushed, or when its last user is gone.

use crate::error::{Error, Result};
use crate::fork::{ForkPreserved, ForkReset};
use crate::limits;
use crate::store::registered::{Answer, AnswerDone, ByteRange, Calls, Can};
use crate::store::{SharedStore, Storage};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Those over one store, of arrays that are open.
#[derive(Default)]
pub(super) struct Transformed {
    stores: ForkPreserved<Vec<Weak<dyn Storage>>>,
    lost: Arc<ForkPreserved<Option<Error>>>,
}

impl Transformed {
    /// Knows stores, each over the next one, for as long as they are used.
    pub(super) fn note(&self, stores: &[SharedStore]) {
        self.stores.write(|all| {
            all.retain(|store| store.strong_count() > 0);
            all.extend(stores.iter().map(Arc::downgrade));
        });
    }

    /// Gives functions that do what `calls` do, and are flushed when their last user is gone: states of arrays come and go.
    pub(super) fn until_flushed(&self, calls: Arc<dyn Calls>) -> Arc<dyn Calls> {
        Arc::new(UntilFlushed { calls, has_put: ForkReset::new(AtomicBool::default), lost: self.lost.clone() })
    }

    /// Flushes all, those that are made over others first. Errors: also of those whose last user is gone.
    pub(super) fn flush(&self) -> Result<()> {
        let all = self.stores.read(|all| limits::collect(all.iter().cloned()))?;
        let mut flushed = Ok(());
        // None but the one whose turn it is: another whose last user goes meanwhile is flushed by that.
        for store in all.iter().filter_map(Weak::upgrade) {
            flushed = flushed.and(store.flush());
        }
        self.lost.replace(None).map_or(flushed, Err)
    }
}

/// See [`Transformed::until_flushed`].
struct UntilFlushed {
    calls: Arc<dyn Calls>,
    /// Whether anything was changed since the last flush. A child of `fork` leaves that to its parent.
    has_put: ForkReset<AtomicBool>,
    lost: Arc<ForkPreserved<Option<Error>>>,
}

impl UntilFlushed {
    fn noting<T>(&self, change: impl FnOnce() -> T) -> T {
        let changed = change();
        self.has_put.get().store(true, Ordering::Release);
        changed
    }
}

impl Drop for UntilFlushed {
    fn drop(&mut self) {
        if self.has_put.get().load(Ordering::Acquire)
            && let Err(e) = self.calls.flush()
        {
            // The next flush of the store tells it.
            drop(self.lost.replace(Some(e)));
        }
    }
}

impl Calls for UntilFlushed {
    fn name(&self) -> &str {
        self.calls.name()
    }

    fn can(&self) -> Can {
        self.calls.can()
    }

    fn get(&self, key: &str) -> Result<Option<Answer>> {
        self.calls.get(key)
    }

    fn get_ranges(&self, key: &str, ranges: &[ByteRange]) -> Result<Option<Answer>> {
        self.calls.get_ranges(key, ranges)
    }

    fn start(&self, key: &str, ranges: &[ByteRange], done: AnswerDone) {
        self.calls.start(key, ranges, done);
    }

    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.noting(|| self.calls.put(key, bytes))
    }

    fn put_if(&self, key: &str, bytes: &[u8], token: Option<&[u8]>) -> Result<()> {
        self.noting(|| self.calls.put_if(key, bytes, token))
    }

    fn erase(&self, key: &str) -> Result<bool> {
        self.noting(|| self.calls.erase(key))
    }

    fn erase_prefix(&self, prefix: &str) -> Result<()> {
        self.noting(|| self.calls.erase_prefix(prefix))
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.calls.list(prefix)
    }

    fn list_dir(&self, prefix: &str) -> Result<Vec<String>> {
        self.calls.list_dir(prefix)
    }

    fn flush(&self) -> Result<()> {
        // What is changed meanwhile is noted behind this.
        self.has_put.get().store(false, Ordering::Release);
        self.calls.flush().inspect_err(|_| self.has_put.get().store(true, Ordering::Release))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_store::{Next, Told};
    use super::{SharedStore, Transformed};
    use crate::store::memory::MemoryStore;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_store_whose_last_user_goes_while_others_are_flushed_goes_with_it() {
        let (used, all) = (Arc::new(Mutex::new(None::<SharedStore>)), Transformed::default());
        let (last, alive) = (used.clone(), Arc::new(()));
        let is_used = Arc::downgrade(&alive);
        let tell_first = move |next: Next<'_>| {
            if matches!(next, Next::Flush) {
                drop(last.lock().unwrap().take());
                assert_eq!(is_used.strong_count(), 0);
            }
            Ok(())
        };
        let tell_second = move |_: Next<'_>| {
            let _ = &alive;
            Ok(())
        };
        let first: SharedStore = Arc::new(Told { inner: Arc::new(MemoryStore::new()), tell: tell_first, name: None });
        let second: SharedStore = Arc::new(Told { inner: Arc::new(MemoryStore::new()), tell: tell_second, name: None });
        all.note(&[first.clone(), second.clone()]);
        *used.lock().unwrap() = Some(second);
        all.flush().unwrap();
        assert!(used.lock().unwrap().is_none());
    }
}
