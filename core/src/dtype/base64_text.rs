//! Bytes as base64, in fill values and attributes, and what a text may be that looks like it.

use crate::error::Result;
use crate::json::Value;
use crate::limits::with_spare;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use std::io::Read;

/// Bytes as base64; an error instead of an abort when memory is short.
pub fn base64_of(bytes: &[u8]) -> Result<Value> {
    let text = with_spare(bytes.len().div_ceil(3) * 4, || STANDARD.encode(bytes))?;
    Value::text_of_any(&text)
}

/// Returns the bytes of a text in base64, or `None` if the text is not in base64.
pub(super) fn decoded(text: &str) -> Result<Option<Vec<u8>>> {
    with_spare(text.len(), || STANDARD.decode(text).ok())
}

/// Whether a text that is meant as base64 could be meant as it is: what it decodes to is no text, and nothing pads it.
pub fn is_doubtful_base64(text: &str) -> bool {
    !text.ends_with('=') && is_base64(text) && !is_base64_of(text, |b| b.is_ascii_graphic() || b == b' ' || b == 0)
}

/// Whether a fill value is base64 of a text and ends in padding, as zarr-python writes most of them.
pub fn is_padded_base64(fill: &Value) -> bool {
    let is_text = |b: u8| b.is_ascii_graphic() || b == b' ';
    fill.as_str().is_some_and(|text| text.ends_with('=') && is_base64_of(text, is_text))
}

/// Whether a text is base64, padded.
pub fn is_base64(text: &str) -> bool {
    is_base64_of(text, |_| true)
}

/// Whether a text is base64, padded, of bytes of which each is as `test` says. It takes no memory.
fn is_base64_of(text: &str, test: impl Fn(u8) -> bool) -> bool {
    let (mut reader, mut some) = (DecoderReader::new(text.as_bytes(), &STANDARD), [0; 512]);
    loop {
        match reader.read(&mut some) {
            Ok(0) => return true,
            Ok(n) if some[..n].iter().all(|b| test(*b)) => {}
            _ => return false,
        }
    }
}

/// A double as base64 of its eight bytes, the least significant first: how xarray writes `_FillValue` in version 3.
pub fn double_to_base64(value: f64) -> String {
    STANDARD.encode(value.to_le_bytes())
}

/// The double of such a text.
pub fn double_from_base64(text: &str) -> Option<f64> {
    let mut bytes = [0; 9];
    let length = STANDARD.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok().map(f64::from_le_bytes)
}
