//! Bodies of answers, read within bounds: a whole object that came for a range is cut, and lengths that nobody told are put in.

use super::date;
use super::sight::{keep_whole, note, note_transport, purpose};
use crate::limits::MAX_UNTOLD;
use bytes::Bytes;
use object_store::HeaderValue;
use object_store::client::{HttpError, HttpErrorKind, HttpResponse, HttpResponseBody};

/// A whole object that came instead of a range is cut where it has at most this number of bytes, or twice the range's, of which
/// [`MAX_UNTOLD`] may be for nothing.
pub(super) const MOST_TO_CUT: u64 = 16 << 20;

/// The length of an object of which the server sent a part without telling it.
pub(super) const UNTOLD_SIZE: u64 = u64::MAX;

pub(super) fn odd(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, std::io::Error::other(what))
}

/// At most `most` bytes of a body, and whether that was all of it.
pub(super) async fn read(body: HttpResponseBody, most: usize) -> Result<(Vec<u8>, bool), HttpError> {
    use futures_util::StreamExt;
    let (mut bytes, mut stream) = (Vec::new(), body.bytes_stream());
    while let Some(piece) = stream.next().await {
        let piece = piece.inspect_err(note_transport).inspect_err(|_| note(|seen| seen.broke_off = Some(bytes.len() as u64)))?;
        let fits = piece.len().min(most - bytes.len());
        let reserved = crate::limits::reserve(&mut bytes, fits);
        reserved
            .map_err(|_| HttpError::new(HttpErrorKind::Decode, std::io::Error::from(std::io::ErrorKind::OutOfMemory)))
            .inspect_err(note_transport)?;
        bytes.extend_from_slice(&piece[..fits]);
        if fits < piece.len() {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

/// Whether a `Content-Range` is of all bytes of an object, and a body of `length` bytes has them.
pub(super) fn is_all(range: &str, length: Option<u64>) -> bool {
    let told = || {
        let (last, size) = range.trim().strip_prefix("bytes 0-")?.split_once('/')?;
        let (end, size) = (last.parse::<u64>().ok()?.checked_add(1)?, size.parse::<u64>().ok()?);
        Some(end == size && length.is_none_or(|length| length == size))
    };
    told().unwrap_or(false)
}

/// A part of an object whose length its server does not tell (`bytes 0-9/*`), with the length: where the part ends if the object ends
/// there, else [`UNTOLD_SIZE`]. Without an ETag, parts could not be told from those of another object: such an answer stays as it is.
pub(super) fn measured(mut response: HttpResponse, range: Option<&str>) -> HttpResponse {
    let headers = response.headers_mut();
    let found = headers.get("content-range").and_then(|value| value.to_str().ok()).and_then(|text| text.trim().strip_suffix("/*"));
    let (Some(found), true) = (found, headers.contains_key("etag")) else { return response };
    let last = found.rsplit_once('-').and_then(|(_, last)| last.parse::<u64>().ok());
    let (Some(last), Some(wanted)) = (last, range.and_then(parse_range)) else { return response };
    let goes_on = matches!(wanted, (Some(start), len) if len < u64::MAX && start.checked_add(len - 1).is_some_and(|end| end <= last));
    let size = if goes_on { UNTOLD_SIZE } else { last.saturating_add(1) };
    if let Ok(value) = HeaderValue::from_str(&format!("{found}/{size}")) {
        headers.insert("content-range", value);
    }
    response
}

/// Leaves out a `Last-Modified` that nobody needs beside an ETag, or that names no moment: the crate would refuse the answer.
pub(super) fn dated(response: &mut HttpResponse) {
    let headers = response.headers_mut();
    let Some(value) = headers.get("last-modified") else { return };
    let is_zone = |text: &str| text.len() == 5 && text.starts_with(['+', '-']);
    let is_moment = |text: &str| date::seconds(text).is_some() || text.rsplit(' ').next().is_some_and(is_zone);
    if headers.contains_key("etag") || !value.to_str().is_ok_and(is_moment) {
        headers.remove("last-modified");
    }
}

/// The whole object as the range of it that was asked for. Of what is asked for its headers no more is read.
pub(super) async fn cut(response: HttpResponse, range: &str, length: Option<u64>) -> Result<HttpResponse, HttpError> {
    let wanted = parse_range(range);
    let most = wanted.map_or(0, |(_, len)| len.saturating_add(len.min(MAX_UNTOLD))).max(MOST_TO_CUT);
    if wanted.is_none() || length.is_some_and(|length| length > most) {
        note(|seen| seen.no_ranges = Some(most));
        return Ok(response);
    }
    if let (Some(length @ 1..), true) = (length, purpose().headers) {
        let (parts, _) = response.into_parts();
        return Ok(as_range(HttpResponse::from_parts(parts, Vec::new().into()), (0, 1), length));
    }
    let (mut parts, body) = response.into_parts();
    let (bytes, all) = read(body, most as usize).await?;
    let total = bytes.len() as u64;
    let too_short = length.is_some_and(|length| length != total);
    if !all || too_short {
        note(|seen| seen.no_ranges = if all { None } else { Some(most) });
        return Err(odd(if all { "an object that ended too early" } else { "a whole object instead of a range" }));
    }
    let (start, end) = match wanted {
        Some((Some(start), len)) => (start, start.saturating_add(len).min(total)),
        Some((None, len)) => (total.saturating_sub(len), total),
        None => (0, total),
    };
    if start >= total || start >= end {
        parts.status = 416.try_into().unwrap_or(parts.status);
        note(|seen| (seen.status, seen.ends_at) = (416, Some(total)));
        return Ok(HttpResponse::from_parts(parts, Vec::new().into()));
    }
    let whole = Bytes::from(bytes);
    keep_whole(whole.clone());
    Ok(as_range(HttpResponse::from_parts(parts, whole.slice(start as usize..end as usize).into()), (start, end), total))
}

/// Whether the ETag of an answer is all that is wanted of it.
pub(super) fn tells_version(response: &HttpResponse) -> bool {
    purpose().version && response.headers().contains_key("etag")
}

/// An answer of which no more than its headers is read, with a length, which nobody told; as a range where that was asked for.
pub(super) fn unread(response: HttpResponse, as_part: bool) -> HttpResponse {
    let (parts, _) = response.into_parts();
    let mut response = HttpResponse::from_parts(parts, Vec::new().into());
    if as_part {
        return as_range(response, (0, 1), UNTOLD_SIZE);
    }
    response.headers_mut().insert("content-length", UNTOLD_SIZE.into());
    response
}

/// An answer with a range of an object of `total` bytes.
fn as_range(mut response: HttpResponse, (start, end): (u64, u64), total: u64) -> HttpResponse {
    *response.status_mut() = 206.try_into().unwrap_or(response.status());
    for (name, value) in [("content-range", format!("bytes {start}-{}/{total}", end - 1)), ("content-length", (end - start).to_string())] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    note(|seen| seen.status = 206);
    response
}

/// The first byte (`None`: counted from the end) and the number of bytes that a `Range` header asks for.
fn parse_range(range: &str) -> Option<(Option<u64>, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        return Some((None, last.parse().ok()?));
    }
    let first: u64 = first.parse().ok()?;
    if last.is_empty() {
        return Some((Some(first), u64::MAX));
    }
    Some((Some(first), last.parse::<u64>().ok()?.checked_sub(first)?.checked_add(1)?))
}

/// The most bytes that an answer to a `Range` header may have, if it says so.
pub(super) fn most_of(range: &str) -> Option<u64> {
    parse_range(range).map(|(_, len)| len).filter(|len| *len < u64::MAX)
}

/// An answer whose length nobody told, with its length: at most `most` bytes, or what the try has a use for.
pub(super) async fn counted(response: HttpResponse, most: Option<u64>) -> Result<HttpResponse, HttpError> {
    let (mut parts, body) = response.into_parts();
    let most = most.unwrap_or_else(|| purpose().untold);
    let (bytes, all) = read(body, usize::try_from(most).unwrap_or(usize::MAX)).await?;
    if !all {
        note(|seen| seen.too_long = Some(most));
        return Err(odd("an object of unknown length that is too large"));
    }
    if let Ok(value) = HeaderValue::from_str(&bytes.len().to_string()) {
        parts.headers.insert("content-length", value);
    }
    Ok(HttpResponse::from_parts(parts, bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_understood() {
        let cases = [
            ("bytes=0-9", Some((Some(0), 10))),
            ("bytes=5-", Some((Some(5), u64::MAX))),
            ("bytes=-7", Some((None, 7))),
            ("bytes=9-5", None),
            ("items=0-1", None),
            ("bytes=0-18446744073709551615", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_range(text), expected, "{text}");
        }
        for (text, most) in [("bytes=100-355", Some(256)), ("bytes=-7", Some(7)), ("bytes=5-", None), ("items=0-1", None)] {
            assert_eq!(most_of(text), most, "{text}: no more is kept of an answer without a length");
        }
    }
}
