//! A file that netCDF-C reads: its groups, dimensions, variables, attributes and elements.

use super::hdf5::Hdf5;
use super::library::Library;
use crate::cdl::attributes::{Attribute, Values};
use crate::cdl::token::NcType;
use crate::failure::{Failure, Outcome};
use ozarr::dtype::DataType;
use ozarr::node::variable::Variable as Strings;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;

/// The number of what belongs to a group itself.
const GLOBAL: c_int = -1;
/// Room for a name: netCDF's have 256 bytes at most.
const NAME: usize = 1024;
/// The attributes of the CF conventions that have the values and the names of an enumeration.
pub const FLAGS: (&str, &str) = ("flag_values", "flag_meanings");
/// The class numbers of types that users define.
const OPAQUE: c_int = 14;
const ENUM: c_int = 15;
const COMPOUND: c_int = 16;
/// The formats of the classic model are those with other numbers than these two.
const NETCDF4: c_int = 3;
/// The status of what HDF5 cannot do with one data set: NC_EHDFERR.
const UNREADABLE: c_int = -101;

/// An open file.
pub struct File {
    pub(super) library: Library,
    hdf5: Option<Hdf5>,
    name: String,
    root: c_int,
}

/// A dimension.
#[derive(Clone)]
pub struct Dim {
    pub id: c_int,
    pub name: String,
    pub length: u64,
    pub unlimited: bool,
}

/// What elements are.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    Nc(NcType),
    /// An enumeration of FALSE and TRUE.
    Bool,
    /// A compound of two real numbers `r` and `i`.
    Complex(DataType),
    Opaque(u32),
    /// A type that is not copied, and its name.
    Other(String),
}

/// A variable.
pub struct Variable {
    pub group: c_int,
    pub id: c_int,
    pub name: String,
    pub stored: Stored,
    pub dims: Vec<c_int>,
    /// The shape of its chunks, where it has some.
    pub chunks: Option<Vec<u64>>,
    /// Along how many of the first dimensions it is read by one index at a time.
    pub single: usize,
    /// The length of its texts where these have no end.
    pub text_length: Option<usize>,
    /// The shape of its data set where this is shorter than the dimensions.
    pub extent: Option<Vec<u64>>,
}

