//! All nodes below a group: level by level, each group listed once and each document read once; over a store with latency side by side.

use super::catalog::Catalog;
use super::info::describe;
use super::stored::StoredDocument;
use super::trail::Trail;
use super::{Array, Child, Group, Node, NodeKind, Store, draft, lookup, path};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{
    MAX_KEY, certain, check_memory, collect, collect_table, extend, filled, make_text_room, push, readable, told, with_spare,
};
use crate::metadata::json::acts_on_terminals;
use crate::metadata::lint::{Finding, Severity};
use crate::metadata::{Format, v2, v3};
use crate::sort::sort_by;
use crate::threads::block_signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most groups that are listed at the same time.
const LISTINGS: usize = 32;
/// The most documents that are read at the same time.
const BATCH: usize = 1024;

/// A group that is to be listed.
pub(super) struct ListedGroup {
    pub path: String,
    pub format: Format,
    /// Consolidated metadata that may be used.
    pub catalog: Option<Arc<Catalog>>,
    /// Consolidated metadata of groups below are not used, either.
    is_fresh: bool,
    /// Where it and the groups above it are, in files.
    trail: Trail,
}

/// What of the nodes is wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// How many levels.
    pub depth: usize,
    /// The attributes of v2 nodes, too.
    pub attributes: bool,
    /// Only nodes of this version, whatever else is beside them.
    pub format: Option<Format>,
    /// Only those documents of consolidated metadata that can be understood; the nodes' own ones instead of the others.
    pub checked: bool,
    /// Groups below whose folders may not be listed come once more, with that error, instead of ending the walk.
    pub unlisted: bool,
}

impl Wanted {
    /// All nodes down to a depth.
    fn all(depth: usize) -> Wanted {
        Wanted { depth, attributes: false, format: None, checked: true, unlisted: false }
    }

    /// All nodes that there are to show: who goes by what is there is to fail where something cannot be listed.
    fn shown(depth: usize) -> Wanted {
        Wanted { unlisted: true, ..Wanted::all(depth) }
    }
}

/// A node below the group that was begun at, by its path in the store.
#[derive(Clone)]
pub(super) struct Found {
    pub path: String,
    pub node: Result<StoredDocument>,
    /// It comes from consolidated metadata, and was found to be readable where that is wanted.
    pub is_checked: bool,
}

impl ListedGroup {
    pub fn new(path: &str, format: Format, catalog: Option<Arc<Catalog>>) -> ListedGroup {
        ListedGroup { path: path.to_string(), format, catalog, is_fresh: false, trail: Trail::default() }
    }

    /// Returns this place with the documents of all nodes read anew, whatever consolidated metadata say.
    pub fn fresh(self) -> ListedGroup {
        ListedGroup { is_fresh: true, ..self }
    }
}

/// The nodes below a group, sorted so that each is followed by those below it. A link that leads back to a group above is not followed.
pub(super) fn walk(store: &Store, top: ListedGroup, wanted: Wanted) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    each_node(store, top, wanted, &mut |found| push(&mut all, found))?;
    sort(&mut all, |found| &found.path)?;
    Ok(all)
}

/// Sorts nodes so that each is followed by those below it.
pub(super) fn sort<T>(all: &mut [T], path: impl Fn(&T) -> &str) -> Result<()> {
    with_spare(all.len() * size_of::<usize>(), || sort_by(all, |a, b| path(a).split('/').cmp(path(b).split('/'))))
}

/// Sorts nodes so; of a group that comes once more, with the error of its listing, that is kept.
fn sort_once<T>(all: &mut Vec<T>, path: impl Fn(&T) -> &str) -> Result<()> {
    sort(all, &path)?;
    all.dedup_by(|last, first| {
        let is_same = path(last) == path(first);
        if is_same {
            std::mem::swap(last, first);
        }
        is_same
    });
    Ok(())
}

