//! NCZarr: what netCDF-C adds to Zarr version 2 so that a hierarchy holds all of netCDF's data model. Read in all four generations of
//! its keys; written in the newest.
//! Convention: netCDF-C, "NetCDF-4 Zarr Implementation" (checklist NZ-01 to NZ-22).

use super::nczarr_group::{NcDimension, NcRecord, dimensions_of, dimensions_value};
use super::nczarr_type::{JSON, NcType, Types};
use super::variable_names::check_name;
use crate::dtype::{DataType, Kind};
use crate::error::{ErrorKind, Result, bail};
use crate::limits::{MAX_DOCUMENT, collect, push, readable, with_spare};
use crate::metadata::lint::{Finding, Severity};
use crate::metadata::{Format, Map, Value, json, v2};
use crate::node::listed_lengths::Lengths;
use crate::node::trail::Trail;
use crate::node::v2_changes::{ChangesLook, V2Changes};
use crate::node::{Array, Group, Node, Store, document, lookup, path, together, upkeep};
use crate::platform::libc;
use crate::sort::sort_by;
use crate::store::get;
use std::cmp::Reverse;

/// The version of the keys that are written.
const VERSION: &str = "2.0.0";

/// The part of NCZarr's keys about one thing.
#[derive(Clone, Copy)]
pub(super) enum KeyPart {
    Superblock,
    Group,
    Array,
    Attributes,
}

impl KeyPart {
    /// Its member in documents, in newer and older writers' spelling.
    pub(super) fn members(self) -> [&'static str; 2] {
        match self {
            KeyPart::Superblock => ["_nczarr_superblock", "_NCZARR_SUPERBLOCK"],
            KeyPart::Group => ["_nczarr_group", "_NCZARR_GROUP"],
            KeyPart::Array => v2::NCZARR_ARRAY,
            KeyPart::Attributes => ["_nczarr_attr", "_NCZARR_ATTR"],
        }
    }

    /// The objects that the oldest generation had instead.
    fn keys(self) -> &'static [&'static str] {
        match self {
            KeyPart::Superblock => &[".nczarr"],
            KeyPart::Group => &[".nczgroup"],
            KeyPart::Array => &[".nczarray", ".nczvar"],
            KeyPart::Attributes => &[".nczattr", ".nczattrs"],
        }
    }

    /// The part among attributes or the members of a document.
    pub(super) fn of(self, map: &Map) -> Option<&Map> {
        self.members().iter().find_map(|name| map.get(name)?.as_object())
    }

    /// Attributes first, then the node's own document, newer names before older ones, then the objects (NZ-01).
    pub(super) fn find(self, node: &Node) -> Result<Option<Map>> {
        if let Some(found) = self.of(&*node.attributes().view()?) {
            return Ok(Some(found.clone()));
        }
        if node.format() != Format::V2 {
            return Ok(None);
        }
        let document = readable(json::parse_object(node.metadata_json()?.as_bytes(), usize::MAX))?;
        if let Some(found) = document.as_ref().and_then(|document| self.of(document)) {
            return Ok(Some(found.clone()));
        }
        // The root has this object of the oldest generation.
        if !V2Changes::has_object(node.store().v2_changed(), || Ok(object(node.store(), ".nczarr")?.is_some()))? {
            return Ok(None);
        }
        for name in self.keys() {
            let key = path::join(node.path(), name);
            if let Some(bytes) = object(node.store(), &key)? {
                return json::parse_object(&bytes, MAX_DOCUMENT).map(Some).map_err(|e| e.at_key(key));
            }
        }
        Ok(None)
    }
}

/// Reads an object; a folder, as that of a node which has the name, counts as no object.
fn object(store: &Store, key: &str) -> Result<Option<Vec<u8>>> {
    match get(&**store.shared(), key, MAX_DOCUMENT) {
        Err(e) if e.os_errno() == libc::EISDIR => Ok(None),
        other => other,
    }
}

impl Group {
    /// The dimensions that the group itself defines, where netCDF-C wrote it: also those that no array has. `None` for pure Zarr.
    pub fn nc_dimensions(&self) -> Result<Option<Vec<NcDimension>>> {
        KeyPart::Group.find(&Node::Group(self.clone()))?.map(|group| dimensions_of(&group)).transpose()
    }

    /// The version in the superblock, which only the root of an NCZarr hierarchy has (NZ-02).
    pub fn nc_version(&self) -> Result<Option<String>> {
        let text = |block: &Map| Some(block.get("version").or_else(|| block.get("nczarr_version"))?.as_str()?.to_string());
        Ok(KeyPart::Superblock.find(&Node::Group(self.clone()))?.map(|block| text(&block).unwrap_or_default()))
    }

