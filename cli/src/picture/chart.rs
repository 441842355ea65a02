//! The frame of a picture with its axes, and planes as heat maps with a colour bar.

use super::axis::{self, Axis, Tick};
use super::colours::{GRID, INK, MISSING, Rgb, Scale};
use super::scene::{Anchor, Area, Mark, Scene};
use super::text;

pub const SMALL: f32 = 11.0;
pub const LARGE: f32 = 13.0;
/// Between things.
const GAP: f32 = 8.0;

/// A plane of numbers with its axes: row by row, rows along `y`.
pub struct Plane {
    pub values: Vec<f64>,
    pub x: Axis,
    pub y: Axis,
}

/// One axis on the screen: from which coordinate to which.
#[derive(Clone, Copy)]
pub struct Span {
    pub low: f64,
    pub high: f64,
}

impl Span {
    /// Of all cells of an axis.
    pub fn of(axis: &Axis) -> Span {
        let borders = axis.borders();
        let least = |a: f64, b: &f64| a.min(*b);
        Span { low: borders.iter().fold(f64::INFINITY, least), high: borders.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)) }
    }

    /// The place of a coordinate, as a share.
    pub fn share(&self, at: f64) -> f32 {
        axis::share(at, self.low, self.high) as f32
    }
}

/// Which cell each of `pixels` equal parts of an axis is in.
fn cells(axis: &Axis, pixels: usize) -> Vec<usize> {
    let (borders, span) = (axis.borders(), Span::of(axis));
    let falls = borders.first() > borders.last();
    let cell = |p: usize| {
        let at = span.low + (p as f64 + 0.5) / pixels as f64 * (span.high - span.low);
        let behind = borders.partition_point(|&b| if falls { b >= at } else { b <= at });
        behind.saturating_sub(1).min(axis.at.len().saturating_sub(1))
    };
    (0..pixels).map(cell).collect()
}

/// The colours of a plane on `width` by `height` pixels, the greatest `y` first.
pub fn image(plane: &Plane, scale: &Scale, width: usize, height: usize) -> Vec<Rgb> {
    let (columns, rows) = (cells(&plane.x, width), cells(&plane.y, height));
    let row = |&y: &usize| columns.iter().map(move |&x| scale.colour(plane.values[y * plane.x.at.len() + x]));
    rows.iter().rev().flat_map(row).collect()
}

/// What a picture is drawn into: the place between the axes, after their titles, marks and the frame were drawn.
pub struct Frame {
    pub area: Area,
    pub x: Span,
    pub y: Span,
}

impl Frame {
    /// The pixel of two coordinates.
    pub fn point(&self, x: f64, y: f64) -> (f32, f32) {
        let area = &self.area;
        (area.x + self.x.share(x) * area.width, area.y + area.height - self.y.share(y) * area.height)
    }
}

/// The widest label.
fn widest(ticks: &[Tick]) -> f32 {
    ticks.iter().map(|t| text::width(&t.label, SMALL)).fold(0.0, f32::max)
}

/// Draws title, axes and frame. `right` is kept free for a colour bar; `lattice` draws lines at the marks.
pub fn frame(scene: &mut Scene, title: &[String], x: &Axis, y: &Axis, spans: (Span, Span), right: f32, lattice: bool) -> Frame {
    let (width, height) = (scene.width as f32, scene.height as f32);
    let y_ticks = y.ticks(spans.1.low, spans.1.high, ((height / 45.0) as usize).max(2));
    let left = widest(&y_ticks) + LARGE + 4.0 * GAP;
    let top = GAP * 2.0 + title.len() as f32 * (LARGE + 4.0);
    // Whole pixels, so that the cells of an image are where the axes say.
    let area = Area {
        x: left.ceil(),
        y: top.ceil(),
        width: (width - left - right - GAP * 2.0).floor().max(16.0),
        height: (height - top - 5.5 * GAP).floor().max(16.0),
    };
    let frame = Frame { area, x: spans.0, y: spans.1 };
    let dates = x.times.is_some();
    let x_ticks = x.ticks(spans.0.low, spans.0.high, ((area.width / if dates { 90.0 } else { 65.0 }) as usize).max(2));
    for (i, line) in title.iter().enumerate() {
        scene.text((area.x, GAP * 2.0 + 4.0 + i as f32 * (LARGE + 4.0)), line, if i == 0 { LARGE } else { SMALL }, Anchor::Start, false);
    }
    let bottom = area.y + area.height;
    for tick in &x_ticks {
        let at = frame.point(tick.at, spans.1.low).0;
        line(scene, (at, bottom), (at, bottom + 4.0), INK);
        if lattice {
            line(scene, (at, area.y), (at, bottom), GRID);
        }
        scene.text((at, bottom + 4.0 + SMALL + 2.0), &tick.label, SMALL, Anchor::Middle, false);
    }
    for tick in &y_ticks {
        let at = frame.point(spans.0.low, tick.at).1;
        line(scene, (area.x - 4.0, at), (area.x, at), INK);
        if lattice {
            line(scene, (area.x, at), (area.x + area.width, at), GRID);
        }
        scene.text((area.x - 7.0, at + SMALL * 0.36), &tick.label, SMALL, Anchor::End, false);
    }
    scene.text((area.x + area.width / 2.0, height - GAP), &x.title(spans.0.low, spans.0.high), SMALL, Anchor::Middle, false);
    scene.text((GAP + SMALL * 0.8, area.y + area.height / 2.0), &y.title(spans.1.low, spans.1.high), SMALL, Anchor::Middle, true);
    frame
}

