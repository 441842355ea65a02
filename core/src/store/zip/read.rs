//! Reading entries of a zip archive: by ranges where they are stored, as a whole where they are compressed.

use super::directory::{DEFLATED, ENCRYPTED, Entry, LOCAL, LOCAL_LEN, STORED, STREAMED, key_of, u16_at, u32_at};
use crate::error::{Error, Result, bail, err};
use crate::inflate::{Wrapper, inflate};
use crate::limits::{MAX_KEY, grow, max_chunk};
use crate::store::{ByteRange, Fetched, Object, ReadDone, ReadObject, SharedStore, StorageExt, Version, os, start_and_wait};
use libdeflater::Crc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// How many bytes of extra fields a read from afar expects at most in a local header that it has not seen.
const SLACK: u64 = 64;
/// How much more than its value a compressed entry may take.
const MORE: u64 = 1 << 20;

/// Where the archive's bytes come from.
pub(super) enum ArchiveBytes {
    /// An open file, or memory.
    Near(Object),
    /// An object of a store with latency, read by ranges of this one version.
    Far { store: SharedStore, key: String, version: Version },
}

impl ArchiveBytes {
    /// Fills `buf` from `offset` of the archive.
    pub fn read(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        match self {
            ArchiveBytes::Near(object) => object.read_exact_at(offset, buf),
            ArchiveBytes::Far { store, key, version } => {
                let range = ByteRange::Span { offset, len: buf.len() as u64 };
                let part = one_part(start_and_wait(&**store, key, &[range], Some(*version)))?;
                if part.len() != buf.len() {
                    bail!(Truncated, "found {} bytes at {offset} of the zip archive, expected {}", part.len(), buf.len());
                }
                buf.copy_from_slice(&part);
                Ok(())
            }
        }
    }

    /// A number that tells this archive's state from others.
    pub fn token(&self) -> Result<u64> {
        let version = match self {
            ArchiveBytes::Near(object) => object.version()?,
            ArchiveBytes::Far { version, .. } => *version,
        };
        Ok(os::hash(&version.words.map(u64::to_le_bytes).concat()))
    }
}

impl Drop for ArchiveBytes {
    fn drop(&mut self) {
        if let ArchiveBytes::Near(Object::File(file)) = self {
            file.forget_another();
        }
    }
}

fn gone() -> Error {
    err!(Conflict, "the zip archive was erased while it was open")
}

fn one_part(result: Result<Option<Fetched>>) -> Result<Vec<u8>> {
    Ok(result?.ok_or_else(gone)?.parts.into_iter().next().unwrap_or_default())
}

/// An entry that is a key's value.
pub(super) struct Slot {
    /// Its name in the archive, as a key.
    pub name: Arc<str>,
    pub entry: Entry,
    /// Where its data begin; 0 until the local header was read.
    data: AtomicU64,
    /// Cleared when the key gets another value.
    pub current: AtomicBool,
}

/// An entry, the bytes that it is in, and their token.
pub(super) type SlotInBytes = (Arc<Slot>, Arc<ArchiveBytes>, u64);

impl Slot {
    /// An entry whose data begin at `data`, or 0 if only its local header can tell.
    pub fn new(name: Arc<str>, entry: Entry, data: u64) -> Slot {
        Slot { name, entry, data: AtomicU64::new(data), current: AtomicBool::new(true) }
    }

    /// An error for what cannot be read, by its reason.
    pub fn check_readable(&self) -> Result<()> {
        if self.entry.flags & ENCRYPTED != 0 {
            bail!(Unsupported, "the zip entry is encrypted, which is not supported");
        }
        if self.entry.is_link {
            bail!(Unsupported, "the zip entry is a symbolic link, which is not followed");
        }
        match self.entry.method {
            STORED | DEFLATED => Ok(()),
            _ if self.entry.packing().is_some() => Ok(()),
            other => bail!(
                Unsupported,
                "the zip entry is compressed by method {other}, expected 0 (stored), 8 (deflate), 12 (bzip2), 14 (LZMA), 93 (zstd) or 95 (xz)"
            ),
        }
    }

    /// How much of the local header is read to check it.
    fn header_len(&self) -> usize {
        LOCAL_LEN as usize + usize::from(self.entry.name_len)
    }

    /// Where the data begin, after a look at the local header the first time.
    fn data(&self, source: &ArchiveBytes) -> Result<u64> {
        let known = self.data.load(Ordering::Relaxed);
        if known != 0 {
            return Ok(known);
        }
        let mut small = [0; LOCAL_LEN as usize + MAX_KEY];
        let mut large = Vec::new();
        let header = match small.get_mut(..self.header_len()) {
            Some(header) => header,
            None => grow(&mut large, self.header_len())?,
        };
        source.read(self.entry.header, header)?;
        self.learn(header)
    }

    /// Has the local header read again before the data are: the file may have been written anew around them.
    pub fn forget_place(&self) {
        self.data.store(0, Ordering::Relaxed);
    }

