//! `ozarr du`: what each node takes up in its store.

use crate::failure::{Outcome, one_line};
use crate::output::{line, object, print, progress};
use crate::place::{Place, below};
use clap::Args;
use ozarr::error::{Error, Result};
use ozarr::limits;
use ozarr::node::{Context, Mode, Node, Store, Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Show how many bytes and objects each node takes up, and the ratio of the elements' bytes to those that are stored
///
/// Every object below the node counts, documents too; a group's figures are those of all below it.
#[derive(Args)]
pub struct Du {
    #[command(flatten)]
    place: Place,
    /// How many levels to show; what is deeper counts for the group that is shown
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// A JSON list of an object for each node
    #[arg(long)]
    json: bool,
}

/// What a node takes up.
#[derive(Default, Clone, Copy)]
struct Size {
    bytes: u64,
    objects: u64,
    /// Of the elements in memory, where they have a size.
    elements: u64,
}

impl Du {
    pub fn run(&self) -> Outcome {
        let top = self.place.node(Mode::Read)?;
        let prefix = if top.path().is_empty() { String::new() } else { format!("{}/", top.path()) };
        let mut sizes: BTreeMap<Vec<String>, Size> = BTreeMap::new();
        for found in below(&top, usize::MAX)?.each_readable() {
            let (path, node) = found?;
            // One that cannot be understood has a size all the same.
            let elements = if let Ok(Node::Array(array)) = node { array.element_bytes().unwrap_or(0) } else { 0 };
            sizes.insert(parts(path), Size { elements, ..Size::default() });
        }
        let keys = top.store().key_list_sizes(&prefix)?;
        let bar = progress(keys.len() as u64, Some("objects"), true);
        let lengths = lengths(top.store(), &keys, &|| bar.inc(1))?;
        bar.finish_and_clear();
        for ((key, _), bytes) in keys.iter().zip(lengths) {
            limits::check_memory()?;
            let mut node = parts(key.strip_prefix(&prefix).unwrap_or(key));
            while !node.is_empty() && !sizes.contains_key(&node) {
                node.pop();
            }
            let size = sizes.entry(node).or_default();
            (size.bytes, size.objects) = (size.bytes + bytes, size.objects + 1);
        }
        let own = sizes.clone();
        for (path, size) in &own {
            for level in 0..path.len() {
                if let Some(above) = sizes.get_mut(&path[..level]) {
                    above.bytes += size.bytes;
                    above.objects += size.objects;
                    above.elements = above.elements.saturating_add(size.elements);
                }
            }
        }
        self.show(&sizes)
    }

    fn show(&self, sizes: &BTreeMap<Vec<String>, Size>) -> Outcome {
        let shown = sizes.iter().filter(|(path, _)| path.len() <= self.depth.unwrap_or(usize::MAX));
        if self.json {
            let node = |(path, size): (&Vec<String>, &Size)| {
                let ratio = size.ratio().map_or(Value::Null, Value::from);
                let path = ("path", path.join("/").into());
                object([path, ("bytes", size.bytes.into()), ("objects", size.objects.into()), ("ratio", ratio)])
            };
            return line(&json::to_text(&Value::from_iter(shown.map(node))));
        }
        let mut text = format!("{:>16} {:>10} {:>9}\n", "bytes", "objects", "ratio");
        for (path, size) in shown {
            let name = if path.is_empty() { self.place.name() } else { path.join("/") };
            let ratio = size.ratio().map_or("-".into(), |ratio| ratio.to_string());
            text.push_str(&format!("{:>16} {:>10} {ratio:>9}  {}\n", size.bytes, size.objects, one_line(&name)));
        }
        print(&text)
    }
}

impl Size {
    fn ratio(&self) -> Option<f64> {
        let ratio = self.elements as f64 / self.bytes as f64;
        (self.elements > 0 && self.bytes > 0).then_some((ratio * 100.0).round() / 100.0)
    }
}

fn parts(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).map(String::from).collect()
}

/// The bytes of every object. Those that the listing does not tell are looked at by many threads. One that went meanwhile has none.
fn lengths(store: &Store, keys: &[(String, Option<u64>)], done: &(dyn Fn() + Sync)) -> Result<Vec<u64>> {
    let untold = keys.iter().filter(|(_, told)| told.is_none()).count();
    let (next, threads) = (AtomicUsize::new(0), Context::default().threads().max(8).min(untold).max(1));
    let work = || {
        let mut all = Vec::new();
        while let Some((i, (key, told))) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, keys.get(i)?))) {
            let bytes = if told.is_some() { *told } else { store.key_len(key)? };
            all.push((i, bytes.unwrap_or(0)));
            done();
        }
        Ok::<_, Error>(all)
    };
    let mut lengths = vec![0; keys.len()];
    let parts = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut parts = vec![work()];
        parts.extend(helpers.into_iter().filter_map(|helper| helper.join().ok()));
        parts
    });
    for part in parts {
        part?.into_iter().for_each(|(i, bytes)| lengths[i] = bytes);
    }
    Ok(lengths)
}
