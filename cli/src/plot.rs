//! `ozarr plot`: a picture of an array, as a file or in the terminal.

use crate::failure::{Failure, Outcome, one_line};
use crate::output::{line, object, progress, tell_stats};
use crate::pick::{Pick, Picked};
use crate::picture::axis::{Axis, number};
use crate::picture::chart::{self, Plane};
use crate::picture::colours::{ColourMap, Rgb, Scale};
use crate::picture::contours;
use crate::picture::lines::{self, Series};
use crate::picture::scene::{self, Scene};
use crate::picture::terminal::{self, Protocol};
use crate::place::{Place, locate};
use crate::sample::{self, How};
use crate::variable::{Variable, label};
use clap::{Args, ValueEnum};
use ozarr::analysis::blocks::Told;
use ozarr::engine::Selection;
use ozarr::node::{Mode, Value, json};
use std::io::{self, IsTerminal};

/// Of more elements than this a plane or a line shows some, in equal distances, instead of what all of them make.
const ALL: u64 = 1 << 28;
/// The most pictures of an animation.
const FRAMES: u64 = 200;

/// Draw an array: a plane as a heat map, a line, a histogram or an animation, to a PNG or SVG file or to the terminal
///
/// Of an array of more than two dimensions it is the first plane, unless others are selected. A pixel that shows several elements has
/// their mean (with --min or --max the least or the greatest). Axes come from the coordinate variables.
#[derive(Args)]
pub struct Plot {
    /// A store, or an array in it (`run.zarr`, `run.zarr/temperature`)
    location: String,
    /// Paths of arrays below LOCATION; several of one dimension are lines in one picture
    paths: Vec<String>,
    #[command(flatten)]
    pick: Pick,
    /// What is drawn (a map of two dimensions, lines of one)
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Lines of about so many equal values over a map
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "8")]
    contours: Option<usize>,
    /// A picture for each element of a dimension, in an animated PNG; at most 200, in equal distances
    #[arg(long, value_name = "DIM", requires = "output")]
    animate: Option<String>,
    /// The time that each picture of an animation is shown, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100)]
    delay: u16,
    /// The file, which ends in .png or .svg (the terminal)
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// How the terminal shows pictures
    #[arg(long, value_enum, conflicts_with = "output")]
    terminal: Option<Protocol>,
    /// The colours (viridis)
    #[arg(long, value_enum, default_value_t = ColourMap::Viridis, hide_default_value = true)]
    colors: ColourMap,
    /// The values with the first and the last colour, or the ends of the axis of values (the least and the greatest)
    #[arg(long, value_name = "LOW:HIGH", allow_hyphen_values = true, value_parser = limits)]
    range: Option<(f64, f64)>,
    /// The parts of a histogram
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    bins: u32,
    /// Width and height in pixels
    #[arg(long, value_name = "W,H", default_value = "800,600", value_parser = size)]
    size: (u32, u32),
    /// The map alone, without axes: of a size that fits, one pixel for each element
    #[arg(long, conflicts_with = "contours")]
    bare: bool,
    /// Afterwards, on standard error: requests, bytes, chunks decoded and the time that it took
    #[arg(long)]
    stats: bool,
    /// With --output: one JSON object, the file and which arrays are in it
    #[arg(long, requires = "output", conflicts_with = "terminal")]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A heat map with a colour bar
    Map,
    /// Values over one dimension
    Line,
    /// How often values are
    Histogram,
}

fn limits(text: &str) -> Result<(f64, f64), String> {
    let read = || {
        let (low, high) = text.split_once(':')?;
        Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
            .filter(|(low, high): &(f64, f64)| low < high && (high - low).is_finite())
    };
    read().ok_or_else(|| "expected two numbers, the lower one first, such as 270:310".into())
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let read = || {
        let (width, height) = text.split_once([',', 'x'])?;
        Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
    };
    let allowed = |n: u32| (120..=8000).contains(&n);
    read().filter(|&(w, h)| allowed(w) && allowed(h)).ok_or_else(|| "expected two numbers from 120 to 8000, such as 800,600".into())
}