    /// Checks the local header against the directory; where the data begin.
    fn learn(&self, header: &[u8]) -> Result<u64> {
        let entry = &self.entry;
        let (name_len, extra_len) = (u16_at(header, 26), u16_at(header, 28));
        let disagree = |what: &str, found: u64, expected: u64| {
            err!(Chunk, "the zip entry's local header disagrees with the directory: {what} is {found}, expected {expected}")
        };
        if !header.starts_with(LOCAL) {
            bail!(Chunk, "found no local header of the zip entry at {}", entry.header);
        }
        if u16_at(header, 8) != entry.method {
            return Err(disagree("the method", u16_at(header, 8).into(), entry.method.into()));
        }
        if name_len != entry.name_len {
            return Err(disagree("the length of the name", name_len.into(), entry.name_len.into()));
        }
        let name = header.get(LOCAL_LEN as usize..self.header_len()).unwrap_or_default();
        // Names that are stored in another form than the key's own are compared as keys.
        let same = name == self.name.as_bytes() || key_of(name, u16_at(header, 6)).is_ok_and(|key| key.as_deref() == Some(&*self.name));
        if !same {
            bail!(Chunk, "the zip entry's local header has the name {:?}, the directory another", String::from_utf8_lossy(name));
        }
        if u16_at(header, 6) & STREAMED == 0 {
            for (what, at, expected) in [("the stored size", 18, entry.stored), ("the size", 22, entry.size)] {
                let found = u32_at(header, at);
                if found != u32::MAX && u64::from(found) != expected {
                    return Err(disagree(what, found.into(), expected));
                }
            }
        }
        let data = entry.header + self.header_len() as u64 + u64::from(extra_len);
        if data.checked_add(entry.stored).is_none_or(|end| end > entry.limit) {
            bail!(Chunk, "the zip entry of {} bytes at {data} reaches into what begins at {}", entry.stored, entry.limit);
        }
        self.data.store(data, Ordering::Relaxed);
        Ok(data)
    }

    fn check_crc(&self, bytes: &[u8]) -> Result<()> {
        let mut crc = Crc::new();
        crc.update(bytes);
        if crc.sum() != self.entry.crc {
            bail!(Checksum, "the zip entry has the CRC-32 {:08x}, expected {:08x}", crc.sum(), self.entry.crc);
        }
        Ok(())
    }

    /// Decodes `stored`, all of the entry's data, into `out`, which has the value's size.
    fn inflate(&self, stored: &[u8], out: &mut [u8]) -> Result<()> {
        if let Some(packing) = self.entry.packing() {
            return packing.unpack(stored, out).map_err(|e| e.with_note(" (a zip entry)")).and_then(|()| self.check_crc(out));
        }
        match inflate(Wrapper::Bare, stored, out)? {
            Some((_, n)) if n == out.len() => self.check_crc(out),
            Some((_, n)) => bail!(Chunk, "the zip entry inflates to {n} bytes, expected {}", out.len()),
            None => bail!(Chunk, "the zip entry inflates to more than the {} bytes that it is said to have", out.len()),
        }
    }

    /// Whether a compressed entry may be decoded in memory.
    pub fn check_inflated_size(&self) -> Result<()> {
        if self.entry.size > max_chunk() {
            bail!(Limit, "a zip entry that inflates to {} bytes exceeds the limit of {}", self.entry.size, max_chunk());
        }
        if self.entry.stored > self.entry.size.saturating_mul(2).saturating_add(MORE) {
            bail!(Chunk, "the zip entry takes {} bytes for a value of {}", self.entry.stored, self.entry.size);
        }
        Ok(())
    }

    /// The whole value, into a buffer of its size.
    pub fn read_value(&self, source: &ArchiveBytes, buf: &mut [u8]) -> Result<()> {
        let at = self.data(source)?;
        if self.entry.method == STORED {
            source.read(at, buf)?;
            return self.check_crc(buf);
        }
        self.check_inflated_size()?;
        let mut stored = Vec::new();
        source.read(at, grow(&mut stored, self.entry.stored as usize)?)?;
        self.inflate(&stored, buf)
    }
}

/// An opened entry.
pub(super) struct ZipObject {
    pub source: Arc<ArchiveBytes>,
    pub slot: Arc<Slot>,
    pub token: u64,
    /// A compressed value that is read in parts.
    pub inflated: OnceLock<Vec<u8>>,
}

impl ZipObject {
    fn inflated(&self) -> Result<&[u8]> {
        if let Some(value) = self.inflated.get() {
            return Ok(value);
        }
        self.slot.check_inflated_size()?;
        let mut value = Vec::new();
        self.slot.read_value(&self.source, grow(&mut value, self.slot.entry.size as usize)?)?;
        Ok(self.inflated.get_or_init(|| value))
    }
}

/// The version of an entry's value in an archive with that token.
pub(super) fn version_of(token: u64, entry: &Entry) -> Version {
    Version::new([token, entry.header, entry.size, u64::from(entry.crc) | u64::from(entry.method) << 32])
}

