//! Handles: opaque pointers whose bits are a tag, a kind, a generation and a slot, never an address.
//!
//! Each kind of handle has one static [`Table`]. A slot's atomic word holds its generation, an open bit and
//! the number of references (the handle's own is one of them). Look-up is one compare-and-exchange; nothing
//! here takes a lock, so a fork at any moment leaves the tables usable in the child. Slots live in blocks
//! that are never freed: a stale, doubly freed, wrong or invented handle is told from a good one without
//! touching memory that may be gone. A slot whose generations are used up is never used again.
//!
//! The bits, from the top: tag 8 (`0x5a`), kind 8 (`0x40` and the number), generation 26, slot 22. The
//! upper 16 bits are not canonical on x86-64 (nor with 57-bit addresses) and on aarch64 (nor with
//! top-byte-ignore): a handle that is dereferenced by mistake traps at once.

use crate::error::{Error, Result, bail, err};
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::*;

const SLOT_BITS: u32 = 22;
const GENERATION_BITS: u32 = 26;
const MAX_SLOTS: u32 = 1 << SLOT_BITS;
const MAX_GENERATION: u32 = (1 << GENERATION_BITS) - 1;
const TAG: u64 = 0x5a;
const KIND_MARK: u64 = 0x40;

/// In a slot's word: generation in the upper half, then the open bit, then the references.
const OPEN: u64 = 1 << 31;
const REFERENCES: u64 = OPEN - 1;

/// Slots of the first block; every further block is twice as large.
const FIRST_BLOCK: u32 = 64;
const BLOCKS: usize = 17;

/// The kinds of objects that handles name. The number is part of the handle's bits; the text is the handle's type in C.
macro_rules! handle_kinds {
    ($($kind:ident = $number:literal, $name:literal;)+) => {
        /// The kind of object that a handle names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum HandleKind {
            $(#[doc = $name] $kind = $number,)+
        }

        impl HandleKind {
            const ALL: &[HandleKind] = &[$(HandleKind::$kind),+];

            fn c_name(self) -> &'static str {
                match self {
                    $(HandleKind::$kind => $name,)+
                }
            }
        }
    };
}
handle_kinds! {
    Context = 1, "ozarr_context";
    Store = 2, "ozarr_store";
    Group = 3, "ozarr_group";
    Array = 4, "ozarr_array";
    Spec = 5, "ozarr_spec";
    Iter = 6, "ozarr_node_iter";
    Varlen = 7, "ozarr_varlen";
    Dtype = 8, "ozarr_dtype";
    ChunkIter = 9, "ozarr_chunk_iter";
    ShardWriter = 10, "ozarr_shard_writer";
    Appender = 13, "ozarr_appender";
    Dataset = 14, "ozarr_dataset";
    Request = 15, "ozarr_request";
    Series = 16, "ozarr_series";
    Answer = 32, "ozarr_answer";
    Keys = 33, "ozarr_keys";
}

/// The kind that the bits of `handle` name, whether it is open or not; `None` if they are not those of a handle.
pub(crate) fn kind_of(handle: *const c_void) -> Option<HandleKind> {
    let bits = handle as usize as u64;
    HandleKind::ALL.iter().copied().find(|&kind| bits >> 48 == TAG << 8 | KIND_MARK | kind as u64)
}

/// The error of a handle of another kind than `expected` names.
#[cold]
pub(crate) fn refuse(handle: *const c_void, argument: &str, expected: &str) -> Error {
    if handle.is_null() {
        return err!(Null, "the argument `{argument}` is NULL, expected an {expected}: none was opened, or it is closed");
    }
    match kind_of(handle) {
        Some(kind) => err!(InvalidHandle, "the argument `{argument}` is an {}, expected an {expected}", kind.c_name()),
        None => err!(InvalidHandle, "the argument `{argument}` is no handle of ozarr, expected an {expected}"),
    }
}

