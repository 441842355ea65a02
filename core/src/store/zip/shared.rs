//! The archives that this process has open for writing: all handles on one of them share one store.

use super::closing::Closing;
use super::read::ArchiveBytes;
use super::write::look_at;
use super::{Append, ZipStore};
use crate::error::Result;
use crate::fork::{self, ForkReset, Lazy};
use crate::store::Object;
use crate::store::file_options::{FileOptions, SyncMode};
use crate::store::local::path::not_absolute;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// An archive that is open for writing, by the path of its file.
struct Written {
    path: PathBuf,
    store: Weak<ZipStore>,
    closing: Arc<Closing>,
}

static WRITTEN: Mutex<Vec<Written>> = Mutex::new(Vec::new());

/// Held while an archive is opened for writing, by what its path hashes to.
static OPENING: Lazy<ForkReset<[Mutex<()>; 16]>> = Lazy::new(|| ForkReset::new(Default::default));

/// The bytes of the longest path that any system opens.
const MOST_OF_PATH: usize = 32 << 10;
/// How many links systems follow.
const MOST_LINKS: u32 = 40;

impl ZipStore {
    /// Keeps from now on what one more handle asks of the file, too; fails where that cannot be kept.
    fn demand(&self, more: FileOptions) -> Result<()> {
        let Some(append) = &self.append else { return Ok(()) };
        let writer = self.lock_writer(append)?;
        let before = append.files.read(|files| *files);
        let both = before.stricter(more);
        if both == before {
            return Ok(());
        }
        append.files.write(|files| *files = both);
        let Some(writer) = &*writer else { return Ok(()) };
        let refusal = writer.refusal().inspect_err(|_| append.files.write(|files| *files = before))?;
        append.lock_refused.store(refusal, Ordering::Relaxed);
        // The file was made without that.
        if before.sync == SyncMode::None { writer.sync_folder() } else { Ok(()) }
    }

    /// The store, which knows itself from now on if it writes: one that only reads looks at the file by itself.
    fn shared(mut self) -> Arc<ZipStore> {
        Arc::new_cyclic(|own| {
            if self.append.is_some() {
                self.written_by = own.clone();
            }
            self
        })
    }

    /// A store that reads what this one does, and looks at the file by itself once this one is gone.
    fn for_reading(self: Arc<ZipStore>) -> Arc<ZipStore> {
        let Some(append) = &self.append else { return self };
        let mut reader = ZipStore::empty(self.shown.clone());
        (reader.top, reader.content) = (self.top.clone(), self.content.clone());
        (reader.read_from, reader.written_by) = (Some(append.path.clone()), Arc::downgrade(&self));
        Arc::new(reader)
    }

    /// Whether what is read and written is in the file at `path`: a program may have removed or replaced that, and begin anew while a handle is open.
    fn is_at(&self, path: &Path) -> Result<bool> {
        let Some(append) = &self.append else { return Ok(true) };
        // No first put makes the file meanwhile.
        match &*append.writer.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => writer.is_at_unchanged(path),
            None => self.is_as_read(append, path),
        }
    }

    /// Whether the file at `path` is the one that was read, as long as it was; where nothing was read, whether there is nothing.
    fn is_as_read(&self, append: &Append, path: &Path) -> Result<bool> {
        let len = append.old.as_ref().map_or(0, |old| old.len);
        match (self.content.read(|content| content.source.clone()).as_deref(), look_at(path)?) {
            (_, Some(st)) if st.st_size != len as i64 => Ok(false),
            (Some(ArchiveBytes::Near(Object::File(file))), Some(st)) => file.is_file(&st),
            (source, there) => Ok(source.is_none() || there.is_some()),
        }
    }
}