/// A straight line.
pub fn line(scene: &mut Scene, from: (f32, f32), to: (f32, f32), colour: Rgb) {
    let clip = Area { x: 0.0, y: 0.0, width: scene.width as f32, height: scene.height as f32 };
    scene.marks.push(Mark::Lines { parts: vec![vec![from, to]], colour, width: 1.0, clip });
}

/// A heat map with axes and a colour bar that says `unit`; gives where the plane is.
pub fn map(scene: &mut Scene, title: &[String], plane: &Plane, scale: &Scale, unit: &str) -> Frame {
    let ticks = axis::ticks(scale.low, scale.high, 6);
    let bar = 16.0;
    let right = GAP * 2.0 + bar + 7.0 + widest(&ticks) + GAP + LARGE;
    let spans = (Span::of(&plane.x), Span::of(&plane.y));
    let drawn = frame(scene, title, &plane.x, &plane.y, spans, right, false);
    let area = drawn.area;
    let pixels = image(plane, scale, area.width as usize, area.height as usize);
    scene.marks.push(Mark::Image { area, columns: area.width as usize, pixels });
    scene.marks.push(Mark::Frame { area, colour: INK });
    let place = Area { x: area.x + area.width + GAP * 2.0, width: bar, ..area };
    colour_bar(scene, place, scale, &ticks);
    scene.text((scene.width as f32 - GAP, area.y + area.height / 2.0), unit, SMALL, Anchor::Middle, true);
    if plane.values.iter().any(|v| v.is_nan()) {
        let y = scene.height as f32 - GAP - SMALL;
        scene.marks.push(Mark::Fill { area: Area { x: place.x, y, width: bar, height: SMALL }, colour: MISSING });
        scene.text((place.x + bar + 6.0, y + SMALL - 1.0), "missing", SMALL, Anchor::Start, false);
    }
    drawn
}

fn colour_bar(scene: &mut Scene, area: Area, scale: &Scale, ticks: &[Tick]) {
    let rows = area.height as usize;
    let value = |row: usize| axis::between(scale.high, scale.low, (row as f64 + 0.5) / rows as f64);
    scene.marks.push(Mark::Image { area, columns: 1, pixels: (0..rows).map(|row| scale.colour(value(row))).collect() });
    scene.marks.push(Mark::Frame { area, colour: INK });
    let span = Span { low: scale.low, high: scale.high };
    for tick in ticks {
        let share = if scale.high > scale.low { span.share(tick.at) } else { 0.5 };
        let at = area.y + area.height - share * area.height;
        line(scene, (area.x + area.width, at), (area.x + area.width + 4.0, at), INK);
        scene.text((area.x + area.width + 7.0, at + SMALL * 0.36), &tick.label, SMALL, Anchor::Start, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::colours::ColourMap;

    fn axis(at: &[f64]) -> Axis {
        Axis { label: String::new(), at: at.to_vec(), times: None }
    }

    #[test]
    fn cells_have_the_pixels_between_their_borders() {
        assert_eq!(cells(&axis(&[0.0, 1.0, 2.0]), 6), [0, 0, 1, 1, 2, 2]);
        assert_eq!(cells(&axis(&[2.0, 1.0, 0.0]), 6), [2, 2, 1, 1, 0, 0]);
        // Cells that are wider have more: borders at -1, 1, 4, 8.
        assert_eq!(cells(&axis(&[0.0, 2.0, 6.0]), 9), [0, 0, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(cells(&axis(&[7.0]), 2), [0, 0]);
    }

    #[test]
    fn the_greatest_row_is_on_top_whichever_way_the_axis_runs() {
        let scale = Scale::new(ColourMap::Greys, (0.0, 3.0));
        let up = Plane { values: vec![0.0, 1.0, 2.0, 3.0], x: axis(&[0.0, 1.0]), y: axis(&[0.0, 1.0]) };
        let down = Plane { y: axis(&[1.0, 0.0]), ..Plane { values: up.values.clone(), x: up.x.clone(), y: up.y.clone() } };
        let greys = |plane: &Plane| image(plane, &scale, 2, 2).iter().map(|c| c[0]).collect::<Vec<_>>();
        assert_eq!(greys(&up), [&greys(&down)[2..], &greys(&down)[..2]].concat());
        assert!(greys(&up)[1] > greys(&up)[2]);
    }
}
