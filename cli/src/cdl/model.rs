//! A hierarchy as netCDF sees it: dimensions that variables share, variables with types of netCDF, groups. The rules are those of this
//! library's format of netCDF: what it, xarray and NCZarr record is used, the rest is made of the arrays' shapes and names.

use super::attributes::{Attribute, FILL, Values, of_nczarr, read};
use super::token::{NcType, Number};
use crate::failure::Outcome;
use crate::place::Unread;
use ozarr::dtype::{DataType, Kind};
use ozarr::error::ErrorKind;
use ozarr::node::{Array, Format, Group, Map, Node, NodeKind, Value, json};
use std::collections::HashMap;

/// What this library's format of netCDF records of a group.
pub const RECORD: &str = "_nc_model";

/// A dimension.
pub struct Dim {
    pub name: String,
    pub length: u64,
    pub unlimited: bool,
    /// A record tells of it.
    told: bool,
}

/// A variable.
pub struct Variable {
    pub name: String,
    pub nc: NcType,
    /// Places in [`Model::dims`].
    pub dims: Vec<usize>,
    pub attributes: Vec<Attribute>,
    /// The element that means "missing".
    pub fill: Option<Values>,
    pub array: Array,
}

/// A group.
#[derive(Default)]
pub struct Members {
    pub name: String,
    pub dims: Vec<usize>,
    pub variables: Vec<Variable>,
    pub attributes: Vec<Attribute>,
    pub groups: Vec<Members>,
    /// Nodes that netCDF cannot have, each with the reason.
    pub left_out: Vec<(String, String)>,
}

impl Members {
    /// The time axis of programs that record no dimension may grow, if it is the first dimension of all variables that have it.
    fn let_time_grow(&self, dims: &mut [Dim]) {
        let is_axis = |v: &Variable, d: usize| {
            let says = |name: &str| match &v.attributes.iter().find(|a| a.name == name)?.values {
                Values::Chars(text) => Some(text.as_slice()),
                _ => None,
            };
            let units = says("units").is_some_and(|text| text.windows(7).any(|word| word == b" since "));
            v.dims == [d] && v.name == dims[d].name && units && says("standard_name") == Some(b"time")
        };
        let axes = |&d: &usize| !dims[d].told && self.variables.iter().any(|v| is_axis(v, d)) && self.has_first(d);
        let grow: Vec<usize> = self.dims.iter().copied().filter(axes).collect();
        grow.into_iter().for_each(|d| dims[d].unlimited = true);
        self.groups.iter().for_each(|group| group.let_time_grow(dims));
    }

    /// Whether all variables here and below have that dimension first, if they have it.
    fn has_first(&self, dim: usize) -> bool {
        self.variables.iter().all(|v| !v.dims.iter().skip(1).any(|&d| d == dim)) && self.groups.iter().all(|group| group.has_first(dim))
    }
}

/// A hierarchy.
pub struct Model {
    pub dims: Vec<Dim>,
    /// Whether it is recorded to be of the classic data model.
    pub classic: bool,
    pub root: Members,
    /// How many nodes there are, and those that are left out because their documents cannot be understood.
    pub nodes: usize,
    pub unread: Unread,
}

