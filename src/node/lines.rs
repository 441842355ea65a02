//! Attributes that have lines: a text, or, as netCDF-4 has it, a list of texts.

use crate::error::{Result, err};
use crate::limits::{collect, joined, text_of as copy_of};
use crate::metadata::Value;
use crate::metadata::json::{List, brief};

enum Lines<'a> {
    Text(&'a str),
    List(&'a [Value]),
}

fn lines(value: &Value) -> Result<Lines<'_>> {
    match value {
        Value::Array(list) if list.iter().all(|item| item.as_str().is_some()) => Ok(Lines::List(list)),
        other => other.as_str().map(Lines::Text).ok_or_else(|| err!(Type, "found {}, expected a text or a list of texts", brief(other))),
    }
}

/// All lines as a text. Errors: `Type` for other values.
pub(super) fn text_of(value: &Value) -> Result<String> {
    match lines(value)? {
        Lines::Text(text) => copy_of(text),
        Lines::List(list) => joined(list.iter().filter_map(Value::as_str), "\n"),
    }
}

/// The value with one more line in front. Errors: `Type` for other values.
pub(super) fn in_front(line: &str, before: Option<&Value>) -> Result<Value> {
    match before.map(lines).transpose()? {
        None | Some(Lines::Text("")) => Value::text_of_any(line),
        Some(Lines::Text(text)) => Value::text_of_any(&joined([line, text], "\n")?),
        Some(Lines::List(list)) => {
            let lines = [Value::text_of_any(line)?].into_iter().chain(list.iter().cloned());
            Ok(Value::Array(List::of(collect(lines)?)?))
        }
    }
}
