//! OME-Zarr: images in several resolutions, as the attributes of a group describe them. Versions 0.4 (`multiscales`) and 0.5 (`ome`);
//! reading only.
//! Convention: "Next-generation file formats (NGFF)", "multiscales" metadata.

use crate::error::{Error, ErrorKind, Result, err};
use crate::limits::try_collect;
use crate::metadata::{Format, Map, Value, json, v3};
use crate::node::{Group, path};

/// An image: the same content in falling resolution.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub struct ImageLevel {
    /// The path of its array, below the group.
    pub path: String,
    /// The distance between neighbours along each axis, in its unit.
    pub scale: Vec<f64>,
    /// The place of the first element along each axis.
    pub translation: Vec<f64>,
    /// Why neither is known, with the field, and both are empty: transformations of a kind that is not supported.
    pub unplaced: Option<Error>,
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
        let image = |(i, value): (usize, &Value)| {
            let place = |e: Error| e.at_field(format!("{field}[{i}]"));
            let mut image = multiscale(value, &outer).map_err(place)?;
            image.levels.iter_mut().for_each(|level| level.unplaced = level.unplaced.take().map(place));
            Ok(image)
        };
        try_collect(list.iter().enumerate().map(image))
    }
}

/// The members in which OME-Zarr 0.4 has its metadata among a group's attributes; 0.5 has all of them in [`SINCE_0_5`].
const UNTIL_0_4: [&str; 3] = ["multiscales", "plate", "well"];
const SINCE_0_5: &str = "ome";

/// The groups of a copy whose metadata of OME-Zarr are those of the other version of Zarr: 0.4 is of version 2, 0.5 of version 3.
#[derive(Default)]
pub(in crate::node) struct OtherImages {
    count: u64,
    first: Option<(String, Format)>,
}

impl OtherImages {
    /// Takes a group of the copy in that version, its `zarr.json` or its attributes.
    pub fn see(&mut self, group: &str, format: Format, document: &Map) {
        let is_other = match format {
            Format::V2 => document.get(SINCE_0_5).is_some_and(Value::is_object),
            Format::V3 => {
                v3::attributes(document).is_some_and(|attributes| UNTIL_0_4.iter().any(|name| is_metadata(name, attributes.get(name))))
            }
        };
        if is_other {
            self.count += 1;
            self.first.get_or_insert_with(|| (group.to_string(), format));
        }
    }

    /// The line about them, if there are any.
    pub fn note(self) -> Option<String> {
        let (first, format) = self.first?;
        let (first, what) = (path::display(&first).to_string(), if self.count == 1 { "group" } else { "groups" });
        let (is, wanted) = if format == Format::V3 { ("0.4", "0.5 (\"ome\")") } else { ("0.5", "0.4 (\"multiscales\")") };
        let number = format.number();
        Some(format!(
            "the metadata of OME-Zarr are kept as they are: {} {what}, the first is {first}, of version {is}; in zarr_format {number} readers look \
             for version {wanted}",
            self.count
        ))
    }
}

/// Whether an attribute of that name is OME-Zarr's: images are a list, others an object.
fn is_metadata(name: &str, value: Option<&Value>) -> bool {
    value.is_some_and(if name == "multiscales" { Value::is_array } else { Value::is_object })
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
    let axes = axes(items(members, "axes")?)?;
    let rank = (!axes.is_empty()).then_some(axes.len());
    let outer = transformations(members, rank)?;
    let level = |(i, value): (usize, &Value)| level(i, value, &outer, rank).map_err(|e| e.at_field(format!("datasets[{i}]")));
    let levels = try_collect(items(members, "datasets")?.iter().enumerate().map(level));
    let version = if own.is_empty() { version.to_string() } else { own };
    Ok(Multiscale { name: text(members, "name"), version, levels: levels?, axes })
}

fn axes(list: &[Value]) -> Result<Vec<ImageAxis>> {
    let mut axes: Vec<ImageAxis> = Vec::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        let found = axis(value).map_err(|e| e.at_field(format!("axes[{i}]")))?;
        if axes.iter().any(|other| other.name == found.name) {
            return Err(wrong(&found.name.into(), "another name for each axis").at_field(format!("axes[{i}].name")));
        }
        axes.push(found);
    }
    Ok(axes)
}

