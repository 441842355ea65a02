//! Pages of listings, before the crate reads them: what it would take for an empty page or the last one, and keys that it cannot read.

use super::error_text::{element, meant};
use crate::error::ErrorKind;
use object_store::path::Path;
use std::ops::Range;

/// The most bytes of one page, which has at most 5,000 keys.
pub(super) const MOST: usize = 64 << 20;
/// A page says within this number of bytes what it is.
const BEGINNING: usize = 16 << 10;
/// The elements of one key or prefix, where its name is, and what it ends in: of S3 and Google, of Azure.
const ENTRIES: [(&str, &str, &str); 4] =
    [("Contents", "Key", ""), ("CommonPrefixes", "Prefix", "/"), ("Blob", "Name", ""), ("BlobPrefix", "Name", "/")];

/// Something else would be taken for a listing without keys.
const NONE: (ErrorKind, &str) = (ErrorKind::Network, "the server sent something else instead of a listing of keys");
/// What servers send that know the first version of S3's listing only, for one. It would be taken for the last page.
const NO_NEXT: (ErrorKind, &str) = (
    ErrorKind::Unsupported,
    "the server says that there are more keys, but not how to ask for them (does it list by S3's first version only?)",
);

/// What is wrong with a page; `all`: that is all of it.
pub(super) fn fault(page: &[u8], all: bool) -> Option<(ErrorKind, &'static str)> {
    let has = |text: &str| page[..page.len().min(BEGINNING)].windows(text.len()).any(|window| window == text.as_bytes());
    let page = String::from_utf8_lossy(page);
    let says = |name| element(&page, name).unwrap_or_default().trim().to_string();
    match (has("<ListBucketResult"), has("<EnumerationResults")) {
        (false, false) => Some(NONE),
        _ if !all => Some(NONE),
        (true, _) if says("IsTruncated").eq_ignore_ascii_case("true") && says("NextContinuationToken").is_empty() => Some(NO_NEXT),
        _ => None,
    }
}

/// The entries whose names no key or prefix of a store can have: with empty parts, say, as marks of folders and slips of other tools
/// have them. One of them would make the page unreadable, or would be taken for another object.
fn unreadable(page: &str) -> Vec<Range<usize>> {
    let mut gone = Vec::new();
    for (entry, name, end_of_key) in ENTRIES {
        let (open, close) = (format!("<{entry}>"), format!("</{entry}>"));
        let (name_open, name_close) = (format!("<{name}>"), format!("</{name}>"));
        let mut from = 0;
        while let Some(start) = page[from..].find(&open).map(|at| from + at) {
            let Some(end) = page[start..].find(&close).map(|at| start + at + close.len()) else { break };
            let named = page[start..end].split_once(&name_open).and_then(|(_, rest)| rest.split_once(&name_close));
            let key = named.and_then(|(text, _)| meant(text));
            let key = key.as_deref().and_then(|key| if end_of_key.is_empty() { Some(key) } else { key.strip_suffix(end_of_key) });
            if key.is_some_and(|key| key.is_empty() || !Path::parse(key).is_ok_and(|path| path.as_ref() == key)) {
                gone.push(start..end);
            }
            from = end;
        }
    }
    gone.sort_unstable_by_key(|range| range.start);
    gone
}

/// Takes such entries out of a page.
pub(super) fn leave_out_unreadable(page: &mut Vec<u8>) {
    let gone = std::str::from_utf8(page).map(unreadable).unwrap_or_default();
    cut(page, &gone);
}

/// Takes ranges, which are in order, out of bytes.
fn cut(bytes: &mut Vec<u8>, gone: &[Range<usize>]) {
    let mut len = gone.first().map_or(bytes.len(), |range| range.start);
    for (i, range) in gone.iter().enumerate() {
        let next = gone.get(i + 1).map_or(bytes.len(), |next| next.start);
        bytes.copy_within(range.end..next, len);
        len += next - range.end;
    }
    bytes.truncate(len);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_no_key_names_are_left_out() {
        let page = |entries: &[(&str, &str)]| -> String {
            let entry = |(kind, key): &(&str, &str)| match *kind {
                "key" => format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>"),
                "prefix" => format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"),
                "blob" => format!("<Blob><Name>{key}</Name></Blob>"),
                _ => format!("<BlobPrefix><Name>{key}</Name></BlobPrefix>"),
            };
            format!(
                "<ListBucketResult><Prefix>r//</Prefix>{}<KeyCount>3</KeyCount></ListBucketResult>",
                entries.iter().map(entry).collect::<String>()
            )
        };
        for (kind, key, stays) in [
            ("key", "r/a", true),
            ("key", "r/a&amp;b&#39;", true),
            ("key", "r/&unknown;", true),
            ("key", "r//a", false),
            ("key", "/r/a", false),
            ("key", "r/a/", false),
            ("key", "r/../a", false),
            ("key", "r/./a", false),
            ("key", "r/a&#10;b", false),
            ("key", "r/a&#xA;b", false),
            ("key", "r&#47;&#x2f;a", false),
            ("prefix", "r/a/", true),
            ("prefix", "r//", false),
            ("prefix", "/", false),
            ("blob", "r/a", true),
            ("blob", "r//a", false),
            ("blob prefix", "r/a/", true),
            ("blob prefix", "r//", false),
        ] {
            let mut bytes = page(&[("key", "r/first"), (kind, key), (kind, key), ("key", "r/last")]).into_bytes();
            leave_out_unreadable(&mut bytes);
            let all = [("key", "r/first"), (kind, key), (kind, key), ("key", "r/last")];
            let expected = if stays { page(&all) } else { page(&[all[0], all[3]]) };
            assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{kind} {key}");
        }
    }

    #[test]
    fn what_is_no_page_or_not_the_last_one_is_found_out() {
        let s3 = |more: &str| format!("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">{more}</ListBucketResult>");
        for (page, expected) in [
            (s3(""), None),
            (s3("<IsTruncated>false</IsTruncated>"), None),
            (s3("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"), None),
            (s3("<IsTruncated>true</IsTruncated>"), Some(ErrorKind::Unsupported)),
            (s3("<IsTruncated> True\n</IsTruncated>"), Some(ErrorKind::Unsupported)),
            (s3("<IsTruncated>true</IsTruncated><NextContinuationToken></NextContinuationToken>"), Some(ErrorKind::Unsupported)),
            (s3("<IsTruncated>true</IsTruncated><NextContinuationToken/>"), Some(ErrorKind::Unsupported)),
            (s3("<IsTruncated>true</IsTruncated><NextContinuationToken>\n</NextContinuationToken>"), Some(ErrorKind::Unsupported)),
            (s3("<IsTruncated>false</IsTruncated><NextContinuationToken></NextContinuationToken>"), None),
            (s3("<IsTruncated>true</IsTruncated><NextMarker>k</NextMarker>"), Some(ErrorKind::Unsupported)),
            ("<EnumerationResults><NextMarker>k</NextMarker></EnumerationResults>".to_string(), None),
            ("<html></html>".to_string(), Some(ErrorKind::Network)),
            (String::new(), Some(ErrorKind::Network)),
        ] {
            assert_eq!(fault(page.as_bytes(), true).map(|(kind, _)| kind), expected, "{page}");
        }
    }
}
