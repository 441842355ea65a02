//! Filling a destination: of a size that is known before, of one that is not, and from a stream.

use super::stage::{Dest, FIRST_BYTES, FIRST_ROOM};
use crate::error::{Error, Result, bail, err};
use crate::limits;

/// A decoded size that differs from what is expected.
#[cold]
pub(super) fn wrong_size(found: usize, expected: usize) -> Error {
    err!(Chunk, "decoded to {found} bytes, expected {expected}")
}

/// A decoded size that exceeds what is expected.
#[cold]
pub(super) fn too_large(dest: &Dest<'_>) -> Error {
    match dest {
        Dest::Exact(d) => err!(Chunk, "decodes to more than {0} bytes, expected {0}", d.len()),
        Dest::AtMost(_, max) | Dest::Checked(_, max, _) => err!(Chunk, "decodes to more than {max} bytes, the most that was expected"),
    }
}

/// Decodes where the size is known before: `fill` gets exactly `n` bytes to write.
pub(super) fn decode_known(dest: Dest<'_>, n: usize, fill: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<()> {
    match dest {
        Dest::Exact(d) if d.len() == n => fill(d),
        Dest::Exact(d) => Err(wrong_size(n, d.len())),
        Dest::AtMost(_, max) | Dest::Checked(_, max, _) if n > max => Err(err!(Chunk, "decoded to {n} bytes, expected at most {max}")),
        Dest::AtMost(buf, _) | Dest::Checked(buf, ..) => {
            let done = limits::grow(buf, n).and_then(fill);
            buf.truncate(if done.is_ok() { n } else { 0 });
            done
        }
    }
}

/// Decodes to the front of what it gets: the number of bytes, or `None` where the room is too small.
pub(super) type Attempt<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<Option<usize>>;

/// Decodes where the size may be unknown: `attempt` writes to the front of what it gets and says how many bytes, or `None`
/// where the room is too small, with the first bytes in it. A destination that can grow starts at `hint` bytes and doubles up to its limit.
pub(super) fn decode_growing(dest: Dest<'_>, hint: usize, attempt: Attempt<'_>) -> Result<()> {
    let (buf, max, mut check) = match dest {
        Dest::Exact(d) => {
            let expected = d.len();
            return match attempt(d)? {
                Some(n) if n == expected => Ok(()),
                Some(n) => Err(wrong_size(n, expected)),
                None => Err(too_large(&Dest::Exact(d))),
            };
        }
        Dest::AtMost(buf, max) => (buf, max, None),
        Dest::Checked(buf, max, check) => (buf, max, Some(check)),
    };
    let mut room = hint.max(1 << 12).min(max);
    if check.is_some() {
        room = room.min(FIRST_ROOM);
    }
    loop {
        let done = limits::grow(buf, room).and_then(&mut *attempt);
        match done {
            Ok(Some(n)) => {
                buf.truncate(n);
                return Ok(());
            }
            Ok(None) if room < max => {
                room = room.saturating_mul(2).min(max);
                if room > FIRST_ROOM
                    && let Some(check) = check.take()
                {
                    let first = buf.get(..FIRST_BYTES).unwrap_or(buf);
                    check(first).inspect_err(|_| buf.clear())?;
                    room = room.max(hint).min(max);
                }
            }
            Ok(None) => {
                buf.clear();
                bail!(Chunk, "decodes to more than {max} bytes, the most that was expected");
            }
            Err(e) => {
                buf.clear();
                return Err(e);
            }
        }
    }
}

/// What one step of a streaming codec did.
pub(super) struct Step {
    /// Bytes taken.
    pub used: usize,
    /// Bytes written.
    pub made: usize,
    /// Whether the stream is at its end.
    pub end: bool,
}

/// Decodes one stream at the start of `src` to the front of `out`, step by step: the bytes used and made, or `None` where the
/// room is too small. A step that does nothing means that the stream is cut.
pub(super) fn decode_stream(
    name: &str,
    src: &[u8],
    out: &mut [u8],
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step>,
) -> Result<Option<(usize, usize)>> {
    let (mut used, mut made, mut spill) = (0, 0, [0]);
    loop {
        let room = out.get_mut(made..).unwrap_or_default();
        let full = room.is_empty();
        // The end of a stream may come after its last byte is there: one byte of room tells it from more bytes.
        let done = step(src.get(used..).unwrap_or_default(), if full { &mut spill } else { room })?;
        if full && done.made > 0 {
            return Ok(None);
        }
        (used, made) = (used + done.used, made + done.made);
        if done.end {
            return Ok(Some((used, made)));
        }
        if done.used == 0 && done.made == 0 {
            bail!(Truncated, "the {name} stream ends early ({} bytes)", src.len());
        }
    }
}

/// Encodes all of `src` as one stream; room for that many bytes more than `src` has is made first, and more when it is needed.
pub(super) fn encode_stream(
    src: &[u8],
    dst: &mut Vec<u8>,
    overhead: usize,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step>,
) -> Result<()> {
    let (mut used, mut made) = (0, 0);
    let mut room = src.len().saturating_add(overhead);
    loop {
        let out = limits::grow(dst, room)?;
        let done = step(src.get(used..).unwrap_or_default(), out.get_mut(made..).unwrap_or_default())?;
        (used, made) = (used + done.used, made + done.made);
        if done.end {
            dst.truncate(made);
            return Ok(());
        }
        if made == room {
            room = room.saturating_mul(2);
        } else if done.used == 0 && done.made == 0 {
            bail!(Internal, "the encoder stopped after {used} of {} bytes", src.len());
        }
    }
}

/// Room for an encoded buffer of `n` bytes.
pub(super) fn output(dst: &mut Vec<u8>, n: usize) -> Result<&mut [u8]> {
    dst.truncate(n);
    limits::grow(dst, n)
}

/// Refuses to encode what is no whole number of items.
pub(super) fn check_input(name: &str, len: usize, item: usize) -> Result<()> {
    if !len.is_multiple_of(item) {
        bail!(Unsupported, "{name} cannot encode {len} bytes, which are no multiple of {item}");
    }
    Ok(())
}

/// Refuses to decode what is no whole number of items.
pub(super) fn check_whole(name: &str, len: usize, item: usize) -> Result<()> {
    if !len.is_multiple_of(item) {
        bail!(Chunk, "{name} found {len} bytes, expected a multiple of {item}");
    }
    Ok(())
}
