//! An array with what it shows: its name, its units, and the coordinates of its dimensions.
//! Conventions: CF 1.2 and 4.4, coordinate variables with the name of their dimension.

use crate::failure::{Failure, Outcome};
use crate::place::understood;
use crate::sample;
use ozarr::dtype::Kind;
use ozarr::engine::Selection;
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::node::{Array, Store, TimeUnits};

/// Coordinates of longer dimensions are not read.
const LONGEST: u64 = 1 << 22;

/// An array and what it shows.
pub struct Variable {
    pub array: Array,
    pub dims: Vec<Dim>,
}

/// A dimension.
pub struct Dim {
    /// Its name; where it has none its number.
    pub name: String,
    pub length: u64,
    pub coordinate: Option<Coordinate>,
}

/// The numbers along a dimension, rising or falling.
pub struct Coordinate {
    pub values: Vec<f64>,
    pub label: String,
    pub times: Option<TimeUnits>,
}

/// A text attribute; none if it is another thing.
fn text(array: &Array, name: &str) -> Option<String> {
    let value = array.attributes().all().ok()?.get(name).cloned()?;
    value.as_str().map(str::to_string)
}

/// What an array is called, with its units: `air temperature [K]`.
pub fn label(array: &Array) -> String {
    let name = array.path().rsplit('/').next().unwrap_or_default();
    let name =
        text(array, "long_name").or_else(|| text(array, "standard_name").map(|n| n.replace('_', " "))).unwrap_or_else(|| name.to_string());
    match text(array, "units").filter(|u| !u.is_empty() && u != "1" && !TimeUnits::is_one(u)) {
        Some(units) => format!("{name} [{units}]"),
        None => name,
    }
}

impl Variable {
    pub fn new(array: Array) -> Outcome<Variable> {
        sample::check_numbers(&array)?;
        let (shape, names) = (array.shape(), array.dimension_names()?);
        let dim = |(d, name): (usize, &Option<String>)| {
            let coordinate = name.as_ref().map_or(Ok(None), |name| coordinate(&array, name, shape[d]))?;
            Ok(Dim { name: name.clone().unwrap_or_else(|| d.to_string()), length: shape[d], coordinate })
        };
        let dims = names.iter().enumerate().map(dim).collect::<Result<_>>()?;
        Ok(Variable { array, dims })
    }

    /// The number of the dimension that is called so; numbers are names, too.
    pub fn dim(&self, name: &str) -> Outcome<usize> {
        let named = self.dims.iter().position(|dim| dim.name == name);
        named.or_else(|| name.parse().ok().filter(|&d| d < self.dims.len())).ok_or_else(|| {
            let names: Vec<&str> = self.dims.iter().map(|dim| dim.name.as_str()).collect();
            Failure::Error(format!("{}: no dimension {name:?}, expected one of {}", self.array.path(), names.join(", ")))
        })
    }
}

/// The coordinate variable of a dimension: in the array's group or in one above it. One that is damaged, or does not rise or fall
/// everywhere, is none; one whose document or chunks cannot be read is an error.
fn coordinate(array: &Array, name: &str, length: u64) -> Result<Option<Coordinate>> {
    if length == 0 || length > LONGEST {
        return Ok(None);
    }
    let fits = |c: &Array| c.shape()[..] == [length] && c.path() != array.path() && sample::check_numbers(c).is_ok();
    let Some(found) = above(array.store(), array.path(), name)?.filter(fits) else { return Ok(None) };
    let mut values = Vec::new();
    match sample::read(&found, &Selection::all(&[length]), &mut values) {
        Err(e) if e.kind() == ErrorKind::Chunk => return Ok(None),
        read => {
            if understood(read)?.is_err() {
                return Ok(None);
            }
        }
    }
    let runs = |ordered: fn(&f64, &f64) -> bool| values.windows(2).all(|w| ordered(&w[0], &w[1]));
    if !values.iter().all(|v| v.is_finite()) || !(runs(f64::lt) || runs(f64::gt)) {
        return Ok(None);
    }
    let is_time = matches!(found.data_type().kind(), Kind::Time) || text(&found, "units").is_some_and(|u| TimeUnits::is_one(&u));
    let times = if is_time { found.time_units().ok() } else { None };
    Ok(Some(Coordinate { values, label: label(&found), times }))
}

/// Whether an error says that nothing can have such a name, as dimensions may.
fn is_no_name(e: &Error) -> bool {
    e.kind() == ErrorKind::Name || matches!(e.os_errno(), libc::ENOTDIR | libc::ENAMETOOLONG)
}

/// The array of that name beside a path, or beside one of the groups that it is in.
fn above(store: &Store, path: &str, name: &str) -> Result<Option<Array>> {
    let mut group = path.trim_matches('/');
    loop {
        group = group.rsplit_once('/').map_or("", |(above, _)| above);
        let opened = Array::open(store, &format!("{group}/{name}"));
        if !opened.as_ref().is_err_and(is_no_name)
            && let Ok(array) = understood(opened)?
        {
            return Ok(Some(array));
        }
        if group.is_empty() {
            return Ok(None);
        }
    }
}

impl Dim {
    /// The coordinate of an element; without coordinates its index.
    pub fn at(&self, index: u64) -> f64 {
        let value = self.coordinate.as_ref().and_then(|c| c.values.get(index as usize));
        value.copied().unwrap_or(index as f64)
    }

    pub fn label(&self) -> String {
        self.coordinate.as_ref().map_or_else(|| self.name.clone(), |c| c.label.clone())
    }

    pub fn times(&self) -> Option<TimeUnits> {
        self.coordinate.as_ref()?.times
    }
}
