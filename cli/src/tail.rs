//! `ozarr tail`: the steps of a run, while it goes on.

use crate::failure::{Failure, Outcome, one_line};
use crate::output::{line, object};
use crate::place::Place;
use crate::stats::packing;
use clap::Args;
use ozarr::analysis::blocks::read;
use ozarr::analysis::moments::Moments;
use ozarr::analysis::statistics::Numbers;
use ozarr::dtype::{DataType, Kind};
use ozarr::engine::Selection;
use ozarr::error::{Error, ErrorKind};
use ozarr::node::{Array, Dataset, Map, Mode, Value, json};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Follow a run: a line for each step that all variables of a dataset have
///
/// A line has the step's number, the value of the coordinate, and of each variable of numbers the least, the greatest and the mean stored
/// value, behind `(packed)` where attributes such as scale_factor make other numbers of it; missing ones, NaN and infinities do not count. It waits for a run that has not begun, or lacks the dimension, and says so on standard
/// error. It ends by Ctrl-C, --until or --timeout.
#[derive(Args)]
pub struct Tail {
    #[command(flatten)]
    place: Place,
    /// The dimension that grows (default: time, else the first one of the variable with the most dimensions)
    #[arg(long, value_name = "NAME")]
    dim: Option<String>,
    /// How many of the steps that are there already are shown first
    #[arg(short = 'n', long = "steps", value_name = "N", default_value_t = 10)]
    steps: u64,
    /// End when so many steps are there
    #[arg(long, value_name = "N")]
    until: Option<u64>,
    /// End when no step came for so many seconds; before --until is reached, or where no run has begun, this is an error
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    timeout: Option<Duration>,
    /// A JSON object for each step; the value of a coordinate that is called `step` or `variables` is its `coordinate`
    #[arg(long)]
    json: bool,
}

/// How long to wait before looking again for a run that has not begun, at first and in the end.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Why there is no run yet.
enum NotOpen {
    /// It has not begun, or is being defined.
    Missing(String),
    /// Waiting does not help.
    Wrong(Failure),
}

impl From<Error> for NotOpen {
    fn from(e: Error) -> NotOpen {
        if e.kind() == ErrorKind::NotFound { NotOpen::Missing(e.to_string()) } else { NotOpen::Wrong(e.into()) }
    }
}

/// A variable along the dimension, and which of its dimensions that is.
struct Followed {
    name: String,
    array: Array,
    dim: usize,
}

/// A run as it was opened.
struct Run {
    dataset: Dataset,
    dim: String,
    there: u64,
    /// Whether it had no step at the first look: then all of its steps are new ones.
    is_new: bool,
}

/// A time to wait. Infinity is none: without the option there is no end.
fn seconds(text: &str) -> Result<Duration, String> {
    let given = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    given.ok_or_else(|| format!("found {text}, expected a number from 0 to {:e}", u64::MAX as f64))
}

impl Tail {
    pub fn run(&self) -> Outcome {
        let wait = self.timeout.unwrap_or(Duration::MAX);
        let Some(Run { dataset, dim, mut there, is_new }) = self.begun(wait)? else { return Ok(()) };
        let followed = followed(&dataset, &dim)?;
        let mut step = if is_new { 0 } else { there.min(self.until.unwrap_or(u64::MAX)).saturating_sub(self.steps) };
        loop {
            while step < there {
                if self.until.is_some_and(|until| step >= until) {
                    return Ok(());
                }
                self.tell(&dim, &followed, step)?;
                step += 1;
            }
            if self.until.is_some_and(|until| there >= until) {
                return Ok(());
            }
            match self.grown(&dataset, &dim, there, wait)? {
                Some(length) => there = length,
                None => return Ok(()),
            }
        }
    }

