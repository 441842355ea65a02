//! Reads JSON text into [`Value`]s: serde_json parses, and the visitor here builds values whose copies share their contents.
//!
//! serde_json refuses the bare tokens that [`spellings`] brings to it, and makes doubles of numbers that are no integers: their spelling is
//! taken from the text.

use super::scan::longest_escaped;
use super::spellings::{self, next_number, token_at};
use super::value::{List, Map, MemberList, Number, Text, Value};
use crate::error::{Error, ErrorKind, Result, err};
use crate::limits;
use serde_core::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use smallvec::SmallVec;
use std::cell::Cell;
use std::fmt::{self, Formatter};

/// Reads one value, with nothing but blanks around it; with `tokens`, bare `NaN`, `Infinity` and `-Infinity` are numbers. An error
/// says line and column (in bytes, from 1).
pub(super) fn value(bytes: &[u8], tokens: bool) -> Result<Value> {
    let text = std::str::from_utf8(bytes).map_err(|e| not_utf8(bytes, e.valid_up_to()))?;
    let first = attempt(text, text);
    if first.as_ref().map_or_else(|e| e.kind() == ErrorKind::NoMemory, |_| true) {
        return first;
    }
    match spellings::with_stand_ins(text, tokens)? {
        Some(stood_in) => attempt(&stood_in, text),
        None => first,
    }
}

/// Reads `text`, in which stand-ins may be in the place of what `source` has there.
fn attempt(text: &str, source: &str) -> Result<Value> {
    if text.len() <= SHORT {
        return attempt_now(text, source);
    }
    // serde_json takes room for a string with an escape that it cannot be refused.
    limits::with_growing(2 * longest_escaped(text.as_bytes(), SHORT), || attempt_now(text, source))?
}

fn attempt_now(text: &str, source: &str) -> Result<Value> {
    let source = JsonText { text, source, at: Cell::new(0), more: Cell::new(MORE_AT_FIRST) };
    let (mut value, mut deserializer) = (Value::Null, serde_json::Deserializer::from_str(text));
    let read = ValueVisitor(&source, &mut value).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    read.map_err(|e| limits::check_memory().err().unwrap_or_else(|| invalid(&e)))?;
    Ok(value)
}

/// Ends the reading of a text for which there is no memory; [`attempt`] tells why.
#[cold]
fn stopped<E: serde_core::de::Error>(_: Error) -> E {
    limits::memory_ended();
    E::custom("no memory")
}

/// Texts of up to this number of bytes need no look at the memory.
const SHORT: usize = 64 << 10;

/// Puts `text` where a value or name holds it. A short one goes there from registers.
#[inline(always)]
fn put_text<E: serde_core::de::Error>(text: &str, put: impl FnOnce(Text)) -> std::result::Result<(), E> {
    match Text::short(text) {
        Some(short) => put(short),
        None => put(long_text(text)?),
    }
    Ok(())
}

#[cold]
fn long_text<E: serde_core::de::Error>(text: &str) -> std::result::Result<Text, E> {
    super::text(text).map_err(stopped)
}

/// Returns the error for a text that is not JSON, or is nested too deep for serde_json, which has no kind for that.
fn invalid(e: &serde_json::Error) -> Error {
    let (line, column, text) = (e.line(), e.column(), e.to_string());
    let reason = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    if reason == "recursion limit exceeded" {
        return err!(Metadata, "at line {line}, column {column} values are nested deeper than the limit of 127 levels");
    }
    err!(Metadata, "invalid JSON at line {line}, column {column}: {reason}")
}

/// Returns the error of bytes that are no UTF-8 from `offset` on.
fn not_utf8(bytes: &[u8], offset: usize) -> Error {
    let before = &bytes[..offset];
    let newlines = before.iter().filter(|b| **b == b'\n').count();
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    err!(Metadata, "invalid JSON at line {}, column {}: the text is not UTF-8", 1 + newlines, 1 + offset - start)
}

/// What the visitors of one text share.
struct JsonText<'a> {
    /// What serde_json reads.
    text: &'a str,
    /// What it stands for, in as many bytes.
    source: &'a str,
    /// A place behind all numbers so far that are no integers of 64 bits.
    at: Cell<usize>,
    /// How many more members the next object has room for whose room is too small.
    more: Cell<usize>,
}

/// How many more members there is room for at least where the room for an object's members is too small, and where that is so for the first time: then
/// the object is mostly the document itself. With two, an array's has up to 12.
const MORE_AT_FIRST: usize = 10;
const MORE_MEMBERS: usize = 4;

