//! A hierarchy as netCDF sees it, in JSON: what CDL says, for programs.

use super::attributes::{Attribute, Values, trimmed};
use super::data::{Element, Source};
use super::header::Data;
use super::model::{Members, Model, Variable};
use super::token::{NcType, Number};
use crate::failure::{Failure, Outcome};
use ozarr::engine::Selection;
use ozarr::node::{Map, Value, json};
use std::io::Write;

/// So much text is written at once.
const PIECE: usize = 1 << 16;

/// Writes one JSON object.
pub fn write(out: &mut dyn Write, model: &Model, data: &Data) -> Outcome {
    let mut text = String::new();
    group(out, &mut text, (model, &model.root, ""), data)?;
    text.push('\n');
    flush(out, &mut text, 0)
}

/// Writes the text if there are more than `most` bytes of it.
fn flush(out: &mut dyn Write, text: &mut String, most: usize) -> Outcome {
    if text.len() > most {
        out.write_all(text.as_bytes()).map_err(|e| Failure::stdout(&e))?;
        text.clear();
    }
    Ok(())
}

/// Appends the group at `path`, which ends in a slash unless it is the root's.
fn group(out: &mut dyn Write, text: &mut String, (model, it, path): (&Model, &Members, &str), data: &Data) -> Outcome {
    let dims = || it.dims.iter().map(|&d| &model.dims[d]);
    let lengths: Map = dims().map(|dim| (dim.name.as_str(), dim.length.into())).collect();
    let unlimited: Value = dims().filter(|dim| dim.unlimited).map(|dim| dim.name.as_str()).collect();
    let left_out: Map = it.left_out.iter().map(|(name, why)| (name.as_str(), why.as_str().into())).collect();
    let members = [("dimensions", lengths.into()), ("unlimited", unlimited), ("left_out", left_out.into())];
    text.push('{');
    for (name, value) in members.into_iter().chain([("attributes", attributes(&it.attributes))]) {
        text.push_str(&format!("{}: {}, ", Value::from(name), json::to_compact(&value)));
    }
    text.push_str("\"variables\": {");
    for (i, variable) in it.variables.iter().enumerate() {
        let shape: Value = variable.dims.iter().map(|&d| model.dims[d].name.as_str()).collect();
        let members = [("type", variable.nc.name().into()), ("shape", shape), ("attributes", attributes(&variable.attributes))];
        let about = json::to_compact(&Value::Object(members.into_iter().collect()));
        let comma = if i > 0 { "," } else { "" };
        text.push_str(&format!("{comma}\n{}: {}", Value::from(variable.name.as_str()), about.strip_suffix('}').unwrap_or_default()));
        if data.wants(path, variable, model) {
            text.push_str(", \"data\": ");
            elements(out, text, model, variable)?;
        }
        text.push('}');
    }
    text.push_str("}, \"groups\": {");
    for (i, child) in it.groups.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        text.push_str(&format!("{comma}\n{}: ", Value::from(child.name.as_str())));
        group(out, text, (model, child, &format!("{path}{}/", child.name)), data)?;
    }
    text.push_str("}}");
    flush(out, text, PIECE)
}

fn attributes(all: &[Attribute]) -> Value {
    let one = |attribute: &Attribute| {
        let values: Vec<Value> = match &attribute.values {
            Values::Chars(text) => vec![(*String::from_utf8_lossy(trimmed(text))).into()],
            Values::Strings(all) => all.iter().map(|text| text.as_str().into()).collect(),
            Values::Numbers(nc, numbers) => numbers.iter().map(|&n| number(*nc, n)).collect(),
        };
        let value = if let [value] = values.as_slice() { value.clone() } else { values.into() };
        (attribute.name.clone(), value)
    };
    Value::Object(all.iter().map(one).collect())
}

/// A number in its shortest digits; NaN and infinities as texts.
fn number(nc: NcType, number: Number) -> Value {
    let text = match number {
        Number::Integer(n) => n.to_string(),
        Number::Real(x) if x.is_nan() => return "NaN".into(),
        Number::Real(x) if x.is_infinite() => return if x > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        Number::Real(x) if nc == NcType::Float => json::Number::from_f32(x as f32).text().into(),
        Number::Real(x) => format!("{x:?}"),
    };
    json::parse_text(&text).unwrap_or_default()
}

/// Appends the data of a variable: lists in lists, one for each dimension; of characters the last one is a text.
fn elements(out: &mut dyn Write, text: &mut String, model: &Model, variable: &Variable) -> Outcome {
    let lengths: Vec<u64> = variable.dims.iter().map(|&d| model.dims[d].length).collect();
    if lengths.contains(&0) {
        text.push_str("[]");
        return Ok(());
    }
    let (shape, grid) = (variable.array.shape(), variable.array.grid());
    let selection = Selection::all(&shape);
    let mut source = Source::new(variable, &shape, &grid, &selection, &lengths);
    let is_text = variable.nc == NcType::Char && !lengths.is_empty();
    let lists = lengths.len() - usize::from(is_text);
    let mut at = vec![0; lengths.len()];
    loop {
        text.push_str(&"[".repeat((0..lists).rev().take_while(|&d| at[d] == 0).count()));
        let value = if is_text { row(&mut source, &mut at, lengths[lists])? } else { value(variable.nc, source.element(&at)?) };
        text.push_str(&json::to_compact(&value));
        let mut ended = 0;
        for d in (0..lists).rev() {
            at[d] += 1;
            if at[d] < lengths[d] {
                break;
            }
            (at[d], ended) = (0, ended + 1);
        }
        text.push_str(&"]".repeat(ended));
        if ended == lists {
            return Ok(());
        }
        text.push_str(", ");
        flush(out, text, PIECE)?;
    }
}

fn value(nc: NcType, element: Element<'_>) -> Value {
    match element {
        Element::Missing => Value::Null,
        Element::Char(byte) => char::from(byte).to_string().into(),
        Element::Text(text) => (*String::from_utf8_lossy(text)).into(),
        Element::Number(n) => number(nc, n),
    }
}

/// The characters along the last dimension.
fn row(source: &mut Source<'_>, at: &mut [u64], length: u64) -> Outcome<Value> {
    let (mut bytes, last) = (Vec::new(), at.len() - 1);
    for i in 0..length {
        at[last] = i;
        if let Element::Char(byte) = source.element(at)? {
            bytes.push(byte);
        }
    }
    at[last] = 0;
    Ok((*String::from_utf8_lossy(trimmed(&bytes))).into())
}
