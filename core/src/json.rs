//! Bounded JSON: reading with limits on size and depth, writing, and the small look-ups that all metadata code shares.
//!
//! Numbers keep their source text and objects the order of their members. The bare tokens `NaN`, `Infinity` and
//! `-Infinity`, which Python writes and JSON forbids, are read as numbers with that text and written as that text.

mod convert;
mod number;
mod read;
mod scan;
mod spellings;
pub mod splice;
mod text;
mod value;
mod write;

use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{self, Dims, MAX_JSON_VALUES};
pub(crate) use convert::json;
use scan::string_end;
use spellings::TOKENS;
use std::borrow::Cow;
use std::collections::HashSet;
pub use value::{List, Map, Number, Text, Value, text};
#[cfg(test)]
pub(crate) use write::BRIEF;
pub use write::{acts_on_terminals, brief, compact_of_any, text_of_any, to_compact, to_text, to_text_within};
use write::{indent, quoted};

/// What some editors put in front of UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// What to do about NaN and infinities that a caller wants to store.
pub const NO_FORM: &str =
    "NaN and infinities have no form in JSON: store a text, or open the store with a context whose setting \"non_finite\" was \"1\" before";
/// The most repeated names that are reported.
const REPEATED: usize = 8;

/// Reads a document of at most `max` bytes: a byte-order mark is skipped, bare `NaN` and `Infinity` are numbers,
/// nesting is limited to 127 levels.
pub fn parse(bytes: &[u8], max: usize) -> Result<Value> {
    if bytes.len() > max {
        bail!(Limit, "a document of {} bytes exceeds the limit of {max} bytes", bytes.len());
    }
    check_values(bytes)?;
    read::value(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes), true)
}

/// Reads a document that must be an object.
pub fn parse_object(bytes: &[u8], max: usize) -> Result<Map> {
    match parse(bytes, max)? {
        Value::Object(object) => Ok(object),
        other => bail!(Metadata, "found {}, expected an object", brief(&other)),
    }
}

/// Reads JSON that the caller supplies, strictly: bare `NaN` and `Infinity` are refused. Malformed JSON is an error of kind
/// `Argument`.
pub fn parse_text(text: &str) -> Result<Value> {
    parse_finite(text, ErrorKind::Argument)
}

/// Reads JSON that the caller supplies; bare `NaN` and `Infinity` only where `non_finite` allows them: else they are an error of kind `Range`.
pub fn parse_allowed(text: &str, non_finite: bool) -> Result<Value> {
    if non_finite { parse_given(text) } else { parse_finite(text, ErrorKind::Range) }
}

/// Reads JSON that the caller supplies. `refused` is the kind of the error for bare `NaN` and `Infinity`.
fn parse_finite(text: &str, refused: ErrorKind) -> Result<Value> {
    if text.len() > crate::limits::MAX_DOCUMENT {
        bail!(Limit, "a JSON text of {} bytes exceeds the limit of {} bytes", text.len(), crate::limits::MAX_DOCUMENT);
    }
    check_values(text.as_bytes())?;
    let e = match read::value(text.as_bytes(), false) {
        Err(e) if e.kind() != ErrorKind::NoMemory => e,
        done => return done,
    };
    match read::value(text.as_bytes(), true) {
        Ok(value) if has_non_finite(&value) => Err(Error::new(refused, format!("{}; {NO_FORM}", e.message()))),
        Err(e) if e.kind() == ErrorKind::NoMemory => Err(e),
        _ => Err(argument(e)),
    }
}

/// Reads a document that the caller supplies: like [`parse`], but malformed JSON is an error of kind `Argument`.
pub fn parse_given(text: &str) -> Result<Value> {
    parse(text.as_bytes(), crate::limits::MAX_DOCUMENT).map_err(|e| if e.kind() == ErrorKind::Metadata { argument(e) } else { e })
}

/// Reads the attributes that the caller gives a new node: an object. Whether they may hold bare `NaN` and `Infinity` is for the node's context
/// to say.
pub fn given_attributes(text: &str) -> Result<Map> {
    let read = || {
        let all = parse_given(text)?;
        check_range(&all)?;
        match all {
            Value::Object(all) => Ok(all),
            other => bail!(Type, "found {}, expected an object", brief(&other)),
        }
    };
    read().map_err(|e: Error| e.at_field("attributes"))
}

/// Refuses a number that no double can hold, which most readers take for an infinity. What other writers have stored is read all the same.
pub fn check_range(value: &Value) -> Result<()> {
    let is_beyond = |value: &Value| matches!(value, Value::Number(number) if number.as_f64().is_none() && !is_non_finite(number));
    match find(value, is_beyond) {
        Some(number) => bail!(Range, "found {}, which no double can hold", brief(number)),
        None => Ok(()),
    }
}

