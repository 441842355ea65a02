//! `ozarr from`: what a file of netCDF or HDF5 holds, as Zarr.

use crate::cdl::attributes::{Attribute, FILL, Values};
use crate::cdl::model::RECORD;
use crate::cdl::token::NcType;
use crate::failure::{Failure, Outcome};
use crate::interrupt::{Interrupt, close_copy, copied_in_part};
use crate::layout::{Layout, format};
use crate::netcdf::classic;
use crate::netcdf::file::{Dim, FLAGS, File, Stored, Unread, Variable};
use crate::netcdf::record::{self, Recorded};
use crate::output::{Progress, counted, notes, progress};
use crate::place;
use crate::slabs::Slabs;
use clap::Args;
use ozarr::dtype::DataType;
use ozarr::engine::Selection;
use ozarr::error::{Error, ErrorKind};
use ozarr::node::path::{check_kept, check_new, normalize};
use ozarr::node::{Array, Create, Format, Grid, Group, Map, Mode, Spec, Store, Value, json};
use std::path::PathBuf;

/// Chunks of the file are kept if they have that many bytes; others become chunks of the usual size.
const KEPT: std::ops::RangeInclusive<u64> = 64 << 10..=64 << 20;

/// Make Zarr of a file of netCDF (3, 4, 64-bit) or HDF5: groups, dimensions, variables, attributes with their types
///
/// The file is read by libnetcdf, which is loaded when it is needed. Elements go through bounded memory. Chunks are those of the file where
/// they have 64 KiB to 64 MiB, codecs the usual ones; the options change both, `--chunks` and `--inner-chunks` those of variables with as many dimensions. What Zarr or the reader lacks (variables and attributes of
/// compound and variable-length types, data sets of HDF5 that netCDF-C does not show, names that Zarr does not allow, texts that are not
/// UTF-8) is told and left out; attributes of HDF5 that netCDF-C does not show (of types without a name, as h5py writes truth values and
/// complex numbers) are missing without a word. That a classic file was cut off is told, too. The names of an enumeration become the attributes `flag_values` and
/// `flag_meanings`. Nothing is found at DEST before all is there. After an interruption the same command begins anew, but in an archive,
/// which cannot erase what it holds.
#[derive(Args)]
pub struct From {
    /// The file
    file: PathBuf,
    /// The group that it becomes
    dest: String,
    /// The version of Zarr (3)
    #[arg(long, value_name = "2|3", value_parser = format)]
    format: Option<Format>,
    #[command(flatten)]
    layout: Layout,
    /// Replace what is there, with all below it: in a folder at once, when all of the file is converted
    #[arg(long)]
    overwrite: bool,
    /// What was left out as a JSON list
    #[arg(long)]
    json: bool,
}

/// A variable that will be an array.
struct Planned {
    variable: Variable,
    attributes: Vec<Attribute>,
    shape: Vec<u64>,
    names: Vec<String>,
    /// How many groups above it each of its dimensions is, where another one of the same name hides one of them.
    above: Vec<u64>,
    data_type: DataType,
    /// The element that the file has where none was written, if that is known and no attribute says it.
    fill: Option<Vec<u8>>,
    grows: bool,
}

/// A group of the file, and what it becomes.
struct Part {
    path: String,
    name: String,
    dims: Vec<Dim>,
    attributes: Vec<Attribute>,
    arrays: Vec<Planned>,
    groups: Vec<Part>,
}

/// What is left out, a line for each.
type LeftOut = Vec<String>;

