//! Servers that are known to keep conditions of puts: a process asks each of them once, and not with each store that it opens.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The last ones, and how many there were.
static KNOWN: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Tells servers apart, and buckets and keys to sign with: a proxy may lead each to another place.
pub(super) fn server(endpoint_bucket_keys_and_proxy: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    endpoint_bucket_keys_and_proxy.hash(&mut hasher);
    hasher.finish()
}

/// Whether a server is known to keep conditions.
pub(super) fn is_known(server: u64) -> bool {
    KNOWN.iter().any(|known| known.load(Ordering::Relaxed) == server)
}

/// Keeps in mind that a server does.
pub(super) fn remember(server: u64) {
    KNOWN[COUNT.fetch_add(1, Ordering::Relaxed) % KNOWN.len()].store(server, Ordering::Relaxed);
}