    /// Defines a dimension of the group for netCDF, or changes one: in a hierarchy of version 2.
    pub fn define_nc_dimension(&self, name: &str, length: u64, is_unlimited: bool) -> Result<()> {
        check_name(name)?;
        if self.format() != Format::V2 {
            bail!(Unsupported, "dimensions of NCZarr are written for zarr_format 2, {} has 3", path::display(self.path()));
        }
        let known = KeyPart::Group.find(&Node::Group(self.clone()))?;
        self.attributes().edit(&|attributes| {
            // Another handle may have defined some since; older keys are elsewhere.
            let mut group = KeyPart::Group.of(attributes).or(known.as_ref()).cloned().unwrap_or_default();
            let mut all = dimensions_of(&group)?;
            all.retain(|d| d.name != name);
            push(&mut all, NcDimension { name: name.into(), length, is_unlimited })?;
            group.shift_remove("dims");
            group.insert("dimensions".into(), dimensions_value(&all)?);
            attributes.insert(KeyPart::Group.members()[0].into(), Value::Object(group));
            Ok(())
        })
    }
}

impl Array {
    /// The type of the elements in netCDF; `None` for types that it does not have (NZ-09, NZ-10).
    pub fn nc_type(&self) -> Result<Option<NcType>> {
        let stored = self.stored_type();
        Ok(match self.data_type() {
            // The order tells the two apart, though a byte has none.
            DataType::Bytes(1) if self.type_text()?.starts_with('>') => Some(NcType::Char),
            DataType::Bytes(_) => Some(NcType::String),
            t if matches!(t.kind(), Kind::Int | Kind::UInt | Kind::Float) && DataType::NUMPY.contains(&t) && t != DataType::Float16 => {
                Some(NcType::Number(stored.data_type))
            }
            _ => None,
        })
    }

    /// Stores the fill value of bytes as the text itself, for which netCDF-C takes it, where zarr-python understands it so, too (NZ-13). That comes
    /// after the keys, by which readers tell the one from the other.
    fn put_text_fill(&self) -> Result<()> {
        let state = self.state();
        let is_char = self.type_text()? == v2::NC_CHAR;
        let Some(text) = state.meta.fill.for_netcdf(state.meta.data_type, is_char) else { return Ok(()) };
        if state.meta.document.get("fill_value").is_none_or(|now| !now.is_string() || *now == text) {
            return Ok(());
        }
        document::change(self.store(), self.path(), v2::ARRAY, || {
            let (fresh, before, condition) = self.read_to_change()?;
            let mut document = fresh.meta.document.clone();
            document.insert("fill_value".into(), text.clone());
            fresh.while_there(|| document::publish_over(self.store(), &path::join(self.path(), v2::ARRAY), &document, &before, condition))
        })?;
        upkeep::after_changes(self.store(), &[(self.path(), Lengths::NONE)], None)
    }

    /// The type as the document has it.
    fn type_text(&self) -> Result<String> {
        let document = readable(self.metadata_json().and_then(|text| json::parse_object(text.as_bytes(), usize::MAX)))?.unwrap_or_default();
        Ok(document.get("dtype").and_then(Value::as_str).unwrap_or_default().to_string())
    }
}

impl Node {
    /// The type that netCDF has for an attribute; `None` where that is not said.
    pub fn nc_attribute_type(&self, name: &str) -> Result<Option<NcType>> {
        let types = KeyPart::Attributes.find(self)?.and_then(|all| all.get("types").cloned());
        Ok(types.as_ref().and_then(|types| NcType::parse(types.get(name)?.as_str()?)))
    }
}

/// Writes NCZarr's keys for a whole hierarchy of version 2, or brings them up to date: what netCDF-C walks by. Dimensions that are
/// there stay, as do those that libozarr_netcdf has recorded, unlimited ones as long as the longest of their arrays; others are defined in the
/// group of the first array that has them.
///
/// Arrays of types that netCDF does not have are an error of kind `Unsupported` that names them, unless `tolerant`: then they are left
/// out of the lists, which is told to the log as NZ-10.
pub(in crate::node) fn write(store: &Store, tolerant: bool) -> Result<()> {
    let root = match Group::open(store, "") {
        Ok(root) if root.format() == Format::V2 => root.by_documents(),
        Ok(_) => return Ok(()),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NodeKind) => return Ok(()),
        Err(e) => return Err(e),
    };
    if tolerant && KeyPart::Superblock.find(&Node::Group(root.clone()))?.is_none() {
        return Ok(());
    }
    let nodes = root.read_children().and_then(|read| root.open_read(read))?;
    WaitingKeys::of(store, |keys| {
        write_group(root, nodes, &mut Scope { groups: Vec::new(), tolerant, is_shorter: false, keys }, &Trail::of(store, "", Format::V2))
    })
}

/// The dimensions of the groups from the root down, and the keys that are made of them.
pub(super) struct Scope<'a, 's> {
    pub groups: Vec<(String, Vec<NcDimension>)>,
    pub tolerant: bool,
    /// Whether an array is shorter than an unlimited dimension was until then.
    pub is_shorter: bool,
    pub keys: &'a mut WaitingKeys<'s>,
}

/// What a node is to have of each part of the keys.
type Parts = Vec<(KeyPart, Value)>;

/// Keys that wait until those of so many nodes are stored at the same time.
pub(super) struct WaitingKeys<'a> {
    store: &'a Store,
    waiting: Vec<(Node, Parts, Option<Map>)>,
}

