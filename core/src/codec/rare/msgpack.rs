//! MessagePack: JSON values read and written, with errors instead of aborts when memory is short.
//! Specification: github.com/msgpack/msgpack, `spec.md`.

use crate::dtype::base64_text::base64_of;
use crate::error::{Result, bail, err};
use crate::limits::{self, push};
use crate::metadata::{Map, Value, json};

/// The most lists and maps inside each other, those of a chunk's dimensions included.
const DEPTH: usize = 128;

/// The value that bytes are, all of them.
pub(super) fn read(bytes: &[u8]) -> Result<Value> {
    let mut rest = bytes;
    let value = value(&mut rest, DEPTH)?;
    if !rest.is_empty() {
        bail!(Chunk, "found {} bytes behind the end", rest.len());
    }
    Ok(value)
}

fn value(rest: &mut &[u8], depth: usize) -> Result<Value> {
    let Some(depth) = depth.checked_sub(1) else { bail!(Chunk, "no MessagePack: nested deeper than the limit of {DEPTH} levels") };
    let mark = number::<1>(rest)?[0];
    Ok(match mark {
        0x00..=0x7f => Value::from(mark),
        0x80..=0x8f => map(rest, u64::from(mark & 0x0f), depth)?,
        0x90..=0x9f => list(rest, u64::from(mark & 0x0f), depth)?,
        0xa0..=0xbf => text(rest, u64::from(mark & 0x1f))?,
        0xc0 => Value::Null,
        0xc1 => bail!(Chunk, "no MessagePack: found the byte 0xc1, which begins no value"),
        0xc2 | 0xc3 => Value::Bool(mark == 0xc3),
        // JSON has no bytes.
        0xc4..=0xc6 => {
            let length = length(rest, mark - 0xc4)?;
            base64_of(take(rest, length)?)?
        }
        0xc7..=0xc9 => {
            length(rest, mark - 0xc7)?;
            return extension(rest);
        }
        0xca => float(f64::from(f32::from_be_bytes(number(rest)?))),
        0xcb => float(f64::from_be_bytes(number(rest)?)),
        0xcc..=0xce => Value::from(length(rest, mark - 0xcc)?),
        0xcf => Value::from(u64::from_be_bytes(number(rest)?)),
        0xd0 => Value::from(i8::from_be_bytes(number(rest)?)),
        0xd1 => Value::from(i16::from_be_bytes(number(rest)?)),
        0xd2 => Value::from(i32::from_be_bytes(number(rest)?)),
        0xd3 => Value::from(i64::from_be_bytes(number(rest)?)),
        0xd4..=0xd8 => return extension(rest),
        0xd9..=0xdb => {
            let length = length(rest, mark - 0xd9)?;
            text(rest, length)?
        }
        0xdc | 0xdd => {
            let count = length(rest, mark - 0xdb)?;
            list(rest, count, depth)?
        }
        0xde | 0xdf => {
            let count = length(rest, mark - 0xdd)?;
            map(rest, count, depth)?
        }
        0xe0..=0xff => Value::from(mark as i8),
    })
}

/// The next bytes.
fn take<'a>(rest: &mut &'a [u8], count: u64) -> Result<&'a [u8]> {
    let split = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count));
    let Some((taken, behind)) = split else { bail!(Chunk, "no MessagePack: found {} bytes, expected {count} more", rest.len()) };
    *rest = behind;
    Ok(taken)
}

fn number<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    take(rest, N as u64)?.try_into().map_err(|_| err!(Internal, "{N} bytes are not {N}"))
}

/// A length, or another number without a sign, in 1, 2 or 4 bytes, for a `width` of 0, 1 or 2.
fn length(rest: &mut &[u8], width: u8) -> Result<u64> {
    Ok(match width {
        0 => number::<1>(rest)?[0].into(),
        1 => u16::from_be_bytes(number(rest)?).into(),
        _ => u32::from_be_bytes(number(rest)?).into(),
    })
}

fn text(rest: &mut &[u8], length: u64) -> Result<Value> {
    match std::str::from_utf8(take(rest, length)?) {
        Ok(text) => Value::text_of_any(text),
        Err(_) => bail!(Chunk, "found a string that is not UTF-8"),
    }
}

/// The items of a list, for which no room is made before they are there.
fn list(rest: &mut &[u8], count: u64, depth: usize) -> Result<Value> {
    let mut items = Vec::new();
    for _ in 0..count {
        push(&mut items, value(rest, depth)?)?;
    }
    json::List::of(items).map(Value::Array)
}