impl From {
    pub fn run(&self) -> Outcome {
        let lacking = self.lacking()?;
        let file = File::open(&self.file)?;
        let mut left_out = LeftOut::new();
        let top = plan(&file, file.root(), String::new(), String::new(), &[], &mut left_out)?;
        // NaN in attributes is what the file says.
        let context = place::context_with(true);
        let (store, path) = place::open(&context, &self.dest, Mode::ReadWrite)?;
        let how = if self.overwrite { Create::Overwrite } else { Create::New };
        let source = std::fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone()).display().to_string();
        self.check_ranks(&top)?;
        left_out.extend(lacking);
        let interrupt = Interrupt::watch()?;
        let bar = progress(top.bytes(), None, true);
        let mut failed = None;
        let layout = format!("{:?}", self.layout);
        let done = store.build_group(&path, (self.format, how), (&source, &layout), &mut |root| {
            bar.set_position(0);
            let copying = Copying { from: self, file: &file, dest: &store, root, interrupt: &interrupt, bar: &bar };
            copying.group(&top).map_err(|failure| {
                failed = Some(failure);
                Error::new(ErrorKind::Cancelled, String::new())
            })
        });
        bar.finish_and_clear();
        failed.map_or(Ok(()), Err)?;
        done?;
        close_copy(&store)?;
        notes(left_out.iter(), self.json)
    }

    /// Says that a classic file was cut off; an error if it was within its header. libnetcdf reads 0 for what it lacks.
    fn lacking(&self) -> Outcome<Option<String>> {
        let Ok(file) = std::fs::File::open(&self.file) else { return Ok(None) };
        let named = |e| Failure::file(&self.file.to_string_lossy(), &e);
        let length = file.metadata().map_err(named)?.len();
        let least = classic::least_length(file, length).map_err(named)?.filter(|&least| length < least);
        Ok(least.map(|least| format!("/: the file has {length} bytes, expected {least} or more: it was cut off, and what it lacks is 0")))
    }

    fn check_ranks(&self, top: &Part) -> Outcome {
        match self.layout.ranks().into_iter().find(|&rank| !top.has_rank(rank)) {
            Some(rank) => Err(Failure::Usage(format!(
                "chunks of {} fit no variable: none has {}",
                counted(rank as u64, "length"),
                counted(rank as u64, "dimension")
            ))),
            None => Ok(()),
        }
    }
}

/// Why Zarr has no node of that name, which is to be one step of a path.
fn refusal(name: &str, check: fn(&str) -> ozarr::error::Result<()>) -> Option<String> {
    match normalize(name) {
        Ok(path) if path == name => check(name).err().map(|e| e.to_string()),
        Ok(_) => Some(format!("name {name:?} has a backslash, which divides paths")),
        Err(e) => Some(e.to_string()),
    }
}

fn tell(left_out: &mut LeftOut, of: &str, unread: Vec<Unread>) {
    left_out.extend(unread.into_iter().map(|(name, why)| format!("{of}: the attribute {name}, {why}, is left out")));
}

/// Reads the structure of a group. `outer`: the dimensions of each of those around, the innermost last.
fn plan(file: &File, id: i32, path: String, name: String, outer: &[Vec<Dim>], left_out: &mut LeftOut) -> Outcome<Part> {
    let dims = file.dims(id)?;
    let around = [outer, std::slice::from_ref(&dims)].concat();
    let mut unread = Vec::new();
    let attributes = file.attributes(id, None, &mut unread)?;
    tell(left_out, if path.is_empty() { "/" } else { &path }, unread);
    let below = |child: &str| if path.is_empty() { child.to_string() } else { format!("{path}/{child}") };
    let (mut arrays, mut groups) = (Vec::new(), Vec::new());
    let wide = file.wide(&path);
    left_out.extend(
        wide.iter().map(|name| format!("{}: left out, for its numbers have more than 8 bytes, which no type of netCDF has", below(name))),
    );
    let variables = file.variables(id, &wide)?;
    left_out.extend(file.unseen(&path, &variables, &dims, &wide).iter().map(|name| {
        format!("{}: left out, for netCDF-C does not show it, as where its type has no name, or one that comes later", below(name))
    }));
    for variable in variables {
        let whole = below(&variable.name);
        arrays.extend(plan_variable(file, variable, &whole, &around, left_out)?);
    }
    for (child, name) in file.groups(id)? {
        if let Some(why) = refusal(&name, check_new) {
            left_out.push(format!("{}: left out, with all in it: {why}", below(&name)));
            continue;
        }
        groups.push(plan(file, child, below(&name), name, &around, left_out)?);
    }
    Ok(Part { path, name, dims, attributes, arrays, groups })
}

