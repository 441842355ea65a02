//! Copying an array, or a group with all below it, while chunks, shards, codecs, type and format change.
//!
//! A first pass says what each node becomes, and refuses what cannot be; then chunks are copied, and documents behind them, from the
//! leaves to the root, whose document comes last: a copy that was cut short is no node. A marker tells a second run that what it finds is
//! left from the first ([`super::place`]). Chunks whose bytes would be the same are moved as they are, others go through `engine::rechunk`.

mod nodes;
mod notes;
mod record;

use super::conventions::missing::missing_of;
use super::conventions::nczarr_names::name_by_references;
use super::conventions::ome::OtherImages;
use super::conventions::sign::meant_type;
use super::cut_watch::CutWatch;
use super::document;
use super::growing::{ReadNodes, cut_shape, read_nodes};
use super::left_out::LeftOut;
use super::lookup::{self, require};
use super::state::{ArrayState, Handling};
use super::stored::StoredDocument;
use super::stored_chunks::each_chunk_to_copy;
use super::transfer::{OnProgress, Way, at_node, moved_path};
use super::{
    Array, Create, Group, NodeKind, Spec, Store, consolidate, groups_above, hierarchy, overlap, path, place, source_state, spec, together,
    transform, upkeep,
};
use crate::codec::complete::compared;
use crate::dtype::{DataType, Overflow};
use crate::error::{Result, bail, err};
use crate::limits::{collect, extend, push, try_collect};
use crate::metadata::v3::Document;
use crate::metadata::{ArrayMeta, Codecs, Dialect, Format, Map, codecs_to_v3, upgrade, v3};
use notes::{FILL_CHANGED, MISSING_LOST, changes_fill, is_missing_lost, is_sharded, members_lost, rounds_by_zfp};

/// The maximum number of notes that are kept.
const NOTES: usize = 1000;

/// The maximum number of chunks that are stored in a copy only because its fill value is another one.
const ADDED: u64 = 1 << 20;

/// How a copy is made.
#[derive(Clone, Copy, Debug)]
pub struct RechunkOptions {
    /// The version that all nodes get; `None`: the one that they have (3 for drafts).
    pub format: Option<Format>,
    /// The bytes of memory to use, about; 0 is the default, 512 MiB.
    pub memory: u64,
    /// Chunks whose bytes stay the same get a second name, where that is possible, instead of being copied.
    pub link: bool,
    /// What to do if a node already exists: `New` or `Overwrite`.
    pub how: Create,
    /// What becomes of values that do not fit into another type.
    pub overflow: Overflow,
}

impl Default for RechunkOptions {
    fn default() -> RechunkOptions {
        RechunkOptions { format: None, memory: 0, link: false, how: Create::New, overflow: Overflow::Error }
    }
}

impl RechunkOptions {
    /// The version that the copy of a node gets, which is of this one.
    fn format_of(&self, format: Format, dialect: Dialect) -> Format {
        self.format.unwrap_or(if dialect == Dialect::Final { format } else { Format::V3 })
    }
}

/// What a copy did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RechunkReport {
    /// The nodes.
    pub nodes: u64,
    /// Chunks that got a second name.
    pub linked: u64,
    /// Chunks that were copied as they are.
    pub copied: u64,
    /// Chunks of the target that were made of decoded elements; those of nothing but the fill value, which are not stored, count.
    pub encoded: u64,
    /// What could not be kept, a line for each (a thousand at most).
    pub notes: Vec<String>,
}

/// Is told the path of an array (in the source) and what its copy is to be, to change it.
pub type ChangeSpec<'a> = dyn FnMut(&str, &mut Spec) -> Result<()> + 'a;

/// What a node becomes.
enum New {
    Group(Format, Map),
    Array(Box<NewArray>),
}

struct NewArray {
    old: ArrayState,
    /// That of an appender behind the old document.
    mark: Vec<u8>,
    /// The type of the numbers that its elements mean, which are converted.
    meant: DataType,
    new: ArrayMeta,
    attributes: Map,
    /// Missing chunks of both hold the same.
    same_fill: bool,
    /// Chunks keep their bytes.
    same_bytes: bool,
    /// How many objects are copied.
    objects: u64,
    /// The memory with which its elements are copied as with any more.
    memory: u64,
    /// Functions of the program that it or its copy uses may run anywhere.
    any_thread: bool,
}

