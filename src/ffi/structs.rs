//! The structs of the interface, which grow at their end: programs that were compiled with an older or a
//! newer header keep working.
//!
//! Each struct begins with `struct_size`, the number of bytes that the program's header gives it; 0 means
//! the number of bytes that the struct had in the first version of the interface. Members that the
//! program's header does not have are zero when the library reads the struct, and are left out when it
//! fills the struct. Members that the library does not have must be zero.

use super::strings::not_null;
use crate::error::{Result, bail};
use crate::limits;

/// The largest `struct_size` that is believed.
const MAX_STRUCT: usize = 4096;

/// A struct of the interface.
///
/// # Safety The type is `repr(C)`, begins with `struct_size: usize`, has no padding, and all bytes zero are
/// a value of it.
pub(super) unsafe trait Growing: Copy {
    /// The size in bytes in the first version of the interface; it never changes after that version's
    /// release.
    const FIRST: usize;
    /// The offset of the member `reserved`, which fills a hole and must be 0; `None` if there is no such
    /// member.
    const RESERVED: Option<usize>;

    /// A struct in which nothing is given but its size.
    fn empty() -> Self {
        // SAFETY: all bytes zero are such a struct, which begins with its size.
        unsafe {
            let mut empty: Self = std::mem::zeroed();
            (&raw mut empty).cast::<usize>().write(size_of::<Self>());
            empty
        }
    }
}

/// Says of a struct its first size, and whether it has a member `reserved`.
macro_rules! growing {
    ($name:ident: $first:literal $(, $reserved:ident)?) => {
        // SAFETY: a `repr(C)` struct of numbers, pointers and functions that may be NULL, with its holes named; the size comes first.
        unsafe impl $crate::ffi::structs::Growing for $name {
            const FIRST: usize = $first;
            const RESERVED: Option<usize> = match [$(std::mem::offset_of!($name, $reserved))?].as_slice() {
                [offset] => Some(*offset),
                _ => None,
            };
        }
        // No struct has grown before the first release.
        const _: () = assert!(std::mem::offset_of!($name, struct_size) == 0 && $first == size_of::<$name>());
    };
}
pub(super) use growing;

/// A struct for C: members that are the counts of the same names in another struct, and the others of `$rest`, or none.
macro_rules! counts {
    ($name:ident { $from:ident: $($count:ident),+; ..$rest:expr }) => {
        $name { $($count: $crate::ffi::strings::number($from.$count),)+ ..$rest }
    };
    ($name:ident { $from:ident: $($count:ident),+ }) => {
        $crate::ffi::structs::counts!($name { $from: $($count),+; ..$crate::ffi::structs::Growing::empty() })
    };
}
pub(super) use counts;

/// The size of a struct as the program's header gives it.
///
/// # Safety `pointer` points to a struct of as many bytes as its `struct_size` says, or of its first size
/// where that is 0.
pub(super) unsafe fn struct_size<T: Growing>(pointer: *const T, argument: &str) -> Result<usize> {
    // SAFETY: the caller's promise.
    unsafe { size_at(pointer.cast(), (T::FIRST, size_of::<T>()), argument) }
}

/// [`struct_size`] of a struct by its first size and that of now.
///
/// # Safety
/// As for [`struct_size`].
unsafe fn size_at(pointer: *const u8, (first, now): (usize, usize), argument: &str) -> Result<usize> {
    // SAFETY: the struct begins with it.
    let size = match unsafe { pointer.cast::<usize>().read_unaligned() } {
        0 => first,
        size => size,
    };
    if size < first || size > MAX_STRUCT {
        bail!(Argument, "`{argument}`->struct_size is {size}, expected {now}: set it with the struct's ..._INIT or sizeof");
    }
    for i in now..size {
        // SAFETY: within the size that the caller vouches for.
        if unsafe { pointer.add(i).read() } != 0 {
            bail!(Unsupported, "`{argument}` uses members that came after ozarr {}", env!("CARGO_PKG_VERSION"));
        }
    }
    Ok(size)
}

/// The value of a struct; NULL is an error.
///
/// # Safety
/// `pointer` is NULL, or as for [`struct_size`].
pub(super) unsafe fn read_struct<T: Growing>(pointer: *const T, argument: &str) -> Result<T> {
    not_null(pointer, argument)?;
    // SAFETY: not NULL; the caller's promise.
    let size = unsafe { struct_size(pointer, argument) }?;
    let value = if size >= size_of::<T>() {
        // SAFETY: it has at least the bytes of a `T`.
        unsafe { pointer.read_unaligned() }
    } else {
        let mut value = T::empty();
        // SAFETY: both have at least `size` bytes.
        unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut value).cast(), size) };
        value
    };
    if let Some(offset) = T::RESERVED {
        // SAFETY: the member is an `i32` of `value`.
        let reserved = unsafe { (&raw const value).byte_add(offset).cast::<i32>().read_unaligned() };
        if reserved != 0 {
            bail!(Unsupported, "`{argument}`->reserved is {reserved}, expected 0");
        }
    }
    Ok(value)
}

