//! Attributes that have lines: a text, or, as netCDF-4 has it, a list of texts.

use crate::error::{Result, err};
use crate::metadata::Value;
use crate::metadata::json::brief;

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
    Ok(match lines(value)? {
        Lines::Text(text) => text.to_string(),
        Lines::List(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
    })
}

/// The value with one more line in front. Errors: `Type` for other values.
pub(super) fn in_front(line: &str, before: Option<&Value>) -> Result<Value> {
    Ok(match before.map(lines).transpose()? {
        None | Some(Lines::Text("")) => line.into(),
        Some(Lines::Text(text)) => format!("{line}\n{text}").into(),
        Some(Lines::List(list)) => Value::Array([Value::from(line)].into_iter().chain(list.iter().cloned()).collect()),
    })
}
