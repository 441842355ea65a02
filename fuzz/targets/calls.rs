//! Calls in any order: the input is a program that creates arrays, writes, reads, resizes, appends, copies, renames and erases them, sets
//! attributes and settings, and opens all anew; after it, and on the way, everything must be as a model in memory says.
//! Run: tools/fuzz calls 60
use crate::model::{self, Cells, Region, Script, memory};
use ozarr::dtype::{ByteOrder, DataType};
use ozarr::error::Result;
use ozarr::metadata::{Format, Order};
use ozarr::node::{Appender, Array, Attributes, Context, Create, FaultKind, Group, Mode, NodeKind, Separator, Shuffle, Spec, Store};
use ozarr::store::SharedStore;
use std::collections::BTreeMap;

/// The paths of the nodes. One is above others.
const PATHS: &[&str] = &["a", "g/b", "g/c", "h/b", "g"];
const NAMES: &[&str] = &["n", "m", "µ"];
const COMPRESSORS: &[&str] = &["none", "zstd", "gzip", "blosc", "lz4"];

/// A node as it must be.
#[derive(Clone, Default)]
struct Node {
    /// What it holds; `None` for a group.
    cells: Option<Cells>,
    attributes: BTreeMap<&'static str, i64>,
}

struct Run<'a> {
    script: Script<'a>,
    format: Format,
    threads: usize,
    shared: SharedStore,
    store: Store,
    /// All nodes by their paths, as they must be.
    nodes: BTreeMap<String, Node>,
    /// Handles that are kept open.
    open: BTreeMap<String, Array>,
    last: i32,
    /// Chunks outside of a shape were kept.
    outside: bool,
}

