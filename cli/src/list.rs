//! Lists of integers in arguments: `100,64,64`; nothing at all for rank 0.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// Integers, one for each dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct List(pub Vec<i64>);

impl FromStr for List {
    type Err = String;

    fn from_str(text: &str) -> Result<List, String> {
        if text.trim().is_empty() {
            return Ok(List(Vec::new()));
        }
        let number = |n: &str| {
            n.trim().parse().map_err(|e: ParseIntError| match e.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => format!("{n:?} is no integer of 64 bits"),
                _ => format!("{n:?} is not an integer; expected a list such as 100,64,64"),
            })
        };
        text.split(',').map(number).collect::<Result<_, _>>().map(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_integers_with_commas_between() {
        assert_eq!("1, -2,3".parse(), Ok(List(vec![1, -2, 3])));
        assert_eq!("".parse(), Ok(List(vec![])));
        for bad in ["a", "1,", ",", "1 2", "1.0"] {
            assert!(bad.parse::<List>().unwrap_err().contains("is not an integer"), "{bad}");
        }
        for large in ["18446744073709551616", "1,-9223372036854775809"] {
            assert!(large.parse::<List>().unwrap_err().contains("64 bits"), "{large}");
        }
    }
}