/// Refuses a text of too many values before memory is allocated for them. A comma or an opening bracket begins each but the first.
fn check_values(bytes: &[u8]) -> Result<()> {
    if bytes.len() <= MAX_JSON_VALUES {
        return Ok(());
    }
    let (mut count, mut in_string, mut escaped) = (1usize, false, false);
    for &byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' => count += usize::from(!in_string),
            _ => {}
        }
    }
    if count > MAX_JSON_VALUES {
        bail!(Limit, "a document of {count} values exceeds the limit of {MAX_JSON_VALUES} values");
    }
    Ok(())
}

fn argument(e: Error) -> Error {
    Error::new(ErrorKind::Argument, e.message())
}

/// Returns the names that one object of a document has more than once, up to a few; readers take the last of each (HD-02). `bytes`
/// is a document that was read without an error. Without memory it returns none, which [`limits::check_memory`] tells.
pub fn repeated_names(bytes: &[u8]) -> Vec<String> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::<HashSet<Cow<'_, str>>>::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' => open.push(HashSet::new()),
            b'}' => drop(open.pop()),
            b'"' => {
                let end = string_end(bytes, at);
                let is_name = bytes[end..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if let (true, Some(seen), Some(name)) = (is_name, open.last_mut(), unescaped(&bytes[at..end]))
                    && let Some(name) = repeated(seen, name)
                    && found.len() < REPEATED
                    && !found.iter().any(|f: &String| *f == name)
                {
                    found.push(name.into_owned());
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Adds a name to those of one object, and returns it if it was there.
fn repeated<'a>(seen: &mut HashSet<Cow<'a, str>>, name: Cow<'a, str>) -> Option<Cow<'a, str>> {
    if seen.contains(&name) {
        return Some(name);
    }
    let _ = limits::add(seen, name).inspect_err(note_no_memory);
    None
}

fn note_no_memory(e: &Error) {
    if e.kind() == ErrorKind::NoMemory {
        limits::memory_ended();
    }
}

/// Returns the text of a string in its quotation marks, or `None` if the value is no string; without memory, too, which [`limits::check_memory`] tells.
fn unescaped(quoted: &[u8]) -> Option<Cow<'_, str>> {
    if quoted.contains(&b'\\') {
        let read = || match read::value(quoted, false)? {
            Value::String(name) => limits::text_of(&name).map(Some),
            _ => Ok(None),
        };
        return read().inspect_err(note_no_memory).ok()?.map(Cow::Owned);
    }
    std::str::from_utf8(quoted).ok().map(|name| Cow::Borrowed(name.trim_matches('"')))
}

/// Returns the number `value`: NaN or an infinity as the bare token that Python writes.
pub fn number(value: f64) -> Number {
    let token = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    Number::from_f64(value).unwrap_or_else(|| Number::of_text(Text::new(token)))
}

/// Returns whether a number is one of the bare tokens `NaN`, `Infinity`, `-Infinity`.
pub fn is_non_finite(number: &Number) -> bool {
    number.other_text().is_some_and(|text| TOKENS.contains(&text))
}

/// Returns whether a value is or contains a bare token `NaN`, `Infinity` or `-Infinity`.
pub fn has_non_finite(value: &Value) -> bool {
    has(value, |value| matches!(value, Value::Number(number) if is_non_finite(number)))
}

/// Returns whether `test` is true of a value or of one that it contains.
pub fn has(value: &Value, test: fn(&Value) -> bool) -> bool {
    find(value, test).is_some()
}

/// Returns the first of a value's parts, or the value itself, of which `test` is true.
fn find(value: &Value, test: fn(&Value) -> bool) -> Option<&Value> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| find(item, test)),
        Value::Object(members) => members.values().find_map(|member| find(member, test)),
        value => test(value).then_some(value),
    }
}

/// Returns an integer of 0 or more, exact to 2^64 − 1; `2.0` and `1e3` are errors, which name the largest length that any is.
pub fn get_u64(value: &Value) -> Result<u64> {
    value.as_u64().ok_or_else(|| err!(Metadata, "found {}, expected an integer from 0 to {}", brief(value), i64::MAX))
}

/// Returns a signed integer of 64 bits; `2.0` and `1e3` are errors.
pub fn get_i64(value: &Value) -> Result<i64> {
    value.as_i64().ok_or_else(|| err!(Metadata, "found {}, expected an integer from {} to {}", brief(value), i64::MIN, i64::MAX))
}

/// Returns a list of integers of 0 or more, such as a shape.
pub fn u64_list(value: &Value) -> Result<Dims> {
    let Value::Array(items) = value else {
        bail!(Metadata, "found {}, expected a list of integers", brief(value));
    };
    let mut list = Dims::new();
    limits::make_room_small(&mut list, items.len())?;
    for (i, item) in items.iter().enumerate() {
        list.push(get_u64(item).map_err(|e| e.at_field(format!("[{i}]")))?);
    }
    Ok(list)
}

