//! Options of stores of local files.

use crate::error::{Result, bail};

/// When what was put survives a power cut. Kills and crashes of the program never lose or tear anything in any mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// When the system gets to it.
    None,
    /// At [`Store::flush`]; and a key that existed at the last flush is synced before each replacement, so that no old
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
            _ => bail!(Argument, "sync mode {name:?} is not one of none, batch, each"),
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