/// A C handle type, tied to the type of its objects and to its table.
pub(crate) trait Handle: Sized + 'static {
    /// The type of the objects that handles of this type name.
    type Object: Send + Sync + 'static;

    /// The one table of this kind.
    fn table() -> &'static Table<Self::Object>;

    /// Puts `object` into the table and gives its handle.
    fn insert(object: Self::Object) -> Result<*mut Self> {
        Ok(Self::table().insert(object)? as usize as *mut Self)
    }

    /// The object of a handle, kept alive as long as the result; `argument` names it in errors.
    fn get(handle: *const Self, argument: &str) -> Result<Ref<Self::Object>> {
        Self::table().get(handle.cast(), argument)
    }

    /// Ends a handle: no later look-up finds it. The object lives on in the result and in calls that still run.
    fn close(handle: *const Self, argument: &str) -> Result<Ref<Self::Object>> {
        Self::table().close(handle.cast(), argument)
    }

    /// Ends a handle; does nothing for NULL.
    fn free(handle: *mut Self, argument: &str) -> Result<()> {
        if handle.is_null() { Ok(()) } else { Self::close(handle, argument).map(drop) }
    }
}

/// Says what a type of handles refers to.
macro_rules! handle_type {
    ($c:ident, $kind:ident, $object:ty) => {
        impl $crate::ffi::handle::Handle for $c {
            type Object = $object;

            fn table() -> &'static $crate::ffi::handle::Table<$object> {
                static TABLE: $crate::ffi::handle::Table<$object> = $crate::ffi::handle::Table::new($crate::ffi::handle::HandleKind::$kind);
                &TABLE
            }
        }
    };
}
pub(super) use handle_type;

/// What the places of all kinds begin with.
#[repr(C)]
struct Slot {
    word: AtomicU64,
    /// The next free slot's number plus 1; 0 is the end of the list.
    next_free: AtomicU32,
}

/// A slot with its object, which is there while the slot is open or has references. All bytes zero are a place without one.
#[repr(C)]
struct SlotObject<T> {
    slot: Slot,
    object: UnsafeCell<MaybeUninit<T>>,
}

/// Where a slot is, and behind it its place.
#[derive(Clone, Copy)]
struct SlotPointer(NonNull<Slot>);

impl SlotPointer {
    fn object<T>(self) -> *mut T {
        // SAFETY: no more than an address in the slot's place, whose block is never freed.
        unsafe { UnsafeCell::raw_get(&raw const (*self.0.as_ptr().cast::<SlotObject<T>>()).object).cast() }
    }
}

impl Deref for SlotPointer {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        // SAFETY: made by `Slots::slot`, in a block that is never freed.
        unsafe { self.0.as_ref() }
    }
}

/// The slots of one kind, whatever its objects are.
struct Slots {
    kind: HandleKind,
    /// The layout of a place.
    place: Layout,
    blocks: [AtomicPtr<u8>; BLOCKS],
    /// The number of slots that were ever given out.
    used: AtomicU32,
    /// The head of the list of free slots: a counter against ABA in the upper half, the slot's number plus 1 in
    /// the lower.
    free: AtomicU64,
}

/// All handles of one kind.
pub(crate) struct Table<T> {
    slots: Slots,
    objects: PhantomData<T>,
}

// SAFETY: a slot's object is written only by the thread that owns the slot alone (taken from the free list, or its last reference
// gone), and shared by reference in between.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

/// A reference to a handle's object. The object is dropped with the last one after the handle was closed.
pub(crate) struct Ref<T: Send + Sync + 'static> {
    slots: &'static Slots,
    slot: SlotPointer,
    number: u32,
    object: PhantomData<&'static T>,
}

impl<T: Send + Sync + 'static> Table<T> {
    pub(crate) const fn new(kind: HandleKind) -> Table<T> {
        let (blocks, place) = ([const { AtomicPtr::new(null_mut()) }; BLOCKS], Layout::new::<SlotObject<T>>());
        let slots = Slots { kind, place, blocks, used: AtomicU32::new(0), free: AtomicU64::new(0) };
        Table { slots, objects: PhantomData }
    }

    fn insert(&'static self, object: T) -> Result<u64> {
        let (number, slot) = self.slots.vacant_slot()?;
        // SAFETY: the slot was taken from the free list (or is new), it is closed and has no references: no one else looks at it. Its
        // place was made for a `T`.
        unsafe { slot.object::<T>().write(object) };
        let generation = slot.word.load(Relaxed) >> 32;
        slot.word.store(generation << 32 | OPEN | 1, Release);
        Ok(self.slots.bits(generation as u32, number))
    }

    fn get(&'static self, handle: *const c_void, argument: &str) -> Result<Ref<T>> {
        self.slots.take_reference(handle, argument).map(|found| self.reference(found))
    }

    fn close(&'static self, handle: *const c_void, argument: &str) -> Result<Ref<T>> {
        // The handle's own reference goes over to the result.
        self.slots.close(handle, argument).map(|found| self.reference(found))
    }

    fn reference(&'static self, (number, slot): (u32, SlotPointer)) -> Ref<T> {
        Ref { slots: &self.slots, slot, number, object: PhantomData }
    }
}

