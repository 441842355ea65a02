//! What services say of errors in the texts of their answers.

use std::collections::HashSet;

/// What an answer that began as a good one says of the first thing that went wrong: the status that this means, its code and its text. S3 names
/// errors so when parts become an object, and for each of several keys; Azure gives each key an answer of its own, and has nothing against one
/// that is gone already.
pub(super) fn error_inside(reply: &str) -> Option<(u16, String, String)> {
    let of = |rest: &str, name| element(rest, name).unwrap_or_default();
    let mut each = reply.split("HTTP/1.1 ").skip(1).peekable();
    if each.peek().is_some() {
        let status_of = |rest: &str| rest.get(..3).and_then(|digits| digits.parse().ok()).filter(|status| *status >= 300 && *status != 404);
        return each.find_map(|rest| Some((status_of(rest)?, of(rest, "Code"), of(rest, "Message"))));
    }
    let (_, rest) = reply.split_once("<Error>")?;
    let code = element(rest, "Code")?;
    let status = match code.as_str() {
        "SlowDown" | "ServiceUnavailable" => 503,
        "InternalError" => 500,
        "RequestTimeout" => 408,
        "OperationAborted" | "ConditionalRequestConflict" => 409,
        "PreconditionFailed" => 412,
        "AccessDenied" | "ExpiredToken" | "ExpiredTokenException" | "InvalidAccessKeyId" | "SignatureDoesNotMatch" => 403,
        "NoSuchBucket" | "NoSuchKey" | "NoSuchUpload" => 404,
        _ => 400,
    };
    Some((status, code, of(rest, "Message")))
}

/// Whether an answer is an error and nothing else.
pub(super) fn is_error(reply: &str) -> bool {
    let before = reply.split_once("<Error>").map(|(before, _)| before.trim_start_matches('\u{feff}').trim());
    before.is_some_and(|before| before.is_empty() || before.starts_with("<?xml") && before.matches('<').count() == 1)
}

/// Numbers that the parts of a batch of Azure's have, of requests or of their answers; `None` for what is no number.
pub(super) fn parts_of_batch(text: &str) -> impl Iterator<Item = Option<usize>> {
    const ID: &str = "content-id:";
    let values = text.lines().filter_map(|line| Some((line.get(..ID.len())?, line.get(ID.len()..)?)));
    values.filter(|(name, _)| name.eq_ignore_ascii_case(ID)).map(|(_, value)| value.trim().parse().ok())
}

/// A key of an error in an answer to S3's request to erase several, of which `request` is the body, that is none of those to be erased.
pub(super) fn key_not_asked_for(request: &str, reply: &str) -> Option<String> {
    // As the crate reads them.
    let key = |text: &str| meant(text.trim_ascii()).map(|key| key.trim_matches('/').to_string());
    let keys = |xml: &str| xml.split("<Key>").skip(1).filter_map(|rest| key(rest.split_once("</Key>")?.0)).collect::<Vec<_>>();
    let errors = reply.split("<Error>").skip(1).map(|rest| rest.split_once("</Error>").map_or(rest, |(inside, _)| inside));
    let mut told = errors.flat_map(keys).peekable();
    // Most answers have none.
    told.peek()?;
    let asked: HashSet<String> = keys(request).into_iter().collect();
    told.find(|key| !asked.contains(key))
}

/// The text of an XML element, in one short line.
pub(super) fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect())
}

/// What a text of XML means, if it is one.
pub(super) fn meant(text: &str) -> Option<String> {
    let (first, rest) = text.split_once('&').unwrap_or((text, ""));
    let mut meant = first.to_string();
    for piece in rest.split('&').filter(|piece| !piece.is_empty()) {
        let (entity, after) = piece.split_once(';')?;
        meant.push(match (entity, entity.strip_prefix('#')) {
            ("amp", _) => '&',
            ("lt", _) => '<',
            ("gt", _) => '>',
            ("quot", _) => '"',
            ("apos", _) => '\'',
            (_, Some(number)) => char::from_u32(match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            })?,
            _ => return None,
        });
        meant.push_str(after);
    }
    Some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found() {
        let xml = "<Error><Code>SlowDown</Code><Message>Please\nreduce</Message></Error>";
        assert_eq!(element(xml, "Code").as_deref(), Some("SlowDown"));
        assert_eq!(element(xml, "Message").as_deref(), Some("Please reduce"));
        assert!(element(xml, "Region").is_none());
    }

    #[test]
    fn errors_in_answers_that_began_as_good_ones_are_found() {
        const TWO: &str = "<DeleteResult><Deleted><Key>a</Key></Deleted><Error><Key>b</Key><Code>AccessDenied</Code><Message>no</Message></Error>\
            <Error><Key>c</Key><Code>InternalError</Code></Error></DeleteResult>";
        const BATCH: &str = "--batch\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n--batch\r\nContent-ID: 1\r\n\r\nHTTP/1.1 404 none\r\n\r\n\
            <Error><Code>BlobNotFound</Code></Error>\r\n--batch\r\nContent-ID: 2\r\n\r\nHTTP/1.1 503 busy\r\n\r\n<Error><Code>ServerBusy</Code></Error>";
        for (reply, expected) in [
            ("", None),
            ("<DeleteResult><Deleted><Key>Error</Key></Deleted></DeleteResult>", None),
            ("<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>", None),
            ("  <Error><Code>InternalError</Code><Message>again</Message></Error>", Some((500, "InternalError", "again"))),
            ("<Error><Code>SlowDown</Code></Error>", Some((503, "SlowDown", ""))),
            ("<Error><Code>NoSuchUpload</Code></Error>", Some((404, "NoSuchUpload", ""))),
            ("<Error><Code>MalformedXML</Code></Error>", Some((400, "MalformedXML", ""))),
            (TWO, Some((403, "AccessDenied", "no"))),
            (BATCH, Some((503, "ServerBusy", ""))),
            (BATCH.split_once("503").unwrap().0, None),
        ] {
            let found = error_inside(reply);
            let found = found.as_ref().map(|(status, code, text)| (*status, code.as_str(), text.as_str()));
            assert_eq!(found, expected, "{reply}");
            assert_eq!(is_error(reply), reply.trim().starts_with("<Error>"), "{reply}");
        }
    }
}