/// A picture before it is in a file.
enum Picture {
    Scene(Scene),
    /// Pixels in rows of that length, one picture after the other.
    Pixels(u32, Vec<Vec<Rgb>>),
}

impl Plot {
    pub fn run(&self) -> Outcome {
        if let Some(name) = &self.output
            && !name.to_ascii_lowercase().ends_with(".png")
            && (self.animate.is_some() || self.bare || !name.to_ascii_lowercase().ends_with(".svg"))
        {
            let why = if self.animate.is_some() || self.bare { ".png for an animation or --bare" } else { ".png or .svg" };
            return Err(Failure::Usage(format!("--output: found {name:?}, expected a name that ends in {why}")));
        }
        if self.output.is_none() && self.terminal.is_none() && !io::stdout().is_terminal() {
            return Err(Failure::Usage("standard output is no terminal; name a file with --output FILE.png, or choose --terminal".into()));
        }
        let variables = self.variables()?;
        for variable in &variables {
            variable.array.stats().measure_time(self.stats);
        }
        let (width, height) = self.canvas();
        let picture = self.picture(&variables, width, height)?;
        self.give(picture)?;
        if self.stats {
            variables.iter().for_each(|variable| tell_stats(&variable.array));
        }
        if self.json {
            let arrays = Value::from_iter(variables.iter().map(|v| Value::from(v.array.path())));
            line(&json::to_text(&object([("output", self.output.as_deref().unwrap_or_default().into()), ("arrays", arrays)])))?;
        }
        Ok(())
    }

    fn variables(&self) -> Outcome<Vec<Variable>> {
        let (store, path) = locate(&self.location, "", Mode::Read)?;
        let paths = if self.paths.is_empty() { vec![String::new()] } else { self.paths.clone() };
        let open = |p: &String| Place { location: self.location.clone(), path: p.clone() }.array_at(&store, &format!("{path}/{p}"));
        paths.iter().map(|p| Variable::new(open(p)?)).collect()
    }

    /// The size of the picture; in characters what the terminal has.
    fn canvas(&self) -> (u32, u32) {
        if !self.is_of_characters() {
            return self.size;
        }
        let (columns, rows) = terminal::size();
        (columns, rows.saturating_sub(6).max(4) * 2)
    }

    /// How the picture goes to the terminal, if it does.
    fn protocol(&self) -> Option<Protocol> {
        let chosen = || self.terminal.unwrap_or(Protocol::Auto).chosen(&|name| std::env::var(name).ok());
        self.output.is_none().then(chosen)
    }

    fn is_of_characters(&self) -> bool {
        self.protocol().is_some_and(Protocol::is_of_characters)
    }

    fn picture(&self, variables: &[Variable], width: u32, height: u32) -> Outcome<Picture> {
        let first = &variables[0];
        let picked = self.pick.of(first)?;
        let kind = self.kind.unwrap_or(if picked.kept.len() > 1 && variables.len() == 1 { Kind::Map } else { Kind::Line });
        if variables.len() > 1 && kind != Kind::Line {
            return Err(Failure::Usage("several arrays make lines in one picture, not maps or histograms".into()));
        }
        if kind == Kind::Histogram {
            return self.histogram(first, &picked);
        }
        if picked.kept.is_empty() {
            let all = picked.selection.shape();
            let value =
                self.watched(&picked.selection, |told| sample::reduce(&first.array, &picked.selection, all, &[picked.how], told))?;
            return Err(Failure::Error(format!("one value is selected, {}; a picture needs a dimension", number(value[0][0]))));
        }
        match (kind, &self.animate) {
            (Kind::Line, None) => self.lines(variables, picked),
            (Kind::Map, Some(dim)) => self.frames(first, &picked, dim, width, height),
            (Kind::Map, None) => {
                let (picked, title) = self.first(first, picked, 2)?;
                if picked.kept.len() < 2 {
                    return Err(Failure::Error("a map needs two dimensions of more than one element; see --kind line".into()));
                }
                let plane = self.plane(first, &picked, width, height)?;
                self.map(first, &title, &plane, self.scale(&plane.values), (width, height))
            }
            _ => Err(Failure::Usage("--animate draws maps".into())),
        }
    }