/// Compiled once for all kinds.
impl Slots {
    fn bits(&self, generation: u32, number: u32) -> u64 {
        TAG << 56 | (KIND_MARK | self.kind as u64) << 48 | (generation as u64) << SLOT_BITS | number as u64
    }

    fn take_reference(&self, handle: *const c_void, argument: &str) -> Result<(u32, SlotPointer)> {
        self.change(handle, argument, |word| word + 1)
    }

    fn close(&self, handle: *const c_void, argument: &str) -> Result<(u32, SlotPointer)> {
        self.change(handle, argument, |word| word & !OPEN)
    }

    /// Changes the word of an open slot of the right generation; any other handle is an error.
    fn change(&self, handle: *const c_void, argument: &str, to: impl Fn(u64) -> u64) -> Result<(u32, SlotPointer)> {
        let Some((generation, number)) = self.parse(handle) else { return Err(self.refuse(handle, argument)) };
        let Some(slot) = self.slot(number) else { return Err(self.refuse(handle, argument)) };
        let changed = slot.word.fetch_update(AcqRel, Acquire, |word| {
            let good = word >> 32 == generation as u64 && word & OPEN != 0 && word & REFERENCES < REFERENCES;
            good.then(|| to(word))
        });
        match changed {
            Ok(_) => Ok((number, slot)),
            Err(_) => Err(self.refuse(handle, argument)),
        }
    }

    fn parse(&self, handle: *const c_void) -> Option<(u32, u32)> {
        let bits = handle as usize as u64;
        let number = bits as u32 & (MAX_SLOTS - 1);
        let generation = (bits >> SLOT_BITS) as u32 & MAX_GENERATION;
        (bits >> 48 == TAG << 8 | KIND_MARK | self.kind as u64).then_some((generation, number))
    }

    #[cold]
    fn refuse(&self, handle: *const c_void, argument: &str) -> Error {
        let expected = self.kind.c_name();
        match kind_of(handle) {
            Some(kind) if kind == self.kind => {
                err!(InvalidHandle, "the argument `{argument}` is an {expected} that was freed or closed before")
            }
            _ => refuse(handle, argument, expected),
        }
    }

    /// The block and the place in it of a slot.
    fn place(number: u32) -> (usize, usize) {
        let block = (number / FIRST_BLOCK + 1).ilog2();
        let first = FIRST_BLOCK * ((1 << block) - 1);
        (block as usize, (number - first) as usize)
    }

    fn slot(&self, number: u32) -> Option<SlotPointer> {
        let (block, index) = Self::place(number);
        let start = NonNull::new(self.blocks.get(block)?.load(Acquire))?;
        // SAFETY: a block that is published holds `FIRST_BLOCK << block` places, is never freed, and `index` is smaller than that. Each
        // place begins with its slot.
        Some(SlotPointer(unsafe { start.add(index * self.place.size()) }.cast()))
    }

    fn vacant_slot(&self) -> Result<(u32, SlotPointer)> {
        if let Some(found) = self.pop_free() {
            return Ok(found);
        }
        let Ok(number) = self.used.fetch_update(AcqRel, Acquire, |n| (n < MAX_SLOTS).then_some(n + 1)) else {
            bail!(Limit, "{MAX_SLOTS} handles of type {} are open, the most that are possible", self.kind.c_name());
        };
        let (block, _) = Self::place(number);
        self.ensure_block(block)?;
        match self.slot(number) {
            Some(slot) => Ok((number, slot)),
            None => bail!(Internal, "no block for the handle slot {number}"),
        }
    }

