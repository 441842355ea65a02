//! The header of a classic file of netCDF (CDF-1, CDF-2 and CDF-5), read to tell how long the file must be.

use std::io::{self, BufReader, ErrorKind, Read, Seek};

/// The tag of a list of dimensions, of variables, and of attributes.
const DIMENSIONS: u64 = 10;
const VARIABLES: u64 = 11;
const ATTRIBUTES: u64 = 12;

/// The bytes of an element of the types 1 (byte) to 11 (unsigned 64-bit integer).
const SIZES: [u64; 11] = [1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];

/// The length below which a file lacks elements, padding at its end aside; none if it is no classic file. `length`: that of the file.
pub fn least_length(file: impl Read + Seek, length: u64) -> io::Result<Option<u64>> {
    let mut first = [0; 4];
    let mut header = Header { file: BufReader::new(file), left: length, wide: false, far: false };
    if header.fill(&mut first).is_err() || &first[..3] != b"CDF" || !matches!(first[3], 1 | 2 | 5) {
        return Ok(None);
    }
    (header.wide, header.far) = (first[3] == 5, first[3] != 1);
    let records = header.size()?;
    let mut dimensions = Vec::new();
    for _ in 0..header.list(DIMENSIONS)? {
        header.text()?;
        dimensions.push(header.size()?);
    }
    header.attributes()?;
    let mut needed = Needed::default();
    for _ in 0..header.list(VARIABLES)? {
        needed.add(&header.variable(&dimensions)?);
    }
    let least = needed.of(records).max(length - header.left);
    let streams = records == if header.wide { u64::MAX } else { u32::MAX.into() };
    if streams && needed.recorded > 0 && length < least {
        // libnetcdf takes it for that many records.
        return Err(io::Error::new(ErrorKind::Unsupported, "it was written as a stream, which states no number of records"));
    }
    Ok(Some(least))
}

fn cut() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it was cut off in its header")
}

fn damaged() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "its header is damaged")
}

/// Where the elements of a variable are.
struct Place {
    begin: u64,
    /// The bytes of its elements: of a variable along records, those of one record.
    bytes: u64,
    recorded: bool,
}

/// What the variables together need.
#[derive(Default)]
struct Needed {
    /// The end of the last variable that does not lie in records.
    end: u64,
    /// The end of the first record.
    end_of_first: u64,
    /// The bytes from one record to the next, with padding and without it.
    padded: u64,
    bare: u64,
    recorded: u64,
}

impl Needed {
    fn add(&mut self, place: &Place) {
        let end = if place.bytes == 0 { 0 } else { place.begin.saturating_add(place.bytes) };
        if !place.recorded {
            self.end = self.end.max(end);
            return;
        }
        self.end_of_first = self.end_of_first.max(end);
        self.padded = self.padded.saturating_add(place.bytes.checked_next_multiple_of(4).unwrap_or(u64::MAX));
        self.bare = self.bare.saturating_add(place.bytes);
        self.recorded += 1;
    }

    fn of(&self, records: u64) -> u64 {
        // Records of a single variable have no padding.
        let step = if self.recorded == 1 { self.bare } else { self.padded };
        match records.checked_sub(1) {
            Some(before) if self.recorded > 0 => self.end.max(before.saturating_mul(step).saturating_add(self.end_of_first)),
            _ => self.end,
        }
    }
}

/// What there is of the header. Nothing that it counts is taken for true: all is read one by one, and ends where the file ends.
struct Header<F> {
    file: BufReader<F>,
    left: u64,
    /// Sizes have 8 bytes (CDF-5).
    wide: bool,
    /// Offsets have 8 bytes (CDF-2 and CDF-5).
    far: bool,
}

