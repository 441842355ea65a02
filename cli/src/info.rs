//! `ozarr info`: what a node is.

use crate::failure::{Failure, Outcome, one_line};
use crate::output::{line, object, print};
use crate::place::{Place, understood};
use clap::Args;
use ozarr::node::{Array, Attributes, Dialect, Format, Group, ImageAxis, Map, Mode, NcDimension, Node, Value, json};

/// Show what an array or a group is: shape, chunks, type, codecs, attributes
#[derive(Args)]
pub struct Info {
    #[command(flatten)]
    place: Place,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Of an array: also how many chunks are stored, their bytes, and the ratio to the bytes of the elements
    #[arg(long)]
    stored: bool,
}

impl Info {
    pub fn run(&self) -> Outcome {
        let members = match self.place.node(Mode::Read)? {
            Node::Array(array) => of_array(&array, self.stored)?,
            Node::Group(_) if self.stored => {
                return Err(Failure::Error(format!("{} is a group; --stored is for arrays", self.place.name())));
            }
            Node::Group(group) => {
                let mut members = Map::new();
                members.insert("node_type".into(), "group".into());
                members.insert("zarr_format".into(), group.format().number().into());
                members.extend(draft(group.dialect()));
                images(&group, &mut members)?;
                netcdf(&group, &mut members)?;
                members.insert("attributes".into(), attributes(group.attributes())?);
                members
            }
        };
        if self.json { line(&json::to_text(&Value::Object(members))) } else { print(&table(&members)) }
    }
}

/// The member that names the draft of version 3, if it is one.
fn draft(dialect: Dialect) -> Option<(String, Value)> {
    dialect.draft().map(|name| ("draft".to_string(), name.into()))
}

/// The images of OME-Zarr that a group holds.
fn images(group: &Group, members: &mut Map) -> Outcome {
    let mut all = Vec::new();
    let found = match group.multiscales() {
        Ok(found) => found,
        Err(e) => {
            // The rest is told all the same.
            members.insert("images".into(), e.to_string().into());
            return Ok(());
        }
    };
    for image in found {
        let axis = |a: &ImageAxis| [a.name.as_str(), a.kind.as_str(), a.unit.as_str()].map(Value::from).to_vec();
        let mut levels = Vec::new();
        for level in &image.levels {
            let shape = understood(group.open_array(&level.path))?.map(|array| Value::from(array.shape().to_vec())).unwrap_or_default();
            let scale = level.unplaced.as_ref().map_or_else(|| level.scale.clone().into(), |e| e.to_string().into());
            levels.push(object([("path", level.path.as_str().into()), ("shape", shape), ("scale", scale)]));
        }
        let axes: Vec<Vec<Value>> = image.axes.iter().map(axis).collect();
        let (name, version) = (image.name.as_str().into(), image.version.as_str().into());
        all.push(object([("name", name), ("version", version), ("axes", axes.into()), ("levels", levels.into())]));
    }
    if !all.is_empty() {
        members.insert("images".into(), all.into());
    }
    Ok(())
}

/// The dimensions that netCDF-C defined.
fn netcdf(group: &Group, members: &mut Map) -> Outcome {
    if let Some(all) = group.nc_dimensions()? {
        let one = |d: &NcDimension| {
            let length = Value::from(d.length);
            (d.name.clone(), if d.is_unlimited { object([("size", length), ("unlimited", true.into())]) } else { length })
        };
        members.insert("netcdf_dimensions".into(), Value::Object(all.iter().map(one).collect()));
    }
    Ok(())
}

/// The members of an array.
pub fn of_array(array: &Array, stored: bool) -> Outcome<Map> {
    let document = json::parse_object(array.metadata_json()?.as_bytes(), usize::MAX)?;
    let member = |name: &str| document.get(name).cloned().unwrap_or(Value::Null);
    let v3 = array.format() == Format::V3;
    let list = |lengths: &[u64]| Value::from(lengths.to_vec());
    let d0 = array.dialect() == Dialect::D0;
    let sharded = if d0 {
        member("storage_transformers").as_array().is_some_and(|list| !list.is_empty())
    } else {
        member("codecs").as_array().is_some_and(|codecs| codecs.iter().any(|c| name(c) == Some("sharding_indexed")))
    };
    // Some writers of version 3 have them among the attributes only.
    let names = if v3 && !member("dimension_names").is_null() { member("dimension_names") } else { names(array)? };
    let attributes = attributes(array.attributes())?;
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.into(), value));
    put("node_type", "array".into());
    put("zarr_format", array.format().number().into());
    if let Some((name, value)) = draft(array.dialect()) {
        put(&name, value);
    }
    put("shape", list(&array.shape()));
    put("chunks", array.chunks_json());
    put("inner_chunks", if sharded { list(&array.inner_chunk_shape()) } else { Value::Null });
    put("dtype", member(if v3 { "data_type" } else { "dtype" }));
    put("fill_value", text_for_non_finite(member("fill_value")));
    let codecs = match (d0, v3) {
        (true, _) => codecs_v2(attributes.get("filters").cloned().unwrap_or_default(), member("compressor")),
        (false, true) => member("codecs"),
        (false, false) => codecs_v2(member("filters"), member("compressor")),
    };
    put("codecs", text_for_non_finite(codecs));
    if !v3 {
        put("order", member("order"));
    }
    if d0 {
        put("order", member("chunk_memory_layout"));
    }
    put("dimension_names", names);
    put("attributes", attributes);
    if stored {
        put("stored", usage(array)?);
    }
    Ok(members)
}

