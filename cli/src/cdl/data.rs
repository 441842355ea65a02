//! The data of a variable in CDL: rows of numbers or strings in lines of 80 characters, rows of characters as text.

use super::attributes::{Values, trimmed};
use super::model::{Model, Variable};
use super::token::{NcType, Number, name, push_quoted};
use crate::failure::{Failure, Outcome};
use crate::slabs::Slabs;
use ozarr::dtype::{DataType, Kind};
use ozarr::engine::Selection;
use ozarr::node::Grid;
use std::io::Write;

/// A line has fewer characters than this, unless one token is longer; what ends a row does not count.
const WIDTH: usize = 79;

/// Writes the data of a variable, if it has elements.
pub fn write(out: &mut dyn Write, model: &Model, variable: &Variable, indent: usize) -> Outcome {
    let lengths: Vec<u64> = variable.dims.iter().map(|&d| model.dims[d].length).collect();
    if lengths.contains(&0) {
        return Ok(());
    }
    let mut lines = Lines { out, indent, column: 0 };
    lines.raw(format!("\n{}", " ".repeat(indent)).as_bytes())?;
    lines.raw(format!(" {} =", name(&variable.name)).as_bytes())?;
    if lengths.len() > 1 {
        lines.next_row()?;
    } else {
        lines.raw(b" ")?;
        lines.column = indent + name(&variable.name).len() + 4;
    }
    let unlimited = variable.dims.iter().map(|&d| model.dims[d].unlimited).collect();
    let (shape, grid) = (variable.array.shape(), variable.array.grid());
    let selection = Selection::all(&shape);
    let source = Source::new(variable, &shape, &grid, &selection, &lengths);
    rows(&mut lines, source, Position { at: vec![0; lengths.len()], lengths, unlimited }, variable.nc == NcType::Char)
}

fn rows(lines: &mut Lines<'_>, mut source: Source<'_>, mut position: Position, chars: bool) -> Outcome {
    let mut token = Vec::new();
    loop {
        let row = position.lengths.last().copied().unwrap_or(1);
        lines.put(&b"{".repeat(position.marks(true)))?;
        if chars {
            token.clear();
            for _ in 0..row {
                source.push(&position.at, &mut token)?;
                position.step_in_row();
            }
            let text = trimmed(&token);
            let pieces: Vec<&[u8]> = if text.is_empty() { vec![text] } else { text.split_inclusive(|&b| b == b'\n').collect() };
            for (i, piece) in pieces.iter().enumerate() {
                let mut quoted = Vec::new();
                push_quoted(&mut quoted, piece, true);
                lines.raw(if i > 0 { b",\n    " } else { b"" })?;
                lines.raw(&quoted)?;
            }
            // The last character begins a text of its own behind the end of a line.
            if text.len() as u64 == row && text.len() > 1 && text.ends_with(b"\n") {
                lines.raw(b",\n    \"\"")?;
            }
        }
        for i in 0..if chars { 0 } else { row } {
            token.clear();
            source.push(&position.at, &mut token)?;
            if i + 1 < row {
                token.extend_from_slice(b", ");
                position.step_in_row();
            } else {
                token.extend(b"}".repeat(position.marks(false)));
            }
            lines.put(&token)?;
        }
        if chars {
            lines.raw(&b"}".repeat(position.marks(false)))?;
        }
        if !position.next_row() {
            return lines.raw(b" ;\n");
        }
        lines.raw(b",")?;
        lines.next_row()?;
    }
}

/// Where a row is.
struct Position {
    at: Vec<u64>,
    lengths: Vec<u64>,
    unlimited: Vec<bool>,
}

impl Position {
    /// How many records begin here, or end: braces are around each part along an unlimited dimension that is not the first.
    fn marks(&self, begin: bool) -> usize {
        let edge = |d: usize| self.at[d] == if begin { 0 } else { self.lengths[d] - 1 };
        (1..self.at.len()).filter(|&level| self.unlimited[level] && (level..self.at.len()).all(edge)).count()
    }

    fn step_in_row(&mut self) {
        if let (Some(at), Some(length)) = (self.at.last_mut(), self.lengths.last())
            && *at + 1 < *length
        {
            *at += 1;
        }
    }

    /// Goes to the next row; false behind the last.
    fn next_row(&mut self) -> bool {
        let Some(last) = self.at.len().checked_sub(1) else { return false };
        self.at[last] = 0;
        for d in (0..last).rev() {
            self.at[d] += 1;
            if self.at[d] < self.lengths[d] {
                return true;
            }
            self.at[d] = 0;
        }
        false
    }
}

