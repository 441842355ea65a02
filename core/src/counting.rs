//! How messages count: dimensions, indices and shapes in C's order from 0, or in Fortran's and Julia's reversed order from 1.
//!
//! The code that makes a message does not know in which language it is read. It puts marks around these numbers ([`dimension`],
//! [`index`], ...), which [`render`] writes out in the reader's order; a message that an error shows is in C's.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Whose order a message is rendered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The first dimension runs slowest; numbers count from 0.
    C,
    /// The first dimension runs fastest; numbers count from 1.
    Fortran,
}

// A mark is OPEN, a letter, numbers and CLOSE. Control characters never come from texts that messages quote: these are escaped.
pub(crate) const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// A number or a list of numbers of a message, marked for [`render`].
pub struct Marked<'a>(Counted<'a>);

enum Counted<'a> {
    Dimension(usize, usize),
    Item(usize, usize),
    Position(i64),
    Index(&'a [u64]),
    Shape(&'a [u64]),
}

/// `dimension 2`: the number of a dimension of an array of that rank.
pub fn dimension(dim: usize, rank: usize) -> Marked<'static> {
    Marked(Counted::Dimension(dim, rank))
}

/// `[2]`: the place of a dimension of an array of that rank in a list such as `chunks`.
pub fn item(dim: usize, rank: usize) -> Marked<'static> {
    Marked(Counted::Item(dim, rank))
}

/// `7`: an index along one dimension, or the number of one of several like things.
pub fn position(index: i64) -> Marked<'static> {
    Marked(Counted::Position(index))
}

/// `[11, 14]`: the index of an element or chunk.
pub fn index(index: &[u64]) -> Marked<'_> {
    Marked(Counted::Index(index))
}

/// `[64, 100]`: lengths, one for each dimension.
pub fn shape(shape: &[u64]) -> Marked<'_> {
    Marked(Counted::Shape(shape))
}

impl fmt::Display for Marked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char(OPEN)?;
        match self.0 {
            Counted::Dimension(dim, rank) => write!(f, "d{dim},{rank}"),
            Counted::Item(dim, rank) => write!(f, "t{dim},{rank}"),
            Counted::Position(index) => write!(f, "p{index}"),
            Counted::Index(list) => write_list(f, 'i', list),
            Counted::Shape(list) => write_list(f, 's', list),
        }?;
        f.write_char(CLOSE)
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, kind: char, list: &[u64]) -> fmt::Result {
    f.write_char(kind)?;
    for (k, n) in list.iter().enumerate() {
        write!(f, "{}{n}", if k == 0 { "" } else { "," })?;
    }
    Ok(())
}

/// Whether a text has marks, so that it differs between the two orders.
pub fn is_marked(text: &str) -> bool {
    text.contains(OPEN)
}

/// The text with its marks written out.
pub fn render(text: &str, counting: Counting) -> Cow<'_, str> {
    if !is_marked(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (k, part) in text.split(OPEN).enumerate() {
        match part.split_once(CLOSE) {
            Some((mark, rest)) if k > 0 => {
                out.push_str(&written(mark, counting));
                out.push_str(rest);
            }
            _ => out.push_str(part),
        }
    }
    Cow::Owned(out)
}

/// Writes out a mark, which is given without its OPEN and CLOSE.
fn written(mark: &str, counting: Counting) -> String {
    let kind = mark.chars().next().unwrap_or_default();
    let mut numbers: Vec<i128> = mark.split_at(kind.len_utf8().min(mark.len())).1.split(',').filter_map(|n| n.parse().ok()).collect();
    let base = i128::from(counting == Counting::Fortran);
    let of_rank = |numbers: &[i128]| match (numbers, counting) {
        (&[dim, _], Counting::C) => dim,
        (&[dim, rank], Counting::Fortran) => rank - dim,
        _ => 0,
    };
    match kind {
        'd' => format!("dimension {}", of_rank(&numbers)),
        't' => format!("[{}]", of_rank(&numbers)),
        'p' => numbers.first().map_or(String::new(), |n| (n + base).to_string()),
        _ => {
            if counting == Counting::Fortran {
                numbers.reverse();
            }
            let base = if kind == 'i' { base } else { 0 };
            let texts: Vec<String> = numbers.iter().map(|n| (n + base).to_string()).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_written_in_both_orders() {
        let cases = [
            (dimension(0, 3), "dimension 0", "dimension 3"),
            (dimension(2, 3), "dimension 2", "dimension 1"),
            (item(1, 2), "[1]", "[1]"),
            (position(-1), "-1", "0"),
            (position(i64::MAX), "9223372036854775807", "9223372036854775808"),
            (index(&[11, 14]), "[11, 14]", "[15, 12]"),
            (index(&[]), "[]", "[]"),
            (shape(&[4, 0, 3]), "[4, 0, 3]", "[3, 0, 4]"),
        ];
        for (mark, c, fortran) in cases {
            let text = format!("before {mark} after");
            assert_eq!(render(&text, Counting::C), format!("before {c} after"));
            assert_eq!(render(&text, Counting::Fortran), format!("before {fortran} after"));
        }
    }

    #[test]
    fn texts_without_marks_and_broken_marks_stay() {
        for text in ["", "dimension 1 of [2, 3]", "ends \u{2} first"] {
            assert_eq!(render(text, Counting::Fortran), text);
        }
        assert_eq!(render("a \u{1}d1", Counting::C), "a d1");
        assert_eq!(render("\u{1}\u{2}", Counting::C), "[]");
    }
}