/// A codec's name, which may stand alone or in an object.
fn name(codec: &Value) -> Option<&str> {
    codec.as_str().or_else(|| codec.get("name")?.as_str())
}

/// v2's filters and compressor as one list, in the order of encoding.
fn codecs_v2(filters: Value, compressor: Value) -> Value {
    let mut all = match filters {
        Value::Array(filters) => filters.to_vec(),
        _ => Vec::new(),
    };
    all.extend(Some(compressor).filter(|c| !c.is_null()));
    Value::Array(all.into())
}

fn names(array: &Array) -> Outcome<Value> {
    let names = array.dimension_names()?;
    Ok(if names.iter().all(Option::is_none) { Value::Null } else { names.into_iter().map(Value::from).collect::<Vec<_>>().into() })
}

fn attributes(attributes: &Attributes) -> Outcome<Value> {
    Ok(text_for_non_finite(Value::Object(attributes.all()?)))
}

/// Bare NaN and infinities, which other writers put into documents, as strings: JSON has no other form for them.
pub fn text_for_non_finite(value: Value) -> Value {
    match value {
        Value::Number(n) if json::is_non_finite(&n) => n.to_string().into(),
        Value::Array(items) => items.iter().cloned().map(text_for_non_finite).collect(),
        Value::Object(members) => members.into_iter().map(|(name, v)| (name, text_for_non_finite(v))).collect::<Map>().into(),
        other => other,
    }
}

fn usage(array: &Array) -> Outcome<Value> {
    let usage = array.usage()?;
    let elements = array.shape().iter().fold(array.data_type().size() as f64, |n, &length| n * length as f64);
    let mut members = Map::new();
    members.insert("chunks".into(), usage.chunks.into());
    members.insert("possible_chunks".into(), usage.possible_chunks.into());
    members.insert("bytes".into(), usage.bytes.into());
    let ratio = (elements / usage.bytes as f64 * 1000.0).round() / 1000.0;
    members.insert("ratio".into(), if usage.bytes == 0 || array.data_type().is_variable() { Value::Null } else { ratio.into() });
    Ok(Value::Object(members))
}

/// An image: what it is, and a line for each level.
fn image_rows(image: &Value, row: &mut impl FnMut(&str, &str)) {
    let text = |value: &Value| value.as_str().map_or_else(|| json::to_text(value), str::to_string);
    let axes = image["axes"].as_array().unwrap_or_default();
    let axis = |a: &Value| [&a[0], &a[1], &a[2]].map(text).join(" ").trim_end().to_string();
    let axes: Vec<String> = axes.iter().map(axis).collect();
    row("image", &format!("{} (OME-Zarr {}): {}", text(&image["name"]), text(&image["version"]), axes.join(", ")));
    for level in image["levels"].as_array().unwrap_or_default() {
        row("", &format!("{}: {} at {}", text(&level["path"]), text(&level["shape"]), text(&level["scale"])));
    }
}

/// A line for each member; attributes and codecs one below the other.
fn table(members: &Map) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str| text.push_str(&format!("{name:16}{}\n", one_line(value)));
    for (member, value) in members {
        match value {
            // A fill value that is null is told: the document says that there is none.
            Value::Null if member != "fill_value" => {}
            Value::Array(items) if member == "codecs" => {
                for (i, item) in items.iter().enumerate() {
                    row(if i == 0 { member } else { "" }, &json::to_compact(item));
                }
            }
            Value::Object(items) if items.is_empty() => {}
            Value::Object(items) if member == "attributes" => {
                for (i, (name, item)) in items.iter().enumerate() {
                    row(if i == 0 { member } else { "" }, &format!("{name}: {}", json::to_compact(item)));
                }
            }
            Value::Array(items) if member == "images" => items.iter().for_each(|image| image_rows(image, &mut row)),
            Value::Object(items) if member == "stored" => {
                let part = |name: &str| items.get(name).map(json::to_compact).unwrap_or_default();
                row(
                    member,
                    &format!("{} of {} chunks, {} bytes, ratio {}", part("chunks"), part("possible_chunks"), part("bytes"), part("ratio")),
                );
            }
            Value::String(text) => row(member, text),
            Value::Array(items) if items.iter().any(Value::is_array) => row(member, &json::to_compact(value)),
            Value::Array(_) => row(member, &json::to_text(value)),
            other => row(member, &json::to_compact(other)),
        }
    }
    text
}
