//! `ozarr write`: elements from standard input or a file into an array, slab by slab.

use crate::failure::{Failure, Outcome};
use crate::interrupt::{Interrupt, WatchedInput, close_changed};
use crate::output::{progress, tell};
use crate::place::Place;
use crate::region::Region;
use crate::slabs::Slabs;
use crate::{create, npy};
use clap::Args;
use ozarr::dtype::DataType;
use ozarr::engine::Selection;
use ozarr::node::{Array, Mode, Value};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

/// Write elements of an array from standard input or a file
///
/// Each chunk is replaced at once: a program that is stopped in between leaves chunks that are old or new.
#[derive(Args)]
pub struct Write {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    region: Region,
    #[command(flatten)]
    form: AsForm,
    /// The file to read (standard input); `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    input: Option<String>,
    /// With --raw: the type of the elements that come in, to be converted (the array's)
    #[arg(long = "type", value_name = "TYPE", value_parser = create::native_type, conflicts_with = "npy")]
    data_type: Option<DataType>,
    /// One JSON object: the region that was written, and the bytes of its elements
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct AsForm {
    /// Bytes: C order, little-endian, nothing between
    #[arg(long)]
    raw: bool,
    /// A numpy file: its shape is the region's, its type is converted to the array's
    #[arg(long)]
    npy: bool,
}

impl Write {
    pub fn run(&self) -> Outcome {
        let array = self.place.array(Mode::ReadWrite)?;
        // Looked for before anything is read: bytes from elsewhere must never be taken for pointers.
        if let Some(data_type) = [Some(array.data_type()), self.data_type].into_iter().flatten().find(|t| t.is_variable()) {
            return Err(Failure::Error(format!(
                "elements of {} have no fixed size; --raw and --npy are for those that have",
                data_type.name()
            )));
        }
        let (mut input, interrupt) = self.open()?;
        let header = if self.form.npy {
            Some(npy::read(&mut *input.from).map_err(|e| match interrupt.is_asked() {
                true => Failure::Interrupted("nothing is written; write again".into()),
                false => input.wrong(&e),
            })?)
        } else {
            None
        };
        let selection = self.region.selection(&array.shape(), header.as_ref().map(|h| h.shape.as_slice()))?;
        let data_type = match header.as_ref().map(|h| h.data_type).or(self.data_type) {
            // numpy has no name for the narrow numbers: their bytes.
            Some(DataType::Raw(n)) if header.is_some() && n as usize == array.data_type().size() && npy::has_no_name(array.data_type()) => {
                array.data_type()
            }
            other => other.unwrap_or(array.data_type()),
        };
        let size = selection.shape().iter().try_fold(data_type.size() as u64, |n, &c| n.checked_mul(c));
        let size = size.ok_or_else(|| Failure::Error("the region is too large".into()))?;
        input.expect(size, header.as_ref().map_or(0, |h| h.len))?;
        let (big_endian, fortran) = header.map_or((false, false), |h| (h.big_endian, h.fortran));
        copy(&mut input, &array, &selection, &Elements { data_type, big_endian, fortran, size }, &interrupt)?;
        close_changed(array.store(), AT_END)?;
        let (start, shape) = (selection.start().to_vec().into(), selection.shape().to_vec().into());
        let region = [("start", start), ("shape", shape), ("step", Value::from_iter(selection.step().iter().copied()))];
        tell(self.json, [("written", self.place.name().into())].into_iter().chain(region).chain([("bytes", size.into())]))
    }

    /// Opens the input, and watches for Ctrl-C from then on: what opens a pipe waits for who writes to it.
    fn open(&self) -> Outcome<(Input, Interrupt)> {
        let name = self.input.as_deref().filter(|name| *name != "-");
        let file = match name {
            None => io::stdin().as_fd().try_clone_to_owned().map(File::from),
            Some(name) => File::open(name),
        };
        let shown = name.unwrap_or("standard input");
        let file = file.map_err(|e| Failure::file(shown, &e))?;
        let interrupt = Interrupt::watch()?;
        let size = name.and_then(|_| file.metadata().ok()).filter(std::fs::Metadata::is_file).map(|m| m.len());
        let from = Box::new(WatchedInput::new(file, &interrupt));
        Ok((Input { name: shown.into(), from, size }, interrupt))
    }
}

/// What comes in.
struct Elements {
    data_type: DataType,
    big_endian: bool,
    fortran: bool,
    size: u64,
}

/// Where it comes from.
struct Input {
    name: String,
    from: Box<dyn Read>,
    /// Of a file.
    size: Option<u64>,
}

impl Input {
    fn wrong(&self, what: &str) -> Failure {
        Failure::Error(format!("{}: {what}", self.name))
    }

    /// An error, before anything is written, if it is known by now that there are not `size` bytes behind the header.
    fn expect(&self, size: u64, header: u64) -> Outcome {
        match self.size.map(|all| all.saturating_sub(header)) {
            Some(found) if found != size => Err(self.wrong(&format!("found {found} bytes of elements, expected {size} for the region"))),
            _ => Ok(()),
        }
    }

    /// The error of a read that failed when the first `done` bytes of `size` were written.
    fn cut(&self, e: &io::Error, done: u64, size: u64) -> Failure {
        if e.kind() != io::ErrorKind::UnexpectedEof {
            return self.wrong(&e.to_string());
        }
        let before = if done > 0 { format!("; the first {done} bytes are written") } else { String::new() };
        self.wrong(&format!("it ends before the {size} bytes of the region{before}"))
    }

    /// An error if something follows.
    fn end(&mut self, size: u64) -> Outcome {
        match self.from.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.wrong(&format!("it goes on after the {size} bytes of the region"))),
            Err(e) => Err(self.wrong(&e.to_string())),
        }
    }
}

/// What is said of an error behind the last element that was written.
const AT_END: &str = "at the end of the write: write again";

fn copy(input: &mut Input, array: &Array, selection: &Selection, elements: &Elements, interrupt: &Interrupt) -> Outcome {
    let stopped = |done: u64| {
        close_changed(array.store(), AT_END)?;
        let of = elements.size;
        Err(Failure::Interrupted(format!(
            "the first {done} of {of} bytes are written, every chunk is old or new; write again, or the rest with --start"
        )))
    };
    let bar = progress(elements.size, None, false);
    let (shape, grid) = (array.shape(), array.grid());
    let mut buffer = Vec::new();
    let mut done = 0u64;
    for slab in Slabs::new(&shape, &grid, selection, elements.data_type.size(), elements.fortran) {
        let slab = slab?;
        slab.fit(&mut buffer)?;
        if let Err(e) = input.from.read_exact(&mut buffer) {
            return if interrupt.is_asked() { stopped(done) } else { Err(input.cut(&e, done, elements.size)) };
        }
        if elements.big_endian {
            buffer.chunks_exact_mut(elements.data_type.swap_unit()).for_each(<[u8]>::reverse);
        }
        // Looked for before the last slab is written: what does not fit is often all wrong.
        if done + buffer.len() as u64 == elements.size
            && let Err(e) = input.end(elements.size)
        {
            return if interrupt.is_asked() { stopped(done) } else { Err(e) };
        }
        slab.write(array, elements.data_type, &mut buffer)?;
        done += buffer.len() as u64;
        bar.set_position(done);
        if interrupt.is_asked() && done < elements.size {
            return stopped(done);
        }
    }
    bar.finish_and_clear();
    Ok(())
}
