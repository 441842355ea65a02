//! Folders for tests.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder of one test, which is not there at first, and goes with this value.
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// That of a test with this name. No other test of the process has it.
    pub fn new(name: &str) -> TestFolder {
        let path = std::env::temp_dir().join(format!("ozarr-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        TestFolder(path)
    }
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
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
