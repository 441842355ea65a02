//! `ozarr digest`: a checksum of the elements, whatever their chunks, codecs, shards, byte order and format. docs/digest.md defines it.

use crate::failure::{Failure, Outcome, one_line};
use crate::interrupt::{Interrupt, close_changed};
use crate::output::{Progress, can_show, line, object, or_unread, progress};
use crate::place::{Place, below};
use clap::Args;
use ozarr::analysis::digest::digest;
use ozarr::engine::Selection;
use ozarr::error::ErrorKind;
use ozarr::node::{Array, DIGEST, Map, Mode, Node, Value, json};

/// Print a checksum of the elements that does not depend on chunks, codecs, shards, byte order or format
///
/// A line for each array: the digest (of type, shape and elements; of 128 bits by XXH3, which finds damage, not forgery), and the path. Two
/// stores of the same elements print the same. docs/digest.md says how to compute it.
#[derive(Args)]
pub struct Digest {
    #[command(flatten)]
    place: Place,
    /// Set the attribute "ozarr_digest" of each array
    #[arg(long)]
    store: bool,
    /// Compare with that attribute: a line for each array that differs, exit status 1 if there is one
    #[arg(long, conflicts_with = "store")]
    check: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Digest {
    pub fn run(&self) -> Outcome {
        let top = self.place.node(if self.store { Mode::ReadWrite } else { Mode::Read })?;
        let nodes = below(&top, usize::MAX)?;
        let bar = progress(if can_show(true) { nodes.element_bytes() } else { 0 }, None, true);
        let interrupt = if self.store { Some(Interrupt::watch()?) } else { None };
        let told = |bytes| {
            bar.inc(bytes);
            interrupt.as_ref().map_or(Ok(()), Interrupt::check)
        };
        let (mut all, mut differ) = (Map::new(), false);
        for (path, node) in nodes.each() {
            let Node::Array(array) = node? else { continue };
            let found = digest(&array, Selection::all(&array.shape()), &told).and_then(|found| told(0).map(|()| found));
            let found = found.map_err(|e| match &interrupt {
                Some(interrupt) => {
                    let next = format!("{} has no new digest, nor have the arrays behind it; the same command begins anew", one_line(path));
                    interrupt.failure(e, &next)
                }
                None => e.into(),
            })?;
            let name = if path.is_empty() { self.place.name() } else { path.to_string() };
            if self.store {
                array.attributes().set(DIGEST, found.as_str().into())?;
            }
            if self.check && !self.compare(&array, &name, &found, &bar)? {
                differ = true;
            }
            if self.json {
                all.insert(name.into(), found.into());
            } else if !self.check {
                let printed = bar.above(|| line(&format!("{found}  {}", one_line(&name))));
                if self.store { or_unread(printed) } else { printed }?;
            }
        }
        bar.finish_and_clear();
        if self.json && !self.check {
            or_unread(line(&json::to_text(&Value::Object(all))))?;
        } else if self.json {
            or_unread(line(&json::to_text(&object([("equal", (!differ).into()), ("digests", Value::Object(all))]))))?;
        }
        if self.store {
            close_changed(top.store(), "the digests themselves are set")?;
        }
        if differ { Err(Failure::Different) } else { Ok(()) }
    }

    /// Returns whether the attribute is the digest; tells of one that is not.
    fn compare(&self, array: &Array, name: &str, found: &str, bar: &Progress) -> Outcome<bool> {
        let stored = match array.attributes().get(DIGEST) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(Failure::Error(format!("{name} has no attribute {DIGEST:?} to compare with; `ozarr digest --store` sets it")));
            }
            other => other?,
        };
        let equal = stored.as_str() == Some(found);
        if !equal && !self.json {
            let text = format!("{}: found {found}, stored is {}", one_line(name), one_line(&json::to_compact(&stored)));
            or_unread(bar.above(|| line(&text)))?;
        }
        Ok(equal)
    }
}
