//! `ozarr copy`: other chunks, shards, codecs, types and formats of the same elements.

use crate::create::native_type;
use crate::failure::{Failure, Outcome};
use crate::interrupt::{Interrupt, close_copy, copied_in_part};
use crate::layout::{Layout, format, json_or_string};
use crate::output::{counted, looking_for, notes};
use crate::place::{locate, named_in_group, understood};
use clap::{Args, ValueEnum};
use ozarr::dtype::DataType;
use ozarr::engine::Overflow;
use ozarr::error::{Error, ErrorKind};
use ozarr::node::{Create, Format, Mode, Node, NodeKind, RechunkOptions, Spec, Store};

/// Copy an array, or a group with all below it, into other chunks, shards, codecs, or another format
///
/// What no option says stays as it is: chunks, shards, codecs, type, fill value, names of dimensions, attributes. Chunks whose bytes stay
/// the same are copied without decoding them, the others in bounded memory, each chunk or shard of the target written once, whole.
/// Chunks of nothing but the fill value are not stored. What cannot be kept is told, also how many files and folders beside the nodes are no part
/// of Zarr, and left out (`ozarr cp` takes all as it is). The source is only read; after an
/// interruption the same command begins anew, but in an archive, which cannot erase what it holds. A web server, which cannot list its keys, is
/// no source, but archives there are.
#[derive(Args)]
pub struct Copy {
    /// The store or node to copy
    source: String,
    /// Where the copy is to be (its name, not that of a group to put it into)
    dest: String,
    /// The version of Zarr (the one of each node; of drafts 3)
    #[arg(long, value_name = "2|3", value_parser = format)]
    format: Option<Format>,
    /// The type of the elements, which are converted; codecs that are made for the old one are left out
    #[arg(long = "type", alias = "dtype", value_name = "TYPE", value_parser = native_type)]
    data_type: Option<DataType>,
    /// What becomes of values that do not fit into the type
    #[arg(long, value_name = "error|wrap|saturate", default_value = "error", hide_default_value = true, hide_possible_values = true)]
    overflow: OnOverflow,
    #[command(flatten)]
    layout: Layout,
    /// Shards become chunks, with the codecs of their inner chunks
    #[arg(long, conflicts_with = "inner_chunks")]
    no_shards: bool,
    /// Another fill value, as in a document; where nothing is stored the elements keep the old one
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    fill: Option<String>,
    /// The memory to use, about: 512M (default), 4G, ..
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Link chunks whose bytes stay the same to those of the source, where that is possible; no program may change them in place then
    #[arg(long)]
    link: bool,
    /// Replace what is there, with all below it: in a folder at once, when the copy is whole
    #[arg(long)]
    overwrite: bool,
    /// What could not be kept as a JSON list
    #[arg(long)]
    json: bool,
}

#[derive(Clone, std::marker::Copy, ValueEnum)]
enum OnOverflow {
    Error,
    Wrap,
    Saturate,
}

impl Copy {
    pub fn run(&self) -> Outcome {
        let (from, path) = locate(&self.source, "/", Mode::Read)?;
        let (to, to_path) = locate(&self.dest, "/", Mode::ReadWrite)?;
        let interrupt = Interrupt::watch()?;
        let bar = looking_for("objects", true);
        let how = if self.overwrite { Create::Overwrite } else { Create::New };
        let overflow = match self.overflow {
            OnOverflow::Error => Overflow::Error,
            OnOverflow::Wrap => Overflow::Wrap,
            OnOverflow::Saturate => Overflow::Saturate,
        };
        let options = RechunkOptions { format: self.format, memory: self.memory.unwrap_or(0), link: self.link, how, overflow };
        let ranks = self.layout.ranks();
        let in_group = !ranks.is_empty() && check_ranks(&from, &path, &ranks)?;
        let mut kept = Vec::new();
        let mut usage = None;
        let mut change = |node: &str, spec: &mut Spec| {
            if in_group && ranks.iter().any(|&rank| rank != spec.rank()) {
                kept.push(format!("{node}: keeps its chunks, since it has {}", counted(spec.rank() as u64, "dimension")));
            }
            self.change(spec, node != path.trim_matches('/')).map_err(|failure| match failure {
                Failure::Usage(text) => {
                    usage = Some(text.clone());
                    Error::new(ErrorKind::Argument, text)
                }
                Failure::Error(text) => Error::new(ErrorKind::Argument, text),
                Failure::Quiet | Failure::Different | Failure::Interrupted(_) => Error::new(ErrorKind::Cancelled, String::new()),
            })
        };
        let done = from.rechunk_node(&path, (&to, &to_path), options, &mut change, &mut bar.until(&interrupt));
        bar.finish_and_clear();
        match usage {
            Some(text) => Err(Failure::Usage(text)),
            None => {
                let done = done.map_err(|e| named_in_group(e, &path, (&self.dest, &to, &to_path)));
                let done = done.map_err(|e| self.with_codecs_named(self.with_shards_named(e)));
                let done = done.map_err(|e| interrupt.failure(e, &copied_in_part(&to, "source", "the same command")))?;
                close_copy(&to)?;
                notes(kept.iter().chain(&done.notes), self.json)
            }
        }
    }

