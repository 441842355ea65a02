//! `ozarr stats`: least, greatest and mean value, deviation, and what is missing.

use crate::blocks::{self, Blocks, Cut};
use crate::failure::{Failure, Outcome};
use crate::moments::{Bins, Moments, NUMBERS, as_number};
use crate::output::{line, object, print, progress};
use crate::place::Place;
use crate::region::Region;
use clap::Args;
use ozarr::dtype::fill::Fill;
use ozarr::dtype::{Element, Kind};
use ozarr::engine::Selection;
use ozarr::node::{Array, Mode, Value, json};

/// Tell of an array of numbers its least, greatest and mean value, the standard deviation, and how many elements are missing
///
/// Missing are those that the attributes _FillValue and missing_value say (in Zarr 2 the fill value, too), and times that are "not a
/// time". They, NaN and infinities do not count for the other figures. Integers are exact. Times are counts.
#[derive(Args)]
pub struct Stats {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    region: Region,
    /// How many elements are in each of N equal parts between the least and the greatest value (reads twice)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = clap::value_parser!(u16).range(1..))]
    histogram: Option<u16>,
    /// A line for each chunk
    #[arg(long)]
    map: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub fn run(&self) -> Outcome {
        let array = self.place.array(Mode::Read)?;
        let data_type = as_number(array.data_type());
        let data_type = data_type.ok_or_else(|| {
            let name = array.data_type().name();
            Failure::Error(format!("{} has elements of type {name}; statistics are of {NUMBERS}", self.place.name()))
        })?;
        let selection = self.region.selection(&array.shape(), None)?;
        let missing = missing(&array)?;
        let total = selection.shape().iter().fold(data_type.size() as u64, |n, &c| n.saturating_mul(c));
        let passes = 1 + u64::from(self.histogram.is_some());
        let bar = progress(total.saturating_mul(passes), None, true);
        let cut = if self.map { Cut::EachChunk } else { Cut::Chunks };
        let all_blocks = Blocks::new(&array, selection.clone(), data_type.size(), cut);
        let (mut all, mut chunks) = (Moments::default(), Vec::new());
        let work = |block: &blocks::Block, buffer: &mut Vec<u8>| {
            blocks::read(&array, &all_blocks.part(block)?, data_type, buffer)?;
            Ok(Moments::of(data_type, buffer, &missing))
        };
        let mut text = String::new();
        all_blocks.each(Some(&bar), work, |block, found| {
            all.add(&found);
            if self.map && self.json {
                chunks.push(object([("chunk", chunk_of(&array, &all_blocks.part(&block)?).into())].into_iter().chain(found.members())));
            } else if self.map {
                text = format!("{:?}  {}", chunk_of(&array, &all_blocks.part(&block)?), found.short());
                bar.above(|| line(&text))?;
            }
            Ok(())
        })?;
        let mut bins = None;
        if let (Some(n), Some((least, greatest))) = (self.histogram, all.range()) {
            let mut sum = Bins::new(least, greatest, n.into());
            let empty = sum.clone();
            let work = |block: &blocks::Block, buffer: &mut Vec<u8>| {
                blocks::read(&array, &all_blocks.part(block)?, data_type, buffer)?;
                Ok(empty.clone().count(data_type, buffer, &missing))
            };
            all_blocks.each(Some(&bar), work, |_, found| {
                sum.add(&found);
                Ok(())
            })?;
            bins = Some(sum);
        }
        bar.finish_and_clear();
        if self.json {
            let more = bins.map(|bins| ("histogram", bins.json()));
            let chunks = self.map.then_some(("map", Value::Array(chunks.into())));
            return line(&json::to_text(&object(all.members().into_iter().chain(more).chain(chunks))));
        }
        print(&format!("{}{}", all.text(), bins.map(|bins| bins.text()).unwrap_or_default()))
    }
}

/// The bytes of the elements that are missing, in the type that they are read as.
fn missing(array: &Array) -> Outcome<Vec<Vec<u8>>> {
    let from = array.data_type();
    let all = array.missing_values()?.into_iter();
    if from.kind() != Kind::Float || from.size() >= size_of::<f32>() {
        return Ok(all.map(|element| element.to_vec()).collect());
    }
    // A narrow float is read as a float32.
    let single = |element: Element| match Fill::from_bytes(&element).to_json_v3(from) {
        Value::String(text) => text.parse::<f32>().ok(),
        number => number.as_f64().map(|x| x as f32),
    };
    Ok(all.filter_map(single).map(|x| x.to_ne_bytes().to_vec()).collect())
}

/// The index of the chunk in which a selection begins.
fn chunk_of(array: &Array, selection: &Selection) -> Vec<u64> {
    let grid = array.grid();
    selection.start().iter().enumerate().map(|(d, &i)| grid.chunk_of(d, i)).collect()
}