impl JsonText<'_> {
    /// Returns the number behind `at` that is no integer of 64 bits, or the string for which it stands, by its spelling in the source.
    fn number<E: serde_core::de::Error>(&self) -> std::result::Result<Value, E> {
        let place = next_number(self.text, self.at.get()).ok_or_else(|| E::custom("a number is not found again"))?;
        self.at.set(place.end);
        let spelling = super::text(token_at(self.source, place.start)).map_err(stopped)?;
        Ok(if spelling.starts_with('"') { Value::HalfPairs(spelling) } else { Value::Number(Number::of_text(spelling)) })
    }
}

/// Puts a value where it is wanted: what is there is `null`, and need not be dropped.
fn put(place: &mut Value, value: Value) {
    std::mem::forget(std::mem::replace(place, value));
}

/// Adds `null` to the items. It is made where it stays: a value that is copied right after no more than its kind was stored has a processor wait.
#[inline(always)]
fn add_item(items: &mut SmallVec<[Value; 4]>) -> Result<()> {
    if items.len() == items.capacity() {
        limits::make_room_small(items, 1)?;
    }
    limits::check_memory()?;
    let length = items.len();
    // SAFETY: there is room for one more.
    unsafe {
        items.as_mut_ptr().add(length).write(Value::Null);
        items.set_len(length + 1);
    }
    Ok(())
}

