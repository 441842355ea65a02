//! Whether a deflate stream that cannot be decoded ends early: libdeflate reads zeros behind the end, and does not say how far it came.
//!
//! The codes are walked bit by bit and nothing is written, which costs time only where a chunk is an error anyway.

use super::deflate::Wrapper;

/// Why a walk stops before the end of a stream.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    /// The bytes end.
    Early,
    /// The bytes are damaged, or decode to more than was expected.
    Other,
}

type Walk<T> = Result<T, Stop>;

/// Returns whether `src` ends within a stream: before it there is no damage that can be told, and not more than `most` decoded bytes.
pub(super) fn ends_early(wrapper: Wrapper, src: &[u8], most: usize) -> bool {
    matches!(walk(wrapper, src, most), Err(Stop::Early))
}

/// Walks over a stream, and over all members of gzip.
fn walk(wrapper: Wrapper, mut src: &[u8], mut most: usize) -> Walk<()> {
    loop {
        let (body, trailer) = match wrapper {
            Wrapper::Gzip => (gzip_body(src)?, 8),
            Wrapper::Zlib => (zlib_body(src)?, 4),
            Wrapper::Bare => (src, 0),
        };
        let mut bits = Bits { rest: body, held: 0, count: 0 };
        let mut made = 0;
        while !block(&mut bits, &mut made, most)? {}
        src = bits.rest.get(trailer..).ok_or(Stop::Early)?;
        most -= made;
        if !matches!(wrapper, Wrapper::Gzip) || src.iter().all(|&b| b == 0) {
            return Ok(());
        }
    }
}

/// The bytes behind the header of a gzip member.
fn gzip_body(src: &[u8]) -> Walk<&[u8]> {
    const MAGIC: &[u8] = &[0x1f, 0x8b, 8];
    if src.iter().zip(MAGIC).any(|(found, wanted)| found != wanted) {
        return Err(Stop::Other);
    }
    let (header, mut rest) = src.split_at_checked(10).ok_or(Stop::Early)?;
    let flags = header[3];
    if flags & 4 != 0 {
        let (len, behind) = rest.split_first_chunk::<2>().ok_or(Stop::Early)?;
        rest = behind.get(usize::from(u16::from_le_bytes(*len))..).ok_or(Stop::Early)?;
    }
    // A name and a comment.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = rest.iter().position(|&b| b == 0).ok_or(Stop::Early)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 2 != 0 { rest.get(2..).ok_or(Stop::Early) } else { Ok(rest) }
}

/// The bytes behind the header of a zlib stream.
fn zlib_body(src: &[u8]) -> Walk<&[u8]> {
    let (&header, rest) = src.split_first_chunk::<2>().ok_or(Stop::Early)?;
    let is_plain = header[0] & 15 == 8 && header[1] & 32 == 0 && u16::from_be_bytes(header).is_multiple_of(31);
    if is_plain { Ok(rest) } else { Err(Stop::Other) }
}

/// The bits of a stream, the lowest of each byte first; fewer than eight are held between calls.
struct Bits<'a> {
    rest: &'a [u8],
    held: u32,
    count: u32,
}

impl Bits<'_> {
    /// Takes up to 16 bits.
    fn take(&mut self, n: u32) -> Walk<usize> {
        while self.count < n {
            let (&byte, rest) = self.rest.split_first().ok_or(Stop::Early)?;
            self.held |= u32::from(byte) << self.count;
            self.count += 8;
            self.rest = rest;
        }
        let bits = self.held & ((1 << n) - 1);
        self.held >>= n;
        self.count -= n;
        Ok(bits as usize)
    }
}

/// The longest code, in bits.
const LONGEST: usize = 15;

/// A prefix code: how many codes each length has, and the symbols in the order of their codes.
struct Code {
    counts: [usize; LONGEST],
    symbols: Vec<usize>,
}