/// Returns the member `name`, or an error that names the missing field.
pub fn member<'a>(object: &'a Map, name: &str) -> Result<&'a Value> {
    required(object.get(name), name)
}

/// Returns a member that was looked for, or an error that names the missing field.
pub fn required<'a>(found: Option<&'a Value>, name: &str) -> Result<&'a Value> {
    found.ok_or_else(|| err!(Metadata, "the member is missing").at_field(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value> {
        parse(text.as_bytes(), 1 << 20)
    }

    #[test]
    fn number_text_and_member_order_survive() {
        let text = r#"{"z":1.50,"a":18446744073709551615,"m":-0.0,"e":1e+05,"big":123456789012345678901234567890}"#;
        assert_eq!(to_compact(&read(text).unwrap()), text);
    }

    #[test]
    fn bare_tokens_survive_and_strings_are_left_alone() {
        let text = r#"{"a":NaN,"b":[Infinity,-Infinity,1],"NaN \" Infinity":"-Infinity \\","c":{"d":NaN}}"#;
        let value = read(text).unwrap();
        assert_eq!(to_compact(&value), text);
        assert!(is_non_finite(value["b"][1].as_number().unwrap()));
        assert!(!is_non_finite(value["b"][2].as_number().unwrap()));
        assert!(has_non_finite(&value) && !has_non_finite(&value["b"][2]));
        assert_eq!(to_text(&value["b"]), "[Infinity, -Infinity, 1]");
    }

    #[test]
    fn a_stand_in_that_the_document_holds_is_not_used() {
        for n in [1, 3] {
            let held: Vec<String> = (0..n).map(|i| format!("7.{i}9331e-604172")).collect();
            let text = format!("[{},NaN]", held.join(","));
            assert_eq!(to_compact(&read(&text).unwrap()), text);
        }
    }

    #[test]
    fn bare_tokens_in_wrong_places_are_refused() {
        for text in ["NaNNaN", "[NaN1]", "{NaN:1}", "[1NaN]", "[Inf]", "[nan]", "[--Infinity]", "NaN x", "\"NaN"] {
            assert_eq!(read(text).unwrap_err().kind(), ErrorKind::Metadata, "{text}");
        }
    }

    #[test]
    fn errors_say_line_and_column_of_the_document() {
        for (text, place) in [
            ("{\n  \"a\": x\n}", "line 2, column 8"),
            ("[NaN, NaN, x]", "line 1, column 12"),
            ("[NaN,\n NaN, x]", "line 2, column 7"),
            ("[1] 2", "line 1, column 5"),
            ("{\"a\":", "line 1, column 5"),
        ] {
            let e = read(text).unwrap_err();
            assert!(e.to_string().contains(place), "{text:?}: {e}");
        }
    }

    #[test]
    fn limits_hold_at_the_limit_and_one_past() {
        assert!(parse(b"[1]", 3).is_ok());
        assert_eq!(parse(b"[1]", 2).unwrap_err().kind(), ErrorKind::Limit);
        let many = format!("[{}0]", "0,".repeat(MAX_JSON_VALUES - 1));
        assert_eq!(parse(many.as_bytes(), usize::MAX).unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(parse_text(&many).unwrap_err().kind(), ErrorKind::Limit);
        let commas = format!("[\"\\\"{}\"]", ",".repeat(MAX_JSON_VALUES));
        assert!(parse(commas.as_bytes(), usize::MAX).is_ok());
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read(&nested(127)).is_ok());
        assert_eq!(read(&nested(128)).unwrap_err().kind(), ErrorKind::Metadata);
    }

    #[test]
    fn encoding_is_checked() {
        assert_eq!(parse(b"\xEF\xBB\xBF{}", 9).unwrap(), json!({}));
        assert_eq!(parse(b"\"\xFF\"", 9).unwrap_err().kind(), ErrorKind::Metadata);
        assert_eq!(parse(b"", 9).unwrap_err().kind(), ErrorKind::Metadata);
        assert!(parse_object(b"[]", 9).unwrap_err().to_string().contains("found [], expected an object"));
    }

    #[test]
    fn text_of_the_caller_is_strict() {
        assert!(parse_text("[1]").is_ok());
        let e = parse_text("[1,\n NaN]").unwrap_err();
        assert_eq!((e.kind(), e.message().contains("line 2, column 2")), (ErrorKind::Argument, true), "{e}");
        assert!(e.message().contains("non_finite"), "{e}");
        assert!(!parse_text("[NaN").unwrap_err().message().contains("non_finite"));
        assert!(parse_allowed("[NaN]", true).is_ok() && parse_allowed("[NaN]", false).is_err_and(|e| e.kind() == ErrorKind::Range));
        assert!(parse_given("[NaN]").is_ok());
        for (text, is_in_range) in [("[1e308, NaN]", true), ("[0, {\"a\": [-1e309]}]", false), ("1e999", false)] {
            assert_eq!(
                check_range(&parse_given(text).unwrap()).err().map(|e| e.kind()),
                (!is_in_range).then_some(ErrorKind::Range),
                "{text}"
            );
        }
        let e = parse_given("[NaN").unwrap_err();
        assert_eq!((e.kind(), e.message().contains("line 1, column 4")), (ErrorKind::Argument, true), "{e}");
    }

    #[test]
    fn of_repeated_names_the_last_counts_and_they_are_told() {
        let text = br#"{"a":1,"b":{"c":1.5,"c":[{"d":0,"d":NaN}]},"a":-Infinity,"a":2,"e":"a"}"#;
        assert_eq!(to_compact(&parse(text, 999).unwrap()), r#"{"a":2,"b":{"c":[{"d":NaN}]},"e":"a"}"#);
        assert_eq!(repeated_names(text), ["c", "d", "a"]);
        assert_eq!(repeated_names(br#"{"\u0061\"":1, "a\"" : 2}"#), ["a\""]);
        assert!(repeated_names(br#"{"a":1,"b":{"a":{"a":[true,null]}}}"#).is_empty());
    }

    #[test]
    fn numbers_without_a_form_are_bare_tokens() {
        for (value, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity"), (1.5, "1.5")] {
            assert_eq!(number(value).to_string(), text);
            assert_eq!(is_non_finite(&number(value)), !value.is_finite());
        }
    }

    #[test]
    fn pretty_text_keeps_short_lists_on_one_line() {
        let value = read(r#"{"shape":[3,4],"names":["a",null],"n":{},"l":[],"codecs":[{"name":"x\n"}]}"#).unwrap();
        let expected = "{\n  \"shape\": [3, 4],\n  \"names\": [\"a\", null],\n  \"n\": {},\n  \"l\": [],\n  \"codecs\": [\n    {\n      \"name\": \"x\\n\"\n    }\n  ]\n}";
        assert_eq!(to_text(&value), expected);
        let long = Value::from((0..100u64).collect::<Vec<_>>());
        assert_eq!(to_text(&long).lines().count(), 102);
        assert_eq!(read(&to_text(&long)).unwrap(), long);
    }

    #[test]
    fn integers_have_their_digits() {
        for n in [0, 1, 9, 10, 99, 100, 1234567890, i64::MAX] {
            assert_eq!((Value::from(n).to_string(), Value::from(-n).to_string()), (n.to_string(), (-n).to_string()));
        }
        assert_eq!(Value::from(u64::MAX).to_string(), u64::MAX.to_string());
        assert_eq!((Value::from(i64::MIN).to_string(), Value::from(i8::MIN).to_string()), (i64::MIN.to_string(), i8::MIN.to_string()));
    }

    #[test]
    fn integers_are_exact_and_nothing_else_is_one() {
        assert_eq!(get_u64(&read("18446744073709551615").unwrap()).unwrap(), u64::MAX);
        assert_eq!(get_i64(&read("-9223372036854775808").unwrap()).unwrap(), i64::MIN);
        for text in ["18446744073709551616", "-1", "2.0", "1e+3", "\"1\"", "null", "NaN", "true", "-0"] {
            let e = get_u64(&read(text).unwrap()).unwrap_err();
            assert_eq!(e.message(), format!("found {text}, expected an integer from 0 to 9223372036854775807"));
        }
        for text in ["9223372036854775808", "2.0", "[]"] {
            assert!(get_i64(&read(text).unwrap()).is_err(), "{text}");
        }
        for (text, integer) in [("0", 0), ("-0", 0), ("-1", -1), ("9223372036854775807", i64::MAX), ("-9223372036854775808", i64::MIN)] {
            let value = read(text).unwrap();
            assert_eq!((value.as_i64(), value.as_f64()), (Some(integer), text.parse().ok()), "{text}");
            assert_eq!((value.to_string().as_str(), value == Value::from(integer)), (text, text != "-0"));
        }
        assert_eq!(read("18446744073709551615").unwrap().as_f64(), Some(18446744073709551615.0));
        assert_eq!(u64_list(&json!([1, 2])).unwrap().as_slice(), &[1, 2]);
        assert_eq!(u64_list(&json!([1, -2])).unwrap_err().field(), Some("[1]"));
        assert!(u64_list(&json!(1)).is_err());
        assert_eq!(member(&Map::new(), "shape").unwrap_err().field(), Some("shape"));
    }
}
