//! Folders for tests.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder, or a file, of one test, which is not there at first, and goes with this value.
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// One whose name ends in `name`, which nothing else has.
    pub fn new(name: &str) -> TestFolder {
        TestFolder::below(&std::env::temp_dir(), name)
    }

    /// One that is there already.
    pub fn made(name: &str) -> TestFolder {
        let mut folder = TestFolder::new(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder.0 = folder.canonicalize().unwrap();
        folder
    }

    /// One below `top`.
    pub fn below(top: &Path, name: &str) -> TestFolder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = TestFolder(top.join(format!("ozarr-{process}-{number}-{name}")));
        folder.remove();
        folder
    }

    fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.0).or_else(|_| std::fs::remove_file(&self.0));
    }
}

/// The names in a folder, hidden ones as well, in order.
pub fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TestFolder {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        self.remove();
    }
}
