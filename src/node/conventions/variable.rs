//! A variable of a dataset, as a program describes it, and the array that it becomes.

use super::cf::packing_attributes;
use super::missing::{FILL, fill_attribute_beside, missing_value};
use crate::codec::bitround::mantissa;
use crate::counting;
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, Element, Kind, Real};
use crate::error::{Result, bail, err};
use crate::limits::Dims;
use crate::metadata::json::{self, brief};
use crate::metadata::{Format, Map, Value};
use crate::node::{Array, Spec, spec};

/// What variable to define.
#[derive(Clone, Debug)]
pub struct VariableSpec {
    /// The type of the stored elements.
    pub data_type: DataType,
    /// Its dimensions, which are defined.
    pub dimensions: Vec<String>,
    /// All other choices about the array; its type is that of the variable, its shape that of the dimensions or not set.
    pub spec: Option<Spec>,
    /// The shape of a chunk.
    pub chunks: Option<Vec<u64>>,
    /// The element that means "missing": parts that are never written read as it.
    pub missing: Option<Element>,
    /// Stored numbers are multiplied with it.
    pub scale: Option<f64>,
    /// Then this is added.
    pub offset: Option<f64>,
    /// Further attributes.
    pub attributes: Map,
}

impl VariableSpec {
    /// A variable of that type along those dimensions.
    pub fn new(data_type: DataType, dimensions: &[&str]) -> VariableSpec {
        VariableSpec {
            data_type,
            dimensions: dimensions.iter().map(ToString::to_string).collect(),
            spec: None,
            chunks: None,
            missing: None,
            scale: None,
            offset: None,
            attributes: Map::new(),
        }
    }

    /// Returns this variable with one more attribute.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> VariableSpec {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Returns this variable with the attributes of a JSON object added.
    pub fn with_json(mut self, text: &str) -> Result<VariableSpec> {
        self.attributes.extend(json::given_attributes(text)?);
        Ok(self)
    }

    /// The array that is to be created, with the dimensions that grow, however long they are by now. Chunks that are left open are those of
    /// `there`, if it is one: what was suggested for fewer steps is not suggested again.
    pub(super) fn spec_of(&self, format: Format, (shape, grows): (&[u64], &[bool]), there: Option<&Array>) -> Result<Spec> {
        // A length of 0 is that of a dimension that grows, and has perhaps.
        let fits = |wanted: &[u64]| {
            let may_be = |d: usize| wanted[d] == shape[d] || wanted[d] == 0 && (there.is_some() || grows[d]);
            wanted.len() == shape.len() && (0..shape.len()).all(may_be)
        };
        let mut spec = match &self.spec {
            Some(spec) if spec.data_type() != self.data_type.native() => {
                bail!(Argument, "the specification is of {}, the variable of {}", spec.data_type().name(), self.data_type.name())
            }
            Some(spec) if spec.has_shape() && !fits(spec.shape()) => {
                let (found, wanted) = (counting::shape(spec.shape()), counting::shape(shape));
                bail!(
                    Argument,
                    "the specification is of shape {found}, the variable of {wanted}; a specification without a shape takes that of the dimensions"
                )
            }
            Some(spec) => {
                spec.check_agrees(format, &self.dimensions, self.missing.as_deref())?;
                spec.clone()
            }
            None => Spec::new(self.data_type, shape)?,
        };
        spec.set_shape(shape)?;
        spec.set_format(format)?;
        spec.set_dimension_names(self.dimensions.iter().cloned().map(Some).collect())?;
        if let Some(chunks) = &self.chunks {
            spec.set_chunks(chunks)?;
        }
        if spec.leaves_chunks() {
            match there {
                Some(there) => spec.take_chunks_of(there),
                None => suggest_growing(&mut spec, shape, grows)?,
            }
        }
        let mut attributes = self.attributes.clone();
        packing_attributes(&mut attributes, self.scale, self.offset)?;
        match &self.missing {
            Some(missing) => {
                check_told(&attributes, self.data_type, missing)?;
                spec.set_fill(self.data_type, missing)?;
                if let Some(bits) = spec.keep_bits()? {
                    check_rounded(self.data_type, missing, bits)?;
                }
                // In version 2 the fill value says it; netCDF wants the attribute, too (XR-11, XR-12, NZ-13).
                let value = fill_attribute_beside(&attributes, format, self.data_type, missing);
                attributes.extend(value.map(|value| (FILL.to_string(), value)));
            }
            None if spec.fill_is_set() => {}
            None if self.data_type.kind() == Kind::Float => spec.set_fill(DataType::Float64, &f64::NAN.to_ne_bytes())?,
            None => {}
        }
        spec.add_attributes(attributes)?;
        Ok(spec)
    }
}