/// Reads one value to where it is wanted: a value that is returned is moved several times, in pieces that processors put together again slowly.
struct ValueVisitor<'a, 't>(&'a JsonText<'t>, &'a mut Value);

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        put(self.1, Value::Null);
        Ok(())
    }

    fn visit_bool<E>(self, is_true: bool) -> std::result::Result<(), E> {
        put(self.1, Value::Bool(is_true));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<(), E> {
        put(self.1, number.into());
        Ok(())
    }

    fn visit_i64<E: serde_core::de::Error>(self, number: i64) -> std::result::Result<(), E> {
        // Older releases make 0 of -0 where another part of the program wants numbers of any precision.
        put(self.1, if number == 0 { self.0.number()? } else { number.into() });
        Ok(())
    }

    fn visit_f64<E: serde_core::de::Error>(self, _: f64) -> std::result::Result<(), E> {
        put(self.1, self.0.number()?);
        Ok(())
    }

    fn visit_str<E: serde_core::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        put_text(text, |text| put(self.1, Value::String(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let mut items = SmallVec::new();
        loop {
            add_item(&mut items).map_err(stopped)?;
            let Some(item) = items.last_mut() else { break };
            if list.next_element_seed(ValueVisitor(self.0, item))?.is_none() {
                items.pop();
                break;
            }
        }
        put(self.1, Value::Array(List::of_read(items).map_err(stopped)?));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> std::result::Result<(), A::Error> {
        let mut members = MemberList::new();
        while let Some(is_member) = object.next_key_seed(NameVisitor(self.0, &mut members))? {
            if !is_member {
                object.next_value::<IgnoredAny>()?;
                put(self.1, self.0.number()?);
                return Ok(());
            }
            let Some((_, value)) = members.last_mut() else { break };
            object.next_value_seed(ValueVisitor(self.0, value))?;
        }
        put(self.1, Value::Object(Map::of_read(members).map_err(stopped)?));
        Ok(())
    }
}

/// Reads the name in front of a value of an object, for which it adds a member, and says whether it is that of a member: it is none where another
/// part of a program asks for serde_json's feature `arbitrary_precision`, and the "object" is the text of a number that is no integer of 64 bits.
/// Its mark is borrowed from serde_json itself, not from the text, so that no document can forge it.
struct NameVisitor<'a, 't>(&'a JsonText<'t>, &'a mut MemberList);

impl<'de> DeserializeSeed<'de> for NameVisitor<'_, '_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NameVisitor<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: serde_core::de::Error>(self, name: &str) -> std::result::Result<bool, E> {
        let members = self.1;
        if members.len() == members.capacity() {
            let more = self.0.more.replace(MORE_MEMBERS).max(members.len());
            limits::make_exact_room_small(members, more).map_err(stopped)?;
        }
        limits::check_memory().map_err(stopped)?;
        let length = members.len();
        // SAFETY: there is room for one more, of which both parts are written before it counts; as in `add_item`, where they stay.
        unsafe {
            let member = members.as_mut_ptr().add(length);
            put_text(name, |name| (&raw mut (*member).0).write(name))?;
            (&raw mut (*member).1).write(Value::Null);
            members.set_len(length + 1);
        }
        Ok(true)
    }

    fn visit_borrowed_str<E: serde_core::de::Error>(self, name: &'de str) -> std::result::Result<bool, E> {
        let begin = (name.as_ptr() as usize).wrapping_sub(self.0.text.as_ptr() as usize);
        if begin >= self.0.text.len() {
            return Ok(false);
        }
        // Behind the quotation mark.
        self.0.at.set(begin + name.len() + 1);
        self.visit_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::spellings::TOKENS;
    use crate::store::suite::Random;

    fn text_of(text: &str, tokens: bool) -> Option<String> {
        value(text.as_bytes(), tokens).ok().map(|value| value.to_string())
    }

    /// Texts in their shortest form, which are written as they are read.
    const WHOLE: &[&str] = &[
        r#"{"a":[1,2.5,-0.0,1e+5,{"b":null}],"":{"x":[]},"long":"0123456789012345678901234567890123456789"}"#,
        r#"[true,false,null,18446744073709551615,-9223372036854775808,-0,123456789012345678901234567890.5]"#,
        r#"[1e5,1E5,1E+05,1e-5,-0.0E-0,1e400,"1e5 NaN \" 1E5",{"1e5":2.50e1}]"#,
        r#"{"$serde_json::private::Number":"1","a":{"$serde_json::private::Number":"x","b":1.5}}"#,
        r#"{"$serde_json::private::Number":1e5}"#,
        "[[[[]]]]",
        "0",
        "-0",
        "1E5",
        "-1e400",
        "\"\"",
    ];

    #[test]
    fn what_is_read_keeps_its_spelling() {
        for text in WHOLE {
            for tokens in [false, true] {
                assert_eq!(text_of(text, tokens).as_deref(), Some(*text));
            }
        }
        let escaped = "{ \"c\" :\t\"\u{e9}\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\\b\\f\\r\\t\\u0000\" }\r\n";
        assert_eq!(text_of(escaped, false).unwrap(), "{\"c\":\"\u{e9}\u{e9}\u{1F600}\\n\\\"\\\\/\\b\\f\\r\\t\\u0000\"}");
    }

    #[test]
    fn objects_and_lists_of_any_length_keep_all_that_they_have() {
        for count in 0..40 {
            let items = |n: usize| vec![r#"{"a":1,"b":"2","c":[3]}"#; n].join(",");
            let members: Vec<String> = (0..count).map(|i| format!("\"m{i}\":[{}]", items(i % 7))).collect();
            let text = format!("{{{}}}", members.join(","));
            assert_eq!(text_of(&text, false).as_deref(), Some(&*text));
        }
    }

    #[test]
    fn tokens_are_numbers_only_where_they_are_asked_for() {
        for text in [
            r#"{"a":NaN,"b":[Infinity,-Infinity,1e5,NaN,1E5],"NaN 1e5":"-Infinity \\","c":{"d":NaN}}"#,
            "NaN",
            "-Infinity",
            "[0e0,NaN,0e000000,Infinity,-0e000000,-Infinity]",
            "[1E5,NaN,1e5,2]",
        ] {
            assert_eq!(text_of(text, true).as_deref(), Some(text));
            assert_eq!(text_of(text, false), None, "{text}");
        }
    }

    #[test]
    fn strings_with_half_of_a_pair_are_kept_as_they_are_written() {
        for text in [
            r#"{"a":"abc\udce9","b":["\uD83D","\ude00\ud83d","\ud800\u0041","\ud800\ud800x\n\"",1E5],"c":NaN}"#,
            r#"["\ud83d","1E5 \\ud83d"]"#,
            r#""\udce9""#,
            r#"["\ud83d\ude00\udce9","\ud83d\ud83d\ude00","\udce9 \ud83d\ude00"]"#,
        ] {
            assert_eq!(text_of(text, true).as_deref(), Some(text));
            assert_eq!(text_of(text, false), None, "{text}");
        }
        assert_eq!(text_of(r#"["\udce9","\ud83d\ude00"]"#, true).unwrap(), "[\"\\udce9\",\"\u{1F600}\"]");
        // The character that takes the place of what is no text is text itself.
        assert_eq!(text_of(r#"["\ufffd",NaN]"#, true).unwrap(), "[\"\u{FFFD}\",NaN]");
    }

    /// Each item of a list may take memory that cannot be refused, as each member of an object may: a long list would take all of the reserve.
    #[test]
    fn neither_items_nor_members_are_read_on_where_memory_has_ended() {
        for text in ["[1]", "[[], 1]", r#"["a text of more bytes than a value has"]"#, r#"{"a":1}"#] {
            limits::memory_ended();
            assert_eq!(value(text.as_bytes(), false).unwrap_err().kind(), ErrorKind::NoMemory, "{text}");
            assert!(limits::check_memory().is_ok() && value(text.as_bytes(), false).is_ok(), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_json_are_refused_with_and_without_tokens() {
        let cases: &[&str] = &[
            "",
            " ",
            "{",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "[1 2]",
            "tru",
            "nul",
            "truex",
            "01",
            "-",
            "-01",
            "1.",
            ".5",
            "1.5.",
            "1e",
            "1e+",
            "+1",
            "0x1",
            "--1",
            "\"",
            "\"\\",
            "\"\\u",
            "\"\\u12\"",
            "\"\\x\"",
            "{\"\\ud800\":1}",
            "[\"\\ud800\\q\"]",
            "[\"\\ud800\n\"]",
            "[\"\\ud800\\ud8\"]",
            "\"\\ud800",
            "[\"\\ud800\"\"\"]",
            "[\"\\ud800\"1]",
            "-\"\\ude00\"",
            "[0.\"\\ude00\"]",
            "\"a\nb\"",
            "1 2",
            "[1]]",
            "{}{}",
            "'a'",
            "/**/1",
            "[\u{a0}1]",
            "NaNNaN",
            "[NaN1]",
            "{NaN:1}",
            "[1NaN]",
            "[1e5NaN]",
            "[Inf]",
            "[nan]",
            "[--Infinity]",
            "[+Infinity]",
            "NaN x",
            "[NaN NaN]",
            "\"NaN",
            "[NaN,]",
            "[-NaN]",
            "[Infinity5]",
            "[NaN\"a\"]",
            "01e400",
            "[1e400.]",
            "[1e400x]",
            "[-1e400\"a\"]",
            "[\"a\"1e400]",
        ];
        for text in cases {
            assert_eq!((text_of(text, false), text_of(text, true)), (None, None), "{text:?}");
        }
    }

    #[test]
    fn what_a_damaged_text_says_is_read_in_the_same_way_with_and_without_tokens() {
        let mut random = Random(1);
        let mut below = |n: usize| random.below(n as u64) as usize;
        let letters = b"\"\\{}[],:0123456789-+.eEutrfalsn NI\n";
        let mut read = 0;
        for round in 0..20_000 {
            let mut bytes = WHOLE[round % WHOLE.len()].as_bytes().to_vec();
            for _ in 0..=below(3) {
                let (place, letter) = (below(bytes.len()), letters[below(letters.len())]);
                match below(3) {
                    0 => bytes[place] = letter,
                    1 => bytes.insert(place, letter),
                    _ if bytes.len() > 1 => drop(bytes.remove(place)),
                    _ => {}
                }
            }
            let text = String::from_utf8(bytes).unwrap();
            let (strict, lenient) = (text_of(&text, false), text_of(&text, true));
            if strict.is_some() {
                read += 1;
                assert_eq!(strict, lenient, "{text:?}");
                assert_eq!(text_of(&strict.clone().unwrap(), false), strict, "{text:?}");
            } else if let Some(lenient) = lenient {
                assert!(TOKENS.iter().any(|token| lenient.contains(token)), "{text:?}");
            }
        }
        assert!(read > 1000, "{read} damaged texts are JSON");
    }

    #[test]
    fn of_many_members_with_one_name_the_last_counts_in_the_place_of_the_first() {
        for count in [3, 100] {
            let mut text = String::from("{");
            (0..count).for_each(|i| text.push_str(&format!("\"n{i}\":{i},")));
            text.push_str("\"n1\":\"last\"}");
            let value = value(text.as_bytes(), false).unwrap();
            let members = value.as_object().unwrap();
            assert_eq!((members.len(), &members["n1"]), (count, &Value::from("last")));
            assert_eq!(members.keys().nth(1).unwrap(), "n1");
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_told_with_their_place() {
        let e = value(b"[\n \"\xFF\"]", true).unwrap_err();
        assert!(e.message().contains("line 2, column 3: the text is not UTF-8"), "{e}");
    }
}
