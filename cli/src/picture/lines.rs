//! Lines over one dimension, and histograms.

use super::axis::{Axis, between};
use super::chart::{LARGE, SMALL, Span, frame};
use super::colours::{INK, LINES, WHITE};
use super::scene::{Anchor, Area, Mark, Scene};
use super::text;

/// A variable along a dimension.
pub struct Series {
    pub name: String,
    pub at: Vec<f64>,
    /// The least and the greatest value of the elements that share a place; one value where each has its own.
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

impl Series {
    /// Points of the line, interrupted where values are missing.
    fn parts(&self) -> Vec<Vec<(f64, f64)>> {
        let mut parts = vec![Vec::new()];
        for (i, &at) in self.at.iter().enumerate() {
            let (low, high) = (self.low[i], self.high[i]);
            if !(low.is_finite() && high.is_finite()) {
                parts.push(Vec::new());
                continue;
            }
            if let Some(part) = parts.last_mut() {
                part.push((at, low));
                part.extend((high != low).then_some((at, high)));
            }
        }
        parts.retain(|part| !part.is_empty());
        parts
    }
}

/// The least and the greatest of many values, missing ones apart, and a little room around.
fn roomy(values: impl Iterator<Item = f64>) -> Span {
    let (low, high) = values.filter(|v| v.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    match high - low {
        room if room == f64::INFINITY => Span { low, high },
        room if room > 0.0 => Span { low: low - room * 0.04, high: high + room * 0.04 },
        0.0 => Span { low: low - 0.5, high: high + 0.5 },
        _ => Span { low: 0.0, high: 1.0 },
    }
}

/// Draws lines with a legend where there are several.
pub fn draw(scene: &mut Scene, title: &[String], series: &[Series], x: &Axis, unit: &str, range: Option<(f64, f64)>) {
    let y = Axis { label: unit.to_string(), at: Vec::new(), times: None };
    let found = roomy(series.iter().flat_map(|s| s.low.iter().chain(&s.high).copied()));
    let y_span = range.map_or(found, |(low, high)| Span { low, high });
    let all = series.iter().flat_map(|s| s.at.iter().copied());
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let x_span = if high > low { Span { low, high } } else { Span { low: low - 0.5, high: high + 0.5 } };
    let frame = frame(scene, title, x, &y, (x_span, y_span), 0.0, true);
    for (i, one) in series.iter().enumerate() {
        let colour = LINES[i % LINES.len()];
        let mut parts: Vec<Vec<(f32, f32)>> =
            one.parts().iter().map(|part| part.iter().map(|&(x, y)| frame.point(x, y)).collect()).collect();
        for part in &mut parts {
            // A point alone has a line of its own, so that it is seen.
            if let [(x, y)] = part[..] {
                *part = vec![(x - 1.5, y), (x + 1.5, y)];
            }
        }
        scene.marks.push(Mark::Lines { parts, colour, width: 1.5, clip: frame.area });
    }
    scene.marks.push(Mark::Frame { area: frame.area, colour: INK });
    if series.len() > 1 {
        legend(scene, &frame.area, series);
    }
}

fn legend(scene: &mut Scene, area: &Area, series: &[Series]) {
    let widest = series.iter().map(|s| text::width(&s.name, SMALL)).fold(0.0, f32::max);
    let (width, row) = (widest + 44.0, LARGE + 4.0);
    let place = Area { x: area.x + area.width - width - 8.0, y: area.y + 8.0, width, height: row * series.len() as f32 + 6.0 };
    scene.marks.push(Mark::Fill { area: place, colour: WHITE });
    scene.marks.push(Mark::Frame { area: place, colour: super::colours::GRID });
    for (i, one) in series.iter().enumerate() {
        let y = place.y + row * i as f32 + row / 2.0 + 3.0;
        let parts = vec![vec![(place.x + 6.0, y), (place.x + 28.0, y)]];
        scene.marks.push(Mark::Lines { parts, colour: LINES[i % LINES.len()], width: 2.0, clip: place });
        scene.text((place.x + 36.0, y + SMALL * 0.36), &one.name, SMALL, Anchor::Start, false);
    }
}

/// Draws how many elements each of equal parts of a range has.
pub fn histogram(scene: &mut Scene, title: &[String], counts: &[u64], (low, high): (f64, f64), unit: &str) {
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let axis = |label: &str| Axis { label: label.to_string(), at: Vec::new(), times: None };
    let spans = (Span { low, high }, Span { low: 0.0, high: most * 1.04 });
    let frame = frame(scene, title, &axis(unit), &axis("elements"), spans, 0.0, true);
    let edge = |i: usize| between(low, high, i as f64 / counts.len() as f64);
    for (i, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (left, top) = frame.point(edge(i), count as f64);
        let (right, bottom) = frame.point(edge(i + 1), 0.0);
        let area = Area { x: left, y: top, width: (right - left).max(1.0), height: bottom - top };
        scene.marks.push(Mark::Fill { area, colour: LINES[0] });
    }
    scene.marks.push(Mark::Frame { area: frame.area, colour: INK });
}
