//! Locks on bytes of open files, which belong to a handle.

use super::nt::{self, Handle, Overlapped};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The locks that handles have: which, first byte, number of bytes. Windows gives each back by itself, and lets nobody take one over its own.
static LOCKS: Mutex<Vec<(Handle, u64, u64)>> = Mutex::new(Vec::new());
static LOCKED: AtomicUsize = AtomicUsize::new(0);

/// Gives a handle's locks back.
pub fn give_back(fd: Handle) {
    if LOCKED.load(Relaxed) == 0 {
        return;
    }
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    locks.retain(|&(holder, first, len)| {
        if holder == fd {
            // SAFETY: no memory is involved but the place.
            unsafe { nt::UnlockFileEx(fd, 0, len as u32, (len >> 32) as u32, &mut Overlapped::at(first)) };
        }
        holder != fd
    });
    LOCKED.store(locks.len(), Relaxed);
}

/// Locks a span of bytes, alone or shared with others, and waits for it or not.
pub fn take(fd: Handle, (first, len): (u64, u64), alone: bool, waits: bool) -> Result<(), i32> {
    let flags = if alone { nt::LOCK_ALONE } else { 0 } | if waits { 0 } else { nt::LOCK_AT_ONCE };
    // SAFETY: the place lives through the call, which waits until it is done.
    if unsafe { nt::LockFileEx(fd, flags, 0, len as u32, (len >> 32) as u32, &mut Overlapped::at(first)) } == 0 {
        return Err(nt::last());
    }
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    locks.push((fd, first, len));
    LOCKED.store(locks.len(), Relaxed);
    Ok(())
}
