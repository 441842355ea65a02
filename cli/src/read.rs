//! `ozarr read`: elements to standard output, slab by slab.

use crate::element::{Form, printed_as, push};
use crate::failure::{Failure, Outcome};
use crate::output::{progress, tell_stats, texts};
use crate::place::Place;
use crate::region::Region;
use crate::slabs::{Slab, Slabs};
use crate::{create, npy};
use clap::Args;
use ozarr::dtype::DataType;
use ozarr::node::{Array, Mode};
use std::io::{self, IsTerminal, Write};

/// Read elements of an array to standard output
#[derive(Args)]
pub struct Read {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    region: Region,
    #[command(flatten)]
    form: AsForm,
    /// The type to convert to (the array's; --json and --csv print it)
    #[arg(long = "type", value_name = "TYPE", value_parser = create::native_type)]
    data_type: Option<DataType>,
    /// Afterwards, on standard error: requests, bytes, chunks decoded and the time that it took
    #[arg(long)]
    stats: bool,
}

#[derive(Args)]
#[group(multiple = false)]
struct AsForm {
    /// Bytes: C order, little-endian, nothing between
    #[arg(long)]
    raw: bool,
    /// One flat JSON list; NaN and infinities as strings, complex numbers as pairs, times as counts
    #[arg(long)]
    json: bool,
    /// Lines of the last dimension with commas between; of an array of one dimension a line for each element (this is what a
    /// terminal gets)
    #[arg(long)]
    csv: bool,
    /// A numpy file
    #[arg(long)]
    npy: bool,
}

/// Takes the shape of the whole and the bytes of a slab (or of one element).
type EachSlab<'a> = dyn FnMut(&[u64], &[u8]) -> io::Result<()> + 'a;

impl Read {
    pub fn run(&self) -> Outcome {
        let form = &self.form;
        if !(form.raw || form.json || form.csv || form.npy || io::stdout().is_terminal()) {
            return Err(Failure::Usage("say in which form to read: --csv (which terminals get), --json, --npy or --raw".into()));
        }
        let array = self.place.array(Mode::Read)?;
        array.stats().measure_time(self.stats);
        let is_text = !self.form.raw && !self.form.npy;
        let mut out = if is_text { texts() } else { Box::new(io::BufWriter::with_capacity(1 << 16, io::stdout().lock())) };
        let result = if is_text { self.text(&array, &mut out) } else { self.bytes(&array, &mut out) };
        let done = result.and_then(|()| out.flush().map_err(|e| Failure::stdout(&e)));
        if self.stats {
            tell_stats(&array);
        }
        done
    }

    fn bytes(&self, array: &Array, out: &mut dyn Write) -> Outcome {
        let data_type = self.data_type.unwrap_or(array.data_type());
        if array.data_type().is_variable() {
            return Err(Failure::Error(format!("elements of {} have no fixed size; use --json or --csv", array.data_type().name())));
        }
        let mut header = None;
        self.each_slab(array, data_type, &mut |shape, bytes| {
            if self.form.npy && header.is_none() {
                out.write_all(header.insert(npy::header(data_type, shape)))?;
            }
            out.write_all(bytes)
        })
    }

    fn text(&self, array: &Array, out: &mut dyn Write) -> Outcome {
        if let Some(asked) = self.data_type.filter(|&asked| array.data_type().is_variable() && asked != array.data_type()) {
            return Err(Failure::Error(format!("elements of {} cannot be converted to {}", array.data_type().name(), asked.name())));
        }
        let data_type = printed_as(self.data_type.unwrap_or(array.data_type()));
        let form = if self.form.json { Form::Json } else { Form::Csv };
        // How many elements a line of CSV has, and how many of the present one are written.
        let (mut line, mut written) = (0, 0u64);
        let mut text = String::new();
        text.push_str(if form == Form::Json { "[" } else { "" });
        self.each_element(array, data_type, &mut |shape, element| {
            if line == 0 {
                line = if shape.len() < 2 { 1 } else { shape[shape.len() - 1].max(1) };
            }
            match form {
                Form::Json if written > 0 => text.push_str(", "),
                Form::Csv if written > 0 => text.push(if written.is_multiple_of(line) { '\n' } else { ',' }),
                _ => {}
            }
            written += 1;
            push(&mut text, form, data_type, element);
            if text.len() >= 1 << 16 {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
            Ok(())
        })?;
        text.push_str(match form {
            Form::Json => "]\n",
            Form::Csv if written > 0 => "\n",
            Form::Csv => "",
        });
        out.write_all(text.as_bytes()).map_err(|e| Failure::stdout(&e))
    }

    /// Calls `each` with the shape of the whole and the bytes of each element.
    fn each_element(&self, array: &Array, data_type: DataType, each: &mut EachSlab<'_>) -> Outcome {
        if !array.data_type().is_variable() {
            return self.each_slab(array, data_type, &mut |shape, bytes| {
                bytes.chunks_exact(data_type.size()).try_for_each(|element| each(shape, element))
            });
        }
        let selection = self.region.selection(&array.shape(), None)?;
        let (shape, grid) = (array.shape(), array.grid());
        let mut slabs = Slabs::new(&shape, &grid, &selection, data_type.size(), false);
        while let Some(elements) = slabs.read_next(|slab| array.read_variable(&slab.selection)) {
            let elements = elements?;
            let all = (0..elements.len()).filter_map(|i| elements.get(i));
            all.into_iter().try_for_each(|element| each(selection.shape(), element)).map_err(|e| Failure::stdout(&e))?;
        }
        Ok(())
    }

    /// Calls `each` with the shape of the whole and the bytes of each slab, at least once.
    fn each_slab(&self, array: &Array, data_type: DataType, each: &mut EachSlab<'_>) -> Outcome {
        let selection = self.region.selection(&array.shape(), None)?;
        let total = selection.shape().iter().fold(data_type.size() as u64, |n, &c| n.saturating_mul(c));
        let bar = progress(total, None, true);
        let mut buffer = Vec::new();
        let (shape, grid) = (array.shape(), array.grid());
        let mut slabs = Slabs::new(&shape, &grid, &selection, data_type.size(), false);
        let read = |slab: &Slab, buffer: &mut Vec<u8>| {
            let done = slab.read(array, data_type, buffer);
            if done.is_err() {
                // A smaller slab needs the room.
                *buffer = Vec::new();
            }
            done
        };
        while let Some(done) = slabs.read_next(|slab| read(slab, &mut buffer)) {
            done?;
            each(selection.shape(), &buffer).map_err(|e| Failure::stdout(&e))?;
            bar.inc(buffer.len() as u64);
        }
        bar.finish_and_clear();
        Ok(())
    }
}