impl ReadObject for ZipObject {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let size = self.slot.entry.size;
        if offset == 0 && buf.len() as u64 == size {
            return self.slot.read_value(&self.source, buf);
        }
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > size) {
            bail!(Truncated, "found {} bytes at offset {offset}, expected {}", size.saturating_sub(offset), buf.len());
        }
        if self.slot.entry.method == STORED {
            return self.source.read(self.slot.data(&self.source)? + offset, buf);
        }
        buf.copy_from_slice(&self.inflated()?[offset as usize..][..buf.len()]);
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.slot.entry.size)
    }

    fn version(&self) -> Result<Version> {
        Ok(version_of(self.token, &self.slot.entry))
    }

    fn still_current(&self) -> Result<bool> {
        Ok(self.slot.current.load(Ordering::Acquire))
    }

    fn crc32(&self) -> Option<u32> {
        // What is compressed is always decoded as a whole.
        (self.slot.entry.method == STORED).then_some(self.slot.entry.crc)
    }
}

/// A started read of one entry from afar: one request where the local header is as expected.
pub(super) struct EntryRead {
    pub source: Arc<ArchiveBytes>,
    pub slot: Arc<Slot>,
    pub version: Version,
    /// What was asked for, in bytes of the value.
    pub wanted: Vec<(u64, u64)>,
    pub done: ReadDone,
}

impl EntryRead {
    /// Starts it; `done` is called once, whatever happens.
    pub fn start(self) {
        // What is compressed is fetched whole.
        if self.slot.entry.method != STORED
            && let Err(e) = self.slot.check_inflated_size()
        {
            return (self.done)(Err(e));
        }
        let known = self.slot.data.load(Ordering::Relaxed);
        let guess = self.slot.entry.header + self.slot.header_len() as u64;
        let (at, slack) = if known == 0 { (guess, SLACK) } else { (known, 0) };
        let mut spans: Vec<ByteRange> = self.fetched().iter().map(|&(offset, len)| self.span(at + offset, len + slack)).collect();
        if known == 0 {
            spans.push(ByteRange::Span { offset: self.slot.entry.header, len: self.slot.header_len() as u64 });
        }
        self.request(spans, move |flight, mut parts| {
            if known != 0 {
                return flight.finish(parts);
            }
            let data = match flight.slot.learn(&parts.pop().unwrap_or_default()) {
                Ok(data) => data,
                Err(e) => return (flight.done)(Err(e)),
            };
            let extra = (data - guess) as usize;
            let lens: Vec<usize> = flight.fetched().iter().map(|&(_, len)| len as usize).collect();
            if parts.iter().zip(&lens).any(|(part, len)| part.len() < extra + len) {
                // More extra fields than expected: once more, now that the place is known.
                return flight.start();
            }
            for (part, len) in parts.iter_mut().zip(lens) {
                part.drain(..extra);
                part.truncate(len);
            }
            flight.finish(parts);
        });
    }

    /// What is fetched, in bytes of the entry's data.
    fn fetched(&self) -> Vec<(u64, u64)> {
        if self.slot.entry.method == STORED { self.wanted.clone() } else { vec![(0, self.slot.entry.stored)] }
    }

    /// A span of the archive, no further than the entry may reach.
    fn span(&self, offset: u64, len: u64) -> ByteRange {
        ByteRange::Span { offset, len: len.min(self.slot.entry.limit.saturating_sub(offset)) }
    }

    fn request(self, spans: Vec<ByteRange>, then: impl FnOnce(EntryRead, Vec<Vec<u8>>) + Send + 'static) {
        let source = self.source.clone();
        let ArchiveBytes::Far { store, key, version } = &*source else {
            return (self.done)(Err(err!(Internal, "a near archive is read at once")));
        };
        store.start_read(
            key,
            &spans,
            Some(*version),
            Box::new(move |result| match result.and_then(|fetched| fetched.ok_or_else(gone)) {
                Ok(fetched) => then(self, fetched.parts),
                Err(e) => (self.done)(Err(e)),
            }),
        );
    }

    fn finish(self, parts: Vec<Vec<u8>>) {
        let result = self.values(parts).map(|parts| Some(Fetched { parts, version: self.version }));
        (self.done)(result);
    }

    /// What was asked for, of what was fetched.
    fn values(&self, parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let size = self.slot.entry.size;
        if self.slot.entry.method == STORED {
            for (part, &wanted) in parts.iter().zip(&self.wanted) {
                if part.len() as u64 != wanted.1 {
                    bail!(Truncated, "found {} bytes of the zip entry, expected {}", part.len(), wanted.1);
                }
                if wanted == (0, size) {
                    self.slot.check_crc(part)?;
                }
            }
            return Ok(parts);
        }
        let mut value = Vec::new();
        self.slot.inflate(parts.first().map_or(&[], |p| p), grow(&mut value, size as usize)?)?;
        if self.wanted == [(0, size)] {
            return Ok(vec![value]);
        }
        self.wanted.iter().map(|&(offset, len)| super::directory::read_slice(&value, offset, len as usize)).collect()
    }
}
