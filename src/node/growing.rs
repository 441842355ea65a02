//! The lengths that arrays of a run that goes on are copied with. Its steps are published in the document of one variable after the other, and in
//! the consolidated metadata of all at once: documents that are read meanwhile have lengths of several moments.

use super::catalog::Catalog;
use super::cut_watch::CutWatch;
use super::kept::changed_meanwhile;
use super::left_out::LeftOut;
use super::listed_lengths::{names_of, shape_of};
use super::lookup::{at_once, attributes_v2, find, find_many};
use super::stored::StoredDocument;
use super::transfer::{NodesBelow, nodes_to_copy};
use super::walk::Found;
use super::{Group, NodeKind, Store, path};
use crate::error::Result;
use crate::limits::{Dims, collect, extend, push, reserve_one};
use crate::metadata::Format;
use crate::metadata::v2::DIMENSIONS;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The consolidated metadata of groups, which are seen before the nodes below them.
#[derive(Default)]
struct GrowingArrays {
    catalogs: Vec<(String, Arc<Catalog>)>,
    /// What is known along each dimension of each group.
    along: BTreeMap<(String, String), Vec<Length>>,
}

/// Dimensions and the lengths that they are cut to, by the paths of arrays.
pub(super) type Cuts = HashMap<String, Vec<(usize, u64)>>;

/// What is read of a hierarchy before it is copied.
pub(super) struct ReadNodes {
    /// Parents before their children.
    pub nodes: Vec<(String, StoredDocument)>,
    pub cuts: Cuts,
    /// A line about each array that is cut, and each link that leads back to a group above.
    pub notes: Vec<String>,
    /// Whether the run is cut since they were read.
    pub watch: CutWatch,
}

/// Reads the documents and attributes of the node at `root` and of all below it. One that is gone by now is left out. `others` takes what is beside the
/// nodes. Errors: `Again` if all are.
pub(super) fn read_nodes(store: &Store, root: &str, others: Option<&mut LeftOut>) -> Result<ReadNodes> {
    let (mut growing, mut nodes) = (GrowingArrays::default(), Vec::new());
    let NodesBelow { nodes: paths, links_back } = nodes_to_copy(store, root, others)?;
    let watch = CutWatch::begin(store, paths.iter().map(String::as_str))?;
    for paths in paths.chunks(at_once(store)) {
        let all = find_many(store, paths, true, store.options().format, None)?;
        for (path, found) in paths.iter().zip(all) {
            let Some(mut found) = found? else { continue };
            growing.see(store, std::iter::once((path.as_str(), &found)))?;
            if found.format == Format::V2 && found.attributes.is_none() {
                found.attributes = Some(attributes_v2(store, path)?);
            }
            push(&mut nodes, (path.clone(), found))?;
        }
    }
    if nodes.is_empty() {
        return Err(changed_meanwhile(root, "removed"));
    }
    let (cuts, mut notes) = growing.cuts()?;
    extend(&mut notes, links_back.iter().map(|node| format!("{node}: left out, for a link leads from there back to a group above")))?;
    Ok(ReadNodes { nodes, cuts, notes, watch })
}

/// What [`ReadNodes::cuts`] are of the nodes below a group, whose documents were read.
pub(super) fn cuts_below(group: &Group, below: &[Found]) -> Result<Cuts> {
    let (store, mut growing) = (group.store(), GrowingArrays::default());
    if let Some(found) = find(store, group.path())? {
        growing.see(store, std::iter::once((group.path(), &found)))?;
    }
    growing.see(store, below.iter().filter_map(|found| Some((found.path.as_str(), found.node.as_ref().ok()?))))?;
    Ok(growing.cuts()?.0)
}

struct Length {
    array: String,
    dim: usize,
    /// In its own document, and in the consolidated metadata.
    own: u64,
    listed: u64,
}

