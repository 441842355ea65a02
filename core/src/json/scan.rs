//! Walks over JSON text without reading it.

/// Returns the offset behind the closing quotation mark of the string that begins at `at`, or behind the text if the mark is missing.
pub(super) fn string_end(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
