//! `ozarr verify`: what of a hierarchy is damaged, and what does not belong there.

use crate::failure::{Failure, Outcome, one_line};
use crate::interrupt;
use crate::output::{counted, line, looking_for, or_unread};
use crate::place::{Place, locate};
use clap::Args;
use ozarr::node::{Fault, Map, Mode, Value, VerifyOptions, json};

/// Look for damage: parse every document, decode every stored chunk
///
/// A line for each fault: its kind, the key, what was found. Kinds: damaged, unreadable, unsupported (a codec that this library lacks),
/// outside (a chunk beyond the array's shape), foreign (no key of a node), temporary (left by a writer) and stale (consolidated metadata that
/// differ from the documents). Exit status 1 if any is left.
#[derive(Args)]
pub struct Verify {
    #[command(flatten)]
    place: Place,
    /// List the chunks, but read none
    #[arg(long)]
    quick: bool,
    /// Mend what is certainly safe: remove temporary files of processes that are gone, write stale consolidated metadata anew
    #[arg(long)]
    repair: bool,
    /// A JSON object for each fault, and one at the end that counts
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub fn run(&self) -> Outcome {
        let mode = if self.repair { Mode::ReadWrite } else { Mode::Read };
        let (store, path) = locate(&self.place.location, &self.place.path, mode)?;
        let bar = looking_for("chunks", true);
        let options = VerifyOptions { quick: self.quick, repair: self.repair };
        let next = "nothing is changed but what is told as mended; the same command begins anew";
        let interrupt = interrupt::end_with(&store, || next.into())?;
        let mut printed = Ok(());
        let told = store.verify(
            &path,
            options,
            &mut |fault| {
                let text = if self.json { as_json(fault) } else { as_line(fault) };
                if printed.is_ok() {
                    printed = or_unread(line(&text));
                }
                interrupt.check()
            },
            &mut bar.until(&interrupt),
        );
        bar.finish_and_clear();
        let (done, ()) = (told.map_err(|e| interrupt.failure(e, next))?, printed?);
        if self.repair {
            interrupt::close_changed(&store, "what is told as mended is mended")?;
        }
        if self.json {
            let mut object = Map::new();
            for (name, n) in [("nodes", done.nodes), ("chunks", done.chunks), ("faults", done.faults), ("repaired", done.repaired)] {
                object.insert(name.into(), n.into());
            }
            or_unread(line(&json::to_compact(&Value::Object(object))))?;
        } else {
            let chunks = if self.quick { "chunks listed" } else { "chunks decoded" };
            let (nodes, faults) = (counted(done.nodes, "node"), counted(done.faults, "fault"));
            or_unread(line(&format!("{nodes}, {} {chunks}, {faults}, {} mended", done.chunks, done.repaired)))?;
        }
        match done.faults {
            0 => Ok(()),
            n => Err(Failure::Error(format!("{} has {}", self.place.name(), counted(n, "fault")))),
        }
    }
}

fn as_line(fault: &Fault) -> String {
    let mended = if fault.repaired { " (mended)" } else { "" };
    let key = if fault.key.is_empty() { "/" } else { &fault.key };
    format!("{}  {}: {}{mended}", fault.kind.name(), one_line(key), one_line(&fault.message))
}

fn as_json(fault: &Fault) -> String {
    let mut object = Map::new();
    object.insert("kind".into(), fault.kind.name().into());
    object.insert("key".into(), fault.key.as_str().into());
    object.insert("message".into(), fault.message.as_str().into());
    object.insert("bytes".into(), fault.bytes.map_or(Value::Null, Value::from));
    object.insert("repaired".into(), fault.repaired.into());
    json::to_compact(&Value::Object(object))
}