impl GrowingArrays {
    /// Takes nodes of the source, whose documents were just read. In a store with latency the `.zmetadata` of groups are read at the same time.
    fn see<'a>(&mut self, store: &Store, nodes: impl Iterator<Item = (&'a str, &'a StoredDocument)> + Clone) -> Result<()> {
        let is_read = |found: &StoredDocument| (found.kind, found.format) == (NodeKind::Group, Format::V2);
        let groups: Vec<&str> = collect(nodes.clone().filter(|(_, found)| is_read(found)).map(|(node, _)| node))?;
        let mut read = Vec::new();
        for some in groups.chunks(at_once(store)) {
            extend(&mut read, Catalog::read_each_v2(store, some)?)?;
        }
        let mut read = read.into_iter();
        for (node, found) in nodes {
            let catalog = match found.kind {
                NodeKind::Group if is_read(found) => read.next().flatten(),
                NodeKind::Group => Catalog::of_v3(node, &found.document, found.as_of),
                _ => {
                    self.see_array(node, found)?;
                    continue;
                }
            };
            extend(&mut self.catalogs, catalog.map(|catalog| (node.to_string(), catalog)))?;
        }
        Ok(())
    }

    fn see_array(&mut self, node: &str, found: &StoredDocument) -> Result<()> {
        let nearest = self.catalogs.iter().rev().find(|(group, _)| path::is_within(node, group));
        let Some(listed) = nearest.and_then(|(_, catalog)| catalog.find(node)) else { return Ok(()) };
        // Extents of chunks that are listed depend on the length.
        let grid = found.document.get("chunk_grid").and_then(|grid| grid.get("name")?.as_str());
        if grid.is_some_and(|name| name != "regular") {
            return Ok(());
        }
        let (Some(own), Some(old)) = (shape_of(&found.document), shape_of(&listed.document)) else { return Ok(()) };
        let names = match listed.format {
            Format::V3 => listed.document.get("dimension_names"),
            Format::V2 => listed.attributes.as_ref().and_then(|all| all.get(DIMENSIONS)),
        };
        let names = names.and_then(|names| names_of(names, own.len())).unwrap_or_default();
        let group = path::parent(node).unwrap_or_default();
        for (dim, name) in names.into_iter().enumerate() {
            if let (Some(name), Some(&listed)) = (name, old.get(dim)) {
                let length = Length { array: node.to_string(), dim, own: own[dim], listed };
                push(self.along.entry((group.to_string(), name)).or_default(), length)?;
            }
        }
        Ok(())
    }

    /// The dimensions that are cut, by arrays, with a line about each array: those along which the consolidated metadata have one length and the
    /// documents several, none of them shorter. All arrays have what the shortest one has published.
    fn cuts(&self) -> Result<(Cuts, Vec<String>)> {
        let (mut cuts, mut notes) = (Cuts::new(), Vec::new());
        for ((_, name), along) in &self.along {
            let Some(shortest) = along.iter().map(|length| length.own).min() else { continue };
            if along.iter().any(|length| length.listed != along[0].listed || length.own < length.listed) {
                continue;
            }
            for length in along.iter().filter(|length| length.own > shortest) {
                reserve_one(&mut cuts)?;
                cuts.entry(length.array.clone()).or_default().push((length.dim, shortest));
                let (array, own) = (path::display(&length.array), length.own);
                push(
                    &mut notes,
                    format!("{array}: cut to {shortest} of {own} along {name:?}, which all arrays have of a run that goes on"),
                )?;
            }
        }
        Ok((cuts, notes))
    }
}

