//! One number at a time: where a block has one that does not fit, and for messages.

use super::{ElementType, Kind, Overflow, Real};

/// The types of an element before and after, and what becomes of numbers that do not fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypePair {
    pub(super) from: ElementType,
    pub(super) to: ElementType,
    pub(super) overflow: Overflow,
}

/// Converts one element as the policy says; false if it does not fit.
///
/// # Safety
/// As for [`Transfer::run`](super::transfer::Transfer::run), for one element.
pub(super) unsafe fn convert_element(pair: TypePair, src: *const u8, dst: *mut u8) -> bool {
    let TypePair { from, to, overflow } = pair;
    let parts = if to.data_type.kind() == Kind::Complex { 2 } else { 1 };
    let (unit, size) = (from.data_type.swap_unit(), to.data_type.swap_unit());
    let mut out = [0u8; 16];
    for part in 0..parts {
        let number = if part == 1 && from.data_type.kind() != Kind::Complex {
            Some(Real::Int(0))
        } else {
            // SAFETY: the caller vouches for the element; this part is in it.
            unsafe { load(from, src.add(part * unit)) }
        };
        let slot = &mut out[part * size..][..size];
        if !number.is_some_and(|n| n.store(to.data_type, overflow, slot)) {
            return false;
        }
        if to.swapped() {
            slot.reverse();
        }
    }
    // SAFETY: the caller vouches for the element.
    unsafe { std::ptr::copy_nonoverlapping(out.as_ptr(), dst, to.size()) };
    true
}

/// What the number at `src` is and why it does not fit: `70000, int16 ends at 32767`. Empty where it fits.
///
/// # Safety
/// A number of the source's type is readable at `src`.
pub(super) unsafe fn number_text(pair: TypePair, src: *const u8) -> String {
    let TypePair { from, to, overflow } = pair;
    let parts = if from.data_type.kind() == Kind::Complex { 2 } else { 1 };
    for part in 0..parts {
        // SAFETY: the caller vouches for the element; this part is in it.
        if let Some(number) = unsafe { load(from, src.add(part * from.data_type.swap_unit())) }
            && !number.store(to.data_type, overflow, &mut [0; 16])
        {
            return format!("{number}, {}", number.limit_text(to.data_type));
        }
    }
    match to.data_type.part() {
        Some(part) if parts == 1 => format!("real, {}", Real::Int(0).limit_text(part)),
        _ => String::new(),
    }
}

/// One part of an element, which may be in the other order.
///
/// # Safety
/// The part's bytes are readable at `src`.
pub(super) unsafe fn load(from: ElementType, src: *const u8) -> Option<Real> {
    let mut raw = [0u8; 16];
    let raw = raw.get_mut(..from.data_type.swap_unit())?;
    // SAFETY: the caller vouches for the bytes.
    unsafe { std::ptr::copy_nonoverlapping(src, raw.as_mut_ptr(), raw.len()) };
    if from.swapped() {
        raw.reverse();
    }
    Real::load(from.data_type.part().unwrap_or(from.data_type), raw)
}
