//! Memory set aside for when `malloc` fails: what Rust code cannot refuse is served from it, and the call in which that happens ends with
//! `NoMemory` at the next point where it looks. `docs/design/memory-end.md` has the whole.
//!
//! [`Allocator`] is the system's allocator until the system has no memory. Then a request is served from `ARENA`, a static block that
//! takes no page of memory before its first use. Slots are taken and given back without locks, so that a `fork` at any moment leaves
//! the child a whole arena. What is too large for it and has no form that can be refused is built [`with_spare`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

/// Slots of one size.
struct SizeClass {
    size: usize,
    count: usize,
}

/// The sizes of slots, smallest first: 25 MiB in all. Most of what Rust code allocates without asking has less than 512 bytes; a client of the
/// network takes some hundred blocks of 1 or 2 KiB, for the certificates of the system's authorities, and each of its connections a few of 8 KiB.
const CLASSES: [SizeClass; 7] = [
    SizeClass { size: 64, count: 16384 },
    SizeClass { size: 512, count: 2048 },
    SizeClass { size: 4 << 10, count: 1024 },
    SizeClass { size: 16 << 10, count: 512 },
    SizeClass { size: 32 << 10, count: 32 },
    SizeClass { size: 256 << 10, count: 32 },
    SizeClass { size: 2 << 20, count: 1 },
];

/// The largest request that is served, in bytes. Larger ones must be refusable.
pub const LARGEST: usize = CLASSES[CLASSES.len() - 1].size;
/// The alignment of the arena, and the largest that a request may have.
const ALIGN: usize = 4096;
/// The bytes of all slots.
const BYTES: usize = offset(CLASSES.len());
/// The most bytes that [`take_small`] serves.
const SMALL: usize = 4 << 10;
/// The number of first classes that count for [`is_low`].
const COUNTED: usize = 4;
/// The bits of all slots, in words.
const WORDS: usize = first_word(CLASSES.len());

/// Where the slots of a class begin.
const fn offset(class: usize) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < class {
        sum += CLASSES[i].size * CLASSES[i].count;
        i += 1;
    }
    sum
}

/// The first word of a class's bits.
const fn first_word(class: usize) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < class {
        sum += CLASSES[i].count.div_ceil(64);
        i += 1;
    }
    sum
}

#[repr(C, align(4096))]
struct ReservedArena(UnsafeCell<MaybeUninit<[u8; BYTES]>>);

// SAFETY: bytes of the arena are reached through slots only, and a slot has one owner at a time.
unsafe impl Sync for ReservedArena {}

static ARENA: ReservedArena = ReservedArena(UnsafeCell::new(MaybeUninit::uninit()));
/// One bit for each slot: 1 where it is in use.
static TAKEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// Whether the reserve was ever used: as long as it was not, nothing else is looked at.
static USED: AtomicBool = AtomicBool::new(false);
/// How many slots of the classes that count are in use.
static IN_USE: [AtomicUsize; COUNTED] = [const { AtomicUsize::new(0) }; COUNTED];

thread_local! {
    /// Whether this thread was served from the reserve since it last asked.
    static ENDED: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread asks for what it can do without.
    static REFUSABLE: Cell<bool> = const { Cell::new(false) };
    /// The blocks that [`with_spare`] and [`with_growing`] set aside, and their sizes.
    static SPARES: [Cell<(*mut u8, usize)>; SPARE_BLOCKS] = const { [const { Cell::new((null_mut(), 0)) }; SPARE_BLOCKS] };
}

/// Returns whether this thread was served from the reserve since the last call.
pub fn take_ended() -> bool {
    USED.load(Relaxed) && ENDED.replace(false)
}

/// Notes for this thread that memory ended, without a slot that was served.
pub fn note_ended() {
    USED.store(true, Relaxed);
    ENDED.set(true);
}

/// Asks for memory that is refused where the system has none: the reserve is for what cannot be refused.
pub fn refusable<T>(ask: impl FnOnce() -> T) -> T {
    REFUSABLE.set(true);
    let got = ask();
    REFUSABLE.set(false);
    got
}

/// Blocks of up to this number of bytes are built without a spare one: the arena has slots for some at a time.
const UNSPARED: usize = 256 << 10;
/// The alignment of blocks that `malloc` gives.
const SPARE_ALIGN: usize = 16;

/// The most blocks that a thread sets aside at a time.
const SPARE_BLOCKS: usize = 48;
/// The most blocks that one list needs while it grows: each is twice as large as the one before.
const STEPS: usize = 20;