/// Lines that are broken before tokens that do not fit.
struct Lines<'a> {
    out: &'a mut dyn Write,
    indent: usize,
    column: usize,
}

impl Lines<'_> {
    fn raw(&mut self, text: &[u8]) -> Outcome {
        self.out.write_all(text).map_err(|e| Failure::stdout(&e))
    }

    fn put(&mut self, token: &[u8]) -> Outcome {
        if token.len() > 2 && self.column + token.len() >= WIDTH {
            self.raw(format!("\n{}    ", " ".repeat(self.indent)).as_bytes())?;
            self.column = self.indent + 4;
        }
        self.column += token.len();
        self.raw(token)
    }

    fn next_row(&mut self) -> Outcome {
        self.column = self.indent + 2;
        self.raw(b"\n  ")
    }
}

/// An element.
pub enum Element<'a> {
    /// It is the value that means so, or the array ends before it.
    Missing,
    Char(u8),
    Text(&'a [u8]),
    Number(Number),
}

/// The elements of an array one by one, read in slabs; those that it lacks along an unlimited dimension are fill values.
pub struct Source<'a> {
    variable: &'a Variable,
    data_type: DataType,
    slabs: Slabs<'a>,
    shape: &'a [u64],
    /// Whether all elements that the dimensions have room for are in the array.
    whole: bool,
    buffer: Vec<u8>,
    strings: ozarr::node::variable::Variable,
    /// The next element in what was read.
    next: usize,
}

impl<'a> Source<'a> {
    pub fn new(variable: &'a Variable, shape: &'a [u64], grid: &'a Grid, selection: &'a Selection, lengths: &[u64]) -> Source<'a> {
        let array = &variable.array;
        let own = variable.nc == NcType::String || array.data_type().kind() == Kind::Time;
        let data_type = if own { array.data_type() } else { variable.nc.in_memory() };
        let slabs = Slabs::new(shape, grid, selection, data_type.size().max(1), false);
        let whole = lengths.is_empty() || shape == lengths;
        Source { variable, data_type, slabs, shape, whole, buffer: Vec::new(), strings: Default::default(), next: 0 }
    }

    /// Appends the element at an index as CDL.
    fn push(&mut self, at: &[u64], out: &mut Vec<u8>) -> Outcome {
        let nc = self.variable.nc;
        match self.element(at)? {
            Element::Missing => out.push(b'_'),
            Element::Char(byte) => out.push(byte),
            Element::Text(text) => push_quoted(out, text, false),
            Element::Number(number) => nc.push_datum(out, number),
        }
        Ok(())
    }

    /// The element at an index: the next one, if the array has it.
    pub fn element(&mut self, at: &[u64]) -> Outcome<Element<'_>> {
        let (nc, fill) = (self.variable.nc, &self.variable.fill);
        if !self.whole && at.iter().zip(self.shape).any(|(i, n)| i >= n) {
            return Ok(if nc == NcType::Char { Element::Char(0) } else { Element::Missing });
        }
        if nc == NcType::String {
            let text = self.next_string()?;
            let missing = matches!(fill, Some(Values::Strings(fill)) if fill.iter().any(|f| f.as_bytes() == text));
            return Ok(if missing { Element::Missing } else { Element::Text(text) });
        }
        let size = self.data_type.size();
        if self.next + size > self.buffer.len() {
            self.buffer.clear();
            self.next = 0;
            if let Some(slab) = self.slabs.next() {
                slab?.read(&self.variable.array, self.data_type, &mut self.buffer)?;
            }
        }
        let element = self.buffer.get(self.next..self.next + size).unwrap_or_default();
        self.next += size;
        if nc == NcType::Char {
            return Ok(Element::Char(element.first().copied().unwrap_or(0)));
        }
        let number = nc.number(element);
        let missing = matches!(fill, Some(Values::Numbers(_, fill)) if fill.contains(&number));
        Ok(if missing { Element::Missing } else { Element::Number(number) })
    }

    fn next_string(&mut self) -> Outcome<&[u8]> {
        if self.next >= self.strings.len() {
            self.next = 0;
            if let Some(slab) = self.slabs.next() {
                self.strings = self.variable.array.read_variable(&slab?.selection)?;
            }
        }
        self.next += 1;
        Ok(self.strings.get(self.next - 1).unwrap_or_default())
    }
}
