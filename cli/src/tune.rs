//! `ozarr tune`: which chunks and codecs suit how an array is read, by trying them on a sample of its elements.

use crate::candidates::{Access, Codec, codecs, shapes};
use crate::copy::size;
use crate::failure::{Failure, Outcome, shell_word};
use crate::info::text_for_non_finite;
use crate::interrupt::Interrupt;
use crate::output::{line, object, print, progress};
use crate::place::Place;
use clap::Args;
use ozarr::analysis::blocks::read;
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::node::{Array, Context, Create, Mode, Settings, Spec, Store, Value, json};
use std::time::Instant;

/// Each access is read at this many places.
const PLACES: u64 = 6;
/// Codecs that are tried with all chunk shapes.
const FINALISTS: usize = 2;
/// How often the present layout and the best are measured against one another at the end.
const ROUNDS: usize = 3;

/// Try chunk shapes and codecs on a sample of an array, for given accesses, and tell the best
///
/// The sample is written into memory with each layout, and read as the accesses say: times are those of decoding and placing, with
/// the latency added for each read of an object. The first row is the present layout. In the end it and the best are measured again, in turn.
#[derive(Args)]
pub struct Tune {
    #[command(flatten)]
    place: Place,
    /// How the array is read, again for each way: `whole`; `plane` (the last two dimensions); `series` or `series=DIM` (all along the first
    /// or that dimension, at one point); a dimension's name (one step of it, the others whole); `box=N,M,..` (plane and series)
    #[arg(long, value_name = "ACCESS", num_args = 1)]
    access: Vec<String>,
    /// The size of the sample: 64M (default), 1G, ..
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64M", hide_default_value = true)]
    sample: u64,
    /// What each read of an object costs besides, in milliseconds: 0.05 (default) for files, about 30 for object stores
    #[arg(long, value_name = "MS", value_parser = milliseconds, default_value_t = 0.05, hide_default_value = true)]
    latency: f64,
    /// A file for the metadata document with the best layout, which `ozarr create --metadata` takes
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// What was measured of one access: the mean of all places.
#[derive(Clone, Debug)]
struct Measured {
    milliseconds: f64,
    reads: f64,
    bytes: f64,
}

/// A layout that was tried.
struct Trial {
    chunks: Vec<u64>,
    codec: Codec,
    array: Array,
    ratio: f64,
    /// Bytes of elements in a second.
    write: f64,
    read: f64,
    accesses: Vec<Measured>,
}

/// The sample.
struct Sample {
    shape: Vec<u64>,
    bytes: Vec<u8>,
    data_type: DataType,
    accesses: Vec<Access>,
}

/// In milliseconds: no read takes longer.
const HOUR: f64 = 3_600_000.0;

fn milliseconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x| (0.0..=HOUR).contains(x)).ok_or_else(|| format!("found {text}, expected a number from 0 to {HOUR}"))
}

