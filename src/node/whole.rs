//! Making a group as a whole: nobody finds it before all that belongs to it is there.

use super::checkpoint::MAKES_A_GROUP;
use super::{Create, Format, Group, NodeKind, Store, groups_above, hierarchy, overlap, path, place, upkeep};
use crate::error::{Result, bail};
use crate::limits::{collect, push};
use crate::metadata::{Map, v2, v3};

impl Store {
    /// Makes a group at `path`, and those above it that are missing, of what `build` puts into the group that it is told. Its document comes last,
    /// with consolidated metadata: whatever ends the process, a group that is there is whole. `source` says what it is made of, and `options` how: after an interruption
    /// the same call begins anew in what it left (`place.rs`); a file at the place itself is an error of kind `Argument`. `how` is `New` or `Overwrite` (else `Argument`); what is overwritten stays until the
    /// new group is whole where folders can be replaced. `build` is called again where what it made could not take the place.
    pub fn build_group(
        &self,
        path: &str,
        (format, how): (Option<Format>, Create),
        (source, options): (&str, &str),
        build: &mut dyn FnMut(&Group) -> Result<()>,
    ) -> Result<()> {
        let path = hierarchy::new_path(self, path)?;
        if how == Create::OpenIfSame {
            bail!(Argument, "a group that is made as a whole is new or overwrites; there is nothing to open");
        }
        overlap::refuse_source(source, (self, &path))?;
        let enclosing = || self.format_above(&path).map(|format| format.unwrap_or(Format::V3));
        let format = format.map_or_else(enclosing, Ok)?;
        self.settle(&path);
        let mut changed = groups_above::ensure(self, &path, format)?;
        let complete = || {
            let group = Group::open(self, &path)?;
            group.erase_hidden(self, &path)?;
            let below = group.nodes(usize::MAX)?;
            below.iter().for_each(|child| self.note_named(&path::join(&path, &child.name), child.kind() == NodeKind::Array));
            Ok(())
        };
        let copied = place::Copied {
            source,
            from: None,
            keys: &|| Ok(Vec::new()),
            state: &format!("{}, {format:?}, {options}", state_of(source)),
            kind: NodeKind::Group,
            tells_keys: false,
            complete: &complete,
        };
        let filled = place::fill(copied, (self, &path), how, &mut |store, place, ours| build_at((store, place, ours), format, build));
        filled.inspect_err(|_| upkeep::tell_made(self, &changed))?.end((self, &path), false, |below, replaced| {
            groups_above::restore(self, &path, format, &mut changed)?;
            changed.push(path.clone());
            for (name, kind) in below.into_iter().flatten() {
                let node = path::join(&path, &name);
                self.note_named(&node, kind == NodeKind::Array);
                push(&mut changed, node)?;
            }
            upkeep::after_change(self, &changed, replaced.then_some(path.as_str()))?;
            // What closing the store would consolidate belongs to the copy.
            self.consolidate_pending().and_then(|()| self.flush())
        })
    }
}

/// What a source is like, if it is a file.
fn state_of(source: &str) -> String {
    let found = std::fs::metadata(source);
    found.map_or_else(|_| String::new(), |file| format!("{} bytes, {:?}", file.len(), file.modified().ok()))
}

/// Makes the group at a place of a store, which `ours` says is still ours; gives the nodes below it.
fn build_at(
    (store, place, ours): (&Store, &str, &place::Ours<'_>),
    format: Format,
    build: &mut dyn FnMut(&Group) -> Result<()>,
) -> Result<Vec<(String, NodeKind)>> {
    let hidden = store.unfinished(place, MAKES_A_GROUP)?;
    let group = hidden_group(&hidden, format)?;
    build(&group)?;
    if hidden.capabilities().listable {
        group.consolidate()?;
    }
    ours(&[])?;
    group.reveal(store, place, None)?;
    store.flush()?;
    group.erase_hidden(store, place)?;
    collect(group.nodes(usize::MAX)?.into_iter().map(|child| (child.name.clone(), child.kind())))
}

/// Makes a group of the root of a store, whose place is locked already.
fn hidden_group(store: &Store, format: Format) -> Result<Group> {
    let (name, document) = match format {
        Format::V2 => (v2::GROUP, v2::write_group()),
        Format::V3 => (v3::DOCUMENT, v3::write_group(Map::new())),
    };
    hierarchy::publish_new(store, "", name, &document)?;
    Group::open(store, "")
}