/// The addresses of `count` structs that follow each other; all have the size of the first one.
///
/// # Safety
/// `first` is NULL, which is refused but for a `count` of 0, or points to `count` structs that are each as for [`struct_size`].
pub(super) unsafe fn structs<T: Growing>(first: *const T, count: usize, argument: &str) -> Result<Vec<*const T>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    not_null(first, argument)?;
    // SAFETY: the first of `count` structs.
    let stride = unsafe { struct_size(first, &format!("{argument}[0]")) }?;
    if count > isize::MAX as usize / stride {
        bail!(Limit, "the argument `{argument}` has {count} structs of {stride} bytes, more than memory can hold");
    }
    let one = |i: usize| {
        // SAFETY: one of `count` structs, `stride` bytes apart.
        let pointer = unsafe { first.byte_add(i * stride) };
        // SAFETY: it begins with its size, by the caller's promise.
        match unsafe { struct_size(pointer, &format!("{argument}[{i}]")) }? {
            size if size == stride => Ok(pointer),
            size => bail!(Argument, "`{argument}[{i}]`->struct_size is {size}, expected {stride}, that of the first one"),
        }
    };
    limits::try_collect((0..count).map(one))
}

/// A struct of the caller that is to be filled.
pub(super) struct Output<T> {
    pointer: *mut T,
    size: usize,
}

impl<T: Growing> Output<T> {
    /// Checks the struct's size, before the work that its values take; NULL is an error.
    ///
    /// # Safety
    /// `pointer` is NULL, or as for [`struct_size`]; and may be written.
    pub unsafe fn new(pointer: *mut T, argument: &str) -> Result<Output<T>> {
        not_null(pointer, argument)?;
        // SAFETY: not NULL; the caller's promise.
        let size = unsafe { struct_size(pointer, argument) }?;
        Ok(Output { pointer, size })
    }

    /// Fills the members that both the caller's struct and `value` have; `struct_size` stays.
    pub fn fill(self, value: &T) {
        let from = size_of::<usize>();
        let count = self.size.min(size_of::<T>()) - from;
        // SAFETY: `new` was promised `size` bytes at `pointer`, which the size comes first in; `value` has the bytes of a `T`.
        unsafe { std::ptr::copy_nonoverlapping((&raw const *value).cast::<u8>().add(from), self.pointer.cast::<u8>().add(from), count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// A struct that has grown: its first version ended before `later`.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Grown {
        struct_size: usize,
        a: i32,
        reserved: i32,
        later: u64,
    }

    // SAFETY: numbers without padding, the size first.
    unsafe impl Growing for Grown {
        const FIRST: usize = 16;
        const RESERVED: Option<usize> = Some(12);
    }

    /// The struct of a newer header.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Newer {
        known: Grown,
        newest: u64,
    }

    #[test]
    fn a_struct_is_read_at_its_first_size_and_any_larger_one() {
        let read = |struct_size, reserved, newest| {
            let s = Newer { known: Grown { struct_size, a: 7, reserved, later: 8 }, newest };
            // SAFETY: never more bytes than `Newer` has, except sizes that are refused first.
            unsafe { read_struct(&raw const s as *const Grown, "s") }.map(|g| (g.a, g.later)).map_err(|e| e.kind())
        };
        let cases = [
            (0, 0, 5, Ok((7, 0))),
            (16, 0, 5, Ok((7, 0))),
            (24, 0, 5, Ok((7, 8))),
            (32, 0, 0, Ok((7, 8))),
            (32, 0, 5, Err(ErrorKind::Unsupported)),
            (24, 1, 0, Err(ErrorKind::Unsupported)),
            (8, 0, 0, Err(ErrorKind::Argument)),
            (15, 0, 0, Err(ErrorKind::Argument)),
            (usize::MAX, 0, 0, Err(ErrorKind::Argument)),
        ];
        for (size, reserved, newest, want) in cases {
            assert_eq!(read(size, reserved, newest), want, "struct_size {size}, reserved {reserved}, newest member {newest}");
        }
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { read_struct(std::ptr::null::<Grown>(), "s") }.unwrap_err().kind(), ErrorKind::Null);
    }

    #[test]
    fn a_struct_is_filled_as_far_as_both_sides_know_it() {
        for (struct_size, later) in [(0, 1), (16, 1), (24, 8), (32, 8)] {
            let mut s = Newer { known: Grown { struct_size, a: 1, reserved: 0, later: 1 }, newest: 0 };
            // SAFETY: `struct_size` is at most the size of `Newer`.
            let out = unsafe { Output::new(&raw mut s as *mut Grown, "s") }.unwrap();
            out.fill(&Grown { struct_size: 0, a: 7, reserved: 0, later: 8 });
            assert_eq!((s.known, s.newest), (Grown { struct_size, a: 7, reserved: 0, later }, 0), "struct_size {struct_size}");
        }
    }
}