/// Calls `each` with the nodes below a group, level by level. Few documents are in memory at a time, unless `each` keeps them.
fn each_node(store: &Store, top: ListedGroup, wanted: Wanted, each: &mut dyn FnMut(Found) -> Result<()>) -> Result<()> {
    let trail = Trail::of(store, &top.path, top.format);
    let mut level = vec![ListedGroup { trail, ..top }];
    for depth in 0..wanted.depth {
        if level.is_empty() {
            break;
        }
        let mut next = Vec::new();
        read_level(store, &level, Wanted { unlisted: wanted.unlisted && depth > 0, ..wanted }, &mut |place, found| {
            if let Some(below) = found.node.as_ref().ok().and_then(|node| below(store, place, node, &found.path)) {
                push(&mut next, below)?;
            }
            each(found)
        })?;
        level = next;
    }
    Ok(())
}

/// The place of a node that is a group, unless a link leads from it back to where it came from.
fn below(store: &Store, above: &ListedGroup, node: &StoredDocument, path: &str) -> Option<ListedGroup> {
    if node.kind != NodeKind::Group {
        return None;
    }
    let own = || (node.format == Format::V3).then(|| Catalog::of_v3(path, &node.document, node.as_of)).flatten();
    let catalog = above.catalog.clone().or_else(|| if store.uses_consolidated() && !above.is_fresh { own() } else { None });
    let trail = above.trail.to(store, path, &node.key)?;
    let is_fresh = above.is_fresh;
    Some(ListedGroup { path: path.to_string(), format: node.format, catalog, is_fresh, trail })
}

/// Calls `each` with the nodes directly below each of the groups.
fn read_level(
    store: &Store,
    places: &[ListedGroup],
    wanted: Wanted,
    each: &mut dyn FnMut(&ListedGroup, Found) -> Result<()>,
) -> Result<()> {
    let mut names = Vec::new();
    for (place, listed) in places.iter().zip(list_many(store, places)?) {
        let listed = match listed {
            Err(e) if wanted.unlisted && e.kind() == ErrorKind::Permission => {
                each(place, Found { path: place.path.clone(), node: Err(e), is_checked: false })?;
                Vec::new()
            }
            listed => listed?,
        };
        push(&mut names, listed)?;
    }
    let (format, watches) = (wanted.format.or(store.options().format), store.context().watches());
    let above = places.iter().all(|place| place.format == Format::V3).then_some(Format::V3);
    let children = collect(names.iter().enumerate().flat_map(|(i, names)| names.iter().map(move |name| (i, name))))?;
    let mut unlisted = filled(Vec::new(), places.len())?;
    for batch in children.chunks(BATCH) {
        let paths: Vec<String> = batch.iter().map(|&(i, name)| path::join(&places[i].path, name)).collect();
        let listed = |place: &ListedGroup, path: &str| {
            let found = place.catalog.as_ref()?.find(path)?;
            (!wanted.checked || found.parse(store).is_ok()).then_some(found)
        };
        let known = collect(batch.iter().zip(&paths).map(|(&(i, _), path)| listed(&places[i], path)))?;
        let is_unknown =
            |(path, known): (&String, &Option<StoredDocument>)| (known.is_none() && path.len() <= MAX_KEY).then(|| path.clone());
        let unknown: Vec<String> = paths.iter().zip(&known).filter_map(is_unknown).collect();
        let mut read = lookup::find_many(store, &unknown, wanted.attributes, format, above)?.into_iter();
        check_memory()?;
        for ((path, known), &(i, _)) in paths.into_iter().zip(known).zip(batch) {
            let is_checked = known.is_some();
            let found = match known {
                Some(found) => Some(Ok(found)),
                None if path.len() > MAX_KEY => Some(Err(err!(Limit, "the hierarchy is too deep: its path has more than {MAX_KEY} bytes"))),
                None => read.next().and_then(Result::transpose).inspect(|_| unlisted[i].extend(watches.then(|| path.clone()))),
            };
            if let Some(node) = found {
                each(&places[i], Found { path, node, is_checked })?;
            }
        }
    }
    for ((place, names), unlisted) in places.iter().zip(&names).zip(&unlisted).filter(|_| watches) {
        if let Some(catalog) = &place.catalog {
            report_stale(store, place, catalog, names, unlisted)?;
        }
    }
    Ok(())
}