/// The archive at `path`, shared with all of this process that have it open for writing. What one of them asks of the file holds for all. One
/// that only reads does not keep the file open for writing.
pub fn open_shared(path: &Path, writable: bool, files: impl Into<FileOptions>) -> Result<Arc<ZipStore>> {
    let (path, files) = (resolved(path)?, files.into());
    if writable {
        let store = open_alone(&path, true, files)?;
        store.demand(files)?;
        return Ok(store);
    }
    let store = match open_already(&path, None)? {
        Some(store) => store,
        // Another thread may have begun to write meanwhile.
        None => ZipStore::open(&path, false, files).map(Arc::new).or_else(|_| open_alone(&path, false, files))?,
    };
    Ok(store.for_reading())
}

/// What [`open_shared`] opens, while no other thread begins to write to it.
fn open_alone(path: &Path, writable: bool, files: FileOptions) -> Result<Arc<ZipStore>> {
    let locks = OPENING.get().get();
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    let _alone = locks[hasher.finish() as usize % locks.len()].lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(store) = open_already(path, None)? {
        return Ok(store);
    }
    let store = ZipStore::open(path, writable, files)?.shared();
    Ok(if writable { open_already(path, Some(&store))?.unwrap_or(store) } else { store })
}

/// The store that has `path` open for writing in this process, or `new`, which then has. It is asked while nothing is locked: a put may be at work
/// in it that waits for the gate of [`fork::hold`]; and dropping the last reference writes to the file. One that is about to is waited for.
pub(super) fn open_already(path: &Path, new: Option<&Arc<ZipStore>>) -> Result<Option<Arc<ZipStore>>> {
    loop {
        let (found, closing) = in_written(|written| known(written, path));
        if let Some(store) = found.as_ref().filter(|store| store.process == fork::forks())
            && store.is_at(path)?
        {
            return Ok(Some(store.clone()));
        }
        if let (None, Some(closing)) = (&found, closing) {
            closing.wait();
        }
        let Some((new, append)) = new.and_then(|new| Some((new, new.append.as_ref()?))) else { return Ok(None) };
        // What was not asked yet is not replaced: another thread may have been faster.
        let (is_put, _other) = in_written(|written| {
            let (now, _) = known(written, path);
            let is_put = now.as_ref().map(Arc::as_ptr) == found.as_ref().map(Arc::as_ptr);
            if is_put {
                written.retain(|known| known.path != path && (known.store.strong_count() > 0 || !known.closing.is_over()));
                written.push(Written { path: path.to_path_buf(), store: Arc::downgrade(new), closing: append.closes_last.closing() });
            }
            (is_put, now)
        });
        if is_put {
            return Ok(None);
        }
    }
}

/// The store at that path, and how far it is where it is gone.
fn known(written: &[Written], path: &Path) -> (Option<Arc<ZipStore>>, Option<Arc<Closing>>) {
    let known = written.iter().find(|known| known.path == path);
    (known.and_then(|known| known.store.upgrade()), known.map(|known| known.closing.clone()))
}

/// Looks at the list, or changes it: a child of `fork` never finds it locked.
fn in_written<T>(f: impl FnOnce(&mut Vec<Written>) -> T) -> T {
    let _no_fork = fork::hold();
    f(&mut WRITTEN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The path without links and `..`, also where it is not there yet: what is made has that path then.
fn resolved(path: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(path).map_err(|e| not_absolute(path, &e))?;
    // What the system cannot open anyway is not taken apart.
    if whole.as_os_str().len() > MOST_OF_PATH {
        return Ok(whole);
    }
    let (mut there, mut rest, mut links) = (whole.clone(), Vec::new(), MOST_LINKS);
    loop {
        if let Ok(mut found) = there.canonicalize() {
            for name in rest.into_iter().rev() {
                match name == ".." {
                    true => _ = found.pop(),
                    false => found.push(name),
                }
            }
            return Ok(found);
        }
        let (target, last) = (there.read_link(), there.components().next_back().map(|last| last.as_os_str().to_owned()));
        let (Some(last), true) = (last, there.pop()) else { return Ok(whole) };
        match target {
            // It leads to what is not there yet.
            Ok(target) if links > 0 => {
                links -= 1;
                there.push(target);
            }
            _ => rest.push(last),
        }
    }
}
