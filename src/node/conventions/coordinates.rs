//! The attribute that names coordinates, of a variable or of the group (XR-09).
//! Convention: CF 5, "Coordinate Systems".

use crate::error::Result;
use crate::metadata::Value;
use crate::node::Attributes;

const COORDINATES: &str = "coordinates";

/// The names in it; none where it is missing or no text.
pub(super) fn words(attributes: &Attributes) -> Result<Vec<String>> {
    let view = attributes.view()?;
    let text = view.get(COORDINATES).and_then(Value::as_str).unwrap_or_default();
    Ok(text.split_whitespace().map(str::to_string).collect())
}

/// Adds the names that are missing. Those that are there stay, whatever they name: variables of other groups, labels (CF 6.1).
pub(super) fn add_words(attributes: &Attributes, added: &[&str]) -> Result<()> {
    let mut all = words(attributes)?;
    let before = all.len();
    for word in added {
        if !all.iter().any(|there| there == word) {
            all.push(word.to_string());
        }
    }
    if all.len() == before { Ok(()) } else { attributes.set_string(COORDINATES, &all.join(" ")) }
}
