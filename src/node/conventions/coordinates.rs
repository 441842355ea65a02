//! The attribute that names coordinates, of a variable or of the group (XR-09).
//! Convention: CF 5, "Coordinate Systems".

use crate::error::Result;
use crate::metadata::{Map, Value};
use crate::node::Attributes;

const COORDINATES: &str = "coordinates";

/// The names in it; none where it is missing or no text.
pub(super) fn words(attributes: &Attributes) -> Result<Vec<String>> {
    Ok(words_of(&*attributes.view()?))
}

fn words_of(attributes: &Map) -> Vec<String> {
    let text = attributes.get(COORDINATES).and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().map(str::to_string).collect()
}

/// Adds the names that are missing, also to those that another program has added since. All that are there stay, whatever they name: variables of other
/// groups, labels (CF 6.1).
pub(super) fn add_words(attributes: &Attributes, added: &[&str]) -> Result<()> {
    let known = words(attributes)?;
    if added.iter().all(|word| known.iter().any(|there| there == word)) {
        return Ok(());
    }
    attributes.edit(&|attributes| {
        let mut all = words_of(attributes);
        for word in added {
            if !all.iter().any(|there| there == word) {
                all.push(word.to_string());
            }
        }
        attributes.insert(COORDINATES.into(), Value::text_of_any(&all.join(" "))?);
        Ok(())
    })
}