impl WaitingKeys<'_> {
    /// Stores the keys that `work` adds, also those that it has added before an error.
    pub fn of<T>(store: &Store, work: impl FnOnce(&mut WaitingKeys<'_>) -> Result<T>) -> Result<T> {
        let mut keys = WaitingKeys { store, waiting: Vec::new() };
        let done = work(&mut keys);
        let stored = keys.store();
        done.and_then(|done| stored.map(|()| done))
    }

    /// Adds those of a node, behind all nodes below it, and the types that libozarr_netcdf has recorded of its attributes.
    pub fn add(&mut self, node: Node, parts: Parts, recorded: Option<Map>) -> Result<()> {
        push(&mut self.waiting, (node, parts, recorded))?;
        if self.waiting.len() < lookup::at_once(self.store) { Ok(()) } else { self.store() }
    }

    /// Stores all that wait: those of arrays first, then level by level those of the groups, which name what is in them.
    fn store(&mut self) -> Result<()> {
        let mut all = std::mem::take(&mut self.waiting);
        let level = |node: &Node| matches!(node, Node::Group(_)).then(|| Reverse(path::segments(node.path()).count()));
        with_spare(all.len() * size_of::<usize>(), || sort_by(&mut all, |(a, ..), (b, ..)| level(a).cmp(&level(b))))?;
        all.chunk_by_mut(|(a, ..), (b, ..)| level(a) == level(b)).try_for_each(|some| {
            let any_thread = some.iter().all(|(node, ..)| if let Node::Array(array) = node { array.any_thread() } else { true });
            together::for_each(self.store, any_thread, some, |(node, parts, recorded)| {
                let _help = ChangesLook::help(self.store.v2_changed());
                put(node, parts, recorded.take())?;
                if let Node::Array(array) = node { array.put_text_fill() } else { Ok(()) }
            })
        })
    }
}

/// Arrays first, so that the groups below find the dimensions that they define; the group's own keys last, for arrays below may define
/// dimensions here. Links back to the groups of `trail` are not followed.
fn write_group(group: Group, nodes: Vec<Node>, scope: &mut Scope, trail: &Trail) -> Result<()> {
    let (mut arrays, mut groups) = (Vec::new(), Vec::new());
    for node in nodes {
        match node {
            Node::Array(array) if array.format() == Format::V2 => push(&mut arrays, array)?,
            Node::Group(group) if group.format() == Format::V2 => push(&mut groups, group.by_documents())?,
            _ => {}
        }
    }
    let record = NcRecord::of(&group)?;
    scope.groups.push((group.path().to_string(), dimensions(&group, &record, &arrays)?));
    let (mut names, mut known, mut new) = (Vec::new(), Vec::new(), Vec::new());
    for array in &arrays {
        push(if array.nczarr()?.is_some() { &mut known } else { &mut new }, array)?;
    }
    // Dimensions have grown as those arrays have that had them before: new ones go by that.
    for array in known.into_iter().chain(new) {
        if array.nc_type()?.is_none() {
            let message = format!("the array {:?} is of {}, which netCDF does not have", array.path(), array.data_type().name());
            if !scope.tolerant {
                bail!(Unsupported, "{message}");
            }
            group.store().context().report(array.path(), &[Finding::new(Severity::Warning, "NZ-10", message)])?;
            continue;
        }
        scope.write_array(array, &record)?;
        push(&mut names, last(array.path()))?;
    }
    names.sort_unstable_by(|a, b| a.as_str().cmp(&b.as_str()));
    let store = scope.keys.store;
    for some in groups.chunks(lookup::at_once(store)) {
        let trails = some.iter().map(|below| (below, trail.to(store, below.path(), &path::join(below.path(), v2::GROUP))));
        let mut read = collect(trails.filter_map(|(below, trail)| Some((below, trail?, Vec::new()))))?;
        together::for_each(store, true, &mut read, |(below, _, read)| below.read_children().map(|all| *read = all))?;
        read.into_iter().try_for_each(|(below, trail, read)| write_group(below.clone(), below.open_read(read)?, scope, &trail))?;
    }
    let dimensions = scope.groups.pop().map(|(_, dimensions)| dimensions).unwrap_or_default();
    let mut member = Map::new();
    member.insert("dimensions".into(), dimensions_value(&dimensions)?);
    member.insert("arrays".into(), Value::Array(json::List::of(names)?));
    member.insert("groups".into(), Value::Array(json::List::of(collect(groups.iter().map(|group| last(group.path())))?)?));
    let mut parts = vec![(KeyPart::Group, Value::Object(member))];
    if group.path().is_empty() {
        let mut block = Map::new();
        block.insert("version".into(), VERSION.into());
        parts.push((KeyPart::Superblock, Value::Object(block)));
    }
    scope.keys.add(Node::Group(group), parts, record.types(None))
}

/// The dimensions of a group before its arrays are looked at, from which unlimited ones get their length.
fn dimensions(group: &Group, record: &NcRecord, arrays: &[Array]) -> Result<Vec<NcDimension>> {
    let mut all = group.nc_dimensions()?.unwrap_or_default();
    let mut lengths = Vec::new();
    for array in arrays {
        for (name, &length) in array.dimension_names()?.into_iter().zip(array.shape().iter()) {
            push(&mut lengths, (name, length))?;
        }
    }
    record.complete(&mut all, |d| lengths.iter().any(|(name, length)| name.as_ref() == Some(&d.name) && *length != d.length))?;
    all.iter_mut().filter(|d| d.is_unlimited).for_each(|d| d.length = 0);
    Ok(all)
}