/// Calls `build`, which takes one block of at most `bytes` that it cannot refuse, such as that of a list behind a reference counter, with one
/// set aside for it that is handed out where the system has none by then; `None` where it has none now.
pub fn with_spare<T>(bytes: usize, build: impl FnOnce() -> T) -> Option<T> {
    if bytes <= UNSPARED {
        return Some(build());
    }
    let _unused = SpareBlock::new(bytes)?;
    Some(build())
}

/// Calls `build` like [`with_spare`], where what it builds grows, by doubling, to a block of at most `bytes`.
pub fn with_growing<T>(bytes: usize, build: impl FnOnce() -> T) -> Option<T> {
    let mut unused = [const { None }; STEPS];
    for (step, spare) in unused.iter_mut().enumerate().take_while(|(step, _)| bytes >> step > UNSPARED) {
        *spare = Some(SpareBlock::new(bytes.div_ceil(1 << step))?);
    }
    Some(build())
}

/// A block that is set aside in this place of `SPARES`, until it is handed out. It is freed where it was not used.
struct SpareBlock(usize);

impl SpareBlock {
    fn new(bytes: usize) -> Option<SpareBlock> {
        // What is behind a reference counter is padded.
        let layout = Layout::from_size_align(bytes, SPARE_ALIGN).ok()?.pad_to_align();
        SPARES.with(|spares| {
            let place = spares.iter().position(|spare| spare.get().0.is_null())?;
            // SAFETY: a layout of more than 0 bytes.
            let block = unsafe { System.alloc(layout) };
            spares[place].set((block, layout.size()));
            (!block.is_null()).then_some(SpareBlock(place))
        })
    }
}

impl Drop for SpareBlock {
    fn drop(&mut self) {
        let (block, bytes) = SPARES.with(|spares| spares[self.0].replace((null_mut(), 0)));
        if !block.is_null() {
            // SAFETY: the system's block, which nobody was given; its layout is that of `new`.
            unsafe { System.dealloc(block, Layout::from_size_align_unchecked(bytes, SPARE_ALIGN)) };
        }
    }
}

/// Takes the smallest of this thread's spare blocks that `layout` fits into; NULL where no block is large enough.
fn take_spare(layout: Layout) -> *mut u8 {
    if layout.align() > SPARE_ALIGN || layout.size() <= UNSPARED {
        return null_mut();
    }
    SPARES.with(|spares| {
        let fitting = spares.iter().filter(|spare| !spare.get().0.is_null() && layout.size() <= spare.get().1);
        fitting.min_by_key(|spare| spare.get().1).map_or(null_mut(), |spare| spare.replace((null_mut(), 0)).0)
    })
}

/// Returns whether half of the slots of one size, up to 16 KiB, are in use: then nothing new is to be begun.
pub fn is_low() -> bool {
    USED.load(Relaxed) && IN_USE.iter().zip(&CLASSES).any(|(in_use, class)| in_use.load(Relaxed) > class.count / 2)
}

/// Takes a slot, or a spare block, for `layout`, which the system refused; NULL where none is left.
#[cold]
#[inline(never)]
pub fn take(layout: Layout) -> *mut u8 {
    if layout.align() > ALIGN || REFUSABLE.get() {
        return null_mut();
    }
    let spare = take_spare(layout);
    if !spare.is_null() {
        return spare;
    }
    note_ended();
    let need = layout.size().max(layout.align());
    for (number, class) in CLASSES.iter().enumerate().filter(|(_, class)| class.size >= need) {
        let words = &TAKEN[first_word(number)..first_word(number + 1)];
        for (i, word) in words.iter().enumerate() {
            let slots = (class.count - i * 64).min(64);
            let Some(bit) = claim(word, slots) else { continue };
            if let Some(in_use) = IN_USE.get(number) {
                in_use.fetch_add(1, Relaxed);
            }
            return first_byte().wrapping_add(offset(number) + (i * 64 + bit) * class.size);
        }
    }
    null_mut()
}

/// Takes a slot of at least `size` bytes for what asks the system itself (`abi/malloc.rs`); NULL where that is no small one.
#[cold]
#[inline(never)]
pub fn take_small(size: usize) -> *mut u8 {
    match Layout::from_size_align(size, 16) {
        Ok(layout) if size <= SMALL => take(layout),
        _ => null_mut(),
    }
}

/// The size of a block that is a slot.
#[inline]
pub fn size_of(block: *mut u8) -> Option<usize> {
    place(block).map(|at| CLASSES[class_of(at)].size)
}