/// Reads what a variable is; none if it is left out.
fn plan_variable(
    file: &File,
    mut variable: Variable,
    whole: &str,
    around: &[Vec<Dim>],
    left_out: &mut LeftOut,
) -> Outcome<Option<Planned>> {
    if let Some(why) = refusal(&variable.name, check_kept) {
        left_out.push(format!("{whole}: left out: {why}"));
        return Ok(None);
    }
    let data_type = match &variable.stored {
        Stored::Nc(nc) => nc.in_memory(),
        Stored::Bool => DataType::Bool,
        Stored::Complex(data_type) => *data_type,
        Stored::Opaque(size) => DataType::Raw(*size),
        Stored::Other(type_name) => {
            left_out.push(format!("{whole}: left out, for its elements have the type {type_name}"));
            return Ok(None);
        }
    };
    let levels = || around.iter().rev().zip(0u64..).flat_map(|(dims, level)| dims.iter().map(move |d| (d, level)));
    let (own, mut above): (Vec<&Dim>, Vec<u64>) = variable.dims.iter().filter_map(|id| levels().find(|(d, _)| d.id == *id)).unzip();
    if own.iter().all(|d| levels().find(|(other, _)| other.name == d.name).is_some_and(|(nearest, _)| nearest.id == d.id)) {
        above.clear();
    }
    if own.len() != variable.dims.len() {
        // netCDF-C refuses to define such a variable, but stores it.
        left_out.push(format!("{whole}: left out, for it has dimensions that no group around it has"));
        return Ok(None);
    }
    let shape: Vec<u64> = own.iter().map(|d| d.length).collect();
    file.prepare_boxes(&mut variable, whole, &shape, own.iter().rposition(|d| d.unlimited).unwrap_or(0));
    if let Some(why) = unreadable(file, &mut variable, whole, &shape, data_type)? {
        left_out.push(format!("{whole}: left out, for {why}"));
        return Ok(None);
    }
    let mut unread = Vec::new();
    let mut attributes = file.attributes(variable.group, Some(variable.id), &mut unread)?;
    let is_stated = attributes.iter().map(|a| &a.name).chain(unread.iter().map(|(name, _)| name)).any(|name| name == FILL);
    let fill = if is_stated { None } else { file.fill(&variable, data_type.size()) };
    if !attributes.iter().any(|a| a.name == FLAGS.0 || a.name == FLAGS.1) {
        attributes.extend(file.flags(&variable)?);
    }
    if let Stored::Nc(nc) = variable.stored
        && let Some(place) = attributes.iter().position(|a| a.name == FILL)
    {
        match record::fill_of(&attributes[place].values, nc) {
            Some(values) => attributes[place].values = values,
            None => unread.push((attributes.remove(place).name, "which is no value of the variable's type")),
        }
    }
    tell(left_out, whole, unread);
    let (names, grows) = (own.iter().map(|d| d.name.clone()).collect(), own.iter().any(|d| d.unlimited));
    Ok(Some(Planned { variable, attributes, shape, names, above, data_type, fill, grows }))
}

/// Why the elements of a variable cannot be stored, if they cannot. Texts are all read for that: what is found later would end the whole copy.
fn unreadable(file: &File, variable: &mut Variable, whole: &str, shape: &[u64], data_type: DataType) -> Outcome<Option<&'static str>> {
    const NOTHING: &str = "its element cannot be read, as of a data set of HDF5 without any";
    let is_text = variable.stored == Stored::Nc(NcType::String);
    if shape.is_empty() && !file.has_element(variable, data_type.size())? {
        return Ok(Some(NOTHING));
    }
    if !is_text || shape.contains(&0) {
        return Ok(None);
    }
    if !file.prepare_texts(variable, whole) {
        return Ok(Some("this version of netCDF-C may join its texts, which 4.9.1 does not"));
    }
    let (grid, selection) = (Grid::regular(shape.iter().map(|_| 1).collect())?, Selection::all(shape));
    for slab in Slabs::new(shape, &grid, &selection, data_type.size(), false) {
        let part = slab?.selection;
        let texts = file.read_strings(variable, part.start(), part.shape())?;
        if (0..texts.len()).any(|i| std::str::from_utf8(texts.get(i).unwrap_or_default()).is_err()) {
            return Ok(Some("its texts are not UTF-8"));
        }
    }
    Ok(None)
}