/// A store, and the path in it where the copy is made.
type At<'a> = (&'a Store, &'a str);

/// What is checked ahead of a copy's own document: that the source is not cut, and that the place is still ours.
type Last<'a> = (&'a CutWatch, &'a place::Ours<'a>);

/// From where to where nodes are copied, and how.
struct Copier<'a> {
    way: Way<'a>,
    from_path: String,
    to_path: String,
    options: RechunkOptions,
}

struct Job<'a> {
    copier: Copier<'a>,
    done: u64,
    total: u64,
    report: RechunkReport,
    progress: &'a mut OnProgress<'a>,
}

impl Array {
    /// What a copy of the array is, in `format` (`None`: the array's, of a draft 3): the same shape, chunks, codecs, fill value,
    /// names of dimensions and attributes. Each setting of it can be changed on its own.
    pub fn spec(&self, format: Option<Format>) -> Result<Spec> {
        let (meta, mut attributes) = (&self.state().meta, (*self.attributes().view()?).clone());
        name_by_references(&mut attributes, meta);
        Spec::like(meta, attributes, format, &mut Vec::new())
    }
}

impl Store {
    /// Copies the node at `path` with all below it to `to_path` in `to`. Each array's copy is as the array itself (in the version that
    /// `options` say), unless `change` changes it; its shape stays, but that of a run that goes on may
    /// be cut to what all arrays have (`growing.rs`). Nothing is written unless everything can be copied.
    ///
    /// The source is only read; what other programs write to it meanwhile may or may not be in the copy. Where they remove a checkpoint, or an array
    /// or its end, that is being copied, the copy is an error of kind `Again`. `progress` is told after
    /// each chunk and node how many are done of how many; its error ends the copy. After an interruption the same call begins anew in
    /// what it left. Errors: `Exists`, `Argument` (one place is inside the other), `Unsupported`, `Range` (a value does not
    /// fit into another type), and those of reading and writing.
    pub fn rechunk_node(
        &self,
        path: &str,
        (to, to_path): (&Store, &str),
        options: RechunkOptions,
        change: &mut ChangeSpec<'_>,
        progress: &mut OnProgress<'_>,
    ) -> Result<RechunkReport> {
        let (from_path, to_path) = (path::normalize(path)?, hierarchy::new_path(to, to_path)?);
        self.check_copyable()?;
        let found = require(self, &from_path, NodeKind::None)?;
        overlap::refuse((self, &from_path), (to, &to_path))?;
        if options.how == Create::OpenIfSame {
            bail!(Argument, "a copy is new or overwrites; there is nothing to open");
        }
        [(self, &from_path), (to, &to_path)].into_iter().for_each(|(store, path)| store.settle(path));
        let format = options.format_of(found.format, found.dialect);
        let from = &self.keeping_above(&from_path)?;
        let way = Way { from, to, link: options.link };
        let copier = Copier { way, from_path, to_path, options };
        let mut job = Job { copier, done: 0, total: 0, report: RechunkReport::default(), progress };
        let (nodes, watch) = job.plan(change)?;
        let changed = groups_above::ensure(to, &job.copier.to_path, format)?;
        job.run(&nodes, &watch, (&found, format, changed))?;
        Ok(job.report)
    }
}

