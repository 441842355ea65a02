//! What locks, requests and handles are made of: the standard library's, or loom's in the package `loom/`, which compiles the same files and
//! tries the orders in which their threads can take turns.

pub use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Numbers and pointers that threads change at once.
pub mod atomic {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
}