/// Gives a slot back.
///
/// # Safety
/// The slot was taken by [`take_small`], and is not used afterwards.
pub unsafe fn put_back(block: *mut u8) {
    if let Some(at) = place(block) {
        give_back(at);
    }
}

/// Sets one of the first `slots` bits of a word that is 0, and returns its number.
fn claim(word: &AtomicU64, slots: usize) -> Option<usize> {
    let mut seen = word.load(Relaxed);
    loop {
        let bit = (!seen).trailing_zeros() as usize;
        if bit >= slots {
            return None;
        }
        match word.compare_exchange_weak(seen, seen | 1 << bit, SeqCst, Relaxed) {
            Ok(_) => return Some(bit),
            Err(now) => seen = now,
        }
    }
}

fn first_byte() -> *mut u8 {
    ARENA.0.get().cast()
}

/// Where in the arena an address is, if it is.
fn place(block: *mut u8) -> Option<usize> {
    let at = (block as usize).wrapping_sub(first_byte() as usize);
    (at < BYTES).then_some(at)
}

/// The class of a place in the arena.
fn class_of(at: usize) -> usize {
    (1..CLASSES.len()).rev().find(|&class| at >= offset(class)).unwrap_or(0)
}

#[cold]
#[inline(never)]
fn give_back(at: usize) {
    let number = class_of(at);
    let slot = (at - offset(number)) / CLASSES[number].size;
    if let Some(in_use) = IN_USE.get(number) {
        in_use.fetch_sub(1, Relaxed);
    }
    TAKEN[first_word(number) + slot / 64].fetch_and(!(1 << (slot % 64)), SeqCst);
}

/// The system's allocator, and the reserve where it fails.
pub struct Allocator;