/// The name of an attribute that is left out, and why.
pub type Unread = (String, &'static str);

/// The two calls that lists take: how many there are, and all.
type List<'a> = &'a dyn Fn(*mut c_int, *mut c_int) -> c_int;

impl File {
    /// Opens a file for reading.
    pub fn open(path: &Path) -> Outcome<File> {
        let name = path.to_string_lossy().into_owned();
        let text =
            CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| Failure::Error(format!("{name:?} is no name of a file")))?;
        let mut file = File { library: Library::load()?, hdf5: None, name, root: 0 };
        // SAFETY: the text ends with NUL.
        let status = unsafe { (file.library.nc_open)(text.as_ptr(), 0, &mut file.root) };
        if status != 0 {
            let failure = file.failure("it cannot be opened as netCDF or HDF5", status);
            // There is nothing to close.
            std::mem::forget(file);
            return Err(failure);
        }
        file.hdf5 = Hdf5::of(&file.library);
        Ok(file)
    }

    fn failure(&self, what: &str, status: c_int) -> Failure {
        let text = if status > 0 { std::io::Error::from_raw_os_error(status).to_string() } else { self.library.text(status) };
        Failure::Error(format!("{}: {what}: {text}", self.name))
    }

    fn check(&self, what: &str, status: c_int) -> Outcome {
        if status == 0 { Ok(()) } else { Err(self.failure(what, status)) }
    }

    fn list(&self, what: &str, call: List<'_>) -> Outcome<Vec<c_int>> {
        let mut count = 0;
        self.check(what, call(&mut count, null_mut()))?;
        let mut all = vec![0; usize::try_from(count).unwrap_or(0)];
        if !all.is_empty() {
            self.check(what, call(&mut count, all.as_mut_ptr()))?;
        }
        Ok(all)
    }

    fn named(&self, what: &str, call: &dyn Fn(*mut c_char) -> c_int) -> Outcome<String> {
        let mut buffer = vec![0; NAME];
        self.check(what, call(buffer.as_mut_ptr()))?;
        buffer[NAME - 1] = 0;
        // SAFETY: the buffer ends with NUL.
        Ok(unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// The number of the root group.
    pub fn root(&self) -> c_int {
        self.root
    }

    /// Whether it has the classic data model.
    pub fn is_classic(&self) -> Outcome<bool> {
        let mut format = 0;
        // SAFETY: the file is open; so it is in all calls below, where every pointer has room for what is asked for.
        self.check("its format", unsafe { (self.library.nc_inq_format)(self.root, &mut format) })?;
        Ok(format != NETCDF4)
    }

    /// The groups in a group, with their names.
    pub fn groups(&self, group: c_int) -> Outcome<Vec<(c_int, String)>> {
        // SAFETY: see `is_classic`.
        let all = self.list("its groups", &|n, all| unsafe { (self.library.nc_inq_grps)(group, n, all) })?;
        // SAFETY: see `is_classic`.
        let name = |id| self.named("the name of a group", &|text| unsafe { (self.library.nc_inq_grpname)(id, text) });
        all.into_iter().map(|id| Ok((id, name(id)?))).collect()
    }

    /// The dimensions that a group defines.
    pub fn dims(&self, group: c_int) -> Outcome<Vec<Dim>> {
        let library = &self.library;
        // SAFETY: see `is_classic`.
        let all = self.list("its dimensions", &|n, all| unsafe { (library.nc_inq_dimids)(group, n, all, 0) })?;
        // SAFETY: see `is_classic`.
        let unlimited = self.list("its dimensions", &|n, all| unsafe { (library.nc_inq_unlimdims)(group, n, all) })?;
        let one = |id| {
            let mut length = 0;
            let place = &raw mut length;
            // SAFETY: see `is_classic`.
            let name = self.named("a dimension", &|text| unsafe { (library.nc_inq_dim)(group, id, text, place) })?;
            Ok(Dim { id, name, length: length as u64, unlimited: unlimited.contains(&id) })
        };
        all.into_iter().map(one).collect()
    }

    /// The variables of the group at a path whose numbers netCDF-C has no type for. It takes them for texts, and whoever asks what they are, or
    /// reads them, for a program that gives them memory for texts.
    pub fn wide(&self, path: &str) -> Vec<String> {
        self.hdf5.as_ref().map_or_else(Vec::new, |hdf5| hdf5.wide(path))
    }

    /// The variables of a group, without those of these names, of which nothing is asked.
    pub fn variables(&self, group: c_int, without: &[String]) -> Outcome<Vec<Variable>> {
        // SAFETY: see `is_classic`.
        let mut all = self.list("its variables", &|n, all| unsafe { (self.library.nc_inq_varids)(group, n, all) })?;
        for name in without {
            let (text, mut id) = (CString::new(name.as_str()).unwrap_or_default(), GLOBAL);
            // SAFETY: see `is_classic`. A version that does not show such a variable finds none.
            unsafe { (self.library.nc_inq_varid)(group, text.as_ptr(), &mut id) };
            all.retain(|&other| other != id);
        }
        all.into_iter().map(|id| self.variable(group, id)).collect()
    }

    fn variable(&self, group: c_int, id: c_int) -> Outcome<Variable> {
        let library = &self.library;
        let (mut number, mut rank, mut storage) = (0, 0, 1);
        // SAFETY: see `is_classic`.
        self.check("a variable", unsafe { (library.nc_inq_var)(group, id, null_mut(), &mut number, &mut rank, null_mut(), null_mut()) })?;
        let mut dims = vec![0; usize::try_from(rank).unwrap_or(0)];
        let place = dims.as_mut_ptr();
        // SAFETY: see `is_classic`.
        let name =
            self.named("a variable", &|text| unsafe { (library.nc_inq_var)(group, id, text, null_mut(), null_mut(), place, null_mut()) })?;
        let mut chunks = vec![0usize; dims.len()];
        // SAFETY: see `is_classic`.
        let status = unsafe { (library.nc_inq_var_chunking)(group, id, &mut storage, chunks.as_mut_ptr()) };
        let chunked = status == 0 && storage == 0 && !chunks.is_empty();
        let chunks = chunked.then(|| chunks.into_iter().map(|n| n as u64).collect());
        let stored = self.stored(group, number)?;
        Ok(Variable { group, id, name, stored, dims, chunks, single: 0, text_length: None, extent: None })
    }

    /// What elements of a type are.
    fn stored(&self, group: c_int, number: c_int) -> Outcome<Stored> {
        if let Some(nc) = NcType::numbered(number) {
            return Ok(Stored::Nc(nc));
        }
        let (mut size, mut base, mut fields, mut class) = (0, 0, 0, 0);
        let places = (&raw mut size, &raw mut base, &raw mut fields, &raw mut class);
        // SAFETY: see `is_classic`.
        let name = self.named("a type", &|text| unsafe {
            (self.library.nc_inq_user_type)(group, number, text, places.0, places.1, places.2, places.3)
        })?;
        Ok(match (class, NcType::numbered(base)) {
            (OPAQUE, _) => Stored::Opaque(u32::try_from(size).unwrap_or(u32::MAX)),
            (ENUM, Some(NcType::Byte | NcType::UByte)) if self.is_truth(group, number, fields) => Stored::Bool,
            (ENUM, Some(nc)) => Stored::Nc(nc),
            (COMPOUND, _) if fields == 2 => self.complex(group, number).unwrap_or(Stored::Other(name)),
            _ => Stored::Other(name),
        })
    }

    /// The attributes that say the names of a variable's enumeration, if its elements are of one.
    pub fn flags(&self, variable: &Variable) -> Outcome<Vec<Attribute>> {
        let (library, group) = (&self.library, variable.group);
        let Stored::Nc(nc) = variable.stored else { return Ok(Vec::new()) };
        let (mut number, mut members) = (0, 0);
        // SAFETY: see `is_classic`.
        self.check("a variable", unsafe {
            (library.nc_inq_var)(group, variable.id, null_mut(), &mut number, null_mut(), null_mut(), null_mut())
        })?;
        if NcType::numbered(number).is_some() {
            return Ok(Vec::new());
        }
        // SAFETY: see `is_classic`; what is stored as numbers is an enumeration.
        self.check("a type", unsafe {
            (library.nc_inq_user_type)(group, number, null_mut(), null_mut(), null_mut(), &mut members, null_mut())
        })?;
        let (mut values, mut words) = (Vec::new(), Vec::new());
        for i in 0..c_int::try_from(members).unwrap_or(0) {
            let mut value = [0u8; 16];
            let place = value.as_mut_ptr().cast();
            // SAFETY: see `is_classic`; a value has eight bytes at most.
            words.push(
                self.named("a type", &|text| unsafe { (library.nc_inq_enum_member)(group, number, i, text, place) })?.replace(' ', "_"),
            );
            values.push(nc.number(&value));
        }
        let attribute = |name: &str, values| Attribute { name: name.into(), values };
        Ok(vec![attribute(FLAGS.0, Values::Numbers(nc, values)), attribute(FLAGS.1, Values::Chars(words.join(" ").into_bytes()))])
    }

    fn is_truth(&self, group: c_int, number: c_int, members: usize) -> bool {
        let member = |i: c_int| {
            let mut value = [0u8; 16];
            let place = value.as_mut_ptr().cast();
            // SAFETY: see `is_classic`; a value has one byte here.
            let name = self.named("a type", &|text| unsafe { (self.library.nc_inq_enum_member)(group, number, i, text, place) });
            name.ok().map(|name| (name.to_ascii_uppercase(), value[0]))
        };
        members == 2 && member(0) == Some(("FALSE".into(), 0)) && member(1) == Some(("TRUE".into(), 1))
    }

    fn complex(&self, group: c_int, number: c_int) -> Option<Stored> {
        let field = |i: c_int| {
            let (mut of, mut rank) = (0, 0);
            let (of_place, rank_place) = (&raw mut of, &raw mut rank);
            // SAFETY: see `is_classic`; the lengths of a field's dimensions are not asked for.
            let name = self.named("a type", &|text| unsafe {
                (self.library.nc_inq_compound_field)(group, number, i, text, null_mut(), of_place, rank_place, null_mut())
            });
            name.ok().filter(|_| rank == 0).map(|name| (name, NcType::numbered(of)))
        };
        match (field(0)?, field(1)?) {
            ((r, Some(NcType::Double)), (i, Some(NcType::Double))) if r == "r" && i == "i" => Some(Stored::Complex(DataType::Complex128)),
            ((r, Some(NcType::Float)), (i, Some(NcType::Float))) if r == "r" && i == "i" => Some(Stored::Complex(DataType::Complex64)),
            _ => None,
        }
    }

    /// The attributes of a group, or of a variable of it. Those that cannot be copied are named in `left_out`, each with the reason.
    pub fn attributes(&self, group: c_int, variable: Option<c_int>, left_out: &mut Vec<Unread>) -> Outcome<Vec<Attribute>> {
        let of = variable.unwrap_or(GLOBAL);
        let mut count = 0;
        // SAFETY: see `is_classic`.
        self.check("its attributes", unsafe {
            match variable {
                None => (self.library.nc_inq_natts)(group, &mut count),
                Some(id) => (self.library.nc_inq_var)(group, id, null_mut(), null_mut(), null_mut(), null_mut(), &mut count),
            }
        })?;
        let mut all = Vec::new();
        for i in 0..count {
            // SAFETY: see `is_classic`.
            let name = self.named("an attribute", &|text| unsafe { (self.library.nc_inq_attname)(group, of, i, text) })?;
            match self.values(group, of, &name)? {
                Ok(values) => all.push(Attribute { name, values }),
                Err(why) => left_out.push((name, why)),
            }
        }
        Ok(all)
    }

    fn values(&self, group: c_int, of: c_int, name: &str) -> Outcome<Result<Values, &'static str>> {
        let Ok(text) = CString::new(name) else { return Ok(Err("whose name has NUL")) };
        let (mut number, mut count) = (0, 0);
        // SAFETY: see `is_classic`.
        self.check("an attribute", unsafe { (self.library.nc_inq_att)(group, of, text.as_ptr(), &mut number, &mut count) })?;
        let nc = match self.stored(group, number)? {
            Stored::Nc(nc) => nc,
            Stored::Bool => NcType::Byte,
            _ => return Ok(Err("which has a type of its own")),
        };
        if nc == NcType::String {
            let mut places = vec![null_mut::<c_char>(); count];
            // SAFETY: see `is_classic`.
            self.check("an attribute", unsafe { (self.library.nc_get_att)(group, of, text.as_ptr(), places.as_mut_ptr().cast()) })?;
            let all: Result<_, _> = self.take_strings(&mut places, None).into_iter().map(String::from_utf8).collect();
            return Ok(all.map(Values::Strings).map_err(|_| "whose text is not UTF-8"));
        }
        let size = nc.in_memory().size();
        let mut bytes = vec![0u8; count * size];
        // SAFETY: see `is_classic`.
        self.check("an attribute", unsafe { (self.library.nc_get_att)(group, of, text.as_ptr(), bytes.as_mut_ptr().cast()) })?;
        Ok(Ok(match nc {
            NcType::Char => Values::Chars(bytes),
            nc => Values::Numbers(nc, bytes.chunks_exact(size).map(|b| nc.number(b)).collect()),
        }))
    }

    /// The texts at these places, which are freed. Those of a length that is given end there or with NUL.
    fn take_strings(&self, places: &mut [*mut c_char], length: Option<usize>) -> Vec<Vec<u8>> {
        let most = length.unwrap_or(isize::MAX as usize);
        let text = |&place: &*mut c_char| match place.is_null() {
            true => Vec::new(),
            // SAFETY: netCDF-C made it; it has NUL behind it, or `most` bytes.
            false => unsafe { std::slice::from_raw_parts(place.cast::<u8>(), libc::strnlen(place, most)) }.to_vec(),
        };
        let all = places.iter().map(text).collect();
        // SAFETY: as above; they are not used any more.
        unsafe { (self.library.nc_free_string)(places.len(), places.as_mut_ptr()) };
        all
    }

    /// Sees to it that the texts of the variable of that path are read as they are; false where that cannot be.
    pub fn prepare_texts(&self, variable: &mut Variable, whole: &str) -> bool {
        if !self.library.joins_texts() {
            return true;
        }
        let Some(length) = self.hdf5.as_ref().and_then(|hdf5| hdf5.text_length(whole)) else { return false };
        if length > 0 {
            (variable.text_length, variable.single) = (Some(length), variable.dims.len());
        }
        true
    }

    /// Finds out how the elements of the variable of that path are read, along dimensions of these lengths of which `last` is the last that grows.
    ///
    /// Of a variable that is shorter than its dimensions netCDF-C 4.9 gives the elements that there are in front of those that there are not,
    /// whatever rows they are of. Where HDF5 does not tell its length, what is in front of `last` is read row by row, as ncdump does, for which
    /// chunks are decoded again and again.
    pub fn prepare_boxes(&self, variable: &mut Variable, whole: &str, shape: &[u64], last: usize) {
        if last == 0 {
            return;
        }
        match self.hdf5.as_ref().and_then(|hdf5| hdf5.extent(whole)).filter(|extent| extent.len() == shape.len()) {
            Some(extent) if extent == shape => {}
            extent => (variable.single, variable.extent) = (last, extent),
        }
    }

    /// The data sets of the group at a path that netCDF-C does not show: neither as variables nor as dimensions.
    pub fn unseen(&self, path: &str, variables: &[Variable], dims: &[Dim], wide: &[String]) -> Vec<String> {
        let shown = variables.iter().map(|v| v.name.as_str()).chain(dims.iter().map(|d| d.name.as_str()));
        let known: HashSet<&str> = shown.chain(wide.iter().map(String::as_str)).collect();
        self.hdf5.as_ref().map_or_else(Vec::new, |hdf5| hdf5.others(path, &known))
    }

    /// Reads a box of elements of fixed size, which `buffer` has room for.
    pub fn read(&self, variable: &Variable, start: &[u64], count: &[u64], buffer: &mut [u8]) -> Outcome {
        match &variable.extent {
            Some(extent) => self.read_short(variable, extent, start, count, buffer)?,
            None => self.read_into(variable, start, count, buffer)?,
        }
        if variable.stored == Stored::Bool {
            // What was never written, or is beyond the variable's end, is the fill value of a byte.
            buffer.iter_mut().for_each(|b| *b = u8::from(*b == 1));
        }
        Ok(())
    }

    /// Whether the one element of a variable without dimensions, of `size` bytes, can be read; an error if anything else is in the way.
    pub fn has_element(&self, variable: &Variable, size: usize) -> Outcome<bool> {
        let mut places = vec![null_mut::<c_char>(); size.div_ceil(size_of::<*mut c_char>()).max(1)];
        let none = [0usize; 0];
        // SAFETY: see `is_classic`; the memory has room for the element.
        let status =
            unsafe { (self.library.nc_get_vara)(variable.group, variable.id, none.as_ptr(), none.as_ptr(), places.as_mut_ptr().cast()) };
        if status == 0 && variable.stored == Stored::Nc(NcType::String) {
            self.take_strings(&mut places[..1], Some(0));
        }
        if status == UNREADABLE { Ok(false) } else { self.check(&format!("the element of {}", variable.name), status).map(|()| true) }
    }

    /// Reads a box into memory that has room for its elements and no more.
    fn read_into<T>(&self, variable: &Variable, start: &[u64], count: &[u64], memory: &mut [T]) -> Outcome {
        let (mut at, mut each) = (start.to_vec(), count.to_vec());
        each[..variable.single].fill(1);
        let parts = product(&count[..variable.single]);
        let length = memory.len() / parts.max(1);
        for (i, part) in memory.chunks_exact_mut(length.max(1)).enumerate() {
            let mut rest = i as u64;
            for d in (0..variable.single).rev() {
                at[d] = start[d] + rest % count[d];
                rest /= count[d];
            }
            self.read_box(variable, &at, &each, part)?;
        }
        Ok(())
    }

    /// Reads a box at once.
    fn read_box<T>(&self, variable: &Variable, start: &[u64], count: &[u64], memory: &mut [T]) -> Outcome {
        let sizes = |all: &[u64]| all.iter().map(|&n| n as usize).collect::<Vec<_>>();
        let (start, count) = (sizes(start), sizes(count));
        // SAFETY: see `is_classic`; the memory has room for the elements.
        let status =
            unsafe { (self.library.nc_get_vara)(variable.group, variable.id, start.as_ptr(), count.as_ptr(), memory.as_mut_ptr().cast()) };
        self.check(&format!("the elements of {}", variable.name), status)
    }

    /// Reads a box of a variable that is shorter than its dimensions.
    fn read_short(&self, variable: &Variable, extent: &[u64], start: &[u64], count: &[u64], buffer: &mut [u8]) -> Outcome {
        let there: Vec<u64> = (0..count.len()).map(|d| extent[d].saturating_sub(start[d]).min(count[d])).collect();
        let size = buffer.len() / product(count).max(1);
        let mut fill = vec![0; size];
        if let Some(d) = (0..count.len()).find(|&d| there[d] < count[d]) {
            let mut lacking = start.to_vec();
            lacking[d] += count[d] - 1;
            self.read_box(variable, &lacking, &vec![1; count.len()], &mut fill)?;
        }
        let length = product(&there) * size;
        if length > 0 {
            self.read_box(variable, start, &there, &mut buffer[..length])?;
        }
        spread(buffer, &fill, &there, count);
        Ok(())
    }

    /// Reads a box of strings.
    pub fn read_strings(&self, variable: &Variable, start: &[u64], count: &[u64]) -> Outcome<Strings> {
        let mut places = vec![null_mut::<c_char>(); product(count)];
        self.read_into(variable, start, count, &mut places)?;
        let mut all = Strings { offsets: vec![0], data: Vec::new() };
        for text in self.take_strings(&mut places, variable.text_length) {
            all.data.extend_from_slice(&text);
            all.offsets.push(all.data.len() as i64);
        }
        Ok(all)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the file is open. It was only read, so that a failure means nothing.
        unsafe { (self.library.nc_close)(self.root) };
    }
}

fn product(count: &[u64]) -> usize {
    count.iter().product::<u64>() as usize
}

/// Moves the elements of a box of shape `there` from the front of `buffer` to their places in the box of shape `count` that it is, and fills the
/// others.
fn spread(buffer: &mut [u8], fill: &[u8], there: &[u64], count: &[u64]) {
    let last = count.len() - 1;
    let (row, part) = (count[last] as usize * fill.len(), there[last] as usize * fill.len());
    let mut left = product(&there[..last]);
    // No row is moved over one that is still to be moved.
    for i in (0..buffer.len() / row).rev() {
        let (mut rest, mut kept) = (i as u64, part);
        for d in (0..last).rev() {
            if rest % count[d] >= there[d] {
                kept = 0;
            }
            rest /= count[d];
        }
        if kept > 0 {
            left -= 1;
            buffer.copy_within(left * part..(left + 1) * part, i * row);
        }
        buffer[i * row + kept..(i + 1) * row].chunks_exact_mut(fill.len()).for_each(|element| element.copy_from_slice(fill));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_of_a_box_goes_to_its_place_and_the_rest_is_filled() {
        for count in [[1u64, 1, 1], [2, 3, 4], [3, 1, 5], [1, 4, 2]] {
            for i in 0..product(&count.map(|n| n + 1)) as u64 {
                let there = [i / (count[2] + 1) / (count[1] + 1), i / (count[2] + 1) % (count[1] + 1), i % (count[2] + 1)];
                let (mut buffer, mut wanted, mut n) = (vec![99; product(&count) * 2], Vec::new(), 0);
                for k in 0..product(&count) as u64 {
                    let at = [k / count[2] / count[1], k / count[2] % count[1], k % count[2]];
                    if (0..3).all(|d| at[d] < there[d]) {
                        buffer[n..n + 2].copy_from_slice(&[k as u8, 1]);
                        wanted.extend([k as u8, 1]);
                        n += 2;
                    } else {
                        wanted.extend([7, 8]);
                    }
                }
                spread(&mut buffer, &[7, 8], &there, &count);
                assert_eq!(buffer, wanted, "{there:?} of {count:?}");
            }
        }
    }
}