impl Part {
    fn bytes(&self) -> u64 {
        self.arrays.iter().map(Planned::bytes).chain(self.groups.iter().map(Part::bytes)).fold(0, u64::saturating_add)
    }

    fn record(&self, classic: bool) -> Value {
        let chunked = |a: &Planned| a.variable.chunks.is_some() && !a.grows;
        let variables = self.arrays.iter().map(|a| Recorded {
            name: &a.variable.name,
            attributes: &a.attributes,
            chunked: chunked(a),
            above: &a.above,
        });
        let variables: Vec<_> = variables.collect();
        let groups: Vec<&str> = self.groups.iter().map(|g| g.name.as_str()).collect();
        record::of_group(classic, &self.dims, &variables, &groups, &self.attributes)
    }

    fn has_rank(&self, rank: usize) -> bool {
        self.arrays.iter().any(|a| a.shape.len() == rank) || self.groups.iter().any(|g| g.has_rank(rank))
    }
}

impl Planned {
    fn bytes(&self) -> u64 {
        self.shape.iter().fold(self.data_type.size() as u64, |n, &c| n.saturating_mul(c))
    }

    fn nc(&self) -> Option<NcType> {
        match self.variable.stored {
            Stored::Nc(nc) => Some(nc),
            _ => None,
        }
    }

    fn spec(&self, layout: &Layout, version: Format) -> Outcome<Spec> {
        let mut spec = Spec::new(self.data_type, &self.shape)?;
        spec.set_format(version)?;
        // xarray asks for them in format 2 even where there are no dimensions.
        spec.set_dimension_names(self.names.iter().map(|name| Some(name.clone())).collect())?;
        if let Some(chunks) = &self.variable.chunks {
            let bytes = chunks.iter().fold(self.data_type.size() as u64, |n, &c| n.saturating_mul(c));
            if KEPT.contains(&bytes) {
                spec.set_chunks(chunks)?;
            }
        }
        layout.apply_to_copy(&mut spec, true)?;
        self.set_fill(&mut spec, version)?;
        let attributes = record::members(&self.attributes, self.nc(), version);
        spec.set_attributes_json(&json::to_text(&Value::Object(attributes)))?;
        Ok(spec)
    }

    /// Elements that were never written have the value of the attribute, else the one that they have in the file.
    fn set_fill(&self, spec: &mut Spec, version: Format) -> Outcome {
        let stated = self.attributes.iter().find(|a| a.name == FILL).map(|a| &a.values);
        let element = match (self.nc(), stated) {
            (Some(nc), Some(Values::Numbers(of, all))) if *of == nc && all.len() == 1 => Some(nc.bytes(all[0])),
            (Some(NcType::Char), Some(Values::Chars(byte))) if byte.len() == 1 => Some(byte.clone()),
            (Some(NcType::String), Some(Values::Strings(all))) if all.len() == 1 => {
                return Ok(spec.set_fill_json(&json::to_text(&Value::from(all[0].as_str())))?);
            }
            // In format 2 a fill value means "missing".
            _ if version == Format::V2 => return Ok(spec.set_fill_json("null")?),
            (nc, _) => self.fill.clone().or_else(|| nc.and_then(|nc| Some(nc.bytes(nc.default_fill()?)))),
        };
        match element {
            Some(element) => Ok(spec.set_fill(self.data_type, &element)?),
            None => Ok(()),
        }
    }
}

/// The work, and what it takes.
struct Copying<'a> {
    from: &'a From,
    file: &'a File,
    dest: &'a Store,
    /// The group that nobody else finds yet.
    root: &'a Group,
    interrupt: &'a Interrupt,
    bar: &'a Progress,
}