impl<F: Read + Seek> Header<F> {
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(cut)?;
        Ok(())
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.take(buffer.len() as u64)?;
        self.file.read_exact(buffer)
    }

    fn number(&mut self, wide: bool) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes[if wide { 0 } else { 4 }..])?;
        Ok(u64::from_be_bytes(bytes))
    }

    fn size(&mut self) -> io::Result<u64> {
        self.number(self.wide)
    }

    /// Passes over that many bytes, and over the padding behind them.
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let bytes = bytes.checked_next_multiple_of(4).ok_or_else(cut)?;
        self.take(bytes)?;
        self.file.seek_relative(bytes.try_into().map_err(|_| cut())?)
    }

    fn text(&mut self) -> io::Result<()> {
        let length = self.size()?;
        self.skip(length)
    }

    /// The number of members of a list. One that is absent has the tag 0.
    fn list(&mut self, tag: u64) -> io::Result<u64> {
        let found = self.number(false)?;
        let count = self.size()?;
        if count == 0 || found == tag { Ok(count) } else { Err(damaged()) }
    }

    /// The bytes of an element.
    fn element(&mut self) -> io::Result<u64> {
        let number = self.number(false)?;
        let size = number.checked_sub(1).and_then(|i| SIZES.get(usize::try_from(i).ok()?));
        size.copied().ok_or_else(damaged)
    }

    fn attributes(&mut self) -> io::Result<()> {
        for _ in 0..self.list(ATTRIBUTES)? {
            self.text()?;
            let (element, count) = (self.element()?, self.size()?);
            self.skip(count.saturating_mul(element))?;
        }
        Ok(())
    }

    /// Reads where a variable is. Its size in the header is not looked at, for 4 bytes may not hold it.
    fn variable(&mut self, dimensions: &[u64]) -> io::Result<Place> {
        self.text()?;
        let (mut count, mut recorded) = (1u64, false);
        for i in 0..self.size()? {
            let id = usize::try_from(self.size()?).ok();
            let &length = id.and_then(|id| dimensions.get(id)).ok_or_else(damaged)?;
            // The first dimension is that of the records if it has the length 0.
            recorded |= i == 0 && length == 0;
            count = if i == 0 && length == 0 { 1 } else { count.saturating_mul(length) };
        }
        self.attributes()?;
        let bytes = count.saturating_mul(self.element()?);
        self.size()?;
        Ok(Place { begin: self.number(self.far)?, bytes, recorded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Writes a header. Each variable: its type, dimensions, and begin; all have an attribute of 3 bytes.
    fn header(version: u8, records: u64, dimensions: &[u64], variables: &[(u8, &[u64], u64)]) -> Vec<u8> {
        let mut all = [b"CDF".as_slice(), &[version]].concat();
        let number = |all: &mut Vec<u8>, n: u64, wide: bool| all.extend(&n.to_be_bytes()[if wide { 0 } else { 4 }..]);
        let wide = version == 5;
        number(&mut all, records, wide);
        let list = |all: &mut Vec<u8>, tag: u64, count: usize| {
            number(all, if count == 0 { 0 } else { tag }, false);
            number(all, count as u64, wide);
        };
        let name = |all: &mut Vec<u8>| {
            number(all, 5, wide);
            all.extend(b"names\0\0\0");
        };
        let attribute = |all: &mut Vec<u8>| {
            list(all, ATTRIBUTES, 1);
            name(all);
            number(all, 2, false);
            number(all, 3, wide);
            all.extend(b"abc\0");
        };
        list(&mut all, DIMENSIONS, dimensions.len());
        for &length in dimensions {
            name(&mut all);
            number(&mut all, length, wide);
        }
        attribute(&mut all);
        list(&mut all, VARIABLES, variables.len());
        for &(kind, of, begin) in variables {
            name(&mut all);
            number(&mut all, of.len() as u64, wide);
            of.iter().for_each(|&id| number(&mut all, id, wide));
            attribute(&mut all);
            number(&mut all, kind.into(), false);
            number(&mut all, u32::MAX.into(), wide);
            number(&mut all, begin, version != 1);
        }
        all
    }

    fn least(bytes: &[u8]) -> Result<Option<u64>, ErrorKind> {
        least_length(Cursor::new(bytes), bytes.len() as u64).map_err(|e| e.kind())
    }

    #[test]
    fn a_file_must_reach_to_its_last_element() {
        type Case<'a> = (u64, &'a [u64], &'a [(u8, &'a [u64], u64)], u64);
        let cases: &[Case<'_>] = &[
            // Fixed: no padding behind the last one; in any order; a scalar; more than 4 GiB.
            (0, &[3], &[(1, &[0], 1000), (1, &[0], 1004)], 1007),
            (0, &[3], &[(3, &[0], 2000), (6, &[0], 1000)], 2006),
            (0, &[], &[(6, &[], 1000)], 1008),
            (0, &[70_000, 70_000], &[(4, &[0, 1], 1000)], 1000 + 4 * 70_000 * 70_000),
            // A single variable along records is not padded, several are, but not behind the last record.
            (5, &[0, 3], &[(3, &[0, 1], 1000)], 1030),
            (1000, &[0], &[(1, &[0], 1000)], 2000),
            (1000, &[0], &[(1, &[0], 1000), (2, &[0], 1004)], 1004 + 999 * 8 + 1),
            (2, &[0, 3], &[(3, &[0, 1], 1000), (6, &[0], 1008), (5, &[1], 900)], 1032),
            // No records: what is fixed counts alone.
            (0, &[0, 3], &[(3, &[0, 1], 1000), (1, &[1], 996)], 999),
            // Numbers that no file has.
            (0, &[u32::MAX as u64; 3], &[(6, &[0, 1, 2], 1000)], u64::MAX),
            (9, &[0, u32::MAX as u64], &[(6, &[0, 1, 1], 1000), (6, &[0, 1, 1, 1], 1000)], u64::MAX),
        ];
        for version in [1, 2, 5] {
            for &(records, dimensions, variables, wanted) in cases {
                let bytes = header(version, records, dimensions, variables);
                assert_eq!(least(&bytes), Ok(Some(wanted)), "CDF-{version}: {records} records, {dimensions:?}, {variables:?}");
            }
            for empty in [header(version, 0, &[], &[]), header(version, 7, &[0, 3], &[])] {
                assert_eq!(least(&empty), Ok(Some(empty.len() as u64)), "CDF-{version} without variables");
            }
            let streaming = if version == 5 { u64::MAX } else { u32::MAX.into() };
            let bytes = header(version, streaming, &[0, 3], &[(1, &[0], 1000)]);
            assert_eq!(least(&bytes), Err(ErrorKind::Unsupported), "CDF-{version} of unknown length");
            let bytes = header(version, streaming, &[0, 3], &[(1, &[1], 1000)]);
            assert_eq!(least(&bytes), Ok(Some(1003)), "CDF-{version} of unknown length, without records");
        }
    }

    #[test]
    fn a_header_that_is_cut_or_wrong_is_an_error() {
        for version in [1, 2, 5] {
            let bytes = header(version, 3, &[0, 3], &[(3, &[0, 1], 1000), (6, &[1], 900)]);
            for length in 4..bytes.len() {
                assert_eq!(least(&bytes[..length]), Err(ErrorKind::UnexpectedEof), "CDF-{version} of {length} bytes");
            }
            // Each byte in turn as large as can be: whatever comes, nothing breaks.
            for place in 4..bytes.len() {
                let mut wrong = bytes.clone();
                wrong[place] = 0xff;
                let _ = least(&wrong);
            }
            let strange = [(3, &[2][..], 1000), (0, &[1], 1000), (12, &[1], 1000)];
            for variable in strange {
                assert_eq!(least(&header(version, 3, &[0, 3], &[variable])), Err(ErrorKind::InvalidData), "{variable:?}");
            }
        }
        for other in [&b""[..], b"CDF", b"CDF\x04\0\0", b"\x89HDF\r\n\x1a\n"] {
            assert_eq!(least(other), Ok(None), "{other:?}");
        }
    }
}