impl Job<'_> {
    /// What every node becomes, and how many objects that makes; everything that can be wrong before anything is written.
    fn plan(&mut self, change: &mut ChangeSpec<'_>) -> Result<(Vec<(String, New)>, CutWatch)> {
        let mut plan = Vec::new();
        let (mut left_out, mut images) = (LeftOut::default(), OtherImages::default());
        let ReadNodes { nodes, cuts, notes, watch } = read_nodes(self.copier.way.from, &self.copier.from_path, Some(&mut left_out))?;
        self.report.notes.extend(left_out.notes().chain(notes).take(NOTES));
        for (node, found) in nodes {
            let target = moved_path(&node, &self.copier.from_path, &self.copier.to_path);
            let check =
                if self.copier.options.format_of(found.format, found.dialect) == found.format { path::check_kept } else { path::check_new };
            check(&target).map_err(|e| at_node(e, &node))?;
            let cuts = cuts.get(&node).map(Vec::as_slice).unwrap_or_default();
            let format = found.format;
            let new = self.convert(&node, (found, cuts), change).map_err(|e| at_node(e, &node))?;
            if let New::Group(to, document) = &new
                && *to != format
            {
                images.see(&node, *to, document);
            }
            push(&mut plan, (node, new))?;
        }
        records_follow(&mut plan);
        self.report.notes.splice(0..0, images.note());
        self.report.notes.truncate(NOTES);
        self.total = self.copier.count(&mut plan)?;
        Ok((plan, watch))
    }

    /// What a node becomes; of an array with the lengths in `cuts`.
    fn convert(&mut self, node: &str, (found, cuts): (StoredDocument, &[(usize, u64)]), change: &mut ChangeSpec<'_>) -> Result<New> {
        let from = self.copier.way.from;
        let (to, format, dialect, document) =
            (self.copier.options.format_of(found.format, found.dialect), found.format, found.dialect, found.document.clone());
        let mut attributes = match format {
            Format::V2 => found.attributes.clone().map_or_else(|| lookup::attributes_v2(from, node), Ok)?,
            Format::V3 => v3::attributes(&document).cloned().unwrap_or_default(),
        };
        let mark = found.mark.clone();
        if (format, dialect, to) == (Format::V3, Dialect::Final, Format::V2) {
            attributes = upgrade::with_nczarr_members(&document, attributes);
            self.note(node, members_lost(&document, &attributes));
        }
        match found.parse(from)? {
            Document::Group(_) if (format, dialect, to) == (Format::V3, Dialect::Final, Format::V3) => {
                let mut document = document;
                document.shift_remove(v3::CONSOLIDATED);
                Ok(New::Group(to, document))
            }
            Document::Group(meta) => {
                let mut attributes = upgrade::with_nczarr_members(&meta.document, attributes);
                if to == Format::V2 {
                    record::as_text(&mut attributes);
                }
                Ok(New::Group(to, if to == Format::V3 { v3::write_group(attributes) } else { attributes }))
            }
            Document::Array(meta) => {
                // What the state knows of the chunks' keys may be more than what the document says.
                let old = ArrayState::new(from, node, *meta, &Handling::default())?;
                name_by_references(&mut attributes, &old.meta);
                let old = if cuts.is_empty() { old } else { old.with_shape(&cut_shape(&old.meta.shape, cuts)) };
                self.convert_array(node, (old, !cuts.is_empty(), mark), attributes, change)
            }
        }
    }

    /// What an array becomes, that has these attributes, and is cut or not.
    fn convert_array(
        &mut self,
        node: &str,
        (old, is_cut, mark): (ArrayState, bool, Vec<u8>),
        attributes: Map,
        change: &mut ChangeSpec<'_>,
    ) -> Result<New> {
        let (from, to) = (self.copier.way.from, self.copier.options.format_of(old.meta.format, old.meta.dialect));
        let mut notes = Vec::new();
        let means_missing = missing_of(&old.meta, &attributes);
        let meant = meant_type(&attributes, old.meta.data_type);
        let mut spec = Spec::like(&old.meta, attributes, Some(to), &mut notes)?;
        let is_like = to == old.meta.format || spec.fill_is_like(&old.meta.fill);
        let missing = if is_like { None } else { Some(missing_chunks(&old)?) };
        if missing.is_some_and(|missing| missing > ADDED || missing > 0 && spec.changes_fill()) {
            spec.keep_fill(old.meta.fill.clone(), &mut notes);
        }
        change(node, &mut spec)?;
        notes.extend(spec.left_out());
        let (new, attributes) = spec.resolve_copy()?;
        let meant = if new.data_type == old.meta.data_type { new.data_type } else { meant };
        if is_missing_lost((&old.meta, meant), means_missing, (&new, &attributes)) {
            notes.push(MISSING_LOST[usize::from(to == Format::V2)].into());
        }
        if new.shape != old.meta.shape {
            let found = new.shape.as_slice();
            return Err(err!(Argument, "found {found:?}, a copy keeps the shape {:?}", old.meta.shape.as_slice()).at_field("shape"));
        }
        let lenient = from.options().clipped || from.options().empty_is_missing;
        let transforms = transform::transforms(&old.meta)? || transform::transforms(&new)?;
        let same_fill = same_fill((&old.meta, meant), &new)?;
        let same_bytes = !lenient
            && !transforms
            && same_form(&old.meta, &new)
            // Chunks at the edge have steps behind it.
            && (!is_cut || ends_with_a_chunk(&new))
            && (same_fill || missing == Some(0) && ends_with_a_chunk(&new));
        if !same_bytes && rounds_by_zfp(&old.meta.codecs) && rounds_by_zfp(&new.codecs) {
            notes.push("zfp rounds the elements once more, as their chunks are encoded anew".into());
        }
        if !(same_fill && old.meta.grid == new.grid)
            && changes_fill((&old.meta, meant), &new)?
            && (is_sharded(&old.meta) || missing_chunks(&old)? > 0)
        {
            notes.push(FILL_CHANGED.into());
        }
        self.note(node, notes);
        Ok(New::Array(Box::new(NewArray {
            old,
            mark,
            meant,
            new,
            attributes,
            same_fill,
            same_bytes,
            objects: 0,
            memory: 0,
            any_thread: false,
        })))
    }

    /// Keeps what is told of a node, as far as there is room.
    fn note(&mut self, node: &str, notes: Vec<String>) {
        let room = NOTES.saturating_sub(self.report.notes.len());
        self.report.notes.extend(notes.into_iter().take(room).map(|note| format!("{}: {note}", path::display(node))));
    }

    fn run(
        &mut self,
        nodes: &[(String, New)],
        watch: &CutWatch,
        (found, format, mut changed): (&StoredDocument, Format, Vec<String>),
    ) -> Result<()> {
        let (from, from_path) = (self.copier.way.from, self.copier.from_path.clone());
        let (to, to_path, how) = (self.copier.way.to, self.copier.to_path.clone(), self.copier.options.how);
        let complete = || {
            let targets: Vec<String> = collect(nodes.iter().map(|(node, _)| moved_path(node, &from_path, &to_path)))?;
            for ((_, new), found) in nodes.iter().zip(lookup::find_each_bare(to, &targets)?) {
                if found?.is_none_or(|found| (found.kind == NodeKind::Array) != matches!(new, New::Array(_))) {
                    return Err(place::differs((to, &to_path)));
                }
            }
            consolidate_as((from, &from_path), nodes, (to, &to_path))
        };
        let (source, state) = (place::source_of(from, &from_path), self.state(nodes)?);
        let chunks = || {
            let mut keys = Vec::new();
            for (node, new) in nodes {
                document::DOCUMENTS.iter().try_for_each(|name| push(&mut keys, path::join(node, name)))?;
                if let New::Array(array) = new {
                    each_chunk_to_copy(&array.old.chunk_store, &array.old, &mut |key, _| push(&mut keys, key.to_string()))?;
                }
            }
            Ok(keys)
        };
        let copied = place::Copied {
            source: &source,
            from: Some((from, &from_path)),
            keys: &chunks,
            state: &state,
            kind: found.kind,
            tells_keys: false,
            complete: &complete,
        };
        let filled = place::fill(copied, (to, &to_path), how, &mut |to, place, ours| self.nodes(nodes, (watch, ours), (to, place)));
        self.report.nodes = nodes.len() as u64;
        filled.inspect_err(|_| upkeep::tell_made(to, &changed))?.end((to, &to_path), false, |_, replaced| {
            groups_above::restore(to, &to_path, format, &mut changed)?;
            extend(&mut changed, nodes.iter().rev().map(|(node, _)| moved_path(node, &from_path, &to_path)))?;
            upkeep::after_change(to, &changed, replaced.then_some(to_path.as_str()))?;
            to.flush()
        })
    }

    /// What the marker says of the documents and chunks of the source, and of the documents that the copy gets.
    fn state(&self, nodes: &[(String, New)]) -> Result<String> {
        let chunks = source_state::of_chunks(self.copier.way.from, &self.copier.from_path)?;
        let mut state = format!("{:?} {:?} {chunks}", self.copier.options.overflow, self.copier.options.format);
        for (node, new) in nodes {
            let (mark, documents) = match new {
                New::Group(_, document) => (&[][..], vec![document]),
                New::Array(array) => (&array.mark[..], vec![&array.old.meta.document, &array.new.document, &array.attributes]),
            };
            let documents = try_collect(documents.into_iter().map(place::state_of))?.concat();
            state = place::state_of_text(&format!("{state} {node} {mark:?} {documents}"));
        }
        Ok(state)
    }
}