/// Tells the context of consolidated metadata that do not name the children that are there.
fn report_stale(store: &Store, place: &ListedGroup, catalog: &Catalog, names: &[String], unlisted: &[String]) -> Result<()> {
    let there = collect_table(names.iter().map(|name| (name, ())))?;
    let mut gone = catalog.names(&place.path)?;
    gone.retain(|name| !there.contains_key(name));
    let mut findings = Vec::new();
    let mut note = |what: &str, names: &[String]| {
        if let Some(first) = names.first() {
            let text = format!("the consolidated metadata {what}: {} such nodes, {first:?} among them", names.len());
            findings.push(Finding::new(Severity::Warning, "XR-16", text));
        }
    };
    note("name nodes that are not there", &gone);
    note("do not name nodes that are there", unlisted);
    let document = if place.format == Format::V2 { v2::CONSOLIDATED } else { v3::DOCUMENT };
    store.context().report(&path::join(&place.path, document), &findings)
}

/// Lists the names below each group that nodes may have, sorted.
fn list_many(store: &Store, places: &[ListedGroup]) -> Result<Vec<Result<Vec<String>>>> {
    let many = store.shared().capabilities().latency && store.shared().any_thread();
    let threads = if many { places.len().min(LISTINGS) } else { 1 };
    if threads < 2 {
        return collect(places.iter().map(|place| list(store, place)));
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Result<Vec<String>>)>> {
        let mut done = Vec::new();
        while let Some((i, place)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, places.get(i)?))) {
            push(&mut done, (i, list(store, place)))?;
        }
        Ok(done)
    };
    let mut all = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads)
            .filter_map(|_| {
                let helper = || {
                    block_signals();
                    work()
                };
                std::thread::Builder::new().name("ozarr-list".to_string()).spawn_scoped(scope, helper).ok()
            })
            .collect();
        let mut all = work()?;
        for helper in helpers {
            extend(&mut all, helper.join().unwrap_or_else(|_| Ok(Vec::new()))?)?;
        }
        Ok(all)
    })?;
    if all.len() != places.len() {
        bail!(Internal, "{} of {} groups were listed", all.len(), places.len());
    }
    sort_by(&mut all, |a, b| a.0.cmp(&b.0));
    collect(all.into_iter().map(|(_, names)| names))
}

fn list(store: &Store, place: &ListedGroup) -> Result<Vec<String>> {
    let listed = store.check_listable().and_then(|()| draft::names_below(store, &place.path));
    match (&place.catalog, listed) {
        (Some(catalog), Err(e)) if matches!(e.kind(), ErrorKind::Permission | ErrorKind::Unsupported) => catalog.names(&place.path),
        (_, listed) => listed,
    }
}

impl Group {
    /// The consolidated metadata that name the nodes below the group: where no keys can be listed and it has none, those of the next group above that
    /// name it as one, too; what others leave out is unknown to them.
    fn naming_catalog(&self) -> Result<Option<Arc<Catalog>>> {
        let (own, store) = (self.catalog()?, self.store());
        if own.is_some() || store.capabilities().listable || !store.uses_consolidated() {
            return Ok(own);
        }
        for above in path::ancestors(self.path()).into_iter().rev() {
            // What cannot be read there names nothing.
            let catalog = readable(Group::open(store, above).and_then(|group| group.catalog()))?.flatten();
            let names_it = |catalog: &Arc<Catalog>| catalog.find(self.path()).is_some_and(|found| found.kind == NodeKind::Group);
            if let Some(catalog) = catalog.filter(names_it) {
                return Ok(Some(catalog));
            }
        }
        Ok(None)
    }

    /// Calls `each` with the nodes below the group, level by level, and their paths relative to it.
    fn each_node(&self, wanted: Wanted, each: &mut dyn FnMut(Found) -> Result<()>) -> Result<()> {
        let place = ListedGroup::new(self.path(), self.format(), self.naming_catalog()?);
        each_node(self.store(), place, wanted, &mut |found| {
            each(Found { path: path::relative(self.path(), &found.path).to_string(), ..found })
        })
    }

    /// The nodes below the group, by their paths relative to it.
    pub(super) fn walk(&self, wanted: Wanted) -> Result<Vec<Found>> {
        let mut all = Vec::new();
        self.each_node(wanted, &mut |found| push(&mut all, found))?;
        sort(&mut all, |found| &found.path)?;
        Ok(all)
    }

