//! The names of dimensions: `dimension_names` in version 3, the attribute `_ARRAY_DIMENSIONS` in version 2, and what they make of the
//! arrays of a group together. Convention: xarray, "Zarr Encoding Specification".

use super::listed_lengths::{Lengths, names_of};
use super::spec::v2_unnamed;
use super::walk::{Found, Wanted};
use super::{Array, Group, NodeKind, document, path, upkeep};
use crate::counting;
use crate::error::{Error, ErrorKind, Result, err};
use crate::limits::{check_dimension_names, collect, push};
use crate::metadata::lint::{Finding, Severity};
use crate::metadata::{Format, Value, v2, v3};
use std::sync::Arc;

/// A dimension that arrays of a group share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// The length that all arrays have which have the dimension.
    pub length: u64,
    /// The length of the longest array along it. It differs from `length` while arrays grow one after the other, and after a kill.
    pub longest: u64,
}

/// Collects the dimensions that arrays share.
#[derive(Clone, Debug, Default)]
pub struct Dimensions {
    known: Vec<SharedDimension>,
}

/// A dimension with the names of its shortest and its longest array, for messages.
#[derive(Clone, Debug)]
struct SharedDimension {
    dimension: Dimension,
    shortest: String,
    longest: String,
}

impl Dimensions {
    /// Adds a dimension of the array `of`.
    pub fn add(&mut self, name: &str, length: u64, of: &str) -> Result<()> {
        let Some(known) = self.known.iter_mut().find(|k| k.dimension.name == name) else {
            return self.push_new(name, [(length, of); 2]);
        };
        if length < known.dimension.length {
            (known.dimension.length, known.shortest) = (length, of.to_string());
        }
        if length > known.dimension.longest {
            (known.dimension.longest, known.longest) = (length, of.to_string());
        }
        Ok(())
    }

    /// Adds a dimension that is not known yet, with its shortest and its longest array.
    pub(super) fn push_new(&mut self, name: &str, [shortest, longest]: [(u64, &str); 2]) -> Result<()> {
        let dimension = Dimension { name: name.to_string(), length: shortest.0, longest: longest.0 };
        push(&mut self.known, SharedDimension { dimension, shortest: shortest.1.to_string(), longest: longest.1.to_string() })
    }

    /// Adds all dimensions of an array. Errors: `Metadata` if one has no name.
    pub fn add_array(&mut self, of: &str, names: &[Option<String>], shape: &[u64]) -> Result<()> {
        for (d, (name, &length)) in names.iter().zip(shape).enumerate() {
            let Some(name) = name.as_deref().filter(|name| !name.is_empty()) else {
                return Err(
                    err!(Metadata, "{} of the array {of:?} has no name", counting::dimension(d, shape.len())).at_field("dimension_names")
                );
            };
            self.add(name, length, of)?;
        }
        Ok(())
    }

    /// All of them, in the order in which they came.
    pub fn all(&self) -> Result<Vec<Dimension>> {
        collect(self.known.iter().map(|k| k.dimension.clone()))
    }

    /// The dimensions along which arrays differ in length, with a text that says which ones do.
    pub fn differences(&self) -> impl Iterator<Item = (&Dimension, String)> + '_ {
        self.known.iter().filter(|k| k.dimension.length < k.dimension.longest).map(|k| {
            let Dimension { name, length, longest } = &k.dimension;
            let (short, long) = (&k.shortest, &k.longest);
            (&k.dimension, format!("the dimension {name:?} of the array {short:?} is {length} long, that of {long:?} is {longest}"))
        })
    }

    /// The error of a dimension that is not there.
    pub fn missing(&self, name: &str) -> Error {
        if self.known.is_empty() {
            return err!(NotFound, "no dimension {name:?}; there are none");
        }
        err!(NotFound, "no dimension {name:?}; there are {}", path::near(self.known.iter().map(|k| k.dimension.name.as_str()), name))
    }
}

impl Array {
    /// A name or `None` for each dimension: v3 `dimension_names`, v2 the attribute `_ARRAY_DIMENSIONS`. A v3 array whose document has
    /// none is asked for the attribute, too, as arrays have it that were converted (XR-05). Where there is neither, NCZarr's references
    /// to dimensions count (XR-06).
    /// Errors: the attributes cannot be read, which must not be taken for an array without names.
    pub fn dimension_names(&self) -> Result<Vec<Option<String>>> {
        let state = self.state();
        let rank = state.meta.shape.len();
        if let Some(names) = state.meta.dimension_names.clone().filter(|_| state.meta.format == Format::V3) {
            return Ok(names);
        }
        let names = match self.attributes().view()?.get(v2::DIMENSIONS).and_then(|value| names_of(value, rank)) {
            None => self.nc_names()?,
            names => names,
        };
        Ok(names.unwrap_or_else(|| vec![None; rank]))
    }