    /// Fixes the leading dimensions at their first element until `left` are left; the title says which.
    fn first(&self, variable: &Variable, mut picked: Picked, left: usize) -> Outcome<(Picked, Vec<String>)> {
        while picked.kept.len() > left {
            picked = picked.fixed(&variable.array.shape(), picked.kept[0], 0)?;
        }
        let title = self.title(variable, &picked);
        Ok((picked, title))
    }

    /// The name, and a line of what was selected.
    fn title(&self, variable: &Variable, picked: &Picked) -> Vec<String> {
        let mut parts = Vec::new();
        for (d, dim) in variable.dims.iter().enumerate() {
            if picked.reduced.contains(&d) {
                let how = match picked.how {
                    How::Mean => "mean",
                    How::Min => "least",
                    How::Max => "greatest",
                };
                parts.push(format!("{how} over {}", dim.name));
            } else if !picked.kept.contains(&d) {
                let i = picked.index(d, 0);
                let axis = Axis { label: String::new(), at: Vec::new(), times: dim.times() };
                let index = if dim.coordinate.is_some() { format!(" ({i} of {})", dim.length) } else { format!(" of {}", dim.length) };
                parts.push(format!("{} = {}{index}", dim.name, axis.shown(dim.at(i))));
            }
        }
        let mut title = vec![label(&variable.array)];
        title.extend((!parts.is_empty()).then(|| parts.join(", ")));
        title
    }

    /// Reads a plane with about as many numbers as there are pixels.
    fn plane(&self, variable: &Variable, picked: &Picked, width: u32, height: u32) -> Outcome<Plane> {
        let &[y, x] = &picked.kept[..] else {
            return Err(Failure::Error(format!("{} dimensions are left, expected two", picked.kept.len())));
        };
        let count = picked.selection.shape().to_vec();
        let mut bins: Vec<u64> = vec![1; count.len()];
        picked.reduced.iter().for_each(|&d| bins[d] = count[d]);
        (bins[y], bins[x]) = (count[y].div_ceil(u64::from(height)), count[x].div_ceil(u64::from(width)));
        let elements = count.iter().fold(1u64, |n, &c| n.saturating_mul(c));
        let mut seen = picked.selection.clone();
        let axes = [self.axis(variable, picked, x, bins[x]), self.axis(variable, picked, y, bins[y])];
        if elements > ALL && (bins[x] > 1 || bins[y] > 1) {
            seen = sample::thinned(&variable.array.shape(), &seen, &[(y, bins[y]), (x, bins[x])])?;
            (bins[y], bins[x]) = (1, 1);
        }
        let values = self.watched(&seen, |told| sample::reduce(&variable.array, &seen, &bins, &[picked.how], told))?.remove(0);
        let [x_axis, y_axis] = axes;
        // The dimensions that are left are in the array's order, so that the rows are those of `y`.
        Ok(Plane { values, x: x_axis, y: y_axis })
    }

    /// The axis of a dimension whose elements are in bins: the middle of each bin.
    fn axis(&self, variable: &Variable, picked: &Picked, d: usize, bin: u64) -> Axis {
        let (dim, count) = (&variable.dims[d], picked.selection.shape()[d]);
        let middle = |b: u64| (dim.at(picked.index(d, b * bin)) + dim.at(picked.index(d, ((b + 1) * bin).min(count) - 1))) / 2.0;
        Axis { label: dim.label(), at: (0..count.div_ceil(bin)).map(middle).collect(), times: dim.times() }
    }