// SAFETY: blocks come from the system's allocator, or are slots of the arena, which are as large and as aligned as was asked for and
// have one owner each; where a block goes back to is told by its address. Nothing here allocates or unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the system's.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { take(layout) } else { block }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the system's.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = take(layout);
        if !block.is_null() {
            // SAFETY: a slot of at least that size, which nobody else has.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match place(block) {
            // SAFETY: not of the arena, so that the system allocated it.
            None => unsafe { System.dealloc(block, layout) },
            Some(at) => give_back(at),
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if place(block).is_none() {
            // SAFETY: not of the arena; the caller's promise is the system's.
            let moved = unsafe { System.realloc(block, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: as this function's.
        unsafe { self.resize(block, layout, size) }
    }
}

impl Allocator {
    /// Grows or shrinks a block by a copy: out of the arena where the system has memory again, and into it where it has none.
    #[cold]
    #[inline(never)]
    unsafe fn resize(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `realloc`'s caller promises that size and alignment make a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: a layout of more than 0 bytes, by the same promise.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: both blocks are live, apart, and of at least that size; the old one is not used afterwards.
            unsafe {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as many slots for `layout` as there are.
    fn all(layout: Layout) -> Vec<*mut u8> {
        std::iter::from_fn(|| Some(take(layout)).filter(|block| !block.is_null())).collect()
    }

    fn in_use() -> usize {
        IN_USE.iter().map(|slots| slots.load(Relaxed)).sum()
    }

    #[test]
    fn a_spare_block_is_handed_out_once_and_freed_where_it_is_not_used() {
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        let large = LARGEST + SPARE_ALIGN;
        let blocks = with_spare(large, || [large + 1, large, large].map(|size| take(layout(size)))).unwrap();
        assert_eq!(blocks.map(|block| block.is_null()), [true, false, true], "what fits, once");
        assert_eq!((place(blocks[1]), with_spare(large, || 7)), (None, Some(7)));
        assert!(take(layout(large)).is_null(), "none is left behind");
        // SAFETY: taken above, once; `realloc` gives a block of the wanted size, which is freed by its layout.
        unsafe {
            blocks[1].write_bytes(7, large);
            let moved = Allocator.realloc(blocks[1], layout(large), 2 * large);
            assert!(std::slice::from_raw_parts(moved, large).iter().all(|b| *b == 7));
            Allocator.dealloc(moved, layout(2 * large));
        }
        let outer = with_spare(2 * large, || (with_spare(large, || 1), take(layout(2 * large)))).unwrap();
        assert!(outer.0 == Some(1) && !outer.1.is_null(), "the outer one is there again");
        // SAFETY: taken above, once.
        unsafe { Allocator.dealloc(outer.1, layout(2 * large)) };
        assert!(with_spare(isize::MAX as usize - 64, || 7).is_none(), "no such memory");
        assert!(with_spare(UNSPARED, || take_spare(layout(UNSPARED))).unwrap().is_null(), "small ones have none");
        // A list that grows by doubling, beside another one.
        for begin in [1000, UNSPARED, UNSPARED + 1, large, 3 * large] {
            let sizes = |begin: usize| std::iter::successors(Some(begin), |size| Some(2 * size)).take_while(|size| *size <= 4 * large + 9);
            let grow = || {
                [begin, begin + 77]
                    .map(|begin| sizes(begin).filter(|size| *size > UNSPARED).map(|size| take_spare(layout(size))).collect::<Vec<_>>())
            };
            let blocks = with_growing(4 * large + 9, || with_growing(4 * large + 9, grow)).unwrap();
            assert!(blocks.iter().flatten().flatten().all(|block| !block.is_null()), "from {begin} bytes");
            // SAFETY: taken above, once each; a block of the system's is freed whatever the size that is told.
            blocks.into_iter().flatten().flatten().for_each(|block| unsafe { System.dealloc(block, layout(UNSPARED)) });
            assert!(take_spare(layout(UNSPARED + 1)).is_null(), "none is left behind");
        }
        assert!(with_growing(1 << 60, || 7).is_none(), "no such memory");
        let padded = with_spare(large, || take_spare(Layout::new::<u64>().extend(layout(large)).unwrap().0.pad_to_align())).unwrap();
        assert!(padded.is_null(), "more than was asked for");
        let text = with_spare(16 + large + 3, || take_spare(layout(16 + large + 3).pad_to_align())).unwrap();
        assert!(!text.is_null(), "a text behind counters is padded");
        // SAFETY: taken above, once.
        unsafe { System.dealloc(text, layout(large)) };
        let _ = take_ended();
    }

    // One test, because the arena is one for all threads.
    #[test]
    fn slots_are_apart_and_come_back() {
        let _ = take_ended();
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        assert!(refusable(|| take(layout(8, 8))).is_null() && !take_ended(), "the caller sees that there is none");
        assert!(take(layout(LARGEST + 1, 8)).is_null(), "larger than any slot");
        assert!(take(layout(8, 2 * ALIGN)).is_null(), "aligned more than the arena");
        for (size, align, slots) in
            [(1, 1, 20033), (64, 64, 20033), (65, 8, 3649), (513, 16, 1601), (4096, 4096, 1601), (4097, 16, 577), (LARGEST, 8, 1)]
        {
            for _ in 0..2 {
                let mut blocks = all(layout(size, align));
                assert_eq!(blocks.len(), slots, "{size} bytes");
                assert!(take_ended() && !take_ended());
                assert_eq!(is_low(), size < LARGEST, "{size} bytes");
                blocks.sort();
                assert!(blocks.windows(2).all(|w| w[1] as usize - w[0] as usize >= size));
                assert!(blocks.iter().all(|b| (*b as usize).is_multiple_of(align) && place(*b).is_some()));
                let end = first_byte() as usize + BYTES;
                assert!(blocks.iter().all(|b| *b as usize + size <= end));
                // SAFETY: the blocks were taken above, once each.
                blocks.iter().for_each(|b| unsafe { Allocator.dealloc(*b, layout(size, align)) });
                assert_eq!((is_low(), in_use()), (false, 0));
            }
        }
        assert!(
            take_small(SMALL + 1).is_null() && size_of((&raw const ARENA).cast_mut().cast()).is_some() && size_of(null_mut()).is_none()
        );
        for (size, slot) in [(0, 64), (64, 64), (65, 512), (SMALL, SMALL)] {
            let block = take_small(size);
            assert_eq!((size_of(block), take_ended()), (Some(slot), true), "{size} bytes");
            // SAFETY: taken above, once.
            unsafe { put_back(block) };
        }
        let old = layout(100, 8);
        let block = take(old);
        // SAFETY: a slot of 512 bytes; `realloc` gives a block of the wanted size, which is freed by its layout.
        unsafe {
            block.write_bytes(7, 100);
            let moved = Allocator.realloc(block, old, 5000);
            assert!(place(moved).is_none(), "where the system has memory, it leaves the arena");
            assert!(std::slice::from_raw_parts(moved, 100).iter().all(|b| *b == 7));
            Allocator.dealloc(moved, layout(5000, 8));
        }
        assert_eq!(in_use(), 0);
    }
}