/// The names and kinds of the nodes in each group, by the group's path below the one at the top.
type Below<'a> = HashMap<&'a str, Vec<(&'a str, NodeKind)>>;

impl Model {
    /// Of a group, or of an array alone.
    pub fn new(top: &Node) -> Outcome<Model> {
        let mut model = Model { dims: Vec::new(), classic: false, root: Members::default(), nodes: 1, unread: Unread::default() };
        let mut root = Members::default();
        match top {
            Node::Group(group) => {
                // All at once: links that lead back to a group above are not followed so.
                let nodes = group.nodes(usize::MAX)?;
                let mut below = Below::new();
                model.nodes += nodes.len();
                for node in &nodes {
                    let (above, name) = node.name.rsplit_once('/').unwrap_or(("", &node.name));
                    below.entry(above).or_default().push((name, node.kind()));
                }
                model.fill_group(group, ("", &below), &mut root, &[])?;
            }
            Node::Array(array) => {
                let name = array.path().rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("data");
                model.add(name, Node::open(array.store(), array.path()), &Value::Null, &mut root, &[])?;
            }
        }
        root.let_time_grow(&mut model.dims);
        model.root = root;
        Ok(model)
    }

    /// `path`: that of the group below the one at the top. `outer`: the dimensions of the groups around, the innermost last.
    fn fill_group(&mut self, group: &Group, (path, below): (&str, &Below<'_>), into: &mut Members, outer: &[Vec<usize>]) -> Outcome {
        let all = group.attributes().all()?;
        let record = all.get(RECORD).cloned().unwrap_or_default();
        // Format 2 has it as a text.
        let record = record.as_str().and_then(|text| json::parse_text(text).ok()).unwrap_or(record);
        self.classic |= path.is_empty() && record.get("classic").and_then(Value::as_bool) == Some(true);
        self.recorded_dims(group, &record, into)?;
        let types =
            |name: &str| recorded_type(&record, name).or_else(|| of_nczarr(&Node::Group(group.clone()).nc_attribute_type(name).ok()??));
        into.attributes = read(&group.attributes().shown()?, &types, None);
        let nczarr = nczarr_group(group, &all);
        let children = below.get(path).map(Vec::as_slice).unwrap_or_default();
        let of_kind = |groups: bool| -> Vec<&str> {
            children.iter().filter(|(_, kind)| (*kind == NodeKind::Group) == groups).map(|(name, _)| *name).collect()
        };
        for name in in_order(of_kind(false), [record.get("variables"), nczarr.get("arrays").or_else(|| nczarr.get("vars"))]) {
            let mine = record.get("variables").and_then(|all| all.get(name)).cloned().unwrap_or_default();
            let node = Node::open(group.store(), &group.child_path(name)?);
            if let Err(e) = &node {
                self.unread.count(&join(path, name), e);
            }
            self.add(name, node, &mine, into, outer)?;
        }
        let mut inner = outer.to_vec();
        inner.push(into.dims.clone());
        for name in in_order(of_kind(true), [record.get("groups"), nczarr.get("groups")]) {
            let mut child = Members { name: name.to_string(), ..Members::default() };
            let path = join(path, name);
            match Group::open(group.store(), &group.child_path(name)?) {
                Ok(group) => self.fill_group(&group, (&path, below), &mut child, &inner)?,
                Err(e) if is_unknown(e.kind()) => {
                    self.unread.count(&path, &e);
                    into.left_out.push((name.to_string(), e.to_string()));
                    continue;
                }
                Err(e) => return Err(e.into()),
            }
            into.groups.push(child);
        }
        Ok(())
    }

    fn recorded_dims(&mut self, group: &Group, record: &Value, into: &mut Members) -> Outcome {
        if let Some(recorded) = record.get("dimensions").and_then(Value::as_object) {
            for (name, value) in recorded {
                let unlimited = value.get("unlimited").and_then(Value::as_bool) == Some(true);
                let length = value.get("size").and_then(Value::as_u64).filter(|_| !unlimited).unwrap_or(0);
                self.define(into, Dim { name: name.to_string(), length, unlimited, told: true });
            }
        } else {
            for dim in group.nc_dimensions()?.unwrap_or_default() {
                self.define(into, Dim { name: dim.name, length: dim.length, unlimited: dim.is_unlimited, told: true });
            }
        }
        Ok(())
    }

    fn define(&mut self, group: &mut Members, dim: Dim) -> usize {
        self.dims.push(dim);
        group.dims.push(self.dims.len() - 1);
        self.dims.len() - 1
    }

    fn find(&self, dims: &[usize], name: &str) -> Option<usize> {
        dims.iter().copied().find(|&d| self.dims[d].name == name)
    }

    /// Adds an array as a variable; `record` is what is recorded of it.
    fn add(&mut self, name: &str, node: ozarr::error::Result<Node>, record: &Value, into: &mut Members, outer: &[Vec<usize>]) -> Outcome {
        let array = match node {
            Ok(Node::Array(array)) => array,
            Ok(Node::Group(_)) => return Ok(()),
            Err(e) if is_unknown(e.kind()) => {
                into.left_out.push((name.to_string(), e.to_string()));
                return Ok(());
            }
            // What could not be read now is there all the same.
            Err(e) => return Err(e.into()),
        };
        let Some(nc) = type_of(&array) else {
            let why = format!("{}, for which netCDF has no type", array.describe());
            into.left_out.push((name.to_string(), why));
            return Ok(());
        };
        let mut dims = Vec::new();
        if !array.is_nc_scalar()? {
            let (shape, names) = (array.shape(), array.dimension_names()?);
            for (d, &length) in shape.iter().enumerate() {
                let named = names.get(d).cloned().flatten().filter(|name| !name.is_empty());
                let named = named.unwrap_or_else(|| format!("_Anonymous_Dim_{length}"));
                // Another dimension of the name hides one of a group above.
                let above = record.get("above").and_then(|all| all.as_array()?.get(d)?.as_u64()).unwrap_or(0);
                dims.push(self.resolve((into, outer, above as usize), &named, length, d == 0));
            }
        }
        let recorded = |name: &str| recorded_type(record, name).or_else(|| is_of_enumeration(record, name).then_some(nc));
        let types = |name: &str| recorded(name).or_else(|| of_nczarr(&Node::Array(array.clone()).nc_attribute_type(name).ok()??));
        let mut attributes = read(&array.attributes().shown()?, &types, Some(nc));
        add_fill(&array, nc, record, &mut attributes);
        add_meaning_of_times(array.data_type(), &mut attributes);
        let fill = attributes.iter().find(|a| a.name == FILL).map(|a| a.values.clone()).filter(|values| counts(values, nc));
        let fill = fill.or_else(|| match nc {
            NcType::String => Some(Values::Strings(vec![String::new()])),
            _ => nc.default_fill().map(|number| Values::Numbers(nc, vec![number])),
        });
        into.variables.push(Variable { name: name.to_string(), nc, dims, attributes, fill, array });
        Ok(())
    }

    /// The dimension of that name and length which the group sees, or the group so many above it, or a new one. One along which arrays
    /// differ may grow.
    fn resolve(&mut self, (group, outer, above): (&mut Members, &[Vec<usize>], usize), name: &str, length: u64, first: bool) -> usize {
        let levels = std::iter::once(group.dims.as_slice()).chain(outer.iter().rev().map(Vec::as_slice));
        for (level, dims) in levels.enumerate().skip(above) {
            let Some(found) = self.find(dims, name) else { continue };
            let dim = &mut self.dims[found];
            if dim.length != length && !dim.unlimited && !(level == 0 && first) {
                continue;
            }
            dim.unlimited |= dim.length != length;
            dim.length = dim.length.max(length);
            return found;
        }
        let (mut own, mut taken) = (name.to_string(), 0);
        loop {
            match self.find(&group.dims, &own) {
                None => return self.define(group, Dim { name: own, length, unlimited: length == 0, told: false }),
                Some(found) if self.dims[found].length == length => return found,
                // One of another length has this name.
                Some(_) => {
                    taken += 1;
                    own = if taken == 1 { format!("{name}_{length}") } else { format!("{name}_{length}_{taken}") };
                }
            }
        }
    }
}

/// The path of a child of the group at `path`.
fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}/{name}") }
}

