//! The attribute that names coordinates, of a variable or of the group (XR-09).
//! Convention: CF 5, "Coordinate Systems".

use crate::error::Result;
use crate::metadata::{Value, json};
use crate::node::Attributes;

const COORDINATES: &str = "coordinates";

/// The names in it; none where it is missing or no text.
pub(super) fn words(attributes: &Attributes) -> Result<Vec<String>> {
    let view = attributes.view()?;
    let text = view.get(COORDINATES).and_then(Value::as_str).unwrap_or_default();
    Ok(text.split_whitespace().map(str::to_string).collect())
}

/// Sets the names, unless they are there already.
pub(super) fn set_words(attributes: &Attributes, words: &[&str]) -> Result<()> {
    let text = words.join(" ");
    let there = attributes.view()?.get(COORDINATES).map(json::to_compact);
    if there.as_deref() == Some(&json::to_compact(&Value::from(text.as_str()))) {
        return Ok(());
    }
    attributes.set_string(COORDINATES, &text)
}