/// Gives attributes of arrays whose elements become the numbers that they mean the type of these, where they had that of the elements.
fn records_follow(plan: &mut [(String, New)]) {
    for i in 0..plan.len() {
        let New::Array(array) = &plan[i].1 else { continue };
        let types = (array.old.meta.data_type, array.meant);
        if array.new.data_type == types.0 {
            continue;
        }
        let node = plan[i].0.clone();
        let (group, name) = node.rsplit_once('/').unwrap_or(("", &node));
        if let Some((_, New::Group(format, document))) = plan.iter_mut().find(|(path, _)| path == group) {
            record::follow(*format, document, name, types);
        }
    }
}

/// Consolidates what is consolidated in the source of a copy, children first.
fn consolidate_as((from, from_path): At<'_>, nodes: &[(String, New)], (to, place): At<'_>) -> Result<()> {
    let groups = nodes.iter().rev().filter(|(_, new)| matches!(new, New::Group(..)));
    let mut groups: Vec<(&str, bool)> = collect(groups.map(|(group, _)| (group.as_str(), false)))?;
    together::for_each(from, true, &mut groups, |(group, is_wanted)| {
        *is_wanted = consolidate::is_wanted(from, group, false)?;
        Ok(())
    })?;
    let mut wanted = groups.iter().filter(|(_, is_wanted)| *is_wanted);
    wanted.try_for_each(|(group, _)| Group::open(to, &moved_path(group, from_path, place))?.consolidate())
}