/// Version 0.3 had names alone.
fn axis(value: &Value) -> Result<ImageAxis> {
    if let Value::String(name) = value {
        return Ok(ImageAxis { name: name.to_string(), ..ImageAxis::default() });
    }
    let members = object(value, "an object")?;
    let optional = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(_) => required(members, name, "a text"),
    };
    Ok(ImageAxis { name: required(members, "name", "the name of the axis")?, kind: optional("type")?, unit: optional("unit")? })
}

/// A text that must be there.
fn required(members: &Map, name: &str, what: &str) -> Result<String> {
    match members.get(name) {
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(other) => Err(wrong(other, what).at_field(name)),
        None => Err(err!(Metadata, "the member is missing, expected {what}").at_field(name)),
    }
}

/// What makes places of indices: those of an image are applied after each level's own.
#[derive(Default)]
struct Transform {
    scale: Option<Vec<f64>>,
    translation: Option<Vec<f64>>,
    /// Why the places are not known.
    unsupported: Option<Error>,
}

fn level(i: usize, value: &Value, outer: &Transform, rank: Option<usize>) -> Result<ImageLevel> {
    let members = object(value, "an object")?;
    let path = required(members, "path", "the path of an array")?;
    let own = transformations(members, rank)?;
    let unplaced = own.unsupported.map(|e| e.at_field(format!("datasets[{i}]"))).or_else(|| outer.unsupported.clone());
    if unplaced.is_some() {
        return Ok(ImageLevel { path, scale: Vec::new(), translation: Vec::new(), unplaced });
    }
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
    Ok(ImageLevel { path, scale, translation, unplaced })
}

/// The `scale` and the `translation` behind it among `coordinateTransformations`, of `rank` numbers where that is known. Where none is
/// told, the places are the indices: before version 0.4 there were no transformations, and the identity is the default.
fn transformations(members: &Map, rank: Option<usize>) -> Result<Transform> {
    let (list, mut found) = (items(members, "coordinateTransformations")?, Transform::default());
    // SpatialData lists one for each system of coordinates, where the convention has one after the other.
    if list.iter().filter(|value| value.as_object().is_some_and(|members| members.contains_key("output"))).count() > 1 {
        let e = err!(Unsupported, "transformations to several systems of coordinates are not supported");
        return Ok(Transform { unsupported: Some(e.at_field("coordinateTransformations")), ..found });
    }
    for (i, value) in list.iter().enumerate() {
        match transformation(value, rank, &mut found).map_err(|e| e.at_field(format!("coordinateTransformations[{i}]"))) {
            Err(e) if e.kind() == ErrorKind::Unsupported => found.unsupported = found.unsupported.or(Some(e)),
            done => done?,
        }
    }
    Ok(found)
}

