//! An opened object: one value of one key, whatever is put later.

use super::file_object::FileObject;
use super::memory_object::MemoryObject;
use super::os;
use super::stamp::{Stamp, Version};
use crate::error::{Result, bail};
use crate::limits::{check_exact, grow};
use libdeflater::Crc;

/// How much of an object is read at once in pieces.
const PIECE: u64 = 8 << 20;

/// An opened object: one version of one key's bytes, whatever is put later. Stores that read by ranges may say that these bytes are gone
/// (an error of kind `Conflict`); none gives others.
///
/// Files and memory are variants of their own, so that opening one allocates nothing.
pub enum Object {
    /// An open file.
    File(FileObject),
    /// Bytes in memory.
    Memory(MemoryObject),
    /// Anything else.
    Other(Box<dyn ReadObject>),
}

/// The operations on an opened object of a store that is neither files nor memory.
#[allow(clippy::len_without_is_empty)] // an object's length can fail; emptiness is no question here
pub trait ReadObject: Send + Sync {
    /// Reads exactly `buf.len()` bytes from `offset`; an early end is `Truncated`.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()>;
    /// The length in bytes.
    fn len(&self) -> Result<u64>;
    /// The version that this object is.
    fn version(&self) -> Result<Version>;
    /// Whether the key still holds this version.
    fn still_current(&self) -> Result<bool>;
    /// The CRC-32 that the store keeps of the whole, where reads of parts are not checked.
    fn crc32(&self) -> Option<u32> {
        None
    }
    /// Whether all bytes are in memory, though the store has latency.
    fn is_at_hand(&self) -> bool {
        false
    }
}

#[allow(clippy::len_without_is_empty)]
impl Object {
    /// Reads exactly `buf.len()` bytes from `offset`; an early end is `Truncated`.
    pub fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        match self {
            Object::File(o) => o.read_exact_at(offset, buf),
            Object::Memory(o) => o.read_exact_at(offset, buf),
            Object::Other(o) => o.read_exact_at(offset, buf),
        }
    }

    /// Reads the whole object into `buf` (whose length becomes the object's), at most `max` bytes (else `Limit`).
    /// Files are read without asking for their size first: `buf`'s capacity is the guess, one call the usual cost.
    pub fn read_whole(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        match self {
            Object::File(o) => o.read_whole(buf, max),
            Object::Memory(o) => o.read_whole(buf, max),
            Object::Other(o) => read_whole_by_len(&**o, buf, max),
        }
    }

    /// Reads the whole object as [`read_whole`](Self::read_whole) does, for bytes whose codecs find out when some are missing.
    pub fn read_encoded(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        match self {
            Object::File(o) => o.read_encoded(buf, max),
            Object::Memory(_) | Object::Other(_) => self.read_whole(buf, max),
        }
    }

    /// Reads an object that must have exactly `buf.len()` bytes, straight into `buf`.
    /// Shorter is `Truncated`, longer is `Chunk`; both messages name found and expected.
    pub fn read_exact_whole(&self, buf: &mut [u8]) -> Result<()> {
        match self {
            Object::File(o) => o.read_exact_whole(buf),
            Object::Memory(o) => o.read_exact_whole(buf),
            Object::Other(o) => {
                check_exact(o.len()?, buf.len())?;
                o.read_exact_at(0, buf)
            }
        }
    }

    /// The CRC-32 that the store keeps of the whole, where reads of parts are not checked.
    pub fn crc32(&self) -> Option<u32> {
        if let Object::Other(o) = self { o.crc32() } else { None }
    }

    /// Whether all bytes are in memory, though the store has latency.
    pub fn is_at_hand(&self) -> bool {
        matches!(self, Object::Other(o) if o.is_at_hand())
    }

    /// Reads the whole object in pieces that are given to `each` with the place where each begins. That they are what the store has a checksum of is
    /// known in the end.
    pub fn read_in_pieces(&self, each: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let (len, expected) = (self.len()?, self.crc32());
        let (mut buffer, mut crc, mut at) = (Vec::new(), Crc::new(), 0);
        while at < len {
            let piece = grow(&mut buffer, (len - at).min(PIECE) as usize)?;
            self.read_exact_at(at, piece)?;
            if expected.is_some() {
                crc.update(piece);
            }
            each(at, piece)?;
            at += piece.len() as u64;
        }
        match expected {
            Some(expected) if crc.sum() != expected => {
                bail!(Checksum, "the value has the CRC-32 {:08x}, expected {expected:08x}", crc.sum())
            }
            _ => Ok(()),
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> Result<u64> {
        match self {
            Object::File(o) => o.len(),
            Object::Memory(o) => Ok(o.len()),
            Object::Other(o) => o.len(),
        }
    }

    /// The version that this object is.
    pub fn version(&self) -> Result<Version> {
        match self {
            Object::File(o) => o.version(),
            Object::Memory(o) => Ok(o.version()),
            Object::Other(o) => o.version(),
        }
    }

    /// What it is like now (for a file: one `fstat`).
    pub fn stamp(&self) -> Result<Stamp> {
        match self {
            Object::File(o) => o.stamp(),
            Object::Memory(o) => Ok(Stamp::of_version(o.version(), o.len(), o.still_current())),
            Object::Other(o) => Ok(Stamp::of_version(o.version()?, o.len()?, true)),
        }
    }

    /// The file, to be asked later whether the key still holds it; `None` for what is no file, and where open files may be in the way of new ones.
    pub fn watched(self) -> Option<Object> {
        if os::keeps_files_open() && matches!(self, Object::File(_)) { Some(self) } else { None }
    }

    /// Whether the key still holds this version. For a file: its link count is not 0 (one `fstat`).
    pub fn still_current(&self) -> Result<bool> {
        match self {
            Object::File(o) => o.still_current(),
            Object::Memory(o) => Ok(o.still_current()),
            Object::Other(o) => o.still_current(),
        }
    }
}

fn read_whole_by_len(o: &dyn ReadObject, buf: &mut Vec<u8>, max: usize) -> Result<()> {
    let len = o.len()?;
    if len > max as u64 {
        bail!(Limit, "found {len} bytes, the limit is {max}");
    }
    // Bytes of an earlier value are as good as zeros: all are overwritten.
    buf.truncate(len as usize);
    o.read_exact_at(0, grow(buf, len as usize)?)
}