    /// All nodes below the group down to `depth` levels (1: its children), each followed by those below it; their names are paths
    /// relative to the group. One that cannot be understood is there with its error; a group that may not be listed is the error of all.
    pub fn nodes(&self, depth: usize) -> Result<Vec<Child>> {
        if depth == 1
            && let Some(children) = self.unseen_children()?
        {
            return Ok(children);
        }
        let mut children = Vec::new();
        self.each_node(Wanted::all(depth), &mut |Found { path, node, is_checked }| {
            let kind = node.and_then(|found| {
                let kind = found.kind;
                if is_checked { Ok(kind) } else { found.parse(self.store()).map(|_| kind) }
            });
            push(&mut children, Child::seen(path, certain(kind)?))
        })?;
        sort_once(&mut children, |child| &child.name)?;
        Ok(children)
    }

    /// Reads the documents of the nodes directly below the group with the attributes, at the same time, for [`Group::open_read`].
    pub(super) fn read_children(&self) -> Result<Vec<Found>> {
        self.walk(Wanted { attributes: true, ..Wanted::all(1) })
    }

    /// Opens nodes directly below the group that can be understood. Functions of the program that may not run anywhere want its own thread for that.
    pub(super) fn open_read(&self, read: Vec<Found>) -> Result<Vec<Node>> {
        let (store, mut nodes) = (self.store_below(), Vec::new());
        for Found { path, node, .. } in read {
            let path = path::join(self.path(), &path);
            // The attributes may be what cannot be read.
            let found = node.map(Some).or_else(|_| lookup::find(&store, &path));
            let Some(found) = certain(found)?.ok().flatten() else { continue };
            if certain(found.parse(&store))?.is_ok() {
                push(&mut nodes, Node::from_stored(&store, path, found)?)?;
            }
        }
        Ok(nodes)
    }

    /// What `describe` makes of the nodes below the group down to `depth` levels, by their paths relative to it, each followed by those below it. It gets
    /// the array that a node is, of the document that is read once, and `None` for a group.
    pub fn describe_nodes<T>(&self, depth: usize, describe: &mut dyn FnMut(&str, Result<Option<Array>>) -> T) -> Result<Vec<(String, T)>> {
        let (store, mut all) = (self.store(), Vec::new());
        self.each_node(Wanted::shown(depth), &mut |Found { path, node, is_checked }| {
            let opened = node.and_then(|found| match found.kind {
                NodeKind::Array => Array::from_stored(store, path::join(self.path(), &path), found).map(Some),
                _ if is_checked => Ok(None),
                _ => found.parse(store).map(|_| None),
            });
            let what = describe(&path, certain(opened)?);
            push(&mut all, (path, what))
        })?;
        sort_once(&mut all, |(path, _)| path)?;
        Ok(all)
    }

    /// Lists the children of a group of files without reading their documents: only that they have one is looked at. Returns `None` where
    /// that is no less work than reading them, or where the log is to tell what is odd in them.
    fn unseen_children(&self) -> Result<Option<Vec<Child>>> {
        let (store, place) = (self.store(), ListedGroup::new(self.path(), self.format(), self.catalog()?));
        let own = if self.format() == Format::V3 { v3::DOCUMENT } else { v2::GROUP };
        let is_in_files = store.shared().file(&path::join(self.path(), own)).is_some();
        if !is_in_files || store.context().watches() || draft::entry(store)?.is_some() {
            return Ok(None);
        }
        let names = list(store, &place)?;
        let is_listed = |path: &str| place.catalog.as_ref().is_some_and(|catalog| catalog.has(path));
        let mut children = Vec::new();
        for name in names {
            let path = path::join(&place.path, &name);
            match if is_listed(&path) { Ok(true) } else { lookup::is_there(store, &path) } {
                Ok(false) => {}
                Ok(true) => push(&mut children, Child::unseen(name, store, path, &place.catalog))?,
                Err(e) => push(&mut children, Child::seen(name, certain(Err(e))?))?,
            }
        }
        Ok(Some(children))
    }

    /// Finds the nodes down to `depth` levels below the group whose path fits `pattern`: `*` is any characters but a slash, `?` one of
    /// them, `**` any at all.
    pub fn find(&self, pattern: &str, depth: usize) -> Result<Vec<Child>> {
        let wanted = path::normalize(pattern).map_err(|e| told(e, ErrorKind::Argument, |text| format!("the pattern: {text}")))?;
        let deepest = if wanted.contains("**") { usize::MAX } else { path::segments(&wanted).count() };
        let mut nodes = self.nodes(depth.min(deepest))?;
        nodes.retain(|node| fits(wanted.as_bytes(), node.name.as_bytes()));
        Ok(nodes)
    }

