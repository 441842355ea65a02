//! Options of stores of local files: when files are synced, and whether writers are kept apart by locks.

use crate::error::{Result, bail};

/// When what was put survives a power cut. Kills and crashes of the program never lose or tear anything in any mode. The later mode is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SyncMode {
    /// When the system gets to it.
    None,
    /// At [`super::Storage::flush`]; and a key that existed at the last flush is synced before each replacement, so that no old
    /// value is ever lost.
    #[default]
    Batch,
    /// When `put` returns.
    Each,
}

impl SyncMode {
    /// The mode of that name (`none`, `batch`, `each`).
    pub fn parse(name: &str) -> Result<SyncMode> {
        match name {
            "none" => Ok(SyncMode::None),
            "batch" => Ok(SyncMode::Batch),
            "each" => Ok(SyncMode::Each),
            _ => bail!(Argument, "\"file.sync\" is {name:?}, expected \"none\", \"batch\" or \"each\""),
        }
    }

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            SyncMode::None => "none",
            SyncMode::Batch => "batch",
            SyncMode::Each => "each",
        }
    }
}

/// Whether processes that change one chunk, or one document, are kept apart by locks of the file system. The earlier mode is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LockMode {
    /// Always: where the file system has no locks, changes of parts of chunks and of documents are errors.
    Require,
    /// Where the file system has locks; elsewhere the program is warned.
    #[default]
    Try,
    /// Never: the program sees to it that no two processes change one chunk or one document at the same time.
    None,
}

impl LockMode {
    const NAMES: [(&str, LockMode); 3] = [("require", LockMode::Require), ("try", LockMode::Try), ("none", LockMode::None)];

    /// Gives the mode of that name (`require`, `try`, `none`).
    pub fn parse(name: &str) -> Result<LockMode> {
        match LockMode::NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, mode)) => Ok(*mode),
            None => bail!(Argument, "\"file.lock\" is {name:?}, expected \"require\", \"try\" or \"none\""),
        }
    }

    /// Gives the name of the mode.
    pub fn name(self) -> &'static str {
        LockMode::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// When a folder that a store makes gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Publish {
    /// With the first value.
    #[default]
    Put,
    /// By the first flush; one that is never flushed goes.
    Flush,
}

/// The options of a store of local files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FileOptions {
    /// The option `"file.sync"`.
    pub sync: SyncMode,
    /// The option `"file.lock"`.
    pub lock: LockMode,
    /// The option `"file.publish"`.
    pub publish: Publish,
}

impl FileOptions {
    /// Sets one option from its texts; returns false if no option has that name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "file.sync" => self.sync = SyncMode::parse(value)?,
            "file.lock" => self.lock = LockMode::parse(value)?,
            "file.publish" => {
                self.publish = match value {
                    "put" => Publish::Put,
                    "flush" => Publish::Flush,
                    _ => bail!(Argument, "the option {name:?} is {value:?}, expected \"put\" or \"flush\""),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl FileOptions {
    /// What keeps both promises.
    pub fn stricter(self, other: FileOptions) -> FileOptions {
        FileOptions { sync: self.sync.max(other.sync), lock: self.lock.min(other.lock), ..self }
    }
}

impl From<SyncMode> for FileOptions {
    fn from(sync: SyncMode) -> FileOptions {
        FileOptions { sync, ..FileOptions::default() }
    }
}
