//! Texts in pictures: how wide they are, and their outlines, from the font that the program carries.

use std::sync::LazyLock;
use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Latin, Greek and signs of DejaVu Sans, so that pictures look the same on systems without any font.
const FONT: &[u8] = include_bytes!("../../font/labels.ttf");

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(FONT, 0).ok());

/// The names of the font for pictures whose texts the viewer draws.
pub const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// The glyph of a character, and how far it moves on, in parts of the size.
fn glyph(face: &Face<'static>, c: char) -> (GlyphId, f32) {
    let id = face.glyph_index(c).unwrap_or_default();
    (id, f32::from(face.glyph_hor_advance(id).unwrap_or(0)) / f32::from(face.units_per_em()))
}

/// The width of a text of that size.
pub fn width(text: &str, size: f32) -> f32 {
    FACE.as_ref().map_or(0.0, |face| text.chars().map(|c| glyph(face, c).1).sum::<f32>() * size)
}

/// The outlines of a text that begins at the origin of a baseline.
pub fn outlines(text: &str, size: f32) -> Option<Path> {
    let face = FACE.as_ref()?;
    let mut pen = Pen { path: PathBuilder::new(), x: 0.0, scale: size / f32::from(face.units_per_em()) };
    for c in text.chars() {
        let (id, advance) = glyph(face, c);
        face.outline_glyph(id, &mut pen);
        pen.x += advance * size;
    }
    pen.path.finish()
}

/// Takes the outlines of one glyph after the other; the font's y points up.
struct Pen {
    path: PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