impl Code {
    /// The code whose symbols have codes of these lengths, 0 for none.
    fn of(lengths: &[u8]) -> Walk<Code> {
        let of_length = |n: usize| lengths.iter().enumerate().filter(move |(_, l)| usize::from(**l) == n).map(|(symbol, _)| symbol);
        let symbols: Vec<usize> = (1..=LONGEST).flat_map(of_length).collect();
        let counts = std::array::from_fn(|i| of_length(i + 1).count());
        // A code that leaves bits without a meaning has one symbol at most.
        let used: usize = counts.iter().enumerate().map(|(i, n)| n << (LONGEST - 1 - i)).sum();
        let is_whole = used == 1 << LONGEST || (used < 1 << LONGEST && symbols.len() <= 1);
        if is_whole { Ok(Code { counts, symbols }) } else { Err(Stop::Other) }
    }

    fn next(&self, bits: &mut Bits<'_>) -> Walk<usize> {
        // The code so far, counted from the first one of its length, and where the symbols of that length begin.
        let (mut code, mut begin) = (0, 0);
        for count in self.counts {
            code = code << 1 | bits.take(1)?;
            if code < count {
                return Ok(self.symbols[begin + code]);
            }
            code -= count;
            begin += count;
        }
        Err(Stop::Other)
    }
}

/// Walks over a block; `made` grows by its decoded bytes. Returns whether it is the last one.
fn block(bits: &mut Bits<'_>, made: &mut usize, most: usize) -> Walk<bool> {
    let is_last = bits.take(1)? == 1;
    match bits.take(2)? {
        0 => {
            bits.take(bits.count)?;
            let (len, inverse) = (bits.take(16)?, bits.take(16)?);
            if len ^ 0xffff != inverse || len > most - *made {
                return Err(Stop::Other);
            }
            bits.rest = bits.rest.get(len..).ok_or(Stop::Early)?;
            *made += len;
        }
        1 => {
            let lengths: Vec<u8> =
                (0..288).map(|i| [8, 9, 7, 8][(i >= 144) as usize + (i >= 256) as usize + (i >= 280) as usize]).collect();
            symbols(bits, &Code::of(&lengths)?, &Code::of(&[5; 32])?, made, most)?;
        }
        2 => {
            let (literals, distances) = codes(bits)?;
            symbols(bits, &literals, &distances, made, most)?;
        }
        _ => return Err(Stop::Other),
    }
    Ok(is_last)
}

