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

/// Returns the length of the longest string with an escape, where it is longer than `few` bytes; else 0.
pub(super) fn longest_escaped(bytes: &[u8], few: usize) -> usize {
    let (mut longest, mut at) = (0, 0);
    if bytes.contains(&b'\\') {
        while let Some(begin) = bytes[at..].iter().position(|byte| *byte == b'"').map(|offset| at + offset) {
            at = string_end(bytes, begin);
            if at - begin > few.max(longest) && bytes[begin..at].contains(&b'\\') {
                longest = at - begin;
            }
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_string_with_an_escape_is_found() {
        let xs = "x".repeat(20);
        let cases = [
            (String::new(), 0),
            (format!("[\"{xs}\"]"), 0),
            (format!("[\"{xs}\\\"{xs}\", \"{xs}\\n\", 1234567890]"), 44),
            (format!("[\"\\n\", \"{xs}{xs}{xs}\", \"{xs}\\n"), 23),
        ];
        for (text, want) in cases {
            for few in [10, 15, 19] {
                assert_eq!(longest_escaped(text.as_bytes(), few), want, "{text}");
            }
        }
    }
}