    /// The tree below the group as text, a line for each node down to `depth` levels.
    pub fn tree(&self, depth: usize) -> Result<String> {
        self.tree_telling(depth, &mut |_, _| ())
    }

    /// The tree below the group as [`Group::tree`] gives it. `unreadable` is called with the path of each node that cannot be read, relative to the group, and
    /// why.
    pub fn tree_telling(&self, depth: usize, unreadable: &mut dyn FnMut(&str, &Error)) -> Result<String> {
        let mut nodes: Vec<(String, String)> = Vec::new();
        self.each_node(Wanted::shown(depth), &mut |Found { path, node, .. }| {
            let about = match node.and_then(|found| found.parse(self.store())) {
                Ok(v3::Document::Array(meta)) => format!("  {}", describe(&meta)),
                Ok(v3::Document::Group(_)) => String::new(),
                Err(e) => {
                    unreadable(&path, &e);
                    format!("  unreadable: {}", one_line(&e.to_string()))
                }
            };
            push(&mut nodes, (path, about))
        })?;
        sort_once(&mut nodes, |(path, _)| path)?;
        let mut text = String::new();
        // For each level whether a sibling follows.
        let mut open: Vec<bool> = Vec::new();
        for (i, (path, about)) in nodes.iter().enumerate() {
            let (level, name) = (path.matches('/').count(), path.rsplit('/').next().unwrap_or(path));
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            let inside = |other: &str| parent.is_empty() || other.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'));
            let follows = nodes[i + 1..].iter().take_while(|n| inside(&n.0)).any(|n| n.0.matches('/').count() == level);
            open.truncate(level);
            let line = format!("{}{about}\n", one_line(name));
            make_text_room(&mut text, line.len() + (open.len() + 1) * "├── ".len())?;
            open.iter().for_each(|open| text.push_str(if *open { "│   " } else { "    " }));
            open.push(follows);
            text.push_str(if follows { "├── " } else { "└── " });
            text.push_str(&line);
        }
        Ok(text)
    }
}