impl Copying<'_> {
    fn group(&self, part: &Part) -> Outcome {
        let (store, format) = (self.root.store(), self.root.format());
        let group = match part.path.as_str() {
            "" => self.root.clone(),
            path => Group::create(store, path, Some(format), Create::New)?,
        };
        let classic = part.path.is_empty() && self.file.is_classic()?;
        let mut attributes: Map = record::members(&part.attributes, None, format);
        let record = part.record(classic);
        // NCZarr opens no file of format 2 in which a group has an attribute that is an object.
        let record = if format == Format::V2 { json::to_compact(&record).as_str().into() } else { record };
        attributes.insert(RECORD.into(), record);
        group.attributes().replace_shown(attributes)?;
        for planned in &part.arrays {
            let spec = planned.spec(&self.from.layout, format)?;
            let array = Array::create_kept(store, &format!("{}/{}", part.path, planned.variable.name), &spec)?;
            self.elements(planned, &array)?;
        }
        part.groups.iter().try_for_each(|child| self.group(child))
    }

    fn elements(&self, planned: &Planned, array: &Array) -> Outcome {
        if planned.shape.contains(&0) {
            return Ok(());
        }
        let (grid, selection) = (array.grid(), Selection::all(&planned.shape));
        let size = planned.data_type.size().max(1);
        let mut buffer = Vec::new();
        for slab in Slabs::new(&planned.shape, &grid, &selection, size, false) {
            let slab = slab?;
            let part = &slab.selection;
            if planned.nc() == Some(NcType::String) {
                let strings = self.file.read_strings(&planned.variable, part.start(), part.shape())?;
                array.write_variable(part, &strings.offsets, &strings.data)?;
            } else {
                slab.fit(&mut buffer)?;
                self.file.read(&planned.variable, part.start(), part.shape(), &mut buffer)?;
                slab.write(array, planned.data_type, &mut buffer)?;
            }
            self.bar.inc(slab.size as u64);
            if self.interrupt.is_asked() {
                return Err(Failure::Interrupted(copied_in_part(self.dest, "file", "the same command")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdl::token::Number;

    fn planned(stored: Stored, data_type: DataType) -> Planned {
        let variable =
            Variable { group: 0, id: 0, name: "v".into(), stored, dims: vec![0], chunks: None, single: 0, text_length: None, extent: None };
        Planned {
            variable,
            attributes: Vec::new(),
            shape: vec![3],
            names: vec!["x".into()],
            above: Vec::new(),
            data_type,
            fill: None,
            grows: false,
        }
    }

    /// In format 2 the fill value is what readers take for missing.
    #[test]
    fn only_what_is_stated_is_missing_in_format_2() {
        let layout = Layout::default();
        let fill = |planned: &Planned, format| {
            let spec = planned.spec(&layout, format).map_err(|_| "spec").unwrap();
            let document = spec.to_json().unwrap();
            json::to_compact(&json::parse_text(document.lines().collect::<String>().as_str()).unwrap()["fill_value"])
        };
        let mut stated = planned(Stored::Nc(NcType::Short), DataType::Int16);
        stated.attributes.push(Attribute { name: FILL.into(), values: Values::Numbers(NcType::Short, vec![Number::Integer(-9)]) });
        let mut known = planned(Stored::Nc(NcType::Byte), DataType::Int8);
        known.fill = Some(vec![7]);
        let cases = [
            (stated, "-9", "-9"),
            (known, "null", "7"),
            (planned(Stored::Nc(NcType::Short), DataType::Int16), "null", "-32767"),
            (planned(Stored::Bool, DataType::Bool), "null", "false"),
            (planned(Stored::Complex(DataType::Complex64), DataType::Complex64), "null", "[0.0,0.0]"),
            (planned(Stored::Opaque(2), DataType::Raw(2)), "null", "\"AAA=\""),
        ];
        for (planned, v2, v3) in cases {
            assert_eq!((fill(&planned, Format::V2).as_str(), fill(&planned, Format::V3).as_str()), (v2, v3), "{:?}", planned.data_type);
        }
    }
}