/// Whether an error says of a node that it is none that can be understood, or is gone since.
fn is_unknown(kind: ErrorKind) -> bool {
    use ErrorKind::*;
    matches!(kind, NotFound | NodeKind | Metadata | Unsupported | Extension | Limit | Rank)
}

/// What NCZarr records of a group: among its attributes, or, as older ones do, in its document.
fn nczarr_group(group: &Group, attributes: &Map) -> Value {
    let names = ["_nczarr_group", "_NCZARR_GROUP"];
    let find = |map: &Map| names.iter().find_map(|name| map.get(name)).cloned();
    let document = || json::parse_object(group.metadata_json().ok()?.as_bytes(), usize::MAX).ok();
    find(attributes).or_else(|| find(&document()?)).unwrap_or_default()
}

/// Names in the order of the first record that there is, those that it lacks behind.
fn in_order<'a>(mut names: Vec<&'a str>, records: [Option<&Value>; 2]) -> Vec<&'a str> {
    let Some(record) = records.into_iter().flatten().next() else { return names };
    let listed = record.as_array().unwrap_or_default().iter().filter_map(Value::as_str);
    let order = listed.chain(record.as_object().into_iter().flat_map(Map::keys).map(|n| n.as_str()));
    let places: HashMap<&str, usize> = order.zip(0..).collect();
    names.sort_by_key(|name| places.get(name).copied().unwrap_or(usize::MAX));
    names
}

fn recorded_type(record: &Value, name: &str) -> Option<NcType> {
    NcType::named(record.get("types")?.get(name)?.as_str()?)
}