    /// Whether its document of version 3, as it is known, names the dimensions so. Nothing is copied, and the store is not asked.
    pub(in crate::node) fn is_named(&self, names: &[String]) -> bool {
        let state = self.state();
        let in_document = state.meta.dimension_names.as_ref().filter(|_| state.meta.format == Format::V3);
        in_document.is_some_and(|there| there.iter().map(Option::as_deref).eq(names.iter().map(|name| Some(name.as_str()))))
    }

    /// Names the dimensions of an array that is there. Errors: `Rank`; `Unsupported` for unnamed ones beside named ones in v2.
    pub fn set_dimension_names(&self, names: &[Option<String>]) -> Result<()> {
        self.store().check_writable()?;
        self.dialect().refuse()?;
        let rank = self.rank();
        if names.len() != rank {
            let e = err!(Rank, "found {} names, expected {rank}, one for each dimension", names.len());
            return Err(e.at_field("dimension_names"));
        }
        check_dimension_names(names.iter().map(Option::as_deref)).map_err(|e| e.at_field("dimension_names"))?;
        match self.format() {
            Format::V2 => {
                let named: Option<Vec<Value>> = names.iter().map(|n| n.clone().map(Value::from)).collect();
                match named {
                    Some(named) => self.attributes().set(v2::DIMENSIONS, named.into()),
                    None if names.iter().all(Option::is_none) => match self.attributes().view()?.contains_key(v2::DIMENSIONS) {
                        true => self.attributes().erase(v2::DIMENSIONS),
                        false => Ok(()),
                    },
                    None => Err(v2_unnamed()),
                }?;
            }
            Format::V3 => self.publish_names(names)?,
        }
        self.store().note_named(self.path(), names.iter().any(Option::is_some));
        Ok(())
    }

    fn publish_names(&self, names: &[Option<String>]) -> Result<()> {
        document::change(self.store(), self.path(), v3::DOCUMENT, || {
            let (fresh, before, condition) = self.read_to_change()?;
            let mut meta = fresh.meta.clone();
            let member = Value::Array(names.iter().cloned().map(Value::from).collect());
            match names.iter().any(Option::is_some) {
                true => drop(meta.document.insert("dimension_names".into(), member)),
                false => drop(meta.document.shift_remove("dimension_names")),
            }
            meta.dimension_names = Some(names.to_vec());
            let publish =
                || document::publish_over(self.store(), &path::join(self.path(), v3::DOCUMENT), &meta.document, &before, condition);
            fresh.while_there(publish)?;
            self.set_state(self.telling_of(self.state_of(meta, &Arc::new(fresh))?));
            Ok(())
        })?;
        upkeep::of_stored(upkeep::after_changes(self.store(), &[(self.path(), Lengths::NONE)], None))
    }

    /// Returns a note if the attribute of v2 contradicts the names of a v3 array or replaces them; else `None`.
    pub(super) fn names_finding(&self) -> Option<Finding> {
        let state = self.state();
        if state.meta.format != Format::V3 {
            return None;
        }
        let attributes = self.attributes().view().ok()?;
        let said = names_of(attributes.get(v2::DIMENSIONS)?, state.meta.shape.len());
        let text = match &state.meta.dimension_names {
            Some(names) if said.as_ref() != Some(names) => {
                "the attribute \"_ARRAY_DIMENSIONS\" says something else than \"dimension_names\", which counts"
            }
            Some(_) => return None,
            None => "the names of the dimensions are those of the attribute \"_ARRAY_DIMENSIONS\"",
        };
        Some(Finding::new(Severity::Warning, "XR-05", text))
    }
}

impl Group {
    /// The arrays directly below the group, by name. One that cannot be understood is an error.
    pub fn arrays(&self) -> Result<Vec<(String, Array)>> {
        let mut arrays = Vec::new();
        // Opening finds out what can be understood.
        for Found { path: name, node, .. } in
            self.walk(Wanted { depth: 1, attributes: true, format: None, checked: false, unlisted: false })?
        {
            let (node, path) = (node?, path::join(self.path(), &name));
            let listed = node.listed;
            if node.kind == NodeKind::Array {
                let array = Array::from_stored(self.store(), path.clone(), node);
                match array.or_else(|e| if listed { Array::open(self.store(), &path) } else { Err(e) }) {
                    // Another process has erased it since.
                    Err(e) if listed && e.kind() == ErrorKind::NotFound => {}
                    array => push(&mut arrays, (name, array?))?,
                }
            }
        }
        Ok(arrays)
    }
}