fn last(path: &str) -> Value {
    path.rsplit('/').next().unwrap_or(path).into()
}

impl Scope<'_, '_> {
    /// Adds the keys of an array in the last group, which has that record.
    pub fn write_array(&mut self, array: &Array, record: &NcRecord) -> Result<()> {
        let is_scalar = array.is_nc_scalar()?;
        let mut references = Vec::new();
        if !is_scalar {
            let before = array.nczarr()?.map(|nc| nc.dimensions).unwrap_or_default();
            for (name, &length) in array.dimension_names()?.iter().zip(array.shape().iter()) {
                references.push(Value::from(self.reference((array, &before), name.as_deref(), length)?));
            }
        }
        let mut member = Map::new();
        member.insert("dimension_references".into(), references.into());
        if is_scalar {
            member.insert("scalar".into(), 1.into());
        }
        member.insert("storage".into(), "chunked".into());
        self.keys.add(
            Node::Array(array.clone()),
            vec![(KeyPart::Array, Value::Object(member))],
            record.types(array.path().rsplit('/').next()),
        )
    }

    /// The whole path of a dimension: the nearest one of that name, else a new one of the array's group, which hides one of another length
    /// above; of one without a name one of the root's that says its length. A dimension of a fixed length along which an array has grown that had
    /// it `before` is unlimited from then on, as netCDF has dimensions that grow.
    fn reference(&mut self, (array, before): (&Array, &[String]), name: Option<&str>, length: u64) -> Result<String> {
        let anonymous = format!("_Anonymous_Dim_{length}");
        let depth = if name.is_none() { 1 } else { self.groups.len() };
        let name = name.unwrap_or(&anonymous);
        for (at, (group, dimensions)) in self.groups[..depth].iter_mut().enumerate().rev() {
            let Some(d) = dimensions.iter_mut().find(|d| d.name == name) else { continue };
            let grew = |d: &NcDimension| length > d.length && before.contains(&format!("/{}", path::join(group, name)));
            if d.is_unlimited || at + 1 == depth && grew(d) {
                self.is_shorter |= length < d.length;
                (d.length, d.is_unlimited) = (d.length.max(length), true);
            } else if d.length != length && at + 1 < depth {
                break;
            } else if d.length != length {
                bail!(
                    Metadata,
                    "the array {:?} is {length} long along {name:?}, which is defined as {} in {}",
                    array.path(),
                    d.length,
                    path::display(group)
                );
            }
            return Ok(format!("/{}", path::join(group, name)));
        }
        let Some((group, dimensions)) = self.groups[..depth].last_mut() else { bail!(Internal, "an array outside of groups") };
        dimensions.push(NcDimension { name: name.into(), length, is_unlimited: false });
        Ok(format!("/{}", path::join(group, name)))
    }
}

/// Sets parts of a node's keys, and the types of all its attributes with them, in one write and only if something changes. `recorded`: the types that
/// libozarr_netcdf reads, which count more than those in the keys.
fn put(node: &Node, parts: &[(KeyPart, Value)], recorded: Option<Map>) -> Result<()> {
    let types = match recorded {
        Some(recorded) => Types::Recorded(recorded),
        None => Types::Known(KeyPart::Attributes.find(node)?.and_then(|all| all.get("types")?.as_object().cloned()).unwrap_or_default()),
    };
    let old = node.attributes().all()?;
    let mut all = old.clone();
    let fill_type = if let Node::Array(array) = node { Some(array.type_text()?) } else { None };
    set_parts(&mut all, parts, &types, fill_type.as_deref());
    // Consolidated metadata may be behind: other attributes are those that are stored.
    if all == old {
        return Ok(());
    }
    node.attributes().edit(&|all| {
        set_parts(all, parts, &types, fill_type.as_deref());
        Ok(())
    })
}