/// Whether an attribute is of the enumeration that its variable is of, whose numbers it has then; `flag_values` are made of it.
fn is_of_enumeration(record: &Value, name: &str) -> bool {
    let own = record.get("type");
    let is_flags = name == "flag_values" && record.get("flags").and_then(Value::as_bool) == Some(true);
    is_flags || own.is_some() && record.get("types").and_then(|types| types.get(name)) == own
}

/// Whether a `_FillValue` is one value of the variable's type.
fn counts(values: &Values, nc: NcType) -> bool {
    match values {
        Values::Chars(text) => nc == NcType::Char && text.len() == 1,
        Values::Strings(all) => nc == NcType::String && all.len() == 1,
        Values::Numbers(of, numbers) => *of == nc && numbers.len() == 1,
    }
}

/// The type that netCDF has for an array's elements.
fn type_of(array: &Array) -> Option<NcType> {
    let stored = array.data_type();
    if let Some(nc) = NcType::of_numbers(stored) {
        return Some(nc);
    }
    match (stored, stored.kind()) {
        (DataType::Bool, _) => Some(NcType::Byte),
        (DataType::Bytes(1), _) => Some(NcType::Char),
        (DataType::Bytes(_) | DataType::Text(_) | DataType::VarText | DataType::VarJson, _) => Some(NcType::String),
        (_, Kind::Time) => Some(NcType::Int64),
        (_, Kind::Int) => Some(NcType::Byte),
        (_, Kind::UInt) => Some(NcType::UByte),
        (_, Kind::Float) => Some(NcType::Float),
        _ => None,
    }
}

/// Says of times, which are 64-bit integers here, what Zarr's type says: what they count, and which number is none.
fn add_meaning_of_times(data_type: DataType, attributes: &mut Vec<Attribute>) {
    let (DataType::DateTime(unit) | DataType::TimeDelta(unit)) = data_type else { return };
    let mut add = |name: &str, values: Values| {
        if attributes.iter().all(|a| a.name != name) {
            attributes.push(Attribute { name: name.into(), values });
        }
    };
    add(FILL, Values::Numbers(NcType::Int64, vec![Number::Integer(i64::MIN.into())]));
    // Units of which CF knows no name, or a number of which is one, are in the type only.
    if let Some((_, units)) = TIMES.iter().find(|(name, _)| *name == unit.name() && unit.scale == 1) {
        let since = if matches!(data_type, DataType::DateTime(_)) { " since 1970-01-01" } else { "" };
        add("units", Values::Chars(format!("{units}{since}").into_bytes()));
    }
}

/// Units of time, as NumPy and CF call them.
const TIMES: &[(&str, &str)] = &[
    ("D", "days"),
    ("h", "hours"),
    ("m", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
];

/// The fill value is also the attribute where format 2 states one that is not the usual one, and where the record says so of text.
fn add_fill(array: &Array, nc: NcType, record: &Value, attributes: &mut Vec<Attribute>) {
    let stated = record.get("fill").and_then(Value::as_bool) == Some(true);
    let says = match array.format() {
        Format::V2 => stated || record.is_null(),
        Format::V3 => stated && matches!(nc, NcType::Char | NcType::String),
    };
    let fill = array.fill();
    let same = matches!(array.data_type(), DataType::VarText) || (array.data_type() == nc.in_memory() && nc != NcType::String);
    if attributes.iter().any(|a| a.name == FILL) || !says || !same || !fill.defined {
        return;
    }
    let element = fill.element(array.data_type());
    let values = match nc {
        NcType::Char if element.first() == Some(&0) && !stated => return,
        NcType::Char => Values::Chars(element.to_vec()),
        NcType::String if element.is_empty() && !stated => return,
        NcType::String => Values::Strings(vec![String::from_utf8_lossy(&element).into_owned()]),
        nc => {
            let number = nc.number(&element);
            let double = |n: Number| match n {
                Number::Integer(n) => n as f64,
                Number::Real(x) => x,
            };
            // NCZarr stores it with few digits. A byte's is stated in attributes only where it is another one than netCDF's.
            let usual = nc.default_fill().unwrap_or(Number::Integer(if nc == NcType::Byte { -127 } else { 255 }));
            if !stated && (double(number) - double(usual)).abs() <= 1e-5 * double(usual).abs() {
                return;
            }
            Values::Numbers(nc, vec![number])
        }
    };
    attributes.push(Attribute { name: FILL.into(), values });
}