/// Adds a transformation to those in front of it.
fn transformation(value: &Value, rank: Option<usize>, found: &mut Transform) -> Result<()> {
    let members = object(value, "an object")?;
    let kind = required(members, "type", "scale, translation or identity")?;
    let is_first = found.translation.is_none() && (kind != "scale" || found.scale.is_none());
    let slot = match kind.as_str() {
        "identity" => return Ok(()),
        "scale" => &mut found.scale,
        "translation" => &mut found.translation,
        _ => return Err(err!(Unsupported, "transformations of the type {kind:?} are not supported").at_field("type")),
    };
    if !is_first {
        return Err(err!(Metadata, "found a {kind} behind others, expected one scale and then at most one translation").at_field("type"));
    }
    let list = match members.get(&kind) {
        Some(Value::Array(list)) => list,
        Some(other) => return Err(wrong(other, "a list").at_field(kind)),
        None if members.contains_key("path") => {
            return Err(err!(Unsupported, "a {kind} whose numbers are in an array is not supported").at_field("path"));
        }
        None => return Err(err!(Metadata, "the member is missing, expected a list").at_field(kind)),
    };
    if let Some(rank) = rank.filter(|&rank| rank != list.len()) {
        return Err(err!(Metadata, "found {} numbers, expected {rank}, one for each axis", list.len()).at_field(kind));
    }
    let number = |v: &Value| v.as_f64().ok_or_else(|| wrong(v, "a number").at_field(kind.as_str()));
    *slot = Some(list.iter().map(number).collect::<Result<_>>()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Context, Create, RechunkOptions, Store};

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
            assert_eq!(placed(&image.levels[0]).unwrap(), ("s0", vec![1.0, 5.0], vec![0.0, 0.0]));
            assert_eq!(placed(&image.levels[1]).unwrap(), ("s1", vec![1.0, 10.0], vec![0.0, 2.5]));
        }
        assert!(group(Format::V3, "{\"a\": 1}").multiscales().unwrap().is_empty());
    }

    #[test]
    fn a_copy_in_the_other_version_of_zarr_tells_that_the_metadata_of_images_are_kept() {
        let told = |groups: &[(&str, &str)], from: Format, to: Format| {
            let (store, dest) = (Store::memory(&Context::default()), Store::memory(&Context::default()));
            Group::create(&store, "", Some(from), Create::New).unwrap();
            for (path, attributes) in groups {
                Group::create(&store, path, Some(from), Create::New).unwrap().attributes().replace_json(attributes).unwrap();
            }
            let options = RechunkOptions { format: Some(to), ..RechunkOptions::default() };
            let copied = store.rechunk_node("", (&dest, ""), options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap().notes;
            if to == Format::V3 {
                let migrated = store.migrate("", Some((&Store::memory(&Context::default()), "")), true, &mut |_, _| Ok(())).unwrap().notes;
                assert_eq!(migrated, copied);
            }
            copied
        };
        let (old, new) = (r#"{"multiscales":[{"version":"0.4","datasets":[]}]}"#, r#"{"ome":{"version":"0.5","multiscales":[]}}"#);
        for (groups, from, to, wanted) in [
            (
                [("a", old), ("b", r#"{"plate":{}}"#)],
                Format::V2,
                Format::V3,
                Some("2 groups, the first is a, of version 0.4; in zarr_format 3 readers look for version 0.5 (\"ome\")"),
            ),
            ([("a", "{}"), ("b", old)], Format::V2, Format::V3, Some("1 group, the first is b, of version 0.4; in zarr_format 3")),
            (
                [("a", new), ("b", "{}")],
                Format::V3,
                Format::V2,
                Some("1 group, the first is a, of version 0.5; in zarr_format 2 readers look for version 0.4"),
            ),
            ([("a", new), ("b", old)], Format::V2, Format::V2, None),
            ([("a", r#"{"units":"K"}"#), ("b", "{}")], Format::V2, Format::V3, None),
            // Attributes of the same names that are not OME-Zarr's.
            ([("a", r#"{"multiscales":{"tile_matrix_set":{}}}"#), ("b", r#"{"well":"7","plate":3}"#)], Format::V2, Format::V3, None),
        ] {
            let notes = told(&groups, from, to);
            let is_as_wanted = match wanted {
                Some(wanted) => notes.len() == 1 && notes[0].contains(wanted),
                None => notes.is_empty(),
            };
            assert!(is_as_wanted, "{groups:?} {from:?} {to:?}: {notes:?}");
        }
    }

    #[test]
    fn what_is_not_as_the_convention_has_it_is_named() {
        let cases = [
            (r#"{"multiscales": 3}"#, "multiscales"),
            (r#"{"multiscales": [3]}"#, "multiscales[0]"),
            (r#"{"ome": {"multiscales": [{"datasets": [{}]}]}}"#, "ome.multiscales[0].datasets[0].path"),
            (r#"{"multiscales": [{"datasets": [{"path": -1}]}]}"#, "multiscales[0].datasets[0].path"),
            (r#"{"multiscales": [{"axes": [4]}]}"#, "multiscales[0].axes[0]"),
            (r#"{"multiscales": [{"axes": [{"name": 5}]}]}"#, "multiscales[0].axes[0].name"),
            (r#"{"multiscales": [{"axes": [{"type": "space"}]}]}"#, "multiscales[0].axes[0].name"),
            (r#"{"multiscales": [{"axes": [{"name": "x", "unit": 5}]}]}"#, "multiscales[0].axes[0].unit"),
            (r#"{"multiscales": [{"axes": [{"name": "x"}, {"name": "x"}]}]}"#, "multiscales[0].axes[1].name"),
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

    /// The path, the scale and the translation of a level.
    fn placed(level: &ImageLevel) -> Result<(&str, Vec<f64>, Vec<f64>)> {
        match &level.unplaced {
            Some(e) => Err(e.clone()),
            None => Ok((&level.path, level.scale.clone(), level.translation.clone())),
        }
    }

    /// The level of an image of two axes that has these transformations.
    fn level_of(transformations: &str) -> Result<ImageLevel> {
        let image = r#"{"multiscales": [{"axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": "0", "coordinateTransformations": LIST}]}]}"#;
        let [image] = group(Format::V2, &image.replace("LIST", transformations)).multiscales()?.try_into().unwrap();
        let [level] = image.levels.try_into().unwrap();
        Ok(level)
    }

    #[test]
    fn transformations_that_are_certain_are_read() {
        for (list, scale, translation) in [
            (r#"[{"type": "scale", "scale": [2, 3]}]"#, [2.0, 3.0], [0.0, 0.0]),
            (r#"[{"type": "scale", "scale": [2, 3]}, {"type": "translation", "translation": [10, 20]}]"#, [2.0, 3.0], [10.0, 20.0]),
            (r#"[{"type": "identity"}, {"type": "scale", "scale": [2, 3]}]"#, [2.0, 3.0], [0.0, 0.0]),
            (r#"[{"type": "scale", "scale": [2, 3], "input": "0", "output": "physical"}]"#, [2.0, 3.0], [0.0, 0.0]),
            (r#"[{"type": "translation", "translation": [10, 20]}]"#, [1.0, 1.0], [10.0, 20.0]),
            ("[]", [1.0, 1.0], [0.0, 0.0]),
            ("null", [1.0, 1.0], [0.0, 0.0]),
        ] {
            assert_eq!(placed(&level_of(list).unwrap()).unwrap(), ("0", scale.to_vec(), translation.to_vec()), "{list}");
        }
    }

    #[test]
    fn transformations_that_are_not_understood_are_errors() {
        let scale = r#"{"type": "scale", "scale": [2, 3]}"#;
        for (list, kind, field) in [
            (format!(r#"[{{"type": "translation", "translation": [10, 20]}}, {scale}]"#), ErrorKind::Metadata, "[1].type"),
            (format!("[{scale}, {scale}]"), ErrorKind::Metadata, "[1].type"),
            (r#"[{"scale": [2, 3]}]"#.into(), ErrorKind::Metadata, "[0].type"),
            (r#"[{"type": 5, "scale": [2, 3]}]"#.into(), ErrorKind::Metadata, "[0].type"),
            (r#"[{"type": "Scale", "scale": [2, 3]}]"#.into(), ErrorKind::Unsupported, "[0].type"),
            (r#"[{"type": "affine", "affine": [[2, 0, 1], [0, 3, 1]]}]"#.into(), ErrorKind::Unsupported, "[0].type"),
            (r#"[{"type": "scale", "path": "0/scale"}]"#.into(), ErrorKind::Unsupported, "[0].path"),
            (
                r#"[{"type": "identity", "output": "a"}, {"type": "scale", "scale": [2, 3], "output": "b"}]"#.into(),
                ErrorKind::Unsupported,
                "",
            ),
            (r#"[{"type": "scale"}]"#.into(), ErrorKind::Metadata, "[0].scale"),
            (r#"[{"type": "scale", "scale": null}]"#.into(), ErrorKind::Metadata, "[0].scale"),
        ] {
            let found = level_of(&list);
            assert_eq!(found.is_ok(), kind == ErrorKind::Unsupported, "{list}");
            let e = found.and_then(|level| placed(&level).map(drop)).expect_err(&list);
            let at = format!("multiscales[0].datasets[0].coordinateTransformations{field}");
            assert_eq!((e.kind(), e.field()), (kind, Some(at.as_str())), "{list}: {e}");
        }
    }
}