/// Whether `path` is `above`, or below it.
fn is_at(path: &str, above: &str) -> bool {
    above.is_empty() || path == above || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

/// The paths of the groups above.
fn above(path: &str) -> Vec<&str> {
    let slashes = path.match_indices('/').map(|(i, _)| &path[..i]);
    [""].into_iter().chain(slashes).filter(|above| *above != path).collect()
}

/// Gives the result of a call that must succeed or fail as `good` says.
fn as_expected<T>(result: Result<T>, good: bool, what: &str) -> Option<T> {
    match result {
        Ok(value) => {
            assert!(good, "{what} succeeded");
            Some(value)
        }
        Err(e) => {
            assert!(!good && !e.message().is_empty(), "{what}: {e}");
            None
        }
    }
}

impl Run<'_> {
    /// A store with threads and locks of its own.
    fn reopened(&self) -> Store {
        Store::from_shared(&Context::with_threads(self.threads), self.shared.clone(), Mode::ReadWrite)
    }

    /// Whether a node can be made at `path`: no array is above.
    fn is_possible(&self, path: &str) -> bool {
        !above(path).iter().any(|above| self.nodes.get(*above).is_some_and(|node| node.cells.is_some()))
    }

    /// Closes the handles at and below `path`.
    fn close(&mut self, path: &str) {
        for array in self.open.iter().filter(|(open, _)| is_at(open, path)).map(|(_, array)| array) {
            array.close().unwrap();
        }
        self.open.retain(|open, _| !is_at(open, path));
    }

    /// Notes a node, and the groups above it. What was there and below it was forgotten before.
    fn note(&mut self, path: &str, node: Node) {
        for above in above(path) {
            self.nodes.entry(above.to_string()).or_default();
        }
        self.nodes.insert(path.to_string(), node);
    }

    /// Forgets a node and those below it.
    fn forget(&mut self, path: &str) {
        self.nodes.retain(|other, _| !is_at(other, path));
    }

    /// A handle on an array, and what it must hold; `None` if there is no array.
    fn array(&mut self) -> Option<(String, Array)> {
        let path = self.script.one_of(PATHS).to_string();
        let is_array = self.nodes.get(&path).is_some_and(|node| node.cells.is_some());
        if let Some(array) = self.open.get(&path) {
            return Some((path, array.clone()));
        }
        let array = as_expected(Array::open(&self.store, &path), is_array, &format!("opening {path}"))?;
        self.open.insert(path.clone(), array.clone());
        Some((path, array))
    }

    fn cells(&mut self, path: &str) -> &mut Cells {
        self.nodes.get_mut(path).and_then(|node| node.cells.as_mut()).expect("an array")
    }

    fn create(&mut self) {
        let (path, how) = (self.script.one_of(PATHS), self.script.one_of(&[Create::New, Create::Overwrite, Create::OpenIfSame]));
        let shape: Vec<u64> = (0..self.script.below(4)).map(|_| self.script.below(9)).collect();
        let fill = self.script.one_of(&[0, 0, -3]);
        let spec = self.spec(&shape, fill);
        self.close(path);
        let there = self.nodes.get(path).map(|node| node.cells.clone());
        let (free, result) = (self.is_possible(path), Array::create(&self.store, path, &spec, how));
        let node = Node { cells: Some(Cells::new(&shape, fill)), ..Node::default() };
        match (there, how) {
            (Some(Some(cells)), Create::OpenIfSame) => {
                // Whether all other settings are the same is not known here.
                let Ok(array) = result else { return };
                assert_eq!((&cells.shape, cells.fill), (&shape, fill), "another array than that at {path} is taken for the same");
                cells.check_all(&array, path);
            }
            (there, how) => {
                let good = free && (there.is_none() || how == Create::Overwrite);
                let Some(array) = as_expected(result, good, &format!("creating {path}")) else { return };
                self.forget(path);
                self.note(path, node);
                self.open.insert(path.to_string(), array);
            }
        }
    }

    fn spec(&mut self, shape: &[u64], fill: i32) -> Spec {
        let (chunks, bits) = (shape.iter().map(|_| 1 + self.script.below(4)).collect::<Vec<_>>(), self.script.byte());
        let mut spec = Spec::new(DataType::Int32, shape).unwrap();
        spec.set_format(self.format).unwrap();
        spec.set_fill(DataType::Int32, &fill.to_ne_bytes()).unwrap();
        spec.set_compressor(self.script.one_of(COMPRESSORS), None).unwrap();
        spec.set_chunks(&chunks).unwrap();
        let is_v3 = self.format == Format::V3;
        if bits & 1 != 0 && is_v3 {
            spec.set_chunks(&chunks.iter().map(|n| n * 2).collect::<Vec<_>>()).unwrap();
            spec.set_inner_chunks(&chunks).unwrap();
        } else if bits & 2 != 0 && is_v3 && shape.first().is_some_and(|&n| n > 2) {
            spec.set_chunk_extents(0, &[1, shape[0] - 1]).unwrap();
        }
        if bits & 4 != 0 {
            spec.set_shuffle(Some(Shuffle::Byte)).unwrap();
        }
        if bits & 8 != 0 {
            spec.set_checksum(true).unwrap();
        }
        if bits & 16 != 0 {
            spec.set_order(Order::F).unwrap();
        }
        if bits & 32 != 0 {
            spec.set_byte_order(ByteOrder::Big).unwrap();
        }
        if bits & 64 != 0 {
            spec.set_separator(if is_v3 { Separator::Dot } else { Separator::Slash }).unwrap();
        }
        spec
    }

    fn write(&mut self) {
        let Some((path, array)) = self.array() else { return };
        let (shape, fill) = (self.cells(&path).shape.clone(), self.cells(&path).fill);
        let region = self.script.region(&shape);
        let values = self.script.values(region.len(), fill, &mut self.last);
        region.write(&array, &values).unwrap_or_else(|e| panic!("writing {path} {region:?}: {e}"));
        self.cells(&path).write(region.indices(), &values);
    }

    fn read(&mut self) {
        let Some((path, array)) = self.array() else { return };
        let shape = self.cells(&path).shape.clone();
        let region = self.script.region(&shape);
        let found = region.read(&array).unwrap_or_else(|e| panic!("reading {path} {region:?}: {e}"));
        self.cells(&path).check(region.indices(), &found, &path);
    }

    fn resize(&mut self) {
        let Some((path, array)) = self.array() else { return };
        let (rank, keep_outside) = (array.rank(), self.script.below(4) == 0);
        let shape: Vec<u64> = (0..rank).map(|_| self.script.below(9)).collect();
        array.resize(&shape, keep_outside).unwrap_or_else(|e| panic!("resizing {path} to {shape:?}: {e}"));
        self.outside |= keep_outside;
        self.cells(&path).resize(&shape, keep_outside);
    }

    /// Appends by one call, or by an appender in pieces.
    fn append(&mut self) {
        let Some((path, array)) = self.array() else { return };
        let (old, fill) = (self.cells(&path).shape.clone(), self.cells(&path).fill);
        let (dim, count, way) = (self.script.below(old.len() as u64 + 1) as usize, self.script.below(3), self.script.below(4));
        let is_there = dim < old.len();
        let (mut slab, mut start, mut grown) = (old.clone(), vec![0; old.len()], old.clone());
        if is_there {
            (slab[dim], start[dim], grown[dim]) = (count, old[dim], old[dim] + count * way.max(1));
        }
        let size = slab.iter().product::<u64>() as usize;
        let pieces: Vec<Vec<i32>> = (0..way.max(1)).map(|_| self.script.values(size, fill, &mut self.last)).collect();
        let done = match way {
            // SAFETY: the memory lives as long as the call.
            0 => unsafe { array.append(dim, count, &memory(&mut pieces[0].clone(), &slab)) }.is_ok(),
            _ => Appender::open(&array, dim, way % 3, 0).is_ok_and(|mut appender| {
                for piece in &pieces {
                    // SAFETY: as above.
                    unsafe { appender.append(count, &memory(&mut piece.clone(), &slab)) }.unwrap();
                }
                appender.flush().unwrap();
                true
            }),
        };
        // An appender needs chunks that repeat themselves.
        assert!(done == is_there || is_there && way > 0, "appending to {path} along {dim}: {done}");
        if done {
            self.cells(&path).resize(&grown, true);
            for piece in pieces {
                let region = Region::boxed(&start, &slab);
                self.cells(&path).write(region.indices(), &piece);
                start[dim] += count;
            }
        }
    }

    fn attribute(&mut self) {
        let path = self.script.one_of(&["a", "g/b", "g", "h", ""]).to_string();
        let Some(node) = self.nodes.get_mut(&path) else { return };
        let (name, value, way) = (self.script.one_of(NAMES), i64::from(self.script.byte()) - 100, self.script.below(4));
        let mut change = |attributes: &Attributes| match way {
            0 => {
                as_expected(attributes.erase(name), node.attributes.remove(name).is_some(), "erasing an attribute");
            }
            1 => {
                attributes.begin().unwrap();
                attributes.set_i64(name, value).unwrap();
                attributes.set_i64("n", 1).unwrap();
                attributes.commit().unwrap();
                node.attributes.extend([(name, value), ("n", 1)]);
            }
            _ => {
                attributes.set_i64(name, value).unwrap();
                node.attributes.insert(name, value);
            }
        };
        match (node.cells.is_some(), self.open.get(&path)) {
            (true, Some(array)) => change(array.attributes()),
            (true, None) => change(Array::open(&self.store, &path).unwrap().attributes()),
            (false, _) => change(Group::open(&self.store, &path).unwrap().attributes()),
        }
    }

    fn erase(&mut self) {
        let path = self.script.one_of(&["a", "g/b", "g", "h", "g/c", ""]);
        self.close(path);
        as_expected(self.store.erase_node(path), self.nodes.contains_key(path), &format!("erasing {path:?}"));
        self.forget(path);
    }

    /// Copies or renames a node with all below it.
    fn transfer(&mut self) {
        let (from, to, way) = (self.script.one_of(PATHS), self.script.one_of(PATHS), self.script.below(4));
        self.close(from);
        self.close(to);
        let apart = !is_at(from, to) && !is_at(to, from);
        let there = self.nodes.contains_key(to);
        let possible = self.nodes.contains_key(from) && apart && self.is_possible(to);
        let what = format!("{} {from} to {to}", ["renaming", "copying", "copying and comparing", "copying over"][way as usize]);
        let how = if way == 3 { Create::Overwrite } else { Create::New };
        let result = match way {
            0 => self.store.rename_node(from, to),
            _ => self.store.copy_node(from, (&self.store, to), how, way == 2, &mut |_, _| Ok(())),
        };
        if as_expected(result, possible && (!there || way == 3), &what).is_none() {
            return;
        }
        let moved: Vec<(String, Node)> =
            self.nodes.iter().filter(|(path, _)| is_at(path, from)).map(|(path, node)| (path.clone(), node.clone())).collect();
        self.forget(to);
        if way == 0 {
            self.forget(from);
        }
        for (path, node) in moved {
            self.note(&format!("{to}{}", &path[from.len()..]), node);
        }
    }

    fn settings(&mut self) {
        let (way, on) = (self.script.below(3), self.script.below(2) == 1);
        let Some((_, array)) = self.array() else { return };
        match way {
            0 => array.set_write_back(usize::from(on) << 20).unwrap(),
            1 => array.set_chunk_cache(usize::from(on) << 20).unwrap(),
            _ => array.set_write_fill_chunks(on),
        }
    }

    fn consolidate(&mut self) {
        if self.nodes.contains_key("") {
            Group::open(&self.store, "").unwrap().consolidate().unwrap();
        }
    }

    /// Closes all, and looks at everything through handles of its own.
    fn check(&mut self) {
        self.close("");
        self.store = self.reopened();
        for path in PATHS {
            let node = self.nodes.get(*path);
            let kind = node.map_or(NodeKind::None, |node| if node.cells.is_some() { NodeKind::Array } else { NodeKind::Group });
            assert_eq!(self.store.node_kind(path).unwrap(), kind, "the node at {path}");
        }
        for (path, node) in &self.nodes {
            match &node.cells {
                Some(cells) => {
                    let array = Array::open(&self.store, path).unwrap_or_else(|e| panic!("opening {path}: {e}"));
                    cells.check_all(&array, path);
                    check_attributes(array.attributes(), node, path);
                }
                None => {
                    let group = Group::open(&self.store, path).unwrap_or_else(|e| panic!("opening {path}: {e}"));
                    check_attributes(group.attributes(), node, path);
                    self.check_children(&group);
                }
            }
        }
    }

    fn check_children(&self, group: &Group) {
        let mut found: Vec<String> = group.children().unwrap().into_iter().map(|child| child.name).collect();
        found.sort();
        let prefix = if group.path().is_empty() { String::new() } else { format!("{}/", group.path()) };
        let names = self.nodes.keys().filter_map(|path| path.strip_prefix(&prefix)).filter(|rest| !rest.is_empty() && !rest.contains('/'));
        assert_eq!(found, names.collect::<Vec<_>>(), "the children of {:?}", group.path());
    }

    /// Checks that nothing is damaged, out of date or left over.
    fn verify(&self) {
        if !self.nodes.contains_key("") {
            return assert!(self.store.key_list("").unwrap().is_empty(), "there is no node, and keys are left");
        }
        let mut faults = Vec::new();
        let mut each = |fault: &ozarr::node::Fault| {
            faults.push(format!("{} {}: {}", fault.kind.name(), fault.key, fault.message));
            assert!(fault.kind == FaultKind::Outside && self.outside, "{faults:?}");
            Ok(())
        };
        self.store.verify("", Default::default(), &mut each, &mut |_, _| Ok(())).unwrap();
    }

    fn step(&mut self) {
        match self.script.below(16) {
            0 | 1 => self.create(),
            2..=4 => self.write(),
            5 | 6 => self.read(),
            7 => self.resize(),
            8 | 9 => self.append(),
            10 => self.attribute(),
            11 => self.erase(),
            12 => self.transfer(),
            13 => self.settings(),
            14 => self.consolidate(),
            _ => self.check(),
        }
    }
}

fn check_attributes(attributes: &Attributes, node: &Node, path: &str) {
    let mut names = attributes.names().unwrap();
    names.sort();
    let found: Vec<(String, i64)> = names.into_iter().map(|name| (name.clone(), attributes.get_i64(&name).unwrap())).collect();
    let expected: Vec<(String, i64)> = node.attributes.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    assert_eq!(found, expected, "the attributes of {path:?}");
}

/// Runs one input. Its first number chooses the version, the number of threads and the kind of store.
pub fn run(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let shared = model::store(first >> 2);
    let threads = 1 + usize::from(first >> 1 & 1);
    let store = Store::from_shared(&Context::with_threads(threads), shared.clone(), Mode::ReadWrite);
    let format = if first & 1 == 0 { Format::V3 } else { Format::V2 };
    let (nodes, open, script) = (BTreeMap::new(), BTreeMap::new(), Script(rest));
    let mut run = Run { script, format, threads, shared, store, nodes, open, last: 0, outside: false };
    while !run.script.is_over() {
        run.step();
    }
    run.check();
    run.verify();
}
