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

/// Returns the lengths of the longest string with an escape, and of the longest number, where they are longer than `few` bytes; else 0.
pub(super) fn longest(bytes: &[u8], few: usize) -> (usize, usize) {
    let (mut string, mut at) = (0, 0);
    if bytes.contains(&b'\\') {
        while let Some(begin) = bytes[at..].iter().position(|byte| *byte == b'"').map(|offset| at + offset) {
            at = string_end(bytes, begin);
            if at - begin > few.max(string) && bytes[begin..at].contains(&b'\\') {
                string = at - begin;
            }
        }
    }
    // One that is longer has every so-manieth byte in it.
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let (mut number, mut at) = (0, few);
    while let Some((before, behind)) = bytes.split_at_checked(at) {
        let more = behind.iter().take_while(|byte| is_of_number(byte)).count();
        number = number.max(before.iter().rev().take_while(|byte| is_of_number(byte)).count() + more);
        at += more + few;
    }
    (string, if number > few { number } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_strings_and_numbers_are_found() {
        let (xs, ones) = ("x".repeat(20), "1".repeat(20));
        let cases = [
            (String::new(), (0, 0)),
            (format!("[\"{xs}\", {ones}.5]"), (0, 22)),
            (format!("[\"{xs}\", \"\\n\", {ones}e+5]"), (0, 23)),
            (format!("[\"{xs}\\\"{xs}\", \"{xs}\\n\", 1234567890]"), (44, 0)),
            (format!("[\"\\n\", \"{xs}{xs}{xs}\", \"{xs}\\n"), (23, 0)),
            (ones.clone(), (0, 20)),
        ];
        for (text, want) in cases {
            for few in [10, 15, 19] {
                assert_eq!(longest(text.as_bytes(), few), want, "{text}");
            }
        }
    }
}