/// An array's shape with those lengths in place of its own.
pub(super) fn cut_shape(shape: &[u64], cuts: &[(usize, u64)]) -> Dims {
    let mut shape = Dims::from_slice(shape);
    for &(dim, length) in cuts {
        shape[dim] = length;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::engine::Selection;
    use crate::node::tests::{faults, view};
    use crate::node::tests_store::left_whole;
    use crate::node::{
        Array, Context, Create, Dataset, FaultKind, Mode, RechunkOptions, RechunkReport, VariableSpec, VerifyOptions, consolidate,
    };

    /// A dataset of three variables, whose own documents have those lengths along `time` and the consolidated metadata the others.
    fn run_of(format: Format, own: [u64; 3], listed: [u64; 3]) -> Store {
        let store = Store::memory(&Context::with_threads(1));
        let ds = Dataset::create(&store, "run", Some(format), Create::New).unwrap();
        ds.define_dimension("time", 2).unwrap();
        ds.define_dimension("x", 3).unwrap();
        let names = ["time", "u", "v"];
        for (name, dimensions) in names.into_iter().zip([&["time"][..], &["x", "time"], &["time"]]) {
            let variable = VariableSpec { chunks: Some(vec![2; dimensions.len()]), ..VariableSpec::new(DataType::Int32, dimensions) };
            ds.define_variable(name, &variable, Create::New).unwrap();
        }
        let group = Group::open(&store, "run").unwrap();
        let put = |lengths: [u64; 3]| {
            for (name, length) in names.into_iter().zip(lengths) {
                let array = Array::open(&store, &format!("run/{name}")).unwrap();
                let shape: Vec<u64> = if name == "u" { vec![3, length] } else { vec![length] };
                array.resize(&shape, false).unwrap();
                let mut values: Vec<i32> = (0..shape.iter().product::<u64>() as i32).map(|i| i % length.max(1) as i32).collect();
                // SAFETY: the memory lives as long as the call.
                unsafe { array.write(&Selection::all(&shape), &view(&mut values, &shape)) }.unwrap();
            }
        };
        put(listed);
        group.consolidate().unwrap();
        let key = if format == Format::V2 { "run/.zmetadata" } else { "run/zarr.json" };
        let before = store.key_get(key).unwrap().unwrap();
        put(own);
        store.key_put(key, &before).unwrap();
        store
    }

    /// Copies such a dataset into other chunks.
    fn copied(format: Format, own: [u64; 3], listed: [u64; 3]) -> ([u64; 3], RechunkReport, Store) {
        let store = run_of(format, own, listed);
        let mut change = |_: &str, spec: &mut crate::node::Spec| spec.set_chunks(&vec![3; spec.shape().len()]);
        let report = store.rechunk_node("run", (&store, "copy"), RechunkOptions::default(), &mut change, &mut |_, _| Ok(()));
        let report = report.unwrap();
        (lengths(&store, "copy"), report, store)
    }

    fn lengths(store: &Store, group: &str) -> [u64; 3] {
        ["time", "u", "v"].map(|name| *Array::open(store, &format!("{group}/{name}")).unwrap().shape().last().unwrap())
    }

    /// What readers that go by consolidated metadata see.
    fn told(store: &Store) -> [u64; 3] {
        let store = Store::from_shared(&Context::with_threads(1), store.shared().clone(), Mode::ReadWrite);
        let group = Group::open(&store, "run").unwrap();
        ["time", "u", "v"].map(|name| *group.open_array(name).unwrap().shape().last().unwrap())
    }

    #[test]
    fn a_killed_run_that_is_repaired_or_migrated_in_place_keeps_its_published_lengths() {
        for (own, listed, expected) in [
            ([5, 7, 7], [5, 5, 5], [5; 3]),
            ([0, 7, 0], [0, 0, 0], [0; 3]),
            ([7, 7, 7], [5, 5, 5], [7; 3]),
            // These differ in length anyway.
            ([5, 7, 8], [5, 6, 7], [5, 7, 8]),
        ] {
            for format in [Format::V3, Format::V2] {
                let store = run_of(format, own, listed);
                let faults = faults(&store, VerifyOptions { quick: true, repair: true });
                let found: Vec<_> = faults.iter().map(|fault| (fault.kind, fault.repaired)).collect();
                assert_eq!(found, [(FaultKind::Stale, own == expected)], "{format:?} {own:?} {listed:?}");
                assert_eq!((told(&store), lengths(&store, "run")), (expected, own), "{format:?} {own:?} {listed:?}");
            }
            for node in ["", "run"] {
                let store = run_of(Format::V2, own, listed);
                store.migrate(node, None, false, &mut |_, _| Ok(())).unwrap();
                assert_eq!((told(&store), lengths(&store, "run")), (expected, own), "{node} {own:?} {listed:?}");
            }
        }
    }

    /// Programs use what was made.
    #[test]
    fn a_repeated_migration_publishes_no_steps_of_a_run_that_goes_on_in_what_is_whole() {
        let (from, to) = (run_of(Format::V2, [5; 3], [5; 3]), run_of(Format::V3, [5, 7, 7], [5; 3]));
        let consolidate = |path: &str| consolidate::consolidate_unless(&Group::open(&to, path).unwrap(), &BTreeMap::new()).unwrap();
        let above = || {
            let store = Store::from_shared(&Context::with_threads(1), to.shared().clone(), Mode::ReadWrite);
            let root = Group::open(&store, "").unwrap();
            ["run/time", "run/u", "run/v"].map(|path| *root.open_array(path).unwrap().shape().last().unwrap())
        };
        consolidate("");
        assert_eq!(above(), [5; 3]);
        to.key_put("run/ozarr-migration.json", &left_whole(&from, "run")).unwrap();
        from.migrate("run", Some((&to, "run")), true, &mut |_, _| Ok(())).unwrap();
        assert_eq!((told(&to), above(), lengths(&to, "run")), ([5; 3], [5; 3], [5, 7, 7]));
        assert!(to.key_get("run/ozarr-migration.json").unwrap().is_none());
    }

    #[test]
    fn a_copy_of_a_run_that_goes_on_has_the_steps_that_all_arrays_have() {
        for format in [Format::V3, Format::V2] {
            for (own, listed, expected) in [
                ([5, 7, 7], [5, 5, 5], [5; 3]),
                ([5, 7, 6], [5, 5, 5], [5; 3]),
                ([6, 7, 7], [5, 5, 5], [6; 3]),
                ([0, 7, 7], [0, 0, 0], [0; 3]),
                // Another program made all longer and left the consolidated metadata.
                ([7, 7, 7], [5, 5, 5], [7; 3]),
                // Nothing says that they were ever of one length.
                ([5, 7, 7], [5, 7, 5], [5, 7, 7]),
                ([3, 7, 7], [5, 5, 5], [3, 7, 7]),
            ] {
                let (found, report, store) = copied(format, own, listed);
                assert_eq!(found, expected, "{format:?} {own:?} {listed:?}");
                let cut = own.iter().zip(found).filter(|(own, found)| **own != *found).count();
                assert_eq!(report.notes.len(), cut, "{:?}", report.notes);
                let mut values = vec![-1; 3 * found[1] as usize];
                let (u, shape) = (Array::open(&store, "copy/u").unwrap(), [3, found[1]]);
                // SAFETY: the memory lives as long as the call.
                unsafe { u.read(&Selection::all(&shape), &view(&mut values, &shape)) }.unwrap();
                assert!(values.iter().enumerate().all(|(i, &value)| value as usize == i % found[1] as usize), "{values:?}");
                // A copy of keys has what is consolidated as it was, also in a group above that is consolidated.
                let key = if format == Format::V2 { ".zmetadata" } else { "zarr.json" };
                Group::open(&store, "").unwrap().consolidate().unwrap();
                store.copy_node("run", (&store, "keys"), Create::New, false, &mut |_, _| Ok(())).unwrap();
                let text = |group: &str| store.key_get(&format!("{group}/{key}")).unwrap();
                assert!(text("keys") == text("run"), "{format:?} {own:?} {listed:?}");
                let root = Group::open(&store, "").unwrap();
                let told = |path: &str| *root.open_array(path).unwrap().shape().last().unwrap();
                // Where the documents agree, all is published, though the group itself does not say so yet.
                let above = if own.iter().any(|length| *length != own[0]) { listed } else { own };
                assert_eq!(["keys/time", "keys/u", "keys/v"].map(told), above, "{format:?} {own:?}");
                if format == Format::V2 {
                    let report = store.migrate("run", Some((&store, "migrated")), true, &mut |_, _| Ok(())).unwrap();
                    let told = report.notes.iter().filter(|note| note.contains("cut to")).count();
                    assert_eq!((lengths(&store, "migrated"), told), (expected, cut), "{own:?} {listed:?}: {:?}", report.notes);
                    // What its last chunk has beyond does not show when it grows.
                    let migrated = Array::open(&store, "migrated/u").unwrap();
                    migrated.resize(&[3, 9], false).unwrap();
                    let mut values = vec![-1; 27];
                    // SAFETY: the memory lives as long as the call.
                    unsafe { migrated.read(&Selection::all(&[3, 9]), &view(&mut values, &[3, 9])) }.unwrap();
                    let has = |i: usize| if (i % 9) < expected[1] as usize { i % 9 } else { 0 };
                    assert!(values.iter().enumerate().all(|(i, &value)| value as usize == has(i) % own[1].max(1) as usize), "{values:?}");
                }
            }
        }
    }
}