/// Sets parts of a node's keys in its attributes. `fill_type`: that of the fill value of an array.
fn set_parts(all: &mut Map, parts: &[(KeyPart, Value)], types: &Types, fill_type: Option<&str>) {
    for (part, value) in parts {
        all.shift_remove(part.members()[1]);
        all.insert(part.members()[0].into(), value.clone());
    }
    let own = KeyPart::Attributes.members();
    all.shift_remove(own[1]);
    let mut told = Map::new();
    for (name, value) in all.iter().filter(|(name, _)| *name != own[0] && *name != v2::DIMENSIONS) {
        let fill = fill_type.filter(|_| name == "_FillValue");
        told.insert(name.clone(), fill.unwrap_or_else(|| types.of(name, value)).into());
    }
    told.insert(own[0].into(), JSON.into());
    let mut member = Map::new();
    member.insert("types".into(), Value::Object(told));
    all.insert(own[0].into(), Value::Object(member));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Context, Create, Mode, Nczarr, Options, Spec};
    use crate::store::memory::MemoryStore;
    use std::sync::Arc;

    fn filled(documents: &[(&str, &str)]) -> Store {
        let store = Store::memory(&Context::default());
        documents.iter().for_each(|(key, text)| store.key_put(key, text.as_bytes()).unwrap());
        store
    }

    const ARRAY: &str = r#""zarr_format": 2, "shape": [2, 4], "dtype": "<f4", "chunks": [1, 4], "fill_value": 0, "order": "C", "compressor": null, "filters": null"#;
    const GROUP_KEYS: &str = r#"{"OLDdims": {"x": 4, "time": {"size": 2, "unlimited": 1}}, "vars": ["t"], "groups": []}"#;

    /// One hierarchy in the keys of each generation: all say the same.
    #[test]
    fn every_generation_of_keys_is_read() {
        let array = format!("{{{ARRAY}}}");
        let with = |member: &str, value: &str| format!("{{{ARRAY}, \"{member}\": {value}}}");
        let group_with = |member: &str, value: &str| format!("{{\"zarr_format\": 2, \"{member}\": {value}}}");
        let old = GROUP_KEYS.replace("OLDdims", "dims");
        let new = GROUP_KEYS.replace("OLDdims", "dimensions");
        let refs = |name: &str| format!("{{\"{name}\": [\"/time\", \"/x\"], \"storage\": \"chunked\"}}");
        let types = r#"{"types": {"units": ">S1", "n": "<i2", "j": "|J0", "s": "|S7"}}"#;
        let plain = r#"{"units": "K"}"#;
        let in_attributes = |group: &str| format!("{{\"_nczarr_group\": {group}, \"_nczarr_superblock\": {{\"version\": \"2.0.0\"}}}}");
        let array_attributes =
            format!("{{\"units\": \"K\", \"_nczarr_array\": {}, \"_nczarr_attr\": {types}}}", refs("dimension_references"));
        let upper = group_with("_NCZARR_GROUP", &old).replace("2, ", "2, \"_NCZARR_SUPERBLOCK\": {\"version\": \"2.0.0\"}, ");
        let upper_types = format!("{{\"units\": \"K\", \"_NCZARR_ATTR\": {types}}}");
        let lower = group_with("_nczarr_group", &old).replace("2, ", "2, \"_nczarr_superblock\": {\"version\": \"2.0.0\"}, ");
        let (upper_array, lower_array) = (with("_NCZARR_ARRAY", &refs("dimrefs")), with("_nczarr_array", &refs("dimrefs")));
        let lower_types = upper_types.replace("_NCZARR_ATTR", "_nczarr_attr");
        let (newest, refs_1) = (in_attributes(&new), refs("dimrefs"));
        let one = r#"{"zarr_format": 2, "nczarr_version": "2.0.0"}"#;
        let group = r#"{"zarr_format": 2}"#;
        let generations: [&[(&str, &str)]; 4] = [
            &[
                (".zgroup", group),
                (".nczarr", one),
                (".nczgroup", &old),
                ("t/.zarray", &array),
                ("t/.nczarray", &refs_1),
                ("t/.zattrs", plain),
                ("t/.nczattr", types),
            ],
            &[(".zgroup", &upper), ("t/.zarray", &upper_array), ("t/.zattrs", &upper_types)],
            &[(".zgroup", &lower), ("t/.zarray", &lower_array), ("t/.zattrs", &lower_types)],
            &[(".zgroup", group), (".zattrs", &newest), ("t/.zarray", &array), ("t/.zattrs", &array_attributes)],
        ];
        for documents in generations {
            let store = filled(documents);
            let root = Group::open(&store, "").unwrap();
            assert_eq!(root.nc_version().unwrap().as_deref(), Some("2.0.0"), "{documents:?}");
            let found = root.nc_dimensions().unwrap().unwrap();
            let want =
                [("x", 4, false), ("time", 2, true)].map(|(n, length, is_unlimited)| NcDimension { name: n.into(), length, is_unlimited });
            assert_eq!(found, want);
            let array = Array::open(&store, "t").unwrap();
            assert_eq!(array.dimension_names().unwrap(), [Some("time".to_string()), Some("x".to_string())], "{documents:?}");
            assert_eq!(array.nczarr().unwrap().unwrap().dimensions, ["/time", "/x"]);
            let names: Vec<_> = ["units", "n", "j", "s", "none"]
                .iter()
                .map(|n| Node::Array(array.clone()).nc_attribute_type(n).unwrap().map(|t| t.name()))
                .collect();
            let want = ["char", "int16", "json", "string"].map(|n| Some(n.to_string()));
            assert_eq!((&names[..4], &names[4]), (&want[..], &None));
            assert_eq!(root.attributes().names().unwrap(), Vec::<String>::new());
        }
    }

    #[test]
    fn scalars_anonymous_dimensions_and_odd_lengths_are_told_apart() {
        let scalar =
            r#"{"_nczarr_array": {"dimension_references": [], "scalar": 1, "storage": "chunked"}, "_ARRAY_DIMENSIONS": ["_scalar_"]}"#;
        let one = ARRAY.replace("[2, 4]", "[1]").replace("[1, 4]", "[1]");
        let unnamed = r#"{"_nczarr_array": {"dimension_references": ["/_Anonymous_Dim_2", "/g/_zdim_4"]}}"#;
        let documents = [
            (".zgroup", r#"{"zarr_format": 2}"#.to_string()),
            (".zattrs", r#"{"_nczarr_group": {"dimensions": {"x": "4"}}}"#.into()),
            ("s/.zarray", format!("{{{one}}}")),
            ("s/.zattrs", scalar.into()),
            ("a/.zarray", format!("{{{ARRAY}}}")),
            ("a/.zattrs", unnamed.into()),
        ];
        let store = filled(&documents.each_ref().map(|(key, text)| (*key, text.as_str())));
        let (s, a) = (Array::open(&store, "s").unwrap(), Array::open(&store, "a").unwrap());
        assert!(s.is_nc_scalar().unwrap() && !a.is_nc_scalar().unwrap());
        assert_eq!((s.rank(), a.dimension_names().unwrap()), (1, vec![None, None]));
        let e = Group::open(&store, "").unwrap().nc_dimensions().unwrap_err();
        assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("_nczarr_group.dimensions")), "{e}");
    }

    fn array(store: &Store, at: &str, data_type: DataType, shape: &[u64], names: Option<&[&str]>) -> Array {
        let mut spec = Spec::new(data_type, shape).unwrap();
        spec.set_format(Format::V2).unwrap();
        if let Some(names) = names {
            spec.set_dimension_names(names.iter().map(|n| Some(n.to_string())).collect()).unwrap();
        }
        Array::create(store, at, &spec, Create::New).unwrap()
    }

    #[test]
    fn closing_writes_what_netcdf_walks_by_and_keeps_it_right() {
        let shared = Arc::new(MemoryStore::new());
        let open = |nczarr| Store::new(&Context::default(), shared.clone(), Mode::ReadWrite, Options { nczarr, ..Options::default() });
        let store = open(Nczarr::On);
        let root = Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
        root.define_nc_dimension("time", 0, true).unwrap();
        let t = array(&store, "t", DataType::Float32, &[3, 4], Some(&["time", "x"]));
        t.attributes().replace_json(r#"{"units": "K", "n": [1, 5000000000], "o": {"a": 1}}"#).unwrap();
        array(&store, "g/w", DataType::Int16, &[4, 5], Some(&["x", "y"]));
        array(&store, "g/u", DataType::UInt8, &[6], None);
        array(&store, "s", DataType::Float64, &[], None);
        store.close(None).unwrap();

        let again = open(Nczarr::Keep);
        let root = Group::open(&again, "").unwrap();
        let member = |group: &Group, name: &str| json::to_compact(&group.attributes().all().unwrap()["_nczarr_group"][name]);
        assert_eq!(member(&root, "dimensions"), r#"{"time":{"size":3,"unlimited":1},"x":4,"_Anonymous_Dim_6":6}"#);
        assert_eq!((member(&root, "arrays"), member(&root, "groups")), (r#"["s","t"]"#.into(), r#"["g"]"#.into()));
        let g = Group::open(&again, "g").unwrap();
        assert_eq!((member(&g, "dimensions"), member(&g, "arrays")), (r#"{"y":5}"#.into(), r#"["u","w"]"#.into()));
        assert_eq!(Array::open(&again, "g/w").unwrap().nczarr().unwrap().unwrap().dimensions, ["/x", "/g/y"]);
        let t = Array::open(&again, "t").unwrap();
        let types: Vec<_> =
            ["units", "n", "o"].iter().map(|n| Node::Array(t.clone()).nc_attribute_type(n).unwrap().unwrap().name()).collect();
        assert_eq!(types, ["char", "int64", "char"]);
        assert!(Array::open(&again, "s").unwrap().is_nc_scalar().unwrap());

        // A hierarchy that has the keys keeps them right; a type that netCDF lacks is left out.
        t.resize(&[7, 4], false).unwrap();
        array(&again, "c", DataType::Complex64, &[4], Some(&["x"]));
        again.erase_node("g/w").unwrap();
        again.close(None).unwrap();
        let root = Group::open(&open(Nczarr::Keep), "").unwrap();
        assert!(member(&root, "dimensions").starts_with(r#"{"time":{"size":7,"unlimited":1}"#));
        assert_eq!(member(&root, "arrays"), r#"["s","t"]"#);
        assert_eq!(member(&root.open_group("g").unwrap(), "arrays"), r#"["u"]"#);

        // Where they are wanted, it is an error; so is a dimension of two lengths.
        let strict = open(Nczarr::On);
        strict.erase_node("s").unwrap();
        let e = strict.close(None).unwrap_err();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("\"c\""), "{e}");
        strict.erase_node("c").unwrap();
        array(&strict, "v", DataType::Int8, &[9], Some(&["x"]));
        let e = strict.close(None).unwrap_err();
        assert!(e.kind() == ErrorKind::Metadata && e.message().contains("\"v\"") && e.message().contains("\"x\""), "{e}");
    }

    /// A store whose keys are written, with a group that libozarr_netcdf has recorded.
    fn recorded() -> Store {
        let shared = Arc::new(MemoryStore::new());
        let store = Store::new(&Context::default(), shared, Mode::ReadWrite, Options { nczarr: Nczarr::On, ..Options::default() });
        let root = Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
        let record = r#"{"dimensions": {"time": {"unlimited": true}, "x": {"size": 4}, "old": {"size": 9}, "spare": {"size": 2}, "none": {"unlimited": true}, "odd": 7, "a/b": {"size": 3}},
            "variables": {"t": {"types": {"m": "float", "n": "short", "large": "short", "s": "string", "nuls": 2, "flags": "/e"}}, "o": 1}, "types": {"k": "ubyte"}}"#;
        root.attributes().replace_json(r#"{"k": 3}"#).unwrap();
        root.attributes().set("_nc_model", record.into()).unwrap();
        let t = array(&store, "t", DataType::Float32, &[3], Some(&["time"]));
        t.attributes().replace_json(r#"{"m": 1e20, "n": 5, "large": 70000, "s": "a", "nuls": "a", "flags": 1, "plain": [1, 2]}"#).unwrap();
        array(&store, "o", DataType::Int8, &[5], Some(&["old"])).attributes().set("plain", 1.into()).unwrap();
        array(&store, "g/w", DataType::Int16, &[4, 3], Some(&["x", "time"]));
        store.close(None).unwrap();
        store
    }

    fn dimensions(store: &Store) -> Vec<(String, u64, bool)> {
        let all = Group::open(store, "").unwrap().nc_dimensions().unwrap().unwrap();
        all.into_iter().map(|d| (d.name, d.length, d.is_unlimited)).collect()
    }

    #[test]
    fn what_netcdf_has_recorded_of_dimensions_and_types_is_in_the_keys() {
        let store = recorded();
        let want = [("time", 3, true), ("x", 4, false), ("spare", 2, false), ("none", 0, true), ("old", 5, false)];
        assert_eq!(dimensions(&store), want.map(|(name, length, is_unlimited)| (name.to_string(), length, is_unlimited)));
        assert_eq!(Array::open(&store, "g/w").unwrap().nczarr().unwrap().unwrap().dimensions, ["/x", "/time"]);
        let type_of =
            |path: &str, name: &str| Node::open(&store, path).unwrap().nc_attribute_type(name).unwrap().map(|t| t.name()).unwrap();
        let names = ["m", "n", "large", "s", "nuls", "flags", "plain"];
        let check = |n: &str| assert_eq!(names.map(|name| type_of("t", name)), ["float32", n, "int64", "string", "char", "int64", "int64"]);
        check("int16");
        assert_eq!(type_of("o", "plain"), "int32");
        assert_eq!(Node::open(&store, "").unwrap().nc_attribute_type("k").unwrap().unwrap().name(), "uint8");
        // Also of those that are set when the keys are there, and of which the record tells another type.
        let root = Group::open(&store, "").unwrap();
        for (value, recorded, name) in [(-7, r#""n": "short""#, "int16"), (5, r#""n": "byte""#, "int8"), (6, r#""other": "byte""#, "int64")]
        {
            let record =
                format!(r#"{{"dimensions": {{}}, "variables": {{"t": {{"types": {{"m": "float", "s": "string", {recorded}}}}}}}}}"#);
            root.attributes().set("_nc_model", record.as_str().into()).unwrap();
            Array::open(&store, "t").unwrap().attributes().set("n", value.into()).unwrap();
            store.close(None).unwrap();
            check(name);
        }
    }

    #[test]
    fn unlimited_dimensions_are_as_long_as_the_longest_of_their_arrays() {
        let store = recorded();
        let resize = |path: &str, shape: &[u64]| Array::open(&store, path).unwrap().resize(shape, true).unwrap();
        let time = || dimensions(&store).into_iter().find(|(name, ..)| name == "time").unwrap().1;
        for (t, w, want) in [(6, 3, 6), (6, 8, 8), (1, 8, 8), (1, 2, 2), (0, 0, 0), (2, 2, 2)] {
            resize("t", &[t]);
            resize("g/w", &[4, w]);
            store.close(None).unwrap();
            assert_eq!(time(), want, "{t} {w}");
        }
        // A dimension that is recorded later.
        let root = Group::open(&store, "").unwrap();
        root.attributes().set("_nc_model", r#"{"dimensions": {"time": {"unlimited": true}, "later": {"size": 7}}}"#.into()).unwrap();
        store.close(None).unwrap();
        assert!(dimensions(&store).contains(&("later".into(), 7, false)));
        store.erase_node("t").unwrap();
        store.erase_node("g/w").unwrap();
        store.close(None).unwrap();
        assert_eq!(time(), 0);
    }

    #[test]
    fn fill_values_of_strings_become_what_netcdf_and_zarr_python_understand() {
        let (context, shared) = (Context::default(), Arc::new(MemoryStore::new()));
        let open = |nczarr| Store::new(&context, shared.clone(), Mode::ReadWrite, Options { nczarr, ..Options::default() });
        let store = open(Nczarr::On);
        let said = |store: &Store, at: &str| {
            let bytes = store.key_get(&format!("{at}/.zarray")).unwrap().unwrap();
            json::parse_object(&bytes, 1 << 20).unwrap()["fill_value"].to_string()
        };
        let cases: [(&str, &[u8], &str); 4] = [
            ("none", b"none", r#""bm9uZQAAAAA=""#),
            ("empty", b"", "\"\""),
            ("full", b"abcdefgh", r#""YWJjZGVmZ2g=""#),
            ("raw", b"\xff\0x", r#""/wB4AAAAAAA=""#),
        ];
        for (at, fill, _) in cases {
            let mut spec = Spec::new(DataType::Bytes(8), &[4]).unwrap();
            spec.set_format(Format::V2).unwrap();
            let mut element = fill.to_vec();
            element.resize(8, 0);
            spec.set_fill(DataType::Bytes(8), &element).unwrap();
            Array::create(&store, at, &spec, Create::New).unwrap();
        }
        assert_eq!(said(&store, "none"), r#""bm9uZQAAAAA=""#, "as the specification has it");
        store.close(None).unwrap();
        let again = open(Nczarr::Keep);
        let to = Store::memory(&context);
        for (at, fill, want) in cases {
            assert_eq!(said(&again, at), want);
            let array = Array::open(&again, at).unwrap();
            let element = array.state().meta.fill.element(DataType::Bytes(8));
            assert!(element.starts_with(fill) && element[fill.len()..].iter().all(|b| *b == 0), "{at}");
            again.rechunk_node(at, (&to, at), Default::default(), &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap();
            assert_eq!(said(&to, at), want, "a copy");
        }
        // Nothing is written twice.
        let before = again.key_get("none/.zarray").unwrap();
        array(&again, "more", DataType::Int8, &[2], None);
        again.close(None).unwrap();
        assert_eq!(again.key_get("none/.zarray").unwrap(), before);
    }

    #[test]
    fn a_groups_dimension_hides_one_of_another_length_above() {
        let (context, shared) = (Context::default(), Arc::new(MemoryStore::new()));
        let store = Store::new(&context, shared, Mode::ReadWrite, Options { nczarr: Nczarr::On, ..Options::default() });
        Group::create(&store, "g", Some(Format::V2), Create::New).unwrap();
        for (path, length) in [("a", 2), ("g/b", 5), ("g/c", 5), ("h", 2)] {
            array(&store, path, DataType::Int32, &[length], Some(&["x"]));
        }
        store.close(None).unwrap();
        let named = |path: &str| Array::open(&store, path).unwrap().nczarr().unwrap().unwrap().dimensions;
        assert_eq!(["a", "g/b", "g/c", "h"].map(named), [["/x"], ["/g/x"], ["/g/x"], ["/x"]]);
        array(&store, "g/d", DataType::Int32, &[3], Some(&["x"]));
        let e = store.close(None).unwrap_err();
        assert!(e.message().contains("3 long along \"x\", which is defined as 5"), "{e}");
    }

    #[test]
    fn a_fixed_dimension_along_which_an_array_grows_is_unlimited_from_then_on() {
        for some in [false, true] {
            let (context, shared) = (Context::default(), Arc::new(MemoryStore::new()));
            let store = Store::new(&context, shared, Mode::ReadWrite, Options { nczarr: Nczarr::On, ..Options::default() });
            Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
            let [a, _] = ["a", "b"].map(|at| array(&store, at, DataType::Int32, &[2, 3], Some(&["time", "x"])));
            store.close(None).unwrap();
            a.resize(&[5, 3], false).unwrap();
            // A new one goes by that, whichever of them comes first.
            array(&store, "A", DataType::Int32, &[5, 3], Some(&["time", "x"]));
            if some { store.flush_all().and_then(|()| store.close(None)) } else { store.close(None) }.unwrap();
            let found = Group::open(&store, "").unwrap().nc_dimensions().unwrap().unwrap();
            let found: Vec<_> = found.iter().map(|d| (&*d.name, d.length, d.is_unlimited)).collect();
            assert_eq!(found, [("time", 5, true), ("x", 3, false)]);
        }
    }

    #[test]
    fn consolidated_metadata_are_written_where_keys_cannot_be() {
        let (context, shared) = (Context::default(), Arc::new(MemoryStore::new()));
        let store = Store::new(&context, shared, Mode::ReadWrite, Options { nczarr: Nczarr::On, ..Options::default() });
        Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
        let a = array(&store, "a", DataType::Int32, &[4], Some(&["x"]));
        store.close(None).unwrap();
        a.resize(&[3], false).unwrap();
        assert!(store.close(None).unwrap_err().message().contains("which is defined as 4"));
        assert_eq!(Group::open(&store, "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
    }

    #[test]
    fn pure_hierarchies_stay_pure() {
        let store = Store::memory(&Context::default());
        array(&store, "t", DataType::Float32, &[3], Some(&["x"]));
        store.close(None).unwrap();
        assert!(store.key_list("").unwrap().iter().all(|key| {
            let text = String::from_utf8(store.key_get(key).unwrap().unwrap()).unwrap();
            !text.to_lowercase().contains("nczarr")
        }));
    }
}
