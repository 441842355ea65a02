//! What the handles on stores share: threads and locks.

use crate::engine::lock::{ChunkLocks, KeyLocks};
use crate::engine::pool::Pool;
use crate::fork::Lazy;
use std::sync::Arc;

/// The threads that calls may use, and the locks that keep writers of this process apart. Clones share both.
#[derive(Clone)]
pub struct Context {
    pub(super) pool: Arc<Pool>,
    pub(super) chunk_locks: Arc<ChunkLocks>,
    pub(super) document_locks: Arc<KeyLocks>,
}

impl Default for Context {
    /// The context of programs that do not ask for one: `OZARR_NUM_THREADS` threads, else as many as the process may run on.
    fn default() -> Context {
        static SHARED: Lazy<Context> =
            Lazy::new(|| Context { pool: Pool::shared(), chunk_locks: ChunkLocks::new(), document_locks: KeyLocks::new() });
        SHARED.get().clone()
    }
}

impl Context {
    /// A context whose calls use up to `n` threads, the caller's included (at least 1). The locks are those of the process,
    /// because handles of two contexts may stand on one array.
    pub fn with_threads(n: usize) -> Context {
        Context { pool: Pool::new(n.max(1)), ..Context::default() }
    }
}