/// A text without what terminals act on: names come from files, and must not speak to the terminal.
fn one_line(text: &str) -> String {
    text.chars().flat_map(|c| if acts_on_terminals(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Whether a path fits a pattern.
fn fits(pattern: &[u8], path: &[u8]) -> bool {
    // Where the last star is, and how much of the path it has taken: of one and of two stars.
    let (mut p, mut s, mut one, mut two) = (0, 0, None, None);
    loop {
        if pattern[p..].starts_with(b"**") {
            // `a/**/b` fits `a/b`, too; what two stars and a slash take ends in a slash.
            let whole = pattern[p + 2..].starts_with(b"/") && (p == 0 || pattern[p - 1] == b'/');
            p += if whole { 3 } else { 2 };
            (one, two) = (None, Some((p, s, whole)));
            continue;
        }
        match (pattern.get(p), path.get(s)) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                p += 1;
                one = Some((p, s));
                continue;
            }
            (Some(b'?'), Some(c)) if *c != b'/' => {
                // One character, not one byte.
                (p, s) = (p + 1, s + 1);
                while path.get(s).is_some_and(|c| c & 0xc0 == 0x80) {
                    s += 1;
                }
                continue;
            }
            (Some(a), Some(b)) if a == b => {
                (p, s) = (p + 1, s + 1);
                continue;
            }
            _ => {}
        }
        if let Some((after, taken)) = one
            && path.get(taken).is_some_and(|c| *c != b'/')
        {
            one = Some((after, taken + 1));
            (p, s) = (after, taken + 1);
        } else if let Some((after, taken, whole)) = two
            && let Some(next) = path
                .get(taken..)
                .and_then(|rest| if whole { Some(rest.iter().position(|c| *c == b'/')? + 1) } else { rest.first().map(|_| 1) })
        {
            two = Some((after, taken + next, whole));
            (one, p, s) = (None, after, taken + next);
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::node::{Context, Create, Mode, Options, Spec};
    use crate::store::latency::LatencyStore;
    use crate::store::memory::MemoryStore;
    use crate::store::suite::TestFolder;
    use std::time::Duration;

    fn array(store: &Store, path: &str, format: Format) {
        let mut spec = Spec::new(DataType::Int16, &[3]).unwrap();
        spec.set_format(format).unwrap();
        spec.set_dimension_names(vec![Some("x".into())]).unwrap();
        Array::create(store, path, &spec, Create::New).unwrap();
    }

    fn names(children: &[Child]) -> Vec<&str> {
        children.iter().map(|c| c.name.as_str()).collect()
    }

    #[test]
    fn patterns_fit_as_in_a_shell() {
        let cases = [
            ("*", "a", true),
            ("*", "a/b", false),
            ("a/*", "a/b", true),
            ("**", "a/b/c", true),
            ("**/c", "a/b/c", true),
            ("**/c", "c", true),
            ("**/c", "ac", false),
            ("a/**/c", "a/c", true),
            ("a/**/c", "a/x/y/c", true),
            ("a/**", "a/b/c", true),
            ("t?me", "time", true),
            ("t?me", "tüme", true),
            ("t?me", "t/me", false),
            ("*me*", "time_bnds", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbY", false),
            ("*/*_b", "g/a_b_b", true),
            ("", "", true),
        ];
        for (pattern, path, want) in cases {
            assert_eq!(fits(pattern.as_bytes(), path.as_bytes()), want, "{pattern} {path}");
        }
    }

    #[test]
    fn nodes_come_before_those_below_them_and_can_be_found() {
        for format in [Format::V2, Format::V3] {
            let store = Store::memory(&Context::default());
            for path in ["b/c/d", "b/a", "a", "b-x", "b/c.d", "größe/ü"] {
                array(&store, path, format);
            }
            let group = Group::open(&store, "").unwrap();
            let all = group.nodes(usize::MAX).unwrap();
            assert_eq!(names(&all), ["a", "b", "b/a", "b/c", "b/c/d", "b/c.d", "b-x", "größe", "größe/ü"]);
            assert_eq!(names(&group.nodes(1).unwrap()), ["a", "b", "b-x", "größe"]);
            assert_eq!(names(&group.find("b*", usize::MAX).unwrap()), ["b", "b-x"]);
            assert_eq!(names(&group.find("**/?", usize::MAX).unwrap()), ["a", "b", "b/a", "b/c", "b/c/d", "größe/ü"]);
            assert_eq!(names(&group.open_group("b").unwrap().find("c/*", usize::MAX).unwrap()), ["c/d"]);
            for malformed in ["a/../b", "./b", "a\0", "a".repeat(2000).as_str()] {
                assert_eq!(group.find(malformed, usize::MAX).err().map(|e| e.kind()), Some(ErrorKind::Argument), "{malformed:?}");
            }
            store.key_put("b/c/d/zarr.json", b"{").unwrap();
            store.key_put("b/c/d/.zarray", b"{").unwrap();
            let text = group.tree(usize::MAX).unwrap();
            let want =
                "├── a  int16 [3] in chunks of [3]\n├── b\n│   ├── a  int16 [3] in chunks of [3]\n│   ├── c\n│   │   └── d  unreadable: ";
            assert!(text.starts_with(want), "{text}");
            let end = "│   └── c.d  int16 [3] in chunks of [3]\n├── b-x  int16 [3] in chunks of [3]\n└── größe\n    └── ü  int16 [3] in chunks of [3]\n";
            assert!(text.ends_with(end), "{text}");
            assert_eq!(group.tree(1).unwrap().lines().count(), 4);
        }
    }

    #[test]
    fn a_node_of_unknown_version_takes_one_round_trip() {
        for format in [Format::V2, Format::V3] {
            let inner = Arc::new(MemoryStore::new());
            array(&Store::from_shared(&Context::default(), inner.clone(), Mode::ReadWrite), "a", format);
            // Long enough for all requests to be sent before the first answer, on a busy machine, too.
            let slow = Arc::new(LatencyStore::new(inner, Duration::from_millis(200)));
            let store = Store::new(&Context::default(), slow.clone(), Mode::Read, Options::default());
            Array::open(&store, "a").unwrap();
            let stats = slow.stats();
            assert!((2..=3).contains(&stats.requests) && stats.most_in_flight as u64 == stats.requests, "{stats:?}");
        }
    }

    #[test]
    fn nodes_that_are_listed_in_groups_of_version_3_are_asked_for_in_other_names_only_where_its_own_is_missing() {
        let inner = Arc::new(MemoryStore::new());
        let store = Store::from_shared(&Context::default(), inner.clone(), Mode::ReadWrite);
        Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
        ["a", "b"].iter().for_each(|path| array(&store, path, Format::V3));
        let slow = Arc::new(LatencyStore::new(inner, Duration::ZERO));
        for (more, requests) in [(None, 3), (Some("c"), 7)] {
            more.iter().for_each(|path| array(&store, path, Format::V2));
            let group = Group::open(&Store::new(&Context::default(), slow.clone(), Mode::Read, Options::default()), "").unwrap();
            let before = slow.stats().requests;
            assert_eq!(names(&group.by_documents().children().unwrap()).len(), 2 + more.iter().count());
            assert_eq!(slow.stats().requests - before, requests);
        }
    }

    #[test]
    fn nodes_are_described_by_their_documents_which_are_read_once() {
        for format in [Format::V2, Format::V3] {
            let inner = Arc::new(MemoryStore::new());
            let store = Store::from_shared(&Context::default(), inner.clone(), Mode::ReadWrite);
            ["a", "b/c"].iter().for_each(|path| array(&store, path, format));
            Group::open(&store, "").unwrap().consolidate().unwrap();
            let document = if format == Format::V3 { "b/c/zarr.json" } else { "b/c/.zarray" };
            store.key_put(document, b"{").unwrap();
            let slow = Arc::new(LatencyStore::new(inner, Duration::ZERO));
            let group = Group::open(&Store::new(&Context::default(), slow.clone(), Mode::Read, Options::default()), "").unwrap();
            let group = group.by_documents();
            let before = slow.stats().requests;
            let mut told = |_: &str, node: Result<Option<Array>>| match node {
                Ok(Some(array)) => array.describe(),
                Ok(None) => "group".into(),
                Err(e) => e.to_string(),
            };
            let all = group.describe_nodes(usize::MAX, &mut told).unwrap();
            let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!((names, all[0].1.as_str(), all[1].1.as_str()), (vec!["a", "b", "b/c"], "int16 [3] in chunks of [3]", "group"));
            assert!(all[2].1.starts_with(&format!("{document}: ")), "{}", all[2].1);
            // Two groups are listed; below those of version 2 each node is asked for in the three names that its document may have.
            let names = if format == Format::V3 { 1 } else { 3 };
            assert_eq!(slow.stats().requests - before, 3 * names + 2, "{:?}", slow.stats());
        }
    }

    #[test]
    fn links_that_lead_back_are_not_followed() {
        for (format, document) in [(Format::V3, v3::DOCUMENT), (Format::V2, v2::GROUP)] {
            let folder = TestFolder::new("walk");
            let never = [("consolidate", "never")];
            let store = Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &never).unwrap();
            array(&store, "g/h/a", format);
            // Documents that are links to one file, as git-annex stores equal ones, are those of several groups.
            std::fs::rename(folder.join("g").join(document), folder.join("one")).unwrap();
            for (group, one) in [("g", "../one"), ("g/h", "../../one")] {
                drop(std::fs::remove_file(folder.join(group).join(document)));
                std::os::unix::fs::symlink(one, folder.join(group).join(document)).unwrap();
            }
            for (link, to) in [("up", ".."), ("again", "../../g"), ("top", "../..")] {
                std::os::unix::fs::symlink(to, folder.join("g/h").join(link)).unwrap();
            }
            // With and without consolidated metadata.
            for _ in 0..2 {
                let group = Group::open(&store, "").unwrap();
                let all = group.nodes(usize::MAX).unwrap();
                assert_eq!(names(&all), ["g", "g/h", "g/h/a", "g/h/again", "g/h/top", "g/h/up"]);
                group.consolidate().unwrap();
                assert_eq!(group.consolidated_differences().unwrap(), Some(vec![]));
                let done = store.verify("", Default::default(), &mut |_| Ok(()), &mut |_, _| Ok(())).unwrap();
                assert_eq!(done.nodes, 7);
            }
            if format == Format::V2 {
                crate::node::conventions::nczarr::write(&store, false).unwrap();
            }
        }
    }
}
