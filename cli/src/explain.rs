//! `ozarr explain`: what a read or a write of a region would do.

use crate::create;
use crate::failure::Outcome;
use crate::output::{line, print};
use crate::place::Place;
use crate::region::Region;
use clap::Args;
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Overflow};
use ozarr::node::{Map, Mode, Value, json};

/// Tell what reading or writing elements of an array would do, without doing it: chunks, requests, bytes, memory
#[derive(Args)]
pub struct Explain {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    region: Region,
    /// Of a write (a read is the default)
    #[arg(long)]
    write: bool,
    /// The elements lie in memory in Fortran order
    #[arg(long)]
    fortran: bool,
    /// The type of the elements in memory (the array's)
    #[arg(long = "type", value_name = "TYPE", value_parser = create::native_type)]
    data_type: Option<DataType>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub fn run(&self) -> Outcome {
        let array = self.place.array(if self.write { Mode::ReadWrite } else { Mode::Read })?;
        let selection = self.region.selection(&array.shape(), None)?;
        let data_type = self.data_type.unwrap_or(array.data_type());
        let mut strides = vec![data_type.size() as i64; selection.shape().len()];
        let longer = |stride: i64, n: u64| stride.saturating_mul(n.max(1).min(i64::MAX as u64) as i64);
        if self.fortran {
            (1..strides.len()).for_each(|d| strides[d] = longer(strides[d - 1], selection.shape()[d - 1]));
        } else {
            (1..strides.len()).rev().for_each(|d| strides[d - 1] = longer(strides[d], selection.shape()[d]));
        }
        // Only the layout counts; nothing is touched.
        let (data, size, overflow) = (std::ptr::null_mut(), isize::MAX as usize, Overflow::Error);
        let memory = Memory { data, size, offset: 0, strides: strides.into(), data_type, overflow, arena: None };
        let e = array.explain(&selection, &memory, self.write)?;
        if !self.json {
            return print(&e.text());
        }
        let mut all = Map::new();
        for (name, n) in [
            ("bytes", e.bytes),
            ("chunks", e.chunks),
            ("whole_chunks", e.whole_chunks),
            ("partial_chunks", e.partial_chunks),
            ("changed_chunks", e.changed_chunks),
            ("inner_chunks", e.inner_chunks),
            ("partial_inner_chunks", e.partial_inner_chunks),
            ("reads", e.reads),
            ("whole_reads", e.whole_reads),
            ("writes", e.writes),
            ("decoded_bytes", e.decoded_bytes),
            ("direct_chunks", e.direct_chunks),
            ("threads", e.threads),
            ("thread_bytes", e.thread_bytes),
            ("objects", e.objects),
            ("fewer_objects", e.fewer_objects),
        ] {
            all.insert(name.into(), n.into());
        }
        all.insert("read_bytes".into(), e.read_bytes.map_or(Value::Null, Value::from));
        all.insert("warning".into(), e.warning.as_str().into());
        line(&json::to_text(&Value::Object(all)))
    }
}