    /// Does something with the elements of a selection, and shows on a terminal how far it is; an animation counts its pictures.
    fn watched<T>(&self, all: &Selection, work: impl FnOnce(Told<'_>) -> Outcome<T>) -> Outcome<T> {
        if self.animate.is_some() {
            return work(&|_| Ok(()));
        }
        let bytes = all.shape().iter().fold(size_of::<f64>() as u64, |n, &c| n.saturating_mul(c));
        let bar = progress(bytes, None, self.output.is_none());
        let done = work(&|bytes| bar.told(bytes));
        bar.finish_and_clear();
        done
    }

    fn scale(&self, values: &[f64]) -> Scale {
        let finite = values.iter().copied().filter(|v| v.is_finite());
        let (mut low, mut high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if self.colors.is_diverging() && low < 0.0 && high > 0.0 {
            (low, high) = (-high.max(-low), high.max(-low));
        }
        Scale::new(self.colors, self.range.unwrap_or((low, high)))
    }

    fn map(&self, variable: &Variable, title: &[String], plane: &Plane, scale: Scale, (width, height): (u32, u32)) -> Outcome<Picture> {
        if self.bare || self.is_of_characters() {
            let (columns, rows) = (plane.x.at.len(), plane.y.at.len());
            let whole = if self.bare { (columns, rows) } else { fitted((columns, rows), (width as usize, height as usize)) };
            if !self.bare {
                self.say(title, &[&plane.x, &plane.y], Some(&scale))?;
            }
            return Ok(Picture::Pixels(whole.0 as u32, vec![chart::image(plane, &scale, whole.0, whole.1)]));
        }
        let mut scene = Scene::new(width, height);
        let frame = chart::map(&mut scene, title, plane, &scale, &label(&variable.array));
        if let Some(count) = self.contours {
            contours::draw(&mut scene, &frame, plane, (scale.low, scale.high), count);
        }
        Ok(Picture::Scene(scene))
    }

    /// An animation: the colours mean the same in all pictures.
    fn frames(&self, variable: &Variable, picked: &Picked, dim: &str, width: u32, height: u32) -> Outcome<Picture> {
        let d = variable.dim(dim)?;
        let count = picked.selection.shape()[d];
        if picked.kept.len() < 3 || !picked.kept.contains(&d) {
            return Err(Failure::Error(format!("--animate {dim}: expected a dimension of several elements, and two others for the plane")));
        }
        let (mut planes, each) = (Vec::new(), count.div_ceil(FRAMES));
        let bar = progress(count.div_ceil(each), Some("pictures"), false);
        for i in (0..count).step_by(each as usize) {
            let (one, title) = self.first(variable, picked.fixed(&variable.array.shape(), d, i)?, 2)?;
            planes.push((self.plane(variable, &one, width, height)?, title));
            bar.inc(1);
        }
        bar.finish_and_clear();
        let ends: Vec<f64> = planes
            .iter()
            .flat_map(|(plane, _)| {
                let scale = self.scale(&plane.values);
                let some = plane.values.iter().any(|v| v.is_finite());
                some.then_some([scale.low, scale.high]).into_iter().flatten()
            })
            .collect();
        let mut pictures = Vec::new();
        let mut columns = width;
        for (plane, title) in &planes {
            match self.map(variable, title, plane, self.scale(&ends), (width, height))? {
                Picture::Scene(scene) => pictures.push(pixels(&scene)?),
                Picture::Pixels(n, all) => {
                    columns = n;
                    pictures.extend(all);
                }
            }
        }
        Ok(Picture::Pixels(columns, pictures))
    }

    fn lines(&self, variables: &[Variable], first: Picked) -> Outcome<Picture> {
        let mut series = Vec::new();
        let (mut x_axis, mut title, mut units) = (None, Vec::new(), Vec::new());
        for variable in variables {
            let picked = if series.is_empty() {
                self.first(
                    variable,
                    Picked { selection: first.selection.clone(), kept: first.kept.clone(), reduced: first.reduced.clone(), how: first.how },
                    1,
                )?
                .0
            } else {
                self.first(variable, self.pick.of(variable)?, 1)?.0
            };
            let [d] = picked.kept[..] else {
                return Err(Failure::Error(format!("{}: no dimension is left for a line", variable.array.path())));
            };
            let count = picked.selection.shape().to_vec();
            let mut bins = vec![1; count.len()];
            picked.reduced.iter().for_each(|&d| bins[d] = count[d]);
            bins[d] = count[d].div_ceil(u64::from(self.size.0) * 2);
            let axis = self.axis(variable, &picked, d, bins[d]);
            let mut seen = picked.selection.clone();
            let is_reduced = !picked.reduced.is_empty();
            let elements = count.iter().fold(1u64, |n, &c| n.saturating_mul(c));
            if (elements > ALL || is_reduced && count[d] > sample::MOST) && bins[d] > 1 {
                seen = sample::thinned(&variable.array.shape(), &seen, &[(d, bins[d])])?;
                bins[d] = 1;
            }
            // Where dimensions are reduced, a pixel has the least and the greatest of the results, not of the elements.
            let pixel = if is_reduced { std::mem::replace(&mut bins[d], 1) } else { 1 };
            let hows = if bins[d] > 1 { vec![How::Min, How::Max] } else { vec![picked.how] };
            let mut found = self.watched(&seen, |told| sample::reduce(&variable.array, &seen, &bins, &hows, told))?;
            let mut low = found.remove(0);
            let mut high = found.pop().unwrap_or_else(|| low.clone());
            if pixel > 1 {
                let ends = |of: fn(f64, f64) -> f64| low.chunks(pixel as usize).map(|bin| bin.iter().copied().fold(f64::NAN, of)).collect();
                (low, high) = (ends(f64::min), ends(f64::max));
            }
            title = self.title(variable, &picked);
            units.push(label(&variable.array));
            let shared: &Axis = x_axis.get_or_insert_with(|| axis.clone());
            let at = shared.counted(&axis).ok_or_else(|| mixed(variable, &axis, shared))?;
            series.push(Series { name: label(&variable.array), at, low, high });
        }
        if variables.len() > 1 {
            title = vec![units.join(", ")];
        }
        let unit = if units.len() == 1 { units.remove(0) } else { String::new() };
        let axis = x_axis.ok_or_else(|| Failure::Error("nothing to draw".into()))?;
        self.drawn(&title, |scene, title| lines::draw(scene, title, &series, &axis, &unit, self.range))
    }

    fn histogram(&self, variable: &Variable, picked: &Picked) -> Outcome<Picture> {
        let (low, high) = match self.range {
            Some(range) => range,
            None => match self.watched(&picked.selection, |told| sample::extremes(&variable.array, &picked.selection, told))? {
                (_, _, 0) => (0.0, 1.0),
                (low, high, _) if low == high => (low - 0.5, high + 0.5),
                (low, high, _) => (low, high),
            },
        };
        let count = |told: Told<'_>| sample::histogram(&variable.array, &picked.selection, (low, high), self.bins as usize, told);
        let counts = self.watched(&picked.selection, count)?;
        let name = label(&variable.array);
        let title = vec![name.clone(), format!("{} elements", counts.iter().sum::<u64>())];
        self.drawn(&title, |scene, title| lines::histogram(scene, title, &counts, (low, high), &name))
    }

    /// A picture with axes; for half blocks a small one, whose texts are left to the terminal.
    fn drawn(&self, title: &[String], draw: impl Fn(&mut Scene, &[String])) -> Outcome<Picture> {
        let (width, height) = if self.is_of_characters() { (640, 400) } else { self.size };
        let mut scene = Scene::new(width, height);
        draw(&mut scene, title);
        if !self.is_of_characters() {
            return Ok(Picture::Scene(scene));
        }
        self.say(title, &[], None)?;
        let (columns, rows) = self.canvas();
        let (columns, rows) = fitted((width as usize, height as usize), (columns as usize, rows as usize));
        let all = pixels(&scene)?;
        let darkest = |x: usize, y: usize| {
            let cell = (y * height as usize / rows..((y + 1) * height as usize / rows)).flat_map(|r| {
                let row = r * width as usize;
                &all[row + x * width as usize / columns..row + (x + 1) * width as usize / columns]
            });
            cell.min_by_key(|c| c.iter().map(|&v| u32::from(v)).sum::<u32>()).copied().unwrap_or([255; 3])
        };
        let small = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))).map(|(x, y)| darkest(x, y)).collect();
        Ok(Picture::Pixels(columns as u32, vec![small]))
    }

    /// Says in words what a picture of half blocks has no room for.
    fn say(&self, title: &[String], axes: &[&Axis], scale: Option<&Scale>) -> Outcome {
        let mut text = title.join("\n");
        for (axis, way) in axes.iter().zip(["to the right", "upwards"]) {
            let span = chart::Span::of(axis);
            let ends = (axis.at.first().copied().unwrap_or(span.low), axis.at.last().copied().unwrap_or(span.high));
            text.push_str(&format!("\n{} {way}: {} to {}", axis.label, axis.shown(ends.0.min(ends.1)), axis.shown(ends.0.max(ends.1))));
        }
        if let Some(scale) = scale {
            text.push_str(&format!("\ncolours: {} to {}", number(scale.low), number(scale.high)));
        }
        let lines: Vec<_> = text.lines().map(one_line).collect();
        crate::output::line(&lines.join("\n"))
    }

    fn give(&self, picture: Picture) -> Outcome {
        let wrong = |e: png::EncodingError| Failure::Error(format!("the picture: {e}"));
        if let (Some(name), Picture::Scene(scene)) = (&self.output, &picture)
            && name.to_ascii_lowercase().ends_with(".svg")
        {
            return save(name, scene.svg().map_err(wrong)?.as_bytes());
        }
        let (columns, pictures) = match picture {
            Picture::Scene(scene) => (scene.width, vec![pixels(&scene)?]),
            Picture::Pixels(columns, pictures) => (columns, pictures),
        };
        let file = || scene::animation(columns, &pictures, self.delay).map_err(wrong);
        if let Some(name) = &self.output {
            return save(name, &file()?);
        }
        let all = std::env::var("COLORTERM").is_ok_and(|v| v == "truecolor" || v == "24bit");
        let text = match self.protocol() {
            Some(Protocol::Kitty) => terminal::kitty(&file()?),
            Some(Protocol::Iterm) => terminal::iterm(&file()?),
            Some(Protocol::Sixel) => terminal::sixel(&pictures[0], columns as usize),
            Some(Protocol::Text) => terminal::shades(&pictures[0], columns as usize),
            _ => terminal::blocks(&pictures[0], columns as usize, all),
        };
        crate::output::print(&text)
    }
}