/// Refuses a missing value where an attribute says another one.
fn check_told(attributes: &Map, data_type: DataType, missing: &[u8]) -> Result<()> {
    let told = attributes.get(FILL).filter(|_| data_type.is_number());
    // As version 2 writes them all NaN are one.
    let text = |element: &[u8]| Fill::from_bytes(element).to_json_v2(data_type);
    match told.and_then(|value| Some((value, missing_value(data_type, value)??))) {
        Some((value, own)) if text(&own)? != text(missing)? => {
            Err(err!(Argument, "the missing value is not the attribute's, which is {}", brief(value)).at_field(FILL))
        }
        _ => Ok(()),
    }
}

/// Refuses a missing value that rounding to this number of bits of the mantissa changes: elements that have it would be stored as another number, which
/// readers take for data. NaN is left alone.
fn check_rounded(data_type: DataType, missing: &[u8], bits: u32) -> Result<()> {
    let part = data_type.part().unwrap_or(data_type);
    let unit = 1_u64 << mantissa(part).map_or(0, |all| all.saturating_sub(bits));
    let number = |word: u64| match Real::load(part, &word.to_le_bytes()) {
        Some(Real::Float(number)) => number,
        _ => f64::NAN,
    };
    for bytes in missing.chunks_exact(part.size()) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        let below = word & !(unit - 1);
        if word == below {
            continue;
        }
        // Half to even, as the codec does it.
        let rounded = word.wrapping_add((word & unit != 0) as u64 + unit / 2 - 1) & !(unit - 1);
        if number(word).is_nan() {
            continue;
        }
        let (value, stored, above) = (number(word), number(rounded), number(below.wrapping_add(unit)));
        let e = err!(
            Argument,
            "the missing value {value:?} is stored as {stored:?} where {bits} bits are kept, which readers take for data; expected one that rounding \
             leaves as it is, the next ones are {:?} and {above:?}",
            number(below)
        );
        return Err(e.at_field("missing"));
    }
    Ok(())
}

/// Sets the chunks of a variable that grows, as they would be before its first step.
fn suggest_growing(spec: &mut Spec, shape: &[u64], grows: &[bool]) -> Result<()> {
    let at_first: Vec<u64> = shape.iter().zip(grows).map(|(&length, &grows)| if grows { 0 } else { length }).collect();
    if at_first.contains(&0) {
        spec.set_shape(&at_first)?;
        let chunks = growing_chunks(&at_first, spec.data_type().size());
        let shards = spec.shards_of(&chunks);
        spec.set_shards(chunks, shards);
        spec.set_shape(shape)?;
    }
    Ok(())
}

/// Suggested chunks of a variable that grows. Most are written in small steps and published often, so a chunk is not as deep as that of an
/// array that nothing is known of: a time axis of 100,000 steps has 98 chunks.
fn growing_chunks(shape: &[u64], item: usize) -> Dims {
    const DEEPEST: u64 = 1024;
    let chunks = spec::suggested(shape, item);
    chunks.iter().zip(shape).map(|(&chunk, &length)| if length == 0 { chunk.min(DEEPEST) } else { chunk }).collect()
}

