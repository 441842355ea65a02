//! Lines of equal value over a plane, by marching squares.

use super::axis;
use super::chart::{Frame, Plane};
use super::colours::WHITE;
use super::scene::{Mark, Scene};

/// Draws the lines of about `count` levels between `low` and `high`.
pub fn draw(scene: &mut Scene, frame: &Frame, plane: &Plane, (low, high): (f64, f64), count: usize) {
    let mut parts = Vec::new();
    for level in axis::ticks(low, high, count) {
        for [a, b] in lines(&plane.values, plane.x.at.len(), level.at) {
            let point = |(x, y): (f64, f64)| frame.point(between(&plane.x.at, x), between(&plane.y.at, y));
            parts.push(vec![point(a), point(b)]);
        }
    }
    scene.marks.push(Mark::Lines { parts, colour: WHITE, width: 1.2, clip: frame.area });
}

/// The coordinate at a place between elements.
fn between(at: &[f64], place: f64) -> f64 {
    let i = (place as usize).min(at.len() - 1);
    let next = at[(i + 1).min(at.len() - 1)];
    at[i] + (next - at[i]) * (place - i as f64)
}

/// The pieces of the lines of a level, in columns and rows. Cells with a missing corner have none.
fn lines(values: &[f64], columns: usize, level: f64) -> Vec<[(f64, f64); 2]> {
    let rows = values.len() / columns.max(1);
    let mut all = Vec::new();
    for y in 0..rows.saturating_sub(1) {
        for x in 0..columns.saturating_sub(1) {
            // The corners, one after the other around the cell.
            let corners = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)];
            let v = corners.map(|(x, y)| values[y * columns + x]);
            if v.iter().any(|v| !v.is_finite()) {
                continue;
            }
            let crossing = |side: usize| {
                let (a, b) = (side, (side + 1) % 4);
                let t = (level - v[a]) / (v[b] - v[a]);
                let (from, to) = (corners[a], corners[b]);
                let along = |p: usize, q: usize| p as f64 + t * (q as f64 - p as f64);
                ((v[a] >= level) != (v[b] >= level)).then(|| (along(from.0, to.0), along(from.1, to.1)))
            };
            let met: Vec<_> = (0..4).filter_map(crossing).collect();
            match met[..] {
                [a, b] => all.push([a, b]),
                // A saddle: the mean tells which corners belong together.
                [a, b, c, d] if (v.iter().sum::<f64>() / 4.0 >= level) == (v[0] >= level) => all.extend([[a, b], [c, d]]),
                [a, b, c, d] => all.extend([[d, a], [b, c]]),
                _ => {}
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_run_where_the_level_is_between_elements() {
        assert_eq!(lines(&[0.0, 1.0, 0.0, 1.0], 2, 0.25), [[(0.25, 0.0), (0.25, 1.0)]]);
        assert_eq!(lines(&[0.0, 1.0, 0.0, f64::NAN], 2, 0.25).len(), 0);
        assert_eq!(lines(&[0.0, 0.0, 0.0, 0.0], 2, 0.25).len(), 0);
        // A saddle has two pieces that do not cross: around the corners that are less than its mean.
        assert_eq!(lines(&[1.0, 0.0, 0.0, 1.0], 2, 0.25), [[(0.75, 0.0), (1.0, 0.25)], [(0.25, 1.0), (0.0, 0.75)]]);
    }
}
