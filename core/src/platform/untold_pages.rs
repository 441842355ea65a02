//! Pages of memory where the system is neither told nor asked anything about them: macOS and Windows.

/// Does nothing: the system chooses the size of pages.
pub fn want_huge_pages(_: usize, _: usize) {}

/// Does nothing, as nothing was asked for.
pub fn refuse_huge_pages(_: usize, _: usize) {}

/// Returns false: there is nothing to be asked for.
pub fn huge_pages_on_advice() -> bool {
    false
}

/// Returns false: what the system tells of pages is not relied on.
pub fn is_untouched(_: usize, _: usize) -> bool {
    false
}

/// Returns false: each page is made when it is written.
pub fn populate(_: usize, _: usize) -> bool {
    false
}