/// Returns the shape of a variable. Errors: `NotFound` for a dimension that does not exist, `Argument` for one that occurs twice.
pub(super) fn shape_of(variable: &str, names: &[String], length_of: impl Fn(&str) -> Result<u64>) -> Result<Vec<u64>> {
    let mut shape = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            bail!(Argument, "the variable {variable:?} has the dimension {name:?} twice");
        }
        shape.push(length_of(name)?);
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// The specification of a variable with that missing value, rounded to `bits` by the setting or by a codec of a list.
    fn spec(data_type: DataType, missing: &[u8], bits: u32, listed: bool) -> Result<Spec> {
        let mut spec = Spec::without_shape(data_type, 1)?;
        match listed {
            true => spec.set_codecs_json(&format!(r#"[{{"name": "bitround", "configuration": {{"keepbits": {bits}}}}}, "bytes"]"#))?,
            false => spec.set_keep_bits(Some(bits))?,
        }
        let variable =
            VariableSpec { spec: Some(spec), missing: Some(Element::from_slice(missing)), ..VariableSpec::new(data_type, &["x"]) };
        variable.spec_of(Format::V3, (&[4], &[false]), None)
    }

    #[test]
    fn a_specification_and_members_that_contradict_each_other_are_refused() {
        type Edit = fn(&mut VariableSpec, &mut Spec) -> Result<()>;
        fn told(v: &mut VariableSpec, text: &str) {
            v.attributes = json::given_attributes(text).unwrap();
        }
        fn missing(v: &mut VariableSpec, n: i32) {
            v.missing = Some(Element::from_slice(&n.to_ne_bytes()));
        }
        let cases: &[(Edit, bool)] = &[
            (|_, s| s.set_format(Format::V2), false),
            (|_, s| s.set_format(Format::V3), true),
            (|_, s| s.set_dimension_names(vec![Some("p".into())]), false),
            (|_, s| s.set_dimension_names(vec![Some("x".into())]), true),
            (|_, s| s.set_dimension_names(vec![None]), true),
            (|v, s| (missing(v, -1), s.set_fill_json("-5")).1, false),
            (|v, s| (missing(v, -5), s.set_fill_json("-5")).1, true),
            (|v, _| (missing(v, -5), Ok(())).1, true),
            (|_, s| s.set_fill_json("-5"), true),
            (|v, _| (missing(v, -1), told(v, r#"{"_FillValue": 7}"#), Ok(())).2, false),
            (|v, _| (missing(v, 7), told(v, r#"{"_FillValue": 7, "missing_value": 8}"#), Ok(())).2, true),
            (|v, _| (v.scale = Some(0.5), told(v, r#"{"scale_factor": 2.0}"#), Ok(())).2, false),
            (|v, _| (v.scale = Some(2.0), told(v, r#"{"scale_factor": 2, "add_offset": 1}"#), Ok(())).2, true),
            (|v, _| (v.offset = Some(0.5), told(v, r#"{"add_offset": 2.0}"#), Ok(())).2, false),
            (|v, s| (told(v, r#"{"units": "m"}"#), s.set_attributes_json(r#"{"units": "K"}"#)).1, false),
            (|v, s| (told(v, r#"{"units": "m"}"#), s.set_attributes_json(r#"{"units": "m", "a": 1}"#)).1, true),
        ];
        for (at, (edit, agree)) in cases.iter().enumerate() {
            let mut spec = Spec::without_shape(DataType::Int32, 1).unwrap();
            let mut variable = VariableSpec::new(DataType::Int32, &["x"]);
            edit(&mut variable, &mut spec).unwrap();
            let made = VariableSpec { spec: Some(spec), ..variable }.spec_of(Format::V3, (&[4], &[false]), None);
            assert_eq!(made.err().map(|e| e.kind()), (!agree).then_some(ErrorKind::Argument), "{at}");
        }
    }

    #[test]
    fn a_specification_that_does_not_fit_is_told_by_what_differs() {
        let refused = |data_type, shape: Option<&[u64]>| {
            let spec = shape.map_or_else(|| Spec::without_shape(data_type, 1), |shape| Spec::new(data_type, shape));
            let variable = VariableSpec { spec: Some(spec.unwrap()), ..VariableSpec::new(DataType::Int32, &["x"]) };
            variable.spec_of(Format::V3, (&[4], &[false]), None).err().map(|e| e.to_string())
        };
        assert_eq!(refused(DataType::Int32, None), None);
        assert_eq!(refused(DataType::Int32, Some(&[4])), None);
        assert_eq!(refused(DataType::Float64, None).unwrap(), "the specification is of float64, the variable of int32");
        assert!(refused(DataType::Int32, Some(&[5])).unwrap().starts_with("the specification is of shape [5], the variable of [4]; "));
    }

    #[test]
    fn a_missing_value_that_rounding_changes_is_refused() {
        let single = |value: f32, bits, listed| spec(DataType::Float32, &value.to_ne_bytes(), bits, listed);
        for listed in [false, true] {
            let stay = [(-9999.0, 13), (-9984.0, 7), (0.0, 1), (-32768.0, 1), (f32::INFINITY, 1), (9.969_21e36, 3), (1e20, 23)];
            for (value, bits) in stay.into_iter().chain([(f32::NAN, 1), (-f32::NAN, 1), (f32::from_bits(u32::MAX), 7)]) {
                assert!(single(value, bits, listed).is_ok(), "{value} with {bits} bits");
            }
            for (value, bits) in [(-9999.0, 7), (-9999.0, 12), (1e20, 12), (f32::MAX, 22)] {
                let e = single(value, bits, listed).unwrap_err();
                assert_eq!((e.kind(), e.field()), (ErrorKind::Argument, Some("missing")), "{value} with {bits} bits");
            }
            let told = single(-9999.0, 7, listed).unwrap_err().to_string();
            assert!(told.contains("-9999.0 is stored as -9984.0 where 7 bits") && told.contains("-9984.0 and -10048.0"), "{told}");
        }
        assert!(spec(DataType::Float64, &(-9999_f64).to_ne_bytes(), 12, false).is_err());
        assert!(spec(DataType::Float64, &(-9999_f64).to_ne_bytes(), 13, false).is_ok());
        let pair = [1_f32.to_ne_bytes(), 1.1_f32.to_ne_bytes()].concat();
        assert!(spec(DataType::Complex64, &pair, 12, false).is_err());
    }
}