/// An array whose axis has nothing in common with the first one's.
fn mixed(variable: &Variable, axis: &Axis, first: &Axis) -> Failure {
    let what =
        |axis: &Axis| if axis.times.is_some() { format!("the times {:?}", axis.label) } else { format!("the numbers {:?}", axis.label) };
    let path = variable.array.path();
    Failure::Error(format!("{path}: found values over {}, expected them over {}, as of the first array", what(axis), what(first)))
}

/// The largest size of that shape that fits.
fn fitted((columns, rows): (usize, usize), (width, height): (usize, usize)) -> (usize, usize) {
    let (columns, rows) = (columns.max(1), rows.max(1));
    // Planes that are very long in one direction are not to become one pixel.
    if columns * height <= rows * width {
        ((columns * height / rows).clamp(width.div_ceil(4), width), height)
    } else {
        (width, (rows * width / columns).clamp(height.div_ceil(4), height))
    }
}

fn pixels(scene: &Scene) -> Outcome<Vec<Rgb>> {
    scene.pixels().ok_or_else(|| Failure::Error(format!("no memory for {} x {} pixels", scene.width, scene.height)))
}

fn save(name: &str, bytes: &[u8]) -> Outcome {
    crate::output::write_whole(name, bytes).map_err(|e| Failure::file(name, &e))
}