/// Reads the codes of a block: those of literals and lengths, and those of distances.
fn codes(bits: &mut Bits<'_>) -> Walk<(Code, Code)> {
    const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let (literals, distances, known) = (bits.take(5)? + 257, bits.take(5)? + 1, bits.take(4)? + 4);
    let mut of_lengths = [0; ORDER.len()];
    for &symbol in &ORDER[..known] {
        of_lengths[symbol] = bits.take(3)? as u8;
    }
    let of_lengths = Code::of(&of_lengths)?;
    let mut lengths = Vec::new();
    while lengths.len() < literals + distances {
        let (length, times) = match of_lengths.next(bits)? {
            16 => (*lengths.last().ok_or(Stop::Other)?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            18 => (0, 11 + bits.take(7)?),
            length => (length as u8, 1),
        };
        lengths.resize(lengths.len() + times, length);
    }
    if lengths.len() > literals + distances {
        return Err(Stop::Other);
    }
    Ok((Code::of(&lengths[..literals])?, Code::of(&lengths[literals..])?))
}

/// Walks over the symbols of a block to its end.
fn symbols(bits: &mut Bits<'_>, literals: &Code, distances: &Code, made: &mut usize, most: usize) -> Walk<()> {
    const END: usize = 256;
    loop {
        let len = match literals.next(bits)? {
            END => return Ok(()),
            literal if literal < END => 1,
            // Lengths from 3, in steps that double with every fourth symbol; the last one stands alone.
            symbol @ 257..=264 => symbol - 254,
            symbol @ 265..=284 => 3 + scaled(bits, symbol - 257, 4)?,
            285 => 258,
            _ => return Err(Stop::Other),
        };
        if len > 1 {
            let distance = match distances.next(bits)? {
                symbol @ 0..=3 => symbol + 1,
                symbol @ 4..=29 => 1 + scaled(bits, symbol, 2)?,
                _ => return Err(Stop::Other),
            };
            if distance > *made {
                return Err(Stop::Other);
            }
        }
        *made += len;
        if *made > most {
            return Err(Stop::Other);
        }
    }
}

/// The number that begins at `symbol`, of which `steps` share a number of further bits, which are taken.
fn scaled(bits: &mut Bits<'_>, symbol: usize, steps: usize) -> Walk<usize> {
    let further = symbol / steps - 1;
    Ok(((steps + symbol % steps) << further) + bits.take(further as u32)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::sample;
    use std::io::Write;

    /// Bytes of which some repeat from near and far, and some do not.
    fn mixed(n: usize) -> Vec<u8> {
        let mut state = 1u32;
        let noise = |i: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if (i / 500).is_multiple_of(3) { (state >> 24) as u8 } else { (i / 900) as u8 }
        };
        (0..n).map(noise).collect()
    }

    fn streams(data: &[u8], level: u32) -> [(Wrapper, Vec<u8>); 3] {
        let level = flate2::Compression::new(level);
        let mut gzip = flate2::GzBuilder::new().filename("name").comment("text").extra([1, 2, 3]).write(Vec::new(), level);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), level);
        gzip.write_all(data).unwrap();
        zlib.write_all(data).unwrap();
        bare.write_all(data).unwrap();
        [(Wrapper::Gzip, gzip.finish().unwrap()), (Wrapper::Zlib, zlib.finish().unwrap()), (Wrapper::Bare, bare.finish().unwrap())]
    }

    #[test]
    fn whole_streams_are_walked_to_their_end_and_cut_ones_to_the_cut() {
        for data in [vec![], vec![7], sample(7000), vec![0; 9000], mixed(20_000)] {
            for level in [0, 1, 9] {
                for (wrapper, bytes) in streams(&data, level) {
                    assert_eq!(walk(wrapper, &bytes, data.len()), Ok(()), "{level}");
                    let step = bytes.len() / 20 + 1;
                    for cut in (0..bytes.len()).step_by(step).chain(bytes.len().saturating_sub(20)..bytes.len()) {
                        assert_eq!(walk(wrapper, &bytes[..cut], data.len()), Err(Stop::Early), "level {level}, {cut} of {}", bytes.len());
                    }
                    if !data.is_empty() {
                        assert_eq!(walk(wrapper, &bytes, data.len() - 1), Err(Stop::Other), "{level}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_member_is_walked_and_what_is_no_member_is_no_cut() {
        let member = |data: &[u8]| streams(data, 6)[0].1.clone();
        let mut bytes = member(&sample(300));
        let first = bytes.len();
        bytes.extend(member(&sample(200)));
        assert_eq!(walk(Wrapper::Gzip, &bytes, 500), Ok(()));
        assert_eq!(walk(Wrapper::Gzip, &bytes, 499), Err(Stop::Other));
        for cut in first + 1..bytes.len() {
            assert!(ends_early(Wrapper::Gzip, &bytes[..cut], 500), "{cut}");
        }
        bytes.extend([0; 9]);
        assert_eq!(walk(Wrapper::Gzip, &bytes, 500), Ok(()));
        bytes.push(1);
        assert_eq!(walk(Wrapper::Gzip, &bytes, 500), Err(Stop::Other));
    }

    #[test]
    fn damage_is_no_cut_where_it_can_be_told() {
        for (what, wrapper, bytes) in [
            ("another magic number", Wrapper::Gzip, &b"\x1f\x8c"[..]),
            ("another method", Wrapper::Zlib, b"\x79\x9c\x00"),
            ("a wrong check of the header", Wrapper::Zlib, b"\x78\x9d\x00"),
            ("a preset dictionary", Wrapper::Zlib, b"\x78\xbb\x00"),
            ("a block of no type", Wrapper::Bare, b"\x07"),
            ("lengths that differ", Wrapper::Bare, b"\x01\x01\x00\x00\x00"),
            ("a distance before the start", Wrapper::Bare, b"\x03\x02\x00\x00"),
            ("a length repeated before the first", Wrapper::Bare, b"\x04\x00\x12\x00\x00\x00\x00\x00"),
        ] {
            assert_eq!(walk(wrapper, bytes, 1000), Err(Stop::Other), "{what}");
        }
    }
}
