//! A variable of a dataset, as a program describes it, and the array that it becomes.

use super::cf::packing_attributes;
use super::missing::{FILL, fill_attribute};
use crate::dtype::{DataType, Element, Kind};
use crate::error::{Result, bail, err};
use crate::limits::Dims;
use crate::metadata::{Format, Map, Value, json};
use crate::node::dimensions::Dimensions;
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
        match json::parse_given(text).map_err(|e| e.at_field("attributes"))? {
            Value::Object(more) => self.attributes.extend(more),
            other => return Err(err!(Type, "found {}, expected an object", json::brief(&other)).at_field("attributes")),
        }
        Ok(self)
    }

    /// The array that is to be created. Chunks that are left open are those of `there`, if it is one: what was suggested for fewer steps is
    /// not suggested again.
    pub(super) fn spec_of(&self, format: Format, shape: &[u64], there: Option<&Array>) -> Result<Spec> {
        let mut spec = match &self.spec {
            Some(spec) if spec.has_shape() && spec.shape() != shape || spec.data_type() != self.data_type.native() => {
                let (found, wanted) = (spec.data_type().name(), self.data_type.name());
                bail!(
                    Argument,
                    "the specification is of {found} and shape {:?}, the variable of {wanted} and shape {shape:?}; a specification without a \
                     shape takes that of the dimensions",
                    spec.shape()
                )
            }
            Some(spec) => spec.clone(),
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
                None if shape.contains(&0) => {
                    let chunks = growing_chunks(shape, spec.data_type().size());
                    let shards = spec.shards_of(&chunks);
                    spec.set_shards(chunks, shards);
                }
                None => {}
            }
        }
        let mut attributes = self.attributes.clone();
        packing_attributes(&mut attributes, self.scale, self.offset)?;
        let is_float = self.data_type.kind() == Kind::Float;
        match &self.missing {
            Some(missing) => {
                spec.set_fill(self.data_type, missing)?;
                // In version 2 the fill value says it; netCDF wants the attribute, too (XR-11, XR-12, NZ-13).
                let value = fill_attribute(format, self.data_type, missing);
                attributes.extend(value.map(|value| (FILL.to_string(), value)));
            }
            None if spec.fill_is_set() => {}
            None if is_float => spec.set_fill(DataType::Float64, &f64::NAN.to_ne_bytes())?,
            // In version 2 xarray takes any fill value for "missing".
            None if format == Format::V2 && self.data_type.is_number() => spec.set_fill_json("null")?,
            None => {}
        }
        attributes.into_iter().for_each(|(name, value)| spec.insert_attribute(&name, value));
        Ok(spec)
    }
}

/// Suggested chunks of a variable that grows. Most are written in small steps and published often, so a chunk is not as deep as that of an
/// array that nothing is known of: a time axis of 100,000 steps has 98 chunks.
fn growing_chunks(shape: &[u64], item: usize) -> Dims {
    const DEEPEST: u64 = 1024;
    let chunks = spec::suggested(shape, item);
    chunks.iter().zip(shape).map(|(&chunk, &length)| if length == 0 { chunk.min(DEEPEST) } else { chunk }).collect()
}

/// Returns the shape of a variable. Errors: `NotFound` for a dimension that does not exist, `Argument` for one that occurs twice.
pub(super) fn shape_of(variable: &str, names: &[String], dimensions: &Dimensions) -> Result<Vec<u64>> {
    let mut shape = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            bail!(Argument, "the variable {variable:?} has the dimension {name:?} twice");
        }
        let found = dimensions.find(name).ok_or_else(|| dimensions.missing(name))?;
        shape.push(found.length);
    }
    Ok(shape)
}