impl Tune {
    pub fn run(&self) -> Outcome {
        let array = self.place.array(Mode::Read)?;
        if array.data_type().is_variable() || array.shape().contains(&0) || array.rank() == 0 {
            let what = array.describe();
            return Err(Failure::Error(format!("{} is {what}: there is nothing to tune", self.place.name())));
        }
        let sample = self.take(&array)?;
        let interrupt = Interrupt::watch()?;
        let bar = progress(0, Some("layouts"), true);
        let mut trials = vec![self.attempt(&array, &sample, array.inner_chunk_shape().to_vec(), Codec::Present)?];
        let item = array.data_type().size() as u64;
        let shapes = shapes(&array.shape(), item, &sample.accesses);
        let usual = shapes.first().cloned().unwrap_or_else(|| trials[0].chunks.clone());
        let mut order = Vec::new();
        bar.set_length((codecs().len() + FINALISTS * shapes.len()) as u64);
        let go_on = || if interrupt.is_asked() { Err(Failure::Interrupted("nothing was changed".into())) } else { Ok(()) };
        for codec in codecs() {
            go_on()?;
            let trial = self.attempt(&array, &sample, usual.clone(), codec.clone())?;
            order.push((self.cost(&trial), codec));
            trials.push(trial);
            bar.inc(1);
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for shape in shapes.iter().skip(1) {
            for (_, codec) in order.iter().take(FINALISTS) {
                go_on()?;
                trials.push(self.attempt(&array, &sample, shape.clone(), codec.clone())?);
                bar.inc(1);
            }
        }
        go_on()?;
        bar.finish_and_clear();
        let best = (0..trials.len()).min_by(|&a, &b| self.cost(&trials[a]).total_cmp(&self.cost(&trials[b]))).unwrap_or(0);
        let gain = self.again(&sample, &trials[0], &trials[best], &go_on)?;
        let spec = spec(&array, &trials[best].chunks, &trials[best].codec, None)?.to_json()?;
        if let Some(file) = &self.output {
            std::fs::write(file, &spec).map_err(|e| Failure::file(file, &e))?;
        }
        self.tell(&sample, &trials, best, &gain, &spec)
    }

    /// Reads the sample: the beginning of the array, of a shape like its own.
    fn take(&self, array: &Array) -> Outcome<Sample> {
        let mut shape = array.shape().to_vec();
        let data_type = array.data_type();
        while shape.iter().fold(data_type.size() as u64, |n, &c| n.saturating_mul(c)) > self.sample {
            match shape.iter_mut().max() {
                Some(longest) if *longest > 1 => *longest = longest.div_ceil(2),
                _ => break,
            }
        }
        let names: Vec<Option<String>> = array.dimension_names()?;
        let asked = if self.access.is_empty() { vec!["plane".to_string(), "series".to_string()] } else { self.access.clone() };
        let accesses = asked.iter().map(|text| Access::parse(text, &array.shape(), &names)).collect::<Outcome<_>>()?;
        let count: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        let selection = Selection::new(&array.shape(), &vec![0; shape.len()], &count, None)?;
        let mut bytes = Vec::new();
        read(array, &selection, data_type, &mut bytes)?;
        Ok(Sample { shape, bytes, data_type, accesses })
    }

    /// Writes the sample with a layout, and reads it in every way.
    fn attempt(&self, array: &Array, sample: &Sample, chunks: Vec<u64>, codec: Codec) -> Outcome<Trial> {
        // NaN in attributes is the array's own.
        let store = Store::memory(&Context::default().with_settings(Settings { non_finite: true, ..Settings::default() }));
        let made = Array::create(&store, "a", &spec(array, &chunks, &codec, Some(&sample.shape))?, Create::New)?;
        let all = Selection::all(&sample.shape);
        let mut bytes = sample.bytes.clone();
        let begun = Instant::now();
        // SAFETY: the memory is all of `bytes`, which nobody else touches until the call returns.
        unsafe { made.write(&all, &Memory::of(&mut bytes, &sample.shape, sample.data_type)) }?;
        let write = bytes.len() as f64 / begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        read(&made, &all, sample.data_type, &mut bytes)?;
        let read = bytes.len() as f64 / begun.elapsed().as_secs_f64();
        let ratio = bytes.len() as f64 / (made.usage()?.bytes.max(1)) as f64;
        let accesses = sample.accesses.iter().map(|access| measure(&made, sample, access)).collect::<Outcome<_>>()?;
        Ok(Trial { chunks, codec, array: made, ratio, write, read, accesses })
    }

    /// What all accesses cost together, each counted as much as the others: the product of their times.
    fn cost(&self, trial: &Trial) -> f64 {
        trial.accesses.iter().map(|m| self.time(m).max(1e-6).ln()).sum()
    }

    /// The time of an access with the latency of its reads.
    fn time(&self, measured: &Measured) -> f64 {
        measured.milliseconds + measured.reads * self.latency
    }

    /// The times of each access, with the present layout and with the best, measured in turn: the least of some rounds.
    fn again(&self, sample: &Sample, now: &Trial, best: &Trial, go_on: &dyn Fn() -> Outcome) -> Outcome<Vec<(f64, f64)>> {
        let mut least = vec![(f64::INFINITY, f64::INFINITY); sample.accesses.len()];
        for _ in 0..ROUNDS {
            for (access, (a, b)) in sample.accesses.iter().zip(&mut least) {
                *a = a.min(self.time(&measure(&now.array, sample, access)?));
                *b = b.min(self.time(&measure(&best.array, sample, access)?));
                go_on()?;
            }
        }
        Ok(least)
    }

    fn tell(&self, sample: &Sample, trials: &[Trial], best: usize, gain: &[(f64, f64)], spec: &str) -> Outcome {
        if self.json {
            let rows: Vec<Value> = trials.iter().map(|t| self.row(sample, t)).collect();
            let gains = sample.accesses.iter().zip(gain).map(|(a, (now, best))| {
                object([("access", a.name.as_str().into()), ("now_ms", (*now).into()), ("best_ms", (*best).into())])
            });
            let members = [
                ("sample", sample.shape.clone().into()),
                ("layouts", rows.into()),
                ("best", (best as u64).into()),
                ("gain", Value::from_iter(gains)),
                ("metadata", text_for_non_finite(json::parse_given(spec)?)),
            ];
            return line(&json::to_text(&object(members)));
        }
        let names: String = sample.accesses.iter().map(|a| format!("  {:>12} ms {:>9} KiB", a.name, "in reads")).collect();
        print(&format!("  {:24}{:18}{:>8}{:>12}{:>12}{names}\n", "chunks", "codec", "ratio", "write MB/s", "read MB/s"))?;
        for (i, t) in trials.iter().enumerate() {
            let mark = if i == best { "*" } else { " " };
            let told = |m: &Measured| format!("  {:>15.3} {:>4.0} {:>8.0}", self.time(m), m.reads, m.bytes / 1024.0);
            let accesses: String = t.accesses.iter().map(told).collect();
            let (chunks, mega) = (format!("{:?}", t.chunks), 1e6);
            print(&format!(
                "{mark} {chunks:24}{:18}{:>8.2}{:>12.0}{:>12.0}{accesses}\n",
                t.codec.name(),
                t.ratio,
                t.write / mega,
                t.read / mega
            ))?;
        }
        for (access, (now, new)) in sample.accesses.iter().zip(gain) {
            line(&format!("{}: {now:.3} ms now, {new:.3} ms then: {:.1} times as fast", access.name, now / new))?;
        }
        let chunks = trials[best].chunks.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let codec = match &trials[best].codec {
            Codec::Present => String::new(),
            named => format!(" --compressor {}", named.name()),
        };
        line(&format!("ozarr copy {} NEW --chunks {chunks}{codec}", shell_word(&self.place.name())))
    }

    fn row(&self, sample: &Sample, t: &Trial) -> Value {
        let accesses = sample.accesses.iter().zip(&t.accesses).map(|(a, m)| {
            let members =
                [("access", a.name.as_str().into()), ("ms", self.time(m).into()), ("reads", m.reads.into()), ("bytes", m.bytes.into())];
            object(members)
        });
        object([
            ("chunks", t.chunks.clone().into()),
            ("codec", t.codec.name().into()),
            ("ratio", t.ratio.into()),
            ("write_bytes_per_s", t.write.into()),
            ("read_bytes_per_s", t.read.into()),
            ("accesses", Value::from_iter(accesses)),
        ])
    }
}

/// The array's specification with other chunks and codecs, of its shape or of another.
fn spec(array: &Array, chunks: &[u64], codec: &Codec, shape: Option<&[u64]>) -> Outcome<Spec> {
    let mut spec = array.spec(None)?;
    spec.unset_inner_chunks()?;
    if let Some(shape) = shape {
        spec.set_shape(shape)?;
    }
    spec.set_chunks(chunks)?;
    codec.apply(&mut spec)?;
    Ok(spec)
}

/// Reads an access at places all over the sample.
fn measure(array: &Array, sample: &Sample, access: &Access) -> Outcome<Measured> {
    let (mut buffer, mut all) = (Vec::new(), Measured { milliseconds: 0.0, reads: 0.0, bytes: 0.0 });
    for place in 0..PLACES {
        let selection = access.at(&sample.shape, place, PLACES)?;
        let begun = Instant::now();
        let before = array.stats().snapshot();
        read(array, &selection, sample.data_type, &mut buffer)?;
        all.milliseconds += begun.elapsed().as_secs_f64() * 1e3 / PLACES as f64;
        let after = array.stats().snapshot();
        all.reads += (after.reads - before.reads) as f64 / PLACES as f64;
        all.bytes += (after.bytes_read - before.bytes_read) as f64 / PLACES as f64;
    }
    Ok(all)
}
