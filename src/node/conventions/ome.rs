//! OME-Zarr: images in several resolutions, as the attributes of a group describe them. Versions 0.4 (`multiscales`) and 0.5 (`ome`);
//! reading only.
//! Convention: "Next-generation file formats (NGFF)", "multiscales" metadata.

use crate::error::{Error, Result, err};
use crate::metadata::{Map, Value, json};
use crate::node::Group;

/// An image: the same content in falling resolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Multiscale {
    /// Its name, often empty.
    pub name: String,
    /// The version of OME-Zarr, such as `0.5`.
    pub version: String,
    /// What the dimensions are, in the arrays' order.
    pub axes: Vec<ImageAxis>,
    /// From the highest resolution down.
    pub levels: Vec<ImageLevel>,
}

/// One dimension of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageAxis {
    /// `t`, `c`, `z`, `y`, `x`, or another name.
    pub name: String,
    /// `time`, `channel`, `space`, another word, or nothing.
    pub kind: String,
    /// The unit of its coordinates, such as `micrometer`; may be empty.
    pub unit: String,
}

/// One resolution of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageLevel {
    /// The path of its array, below the group.
    pub path: String,
    /// The distance between neighbours along each axis, in its unit.
    pub scale: Vec<f64>,
    /// The place of the first element along each axis.
    pub translation: Vec<f64>,
}

impl Group {
    /// The images that the group holds; none in a group of another kind.
    ///
    /// Errors: `Metadata`, with the field, where the attributes say that there are images but not as the convention has it.
    pub fn multiscales(&self) -> Result<Vec<Multiscale>> {
        let attributes = self.attributes().all()?;
        let (at, members) = match attributes.get("ome").and_then(Value::as_object) {
            Some(ome) => ("ome.", ome),
            None => ("", &attributes),
        };
        let outer = text(members, "version");
        let Some(list) = members.get("multiscales") else { return Ok(Vec::new()) };
        let field = format!("{at}multiscales");
        let list = list.as_array().ok_or_else(|| wrong(list, "a list").at_field(&field))?;
        let image = |(i, value): (usize, &Value)| multiscale(value, &outer).map_err(|e| e.at_field(format!("{field}[{i}]")));
        list.iter().enumerate().map(image).collect()
    }
}

fn wrong(value: &Value, expected: &str) -> Error {
    err!(Metadata, "found {}, expected {expected}", json::brief(value))
}

fn text(members: &Map, name: &str) -> String {
    members.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map> {
    value.as_object().ok_or_else(|| wrong(value, what))
}

/// The members of a list; none where it is not there.
fn items<'a>(members: &'a Map, name: &str) -> Result<&'a [Value]> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(wrong(other, "a list").at_field(name)),
    }
}

fn multiscale(value: &Value, version: &str) -> Result<Multiscale> {
    let members = object(value, "an object")?;
    let own = text(members, "version");
    let axes: Result<Vec<ImageAxis>> = items(members, "axes")?.iter().enumerate().map(axis).collect();
    let axes = axes?;
    let rank = (!axes.is_empty()).then_some(axes.len());
    let outer = transformations(members, rank)?;
    let level = |(i, value): (usize, &Value)| level(value, &outer, rank).map_err(|e| e.at_field(format!("datasets[{i}]")));
    let levels: Result<Vec<ImageLevel>> = items(members, "datasets")?.iter().enumerate().map(level).collect();
    let version = if own.is_empty() { version.to_string() } else { own };
    Ok(Multiscale { name: text(members, "name"), version, levels: levels?, axes })
}

/// Version 0.3 had names alone.
fn axis((i, value): (usize, &Value)) -> Result<ImageAxis> {
    match value {
        Value::String(name) => Ok(ImageAxis { name: name.to_string(), ..ImageAxis::default() }),
        Value::Object(members) => Ok(ImageAxis { name: text(members, "name"), kind: text(members, "type"), unit: text(members, "unit") }),
        other => Err(wrong(other, "an object").at_field(format!("axes[{i}]"))),
    }
}

/// What makes places of indices: those of an image are applied after each level's own.
struct Transform {
    scale: Option<Vec<f64>>,
    translation: Option<Vec<f64>>,
}

fn level(value: &Value, outer: &Transform, rank: Option<usize>) -> Result<ImageLevel> {
    let members = object(value, "an object")?;
    let path = members.get("path").and_then(Value::as_str);
    let path = path.ok_or_else(|| err!(Metadata, "the member is missing, expected the path of an array").at_field("path"))?;
    let own = transformations(members, rank)?;
    // Where no axes are told, the longest list says how many there are.
    let lists = [&own.scale, &own.translation, &outer.scale, &outer.translation];
    let rank = rank.unwrap_or_else(|| lists.into_iter().flatten().map(Vec::len).max().unwrap_or(0));
    let (mut scale, mut translation) = (own.scale.unwrap_or_default(), own.translation.unwrap_or_default());
    scale.resize(rank, 1.0);
    translation.resize(rank, 0.0);
    if let Some(factors) = &outer.scale {
        scale.iter_mut().zip(factors).for_each(|(x, f)| *x *= f);
        translation.iter_mut().zip(factors).for_each(|(x, f)| *x *= f);
    }
    if let Some(more) = &outer.translation {
        translation.iter_mut().zip(more).for_each(|(x, t)| *x += t);
    }
    Ok(ImageLevel { path: path.to_string(), scale, translation })
}

