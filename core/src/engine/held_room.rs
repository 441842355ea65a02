//! Memory that is held while parts of chunks wait in write-back, and let go of where there is none left: to store what waits takes some.
//!
//! The process holds it once, for the largest chunk of which parts wait. Nobody touches it: it takes addresses and no pages.

use super::huge_pages::Pages;
use super::lock::lock;
use crate::fork::{ForkReset, Lazy};
use crate::limits::check_memory;
use crate::per_thread;
use std::sync::Mutex;

static ROOM: Lazy<ForkReset<Mutex<Room>>> = Lazy::new(|| ForkReset::new(Mutex::default));

#[derive(Default)]
struct Room {
    held: Option<Pages>,
    /// How many bytes are to be held.
    wanted: usize,
    holders: usize,
    /// How many threads use what was held.
    used_by: usize,
}

/// What contexts of codecs and names take, besides the chunk in three buffers: as it was stored, decoded and changed, and encoded.
const BESIDE: usize = 4 << 20;

/// One write-back, for which the memory is held until this is dropped.
pub(super) struct HeldRoom(());

impl HeldRoom {
    pub fn new() -> HeldRoom {
        lock(ROOM.get().get()).holders += 1;
        HeldRoom(())
    }

    /// Holds enough to store a chunk of `bytes`, unless there is not as much.
    pub fn holds(&self, bytes: usize) -> bool {
        let room = &mut *lock(ROOM.get().get());
        let needed = bytes.saturating_mul(3).saturating_add(BESIDE).max(room.wanted);
        if room.held.is_none() || room.wanted < needed {
            // A thread that uses what was held may need more. The smaller one goes when the larger one is there.
            let larger = if room.used_by > 0 { None } else { Pages::new(needed, true).ok() };
            let Some(larger) = larger else { return false };
            (room.held, room.wanted) = (Some(larger), needed);
        }
        true
    }
}

impl Drop for HeldRoom {
    fn drop(&mut self) {
        let mut room = lock(ROOM.get().get());
        // A child of `fork` begins with 0.
        room.holders = room.holders.saturating_sub(1);
        if room.holders == 0 {
            (room.held, room.wanted) = (None, 0);
        }
    }
}

/// The time in which a thread uses what was held.
pub(super) struct InUse(());

/// Lets go of the memory, until the result is dropped. What memory ended in before is over.
pub(super) fn let_go() -> InUse {
    per_thread::give_back();
    let mut room = lock(ROOM.get().get());
    room.used_by += 1;
    room.held = None;
    drop(room);
    let _ = check_memory();
    InUse(())
}

impl Drop for InUse {
    fn drop(&mut self) {
        per_thread::give_back();
        let room = &mut *lock(ROOM.get().get());
        room.used_by = room.used_by.saturating_sub(1);
        if room.used_by == 0 && room.holders > 0 {
            // Where it cannot be held again, no further chunk waits.
            room.held = Pages::new(room.wanted, true).ok();
        }
    }
}