    /// Says what goes beside --chunks where shards keep inner chunks that do not divide them.
    fn with_shards_named(&self, e: Error) -> Error {
        if !self.no_shards && self.layout.leaves_inner_chunks() && e.field().is_some_and(|field| field.ends_with("chunk_shape")) {
            return e.with_note("; give --inner-chunks, or --no-shards");
        }
        e
    }

    /// Says what goes beside --type where a codec of the source does not take elements of that type.
    fn with_codecs_named(&self, e: Error) -> Error {
        let is_codec = e.field().is_some_and(|field| ["codecs", "compressor", "filters"].iter().any(|name| field.starts_with(name)));
        // Others are errors of the source, which no codec of the copy mends.
        let is_of_type = self.data_type.is_some_and(|data_type| e.message().contains(&format!(" of {}", data_type.name())));
        if is_of_type && self.layout.leaves_codecs() && is_codec { e.with_note("; name another one by --compressor or --codec") } else { e }
    }

    /// Brings the options into what the copy of an array is to be.
    fn change(&self, spec: &mut Spec, in_group: bool) -> Outcome {
        if let Some(data_type) = self.data_type {
            spec.set_data_type(data_type)?;
        }
        if self.no_shards {
            spec.unset_inner_chunks()?;
        }
        self.layout.apply_to_copy(spec, in_group)?;
        if let Some(fill) = &self.fill {
            spec.set_fill_json(&json_or_string(fill))?;
        }
        Ok(())
    }
}

/// Returns whether the node at `path` is a group. Chunks of a rank in `ranks` that no array below it has are an error of usage.
fn check_ranks(store: &Store, path: &str, ranks: &[usize]) -> Result<bool, Failure> {
    let Node::Group(group) = Node::open(store, path)? else { return Ok(false) };
    let mut found = Vec::new();
    for child in group.nodes(usize::MAX)? {
        // What cannot be understood is told when it is copied.
        understood(child.error().map_or(Ok(()), |e| Err(e.clone())))?.ok();
        if child.kind() == NodeKind::Array
            && let Ok(array) = understood(group.open_array(&child.name))?
        {
            found.push(array.rank());
        }
    }
    match ranks.iter().find(|rank| !found.contains(rank)) {
        Some(rank) => Err(Failure::Usage(format!(
            "chunks of {} fit no array of the group: none has {}",
            counted(*rank as u64, "length"),
            counted(*rank as u64, "dimension")
        ))),
        None => Ok(true),
    }
}

/// Bytes, perhaps with K, M, G or T behind.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size; expected a number such as 512M or 4G");
    let bare = text.trim().trim_end_matches(['i', 'B']);
    let (number, shift) = match bare.split_at_checked(bare.len().saturating_sub(1)) {
        Some((number, "K" | "k")) => (number, 10),
        Some((number, "M" | "m")) => (number, 20),
        Some((number, "G" | "g")) => (number, 30),
        Some((number, "T" | "t")) => (number, 40),
        _ => (bare, 0),
    };
    let n: u64 = number.trim().parse().map_err(|_| wrong())?;
    n.checked_mul(1 << shift).filter(|&n| n > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_or_none() {
        for (text, want) in [("1", 1), ("4096", 4096), ("512M", 512 << 20), ("4G", 4 << 30), ("4GiB", 4 << 30), ("1 k", 1024)] {
            assert_eq!(size(text), Ok(want), "{text}");
        }
        for bad in ["", "M", "0", "-1", "1.5G", "x", "99999999T"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