/// The `scale` and the `translation` among `coordinateTransformations`, of `rank` numbers where that is known; other kinds are not used.
fn transformations(members: &Map, rank: Option<usize>) -> Result<Transform> {
    let (mut scale, mut translation) = (None, None);
    for (i, value) in items(members, "coordinateTransformations")?.iter().enumerate() {
        let field = |e: Error| e.at_field(format!("coordinateTransformations[{i}]"));
        let members = object(value, "an object").map_err(field)?;
        let numbers = |name: &str| -> Result<Vec<f64>> {
            let list = items(members, name)?;
            if let Some(rank) = rank.filter(|&rank| rank != list.len()) {
                return Err(err!(Metadata, "found {} numbers, expected {rank}, one for each axis", list.len()).at_field(name));
            }
            list.iter().map(|v| v.as_f64().ok_or_else(|| wrong(v, "a number").at_field(name))).collect()
        };
        match text(members, "type").as_str() {
            "scale" if members.contains_key("scale") => scale = Some(numbers("scale").map_err(field)?),
            "translation" if members.contains_key("translation") => translation = Some(numbers("translation").map_err(field)?),
            _ => {}
        }
    }
    Ok(Transform { scale, translation })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::metadata::Format;
    use crate::node::{Context, Create, Store};

    fn group(format: Format, attributes: &str) -> Group {
        let store = Store::memory(&Context::default());
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        group.attributes().replace_json(attributes).unwrap();
        group
    }

    const IMAGES: &str = r#"[{"name": "im", "axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space", "unit": "micrometer"}],
        "datasets": [{"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5]}]},
            {"path": "s1", "coordinateTransformations": [{"type": "scale", "scale": [1, 1.0]}, {"type": "translation", "translation": [0, 0.25]}]}],
        "coordinateTransformations": [{"type": "scale", "scale": [1, 10]}]VERSION}]"#;

    #[test]
    fn images_of_both_versions_are_recognised_with_their_axes_and_scales() {
        let old = format!("{{\"multiscales\": {}}}", IMAGES.replace("VERSION", ", \"version\": \"0.4\""));
        let new = format!("{{\"ome\": {{\"version\": \"0.5\", \"multiscales\": {}}}}}", IMAGES.replace("VERSION", ""));
        for (group, version) in [(group(Format::V2, &old), "0.4"), (group(Format::V3, &new), "0.5")] {
            let [image] = group.multiscales().unwrap().try_into().unwrap();
            assert_eq!((image.name.as_str(), image.version.as_str()), ("im", version));
            assert_eq!(image.axes[1], ImageAxis { name: "y".into(), kind: "space".into(), unit: "micrometer".into() });
            assert_eq!(image.levels[0], ImageLevel { path: "s0".into(), scale: vec![1.0, 5.0], translation: vec![0.0, 0.0] });
            assert_eq!(image.levels[1], ImageLevel { path: "s1".into(), scale: vec![1.0, 10.0], translation: vec![0.0, 2.5] });
        }
        assert!(group(Format::V3, "{\"a\": 1}").multiscales().unwrap().is_empty());
    }

    #[test]
    fn what_is_not_as_the_convention_has_it_is_named() {
        let cases = [
            (r#"{"multiscales": 3}"#, "multiscales"),
            (r#"{"multiscales": [3]}"#, "multiscales[0]"),
            (r#"{"ome": {"multiscales": [{"datasets": [{}]}]}}"#, "ome.multiscales[0].datasets[0].path"),
            (r#"{"multiscales": [{"axes": [4]}]}"#, "multiscales[0].axes[0]"),
            (
                r#"{"multiscales": [{"datasets": [{"path": "a", "coordinateTransformations": [{"type": "scale", "scale": ["x"]}]}]}]}"#,
                "multiscales[0].datasets[0].coordinateTransformations[0].scale",
            ),
            (
                r#"{"multiscales": [{"axes": ["z", "y", "x"], "datasets": [{"path": "a", "coordinateTransformations": [{"type": "scale", "scale": [1, 2]}]}]}]}"#,
                "multiscales[0].datasets[0].coordinateTransformations[0].scale",
            ),
            (
                r#"{"multiscales": [{"axes": ["y"], "coordinateTransformations": [{"type": "translation", "translation": [1, 2]}]}]}"#,
                "multiscales[0].coordinateTransformations[0].translation",
            ),
        ];
        for (attributes, field) in cases {
            let e = group(Format::V2, attributes).multiscales().unwrap_err();
            assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some(field)), "{e}");
        }
    }
}
