//! Compressed bytes without a codec's configuration, decoded: entries of zip archives (APPNOTE 4.4.5) that are not deflated.

use super::bz2::Bz2;
use super::lzma::Lzma;
use super::stage::{Dest, Stage};
use super::zstd::Zstd;
use crate::error::{Result, bail};
use crate::limits::reserve;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// A stream of bzip2.
    Bzip2,
    /// LZMA as zip archives have it (APPNOTE 5.8): the version, the length of the properties, these, the stream.
    Lzma {
        /// Whether a mark is at its end.
        ends: bool,
    },
    /// A file of xz.
    Xz,
    /// Frames of Zstandard.
    Zstd,
}

impl Packing {
    /// No byte makes more bytes than this.
    pub fn most(self) -> u64 {
        match self {
            Packing::Bzip2 => 1 << 21,
            Packing::Lzma { .. } | Packing::Xz => 1 << 14,
            Packing::Zstd => 1 << 16,
        }
    }

    /// Decodes `src` into `out`, which has the decoded size. Errors: `Chunk`, `Truncated`, `NoMemory`, `Limit`.
    pub fn unpack(self, src: &[u8], out: &mut [u8]) -> Result<()> {
        match self {
            Packing::Bzip2 => Bz2::DECODER.decode(src, Dest::Exact(out)),
            Packing::Xz => Lzma::xz().decode(src, Dest::Exact(out)),
            Packing::Zstd => Zstd::DECODER.decode(src, Dest::Exact(out)),
            Packing::Lzma { ends } => Lzma::alone().decode(&alone(src, ends, out.len())?, Dest::Exact(out)),
        }
    }
}

/// Makes a `.lzma` file, whose header is the properties and the size, of an entry's bytes.
fn alone(src: &[u8], ends: bool, size: usize) -> Result<Vec<u8>> {
    let Some((&[_, _, 5, 0], rest)) = src.split_first_chunk() else { bail!(Chunk, "found no header of LZMA with 5 bytes of properties") };
    let Some((properties, stream)) = rest.split_first_chunk::<5>() else {
        bail!(Truncated, "the LZMA stream ends early ({} bytes)", src.len())
    };
    let mut file = Vec::new();
    reserve(&mut file, src.len() + 8)?;
    file.extend_from_slice(properties);
    file.extend_from_slice(&if ends { u64::MAX } else { size as u64 }.to_le_bytes());
    file.extend_from_slice(stream);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Packing {
        /// Encodes a value as others do.
        pub fn pack(self, value: &[u8]) -> Vec<u8> {
            let mut packed = Vec::new();
            match self {
                Packing::Bzip2 => Bz2::DECODER.encode(value, &mut packed).unwrap(),
                Packing::Xz => Lzma::xz().encode(value, &mut packed).unwrap(),
                Packing::Zstd => Zstd::DECODER.encode(value, &mut packed).unwrap(),
                Packing::Lzma { .. } => {
                    let mut file = Vec::new();
                    Lzma::alone().encode(value, &mut file).unwrap();
                    packed = [&[9, 4, 5, 0], &file[..5], &file[13..]].concat();
                }
            }
            packed
        }
    }

    #[test]
    fn packed_bytes_are_unpacked_and_other_sizes_and_damage_refused() {
        for packing in [Packing::Bzip2, Packing::Lzma { ends: true }, Packing::Lzma { ends: false }, Packing::Xz, Packing::Zstd] {
            for value in [&b""[..], b"1", &[7; 100_000]] {
                let packed = packing.pack(value);
                let unpack = |src: &[u8], len: usize| {
                    let mut out = vec![1; len];
                    packing.unpack(src, &mut out).map(|()| out)
                };
                assert_eq!(unpack(&packed, value.len()).unwrap(), value, "{packing:?}");
                assert!(packing.most() * packed.len() as u64 >= value.len() as u64);
                if packing != (Packing::Lzma { ends: false }) {
                    assert!(unpack(&packed, value.len() + 1).is_err(), "{packing:?}");
                }
                for n in 1..packed.len().min(40) {
                    assert!(unpack(&packed[..n], value.len()).is_err(), "{packing:?} cut to {n}");
                }
            }
        }
    }

    #[test]
    fn nothing_makes_more_bytes_than_is_said() {
        for packing in [Packing::Bzip2, Packing::Lzma { ends: true }, Packing::Xz, Packing::Zstd] {
            let value = vec![0; 8 << 20];
            let most = value.len() as u64 / packing.pack(&value).len() as u64;
            assert!((100..packing.most()).contains(&most), "{packing:?}: {most}");
        }
    }
}