fn map(rest: &mut &[u8], count: u64, depth: usize) -> Result<Value> {
    let mut members = Map::new();
    for _ in 0..count {
        let name = match value(rest, depth)? {
            Value::String(name) => name,
            other => json::text(&json::compact_of_any(&other)?)?,
        };
        let value = value(rest, depth)?;
        members.make_room(1)?;
        members.insert(name, value);
    }
    limits::check_memory()?;
    Ok(Value::Object(members))
}

fn extension(rest: &mut &[u8]) -> Result<Value> {
    let kind = i8::from_be_bytes(number(rest)?);
    bail!(Unsupported, "found an element of MessagePack's extension {kind}")
}

/// A number as JSON; those that JSON does not have as Python writes them.
fn float(x: f64) -> Value {
    Value::Number(json::number(x))
}

/// Adds a value to bytes, in its shortest form.
pub(super) fn write(out: &mut Vec<u8>, value: &Value) -> Result<()> {
    match value {
        Value::Null => put(out, &[0xc0]),
        Value::Bool(is_true) => put(out, &[if *is_true { 0xc3 } else { 0xc2 }]),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => {
            match text.len() {
                n @ ..=0xff if n > 0x1f => marked(out, 0xd9, &[n as u8])?,
                n => head(out, n, (0xa0, 0x1f), 0xda)?,
            }
            put(out, text.as_bytes())
        }
        Value::HalfPairs(text) => bail!(Range, "the text {text} is no Unicode, and has no form in MessagePack"),
        Value::Array(list) => {
            head(out, list.len(), (0x90, 0x0f), 0xdc)?;
            list.iter().try_for_each(|item| write(out, item))
        }
        Value::Object(members) => {
            head(out, members.len(), (0x80, 0x0f), 0xde)?;
            members.iter().try_for_each(|(name, value)| {
                write(out, &Value::String(name.clone()))?;
                write(out, value)
            })
        }
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    limits::reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn marked(out: &mut Vec<u8>, mark: u8, bytes: &[u8]) -> Result<()> {
    put(out, &[mark])?;
    put(out, bytes)
}

/// Adds a length: in the mark `short` where it is not greater than `most`, else behind the mark `long` or the one after that.
fn head(out: &mut Vec<u8>, n: usize, (short, most): (u8, usize), long: u8) -> Result<()> {
    if n <= most {
        return put(out, &[short | n as u8]);
    }
    match (u16::try_from(n), u32::try_from(n)) {
        (Ok(n), _) => marked(out, long, &n.to_be_bytes()),
        (_, Ok(n)) => marked(out, long + 1, &n.to_be_bytes()),
        _ => bail!(Limit, "found {n} items or bytes, the limit of MessagePack is 2^32 - 1"),
    }
}

fn write_number(out: &mut Vec<u8>, number: &json::Number) -> Result<()> {
    let text = number.text();
    match (number.as_u64(), number.as_i64(), text.parse::<f64>()) {
        (Some(n), ..) => match n {
            0..=0x7f => put(out, &[n as u8]),
            0x80..=0xff => marked(out, 0xcc, &[n as u8]),
            0x100..=0xffff => marked(out, 0xcd, &(n as u16).to_be_bytes()),
            0x1_0000..=0xffff_ffff => marked(out, 0xce, &(n as u32).to_be_bytes()),
            _ => marked(out, 0xcf, &n.to_be_bytes()),
        },
        (_, Some(n), _) => match n {
            -0x20.. => put(out, &[n as u8]),
            -0x80..-0x20 => marked(out, 0xd0, &[n as u8]),
            -0x8000..-0x80 => marked(out, 0xd1, &(n as i16).to_be_bytes()),
            -0x8000_0000..-0x8000 => marked(out, 0xd2, &(n as i32).to_be_bytes()),
            _ => marked(out, 0xd3, &n.to_be_bytes()),
        },
        // The nearest double of a longer integer, and infinity for a number beyond the greatest double (1e400), are other numbers.
        (_, _, Ok(x)) if x.is_finite() && text.contains(['.', 'e', 'E']) || json::is_non_finite(number) => {
            marked(out, 0xcb, &x.to_be_bytes())
        }
        _ => bail!(Range, "the number {number} has no form in MessagePack"),
    }
}