    fn ensure_block(&self, block: usize) -> Result<()> {
        if !self.blocks[block].load(Acquire).is_null() {
            return Ok(());
        }
        let count = (FIRST_BLOCK as usize) << block;
        let made = self.place.size().checked_mul(count).and_then(|size| Layout::from_size_align(size, self.place.align()).ok());
        let no_memory = || err!(NoMemory, "no memory for {count} handles");
        let layout = made.ok_or_else(no_memory)?;
        // SAFETY: a place has a slot at least, so that the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_memory)?;
        if self.blocks[block].compare_exchange(null_mut(), start.as_ptr(), AcqRel, Acquire).is_err() {
            // SAFETY: another thread published its block first; this one was never shared, and has no objects.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
        Ok(())
    }

    fn pop_free(&self) -> Option<(u32, SlotPointer)> {
        let mut head = self.free.load(Acquire);
        loop {
            let number = (head as u32).checked_sub(1)?;
            let slot = self.slot(number)?;
            let next = slot.next_free.load(Acquire) as u64;
            let counter = (head >> 32).wrapping_add(1) & u32::MAX as u64;
            match self.free.compare_exchange_weak(head, counter << 32 | next, AcqRel, Acquire) {
                Ok(_) => return Some((number, slot)),
                Err(now) => head = now,
            }
        }
    }

    fn push_free(&self, number: u32, slot: SlotPointer) {
        let mut head = self.free.load(Acquire);
        loop {
            slot.next_free.store(head as u32, Release);
            let counter = (head >> 32).wrapping_add(1) & u32::MAX as u64;
            match self.free.compare_exchange_weak(head, counter << 32 | (number as u64 + 1), AcqRel, Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Makes the slot, whose object was taken, vacant under a new generation.
    fn vacate(&self, number: u32, slot: SlotPointer) {
        let generation = (slot.word.load(Relaxed) >> 32) as u32;
        if generation < MAX_GENERATION {
            slot.word.store((generation as u64 + 1) << 32, Release);
            self.push_free(number, slot);
        }
    }
}

impl<T: Send + Sync> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the reference keeps the object in its slot, and nobody has it mutably meanwhile.
        unsafe { &*self.slot.object() }
    }
}

impl<T: Send + Sync> Drop for Ref<T> {
    fn drop(&mut self) {
        let before = self.slot.word.fetch_sub(1, AcqRel);
        if before & (OPEN | REFERENCES) == 1 {
            // SAFETY: closed and without references, the slot is this thread's alone until it is in the free list.
            let object = unsafe { self.slot.object::<T>().read() };
            self.slots.vacate(self.number, self.slot);
            drop(object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn table<T: Send + Sync + 'static>(kind: HandleKind) -> &'static Table<T> {
        Box::leak(Box::new(Table::new(kind)))
    }

    fn pointer(bits: u64) -> *const c_void {
        bits as usize as *const c_void
    }

    fn kind_of<T: Send + Sync + 'static>(table: &'static Table<T>, bits: u64) -> Option<ErrorKind> {
        table.get(pointer(bits), "x").err().map(|e| e.kind())
    }

    #[test]
    fn a_handle_finds_its_object_until_it_is_closed() {
        let t = table::<String>(HandleKind::Array);
        let (a, b) = (t.insert("a".into()).unwrap(), t.insert("b".into()).unwrap());
        assert_eq!((&**t.get(pointer(a), "x").unwrap(), &**t.get(pointer(b), "x").unwrap()), ("a", "b"));
        drop(t.close(pointer(a), "x").unwrap());
        assert_eq!(kind_of(t, a), Some(ErrorKind::InvalidHandle));
        assert_eq!(t.close(pointer(a), "x").err().unwrap().kind(), ErrorKind::InvalidHandle);
        let c = t.insert("c".into()).unwrap();
        assert_eq!(c & (MAX_SLOTS as u64 - 1), a & (MAX_SLOTS as u64 - 1), "the slot is used again");
        assert_eq!(kind_of(t, a), Some(ErrorKind::InvalidHandle), "under another generation");
        assert_eq!(&**t.get(pointer(c), "x").unwrap(), "c");
    }

    #[test]
    fn null_wrong_kinds_and_garbage_are_refused_by_name() {
        let (arrays, groups) = (table::<u8>(HandleKind::Array), table::<u8>(HandleKind::Group));
        let g = groups.insert(1).unwrap();
        let message = |bits| arrays.get(pointer(bits), "a").err().unwrap().message().to_string();
        assert_eq!(kind_of(arrays, 0), Some(ErrorKind::Null));
        assert_eq!(message(g), "the argument `a` is an ozarr_group, expected an ozarr_array");
        let on_stack = 5u64;
        for bits in [1, u64::MAX, &raw const on_stack as u64, g ^ 1 << 63, arrays.slots.bits(0, 7), arrays.slots.bits(0, MAX_SLOTS - 1)] {
            assert_eq!(kind_of(arrays, bits), Some(ErrorKind::InvalidHandle), "{bits:#x}");
        }
    }

    #[test]
    fn the_last_reference_drops_the_object() {
        let t = table::<Arc<()>>(HandleKind::Store);
        let watched = Arc::new(());
        let h = t.insert(watched.clone()).unwrap();
        let used = t.get(pointer(h), "x").unwrap();
        drop(t.close(pointer(h), "x").unwrap());
        assert_eq!(Arc::strong_count(&watched), 2, "a running call keeps the object");
        assert_eq!(kind_of(t, h), Some(ErrorKind::InvalidHandle));
        drop(used);
        assert_eq!(Arc::strong_count(&watched), 1);
    }

    #[test]
    fn handles_are_not_addresses() {
        let bits = table::<u8>(HandleKind::Iter).insert(0).unwrap();
        let sign_extended = |bits: u64, width: u32| ((bits << (64 - width)) as i64 >> (64 - width)) as u64;
        assert_ne!(sign_extended(bits, 48), bits);
        assert_ne!(sign_extended(bits, 57), bits);
        let ignored_top = bits << 8 >> 8;
        assert_ne!(sign_extended(ignored_top, 48) << 8 >> 8, ignored_top);
    }

    #[test]
    fn slots_grow_over_blocks() {
        let t = table::<u32>(HandleKind::Spec);
        let handles: Vec<u64> = (0..1000).map(|i| t.insert(i).unwrap()).collect();
        for (i, &h) in handles.iter().enumerate() {
            assert_eq!(*t.get(pointer(h), "x").unwrap(), i as u32);
        }
        assert_eq!(Slots::place(0), (0, 0));
        assert_eq!(Slots::place(63), (0, 63));
        assert_eq!(Slots::place(64), (1, 0));
        assert_eq!(Slots::place(MAX_SLOTS - 1).0, BLOCKS - 1);
    }

    #[test]
    fn a_handle_stays_closed_however_often_its_slot_is_used_again() {
        let t = table::<u8>(HandleKind::Spec);
        let first = t.insert(1).unwrap();
        let (generation, number) = t.slots.parse(pointer(first)).unwrap();
        drop(t.close(pointer(first), "x").unwrap());
        for bit in 0..GENERATION_BITS {
            t.slots.slot(number).unwrap().word.store(u64::from(generation ^ 1 << bit) << 32 | OPEN | 1, Release);
            assert_eq!(kind_of(t, first), Some(ErrorKind::InvalidHandle), "bit {bit} of the generation differs");
        }
    }

    #[test]
    fn a_slot_without_generations_left_is_retired() {
        let t = table::<u8>(HandleKind::Spec);
        let h = t.insert(1).unwrap();
        let (_, number) = t.slots.parse(pointer(h)).unwrap();
        t.slots.slot(number).unwrap().word.store((MAX_GENERATION as u64) << 32 | OPEN | 1, Release);
        drop(t.close(pointer(t.slots.bits(MAX_GENERATION, number)), "x").unwrap());
        assert_ne!(t.insert(2).unwrap() & (MAX_SLOTS as u64 - 1), number as u64);
    }

    /// Under Miri the orders of few steps are tried, many times.
    const TURNS: usize = if cfg!(miri) { 3 } else { 2000 };

    #[test]
    fn threads_open_use_and_close_at_once() {
        let t = table::<Arc<AtomicBool>>(HandleKind::Array);
        let alive = Arc::new(AtomicBool::new(true));
        let shared = t.insert(alive.clone()).unwrap();
        std::thread::scope(|s| {
            for _ in 0..if cfg!(miri) { 3 } else { 8 } {
                s.spawn(|| {
                    for _ in 0..TURNS {
                        let own = t.insert(alive.clone()).unwrap();
                        assert!(t.get(pointer(own), "x").unwrap().load(Relaxed));
                        drop(t.close(pointer(own), "x").unwrap());
                        assert!(t.get(pointer(own), "x").is_err());
                        if let Ok(found) = t.get(pointer(shared), "x") {
                            assert!(found.load(Relaxed));
                        }
                    }
                    // One of the threads wins, the others see a stale handle.
                    let _ = t.close(pointer(shared), "x");
                });
            }
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
