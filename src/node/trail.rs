//! The folders from a group down to one below it: a link that leads back to one of them is not followed.

use super::{Format, Store, path};
use crate::metadata::{v2, v3};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a group and those above it are, as far as they are in files. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Trail(Option<Arc<Step>>);

struct Step {
    folder: PathBuf,
    up: Trail,
}

impl Trail {
    /// Begins at a group.
    pub fn of(store: &Store, path: &str, format: Format) -> Trail {
        let key = path::join(path, if format == Format::V3 { v3::DOCUMENT } else { v2::GROUP });
        Trail::default().to(store, path, &key).unwrap_or_default()
    }

    /// Goes on to a group below, whose document is at `key`; `None` if a link leads from there back to a group above.
    pub fn to(&self, store: &Store, path: &str, key: &str) -> Option<Trail> {
        let file = |key: &str| store.shared().file(key);
        // The document of a group may be a link itself. The root has no key, and groups of the first draft have no folder of their own.
        let folder = file(path).or_else(|| file(key)?.parent().map(Path::to_path_buf));
        let Some(folder) = folder else { return Some(self.clone()) };
        let mut above = &self.0;
        while let Some(step) = above {
            // A folder around one of them leads to it again, also one above the group that the trail began at.
            if step.folder.starts_with(&folder) {
                return None;
            }
            above = &step.up.0;
        }
        Some(Trail(Some(Arc::new(Step { folder, up: self.clone() }))))
    }
}