    /// Waits for further steps; `None` where it is no error that none came.
    fn grown(&self, dataset: &Dataset, dim: &str, beyond: u64, wait: Duration) -> Outcome<Option<u64>> {
        match dataset.wait_growth(dim, beyond, wait) {
            Ok(length) => Ok(Some(length)),
            Err(e) if e.kind() == ErrorKind::Timeout && self.until.is_none() => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Opens the run when its first step is there, with all that was defined by then. What keeps it from that is told once on standard error.
    fn begun(&self, wait: Duration) -> Outcome<Option<Run>> {
        let (began, mut pause, mut is_told) = (Instant::now(), PAUSE, false);
        let mut guessed = None;
        loop {
            let missing = match self.open() {
                // While a run is defined its dimension may come last: one that is guessed has to be the same at two looks.
                Ok(run) if run.there > 0 && is_told && self.dim.is_none() && guessed.as_ref() != Some(&run.dim) => {
                    let text = format!("{}: steps along {:?}, and others to come", self.place.name(), run.dim);
                    guessed = Some(run.dim);
                    text
                }
                Ok(run) if run.there > 0 || self.until == Some(0) => return Ok(Some(Run { is_new: is_told, ..run })),
                // The length is what the documents say, whatever consolidated metadata do.
                Ok(run) => {
                    let there = self.grown(&run.dataset, &run.dim, 0, wait.saturating_sub(began.elapsed()))?;
                    return Ok(there.map(|there| Run { there, is_new: true, ..run }));
                }
                Err(NotOpen::Missing(text)) => text,
                Err(NotOpen::Wrong(failure)) => return Err(failure),
            };
            let left = wait.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Failure::Error(missing));
            }
            if !std::mem::replace(&mut is_told, true) {
                // Nothing can be done about a standard error that is closed.
                let _ = writeln!(io::stderr(), "ozarr: waiting for a run: {}", one_line(&missing));
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn open(&self) -> Result<Run, NotOpen> {
        let named = |e: Error| match e.field() {
            Some("dimension_names") => e.with_note("; `ozarr tail` finds the arrays that grow together by the names of their dimensions"),
            _ => e,
        };
        let dataset = Dataset::open(self.place.open_group(Mode::Read)?).map_err(named)?;
        let dim = self.dimension(&dataset)?;
        let there = dataset.dimension(&dim)?.length;
        Ok(Run { dataset, dim, there, is_new: false })
    }

    fn dimension(&self, dataset: &Dataset) -> Result<String, NotOpen> {
        if let Some(name) = &self.dim {
            dataset.dimension(name)?;
            return Ok(name.clone());
        }
        if dataset.dimension("time").is_ok() {
            return Ok("time".into());
        }
        let mut most: Option<Vec<String>> = None;
        for name in dataset.variables() {
            let dims: Vec<String> = dataset.variable(&name)?.dimension_names()?.into_iter().flatten().collect();
            if dims.len() > most.as_ref().map_or(0, Vec::len) {
                most = Some(dims);
            }
        }
        let first = most.and_then(|dims| dims.into_iter().next());
        first.ok_or_else(|| NotOpen::Missing(format!("{}: no variable has a dimension to follow", self.place.name())))
    }

    /// Prints one step.
    fn tell(&self, dim: &str, followed: &[Followed], step: u64) -> Outcome {
        let (mut text, mut all, mut variables) = (format!("{} {step}", one_line(dim)), Map::new(), Map::new());
        all.insert("step".into(), step.into());
        for Followed { name, array, dim: d } in followed {
            if name == dim && array.rank() == 1 {
                let value = coordinate(array, step)?;
                text.push_str(&format!("  {}", value.0));
                let taken = ["step", "variables"].contains(&dim);
                all.insert(if taken { "coordinate" } else { dim }.into(), value.1);
                continue;
            }
            let found = figures(array, *d, step)?;
            let packed = packing(array).is_some();
            text.push_str(&format!("  {}{}: {}", one_line(name), if packed { " (packed)" } else { "" }, short(&found)));
            let (least, greatest) = found.range().unzip();
            let figures = [("min", number(least)), ("max", number(greatest)), ("mean", number(found.mean()))];
            variables.insert(name.as_str().into(), object(figures.into_iter().chain(packed.then(|| ("packed", true.into())))));
        }
        if !self.json {
            return line(&text);
        }
        all.insert("variables".into(), Value::Object(variables));
        let text = json::to_text(&Value::Object(all));
        line(&text.lines().map(str::trim_start).collect::<Vec<_>>().join(" "))
    }
}

/// A number as JSON has it; one that it has no form for is null.
fn number(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, Value::from)
}

/// The figures in few digits.
fn short(found: &Moments) -> String {
    match found.range().zip(found.mean()) {
        Some(((least, greatest), mean)) => format!("{} .. {}, mean {}", least as f32, greatest as f32, mean as f32),
        None => "no values".into(),
    }
}

/// The variables of real numbers along a dimension, the coordinate first.
fn followed(dataset: &Dataset, dim: &str) -> Outcome<Vec<Followed>> {
    let mut all = Vec::new();
    for name in dataset.variables() {
        let array = dataset.variable(&name)?;
        let place = array.dimension_names()?.iter().position(|there| there.as_deref() == Some(dim));
        let is_number = matches!(array.data_type().kind(), Kind::Int | Kind::UInt | Kind::Float);
        if let Some(d) = place.filter(|_| is_number) {
            all.push(Followed { name, array, dim: d });
        }
    }
    all.sort_by_key(|v| v.name != dim);
    Ok(all)
}

/// The value of a coordinate, as text and as JSON. Integers have all their digits.
fn coordinate(array: &Array, step: u64) -> Outcome<(String, Value)> {
    let (mut bytes, one) = (Vec::new(), one(array, 0, step)?);
    let data_type = match array.data_type().kind() {
        Kind::Int => DataType::Int64,
        Kind::UInt => DataType::UInt64,
        _ => DataType::Float64,
    };
    read(array, &one, data_type, &mut bytes)?;
    let bytes = bytes[..].try_into().unwrap_or_default();
    Ok(match data_type {
        DataType::Int64 => (i64::from_ne_bytes(bytes).to_string(), i64::from_ne_bytes(bytes).into()),
        DataType::UInt64 => (u64::from_ne_bytes(bytes).to_string(), u64::from_ne_bytes(bytes).into()),
        _ => (f64::from_ne_bytes(bytes).to_string(), number(Some(f64::from_ne_bytes(bytes)))),
    })
}

/// The figures of one step of an array.
fn figures(array: &Array, dim: usize, step: u64) -> Outcome<Moments> {
    Ok(Numbers::new(array, one(array, dim, step)?, false)?.moments(&|_| Ok(()), |_, _| Ok(()))?)
}

/// One step.
fn one(array: &Array, dim: usize, step: u64) -> Outcome<Selection> {
    let shape = array.shape();
    let mut start = vec![0i64; shape.len()];
    let mut count: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    (start[dim], count[dim]) = (step as i64, 1);
    Ok(Selection::new(&shape, &start, &count, None)?)
}