/// Whether missing chunks of both hold the same. Those of null hold anything, to other readers.
fn same_fill((old, meant): (&ArrayMeta, DataType), new: &ArrayMeta) -> Result<bool> {
    if old.fill.defined && !new.fill.defined {
        return Ok(false);
    }
    let wanted = new.fill.try_element(new.data_type)?;
    if old.data_type == new.data_type {
        return Ok(old.fill.try_element(old.data_type)? == wanted);
    }
    // Converted as the elements would be.
    match spec::converted_fill(&old.fill, meant, new.data_type)? {
        Some(fill) => Ok(fill.try_element(new.data_type)? == wanted),
        None => Ok(false),
    }
}

/// Whether no chunk reaches beyond the edge, where it holds the fill value for the time when the array grows.
fn ends_with_a_chunk(meta: &ArrayMeta) -> bool {
    let (shape, grid) = (&meta.shape, &meta.grid);
    let ends = |d: usize| {
        grid.count(d, shape[d]).checked_sub(1).is_none_or(|last| grid.origin(d, last).saturating_add(grid.extent(d, last)) == shape[d])
    };
    (0..shape.len()).all(ends)
}

/// The number of chunks that are not stored; of all in a store that cannot tell.
fn missing_chunks(array: &ArrayState) -> Result<u64> {
    let all = array.meta.grid.counts(&array.meta.shape).iter().fold(1, |all, &n| n.saturating_mul(all));
    let mut stored = 0;
    if array.chunk_store.capabilities().listable {
        each_chunk_to_copy(&array.chunk_store, array, &mut |_, _| {
            stored += 1;
            Ok(())
        })?;
    }
    Ok(all.saturating_sub(stored))
}

/// Whether each chunk that is stored of the one array is, byte by byte, the chunk of that index of the other.
fn same_form(old: &ArrayMeta, new: &ArrayMeta) -> bool {
    let codecs = |meta: &ArrayMeta| {
        let list = codecs_to_v3::codecs(&meta.codecs, meta.data_type, meta.shape.len()).ok()?;
        Some(compared(&Codecs::V3(list), meta.data_type, meta.shape.len()))
    };
    let same_codecs = match (&old.codecs, &new.codecs) {
        (a @ Codecs::V2 { .. }, b @ Codecs::V2 { .. })
            if [a, b].map(|codecs| compared(codecs, old.data_type, old.shape.len())).windows(2).all(|both| both[0] == both[1]) =>
        {
            true
        }
        _ => codecs(old).is_some_and(|old| codecs(new) == Some(old)),
    };
    old.grid == new.grid && old.data_type == new.data_type && same_codecs
}
