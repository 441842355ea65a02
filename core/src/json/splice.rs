//! The members of an object in a JSON text, found and replaced without a value for all the others: consolidated metadata have a
//! member for each node of a hierarchy, and a change concerns few of them.

use super::scan::string_end;
use super::{BYTE_ORDER_MARK, indent, unescaped};
use crate::error::Result;
use crate::limits;
use crate::sort::sort_by;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

/// An object in a text: its members with their byte ranges. A name that occurs twice is kept twice; the last one counts.
pub struct TextObject<'a> {
    text: &'a [u8],
    /// From its opening brace to behind its closing one.
    place: Range<usize>,
    members: Vec<MemberText<'a>>,
    /// The member that was looked into.
    inner: Option<(&'a str, Box<TextObject<'a>>)>,
}

struct MemberText<'a> {
    name: Cow<'a, str>,
    /// From the name's quotation mark to behind the value.
    place: Range<usize>,
    value: usize,
}

impl<'a> TextObject<'a> {
    /// Finds the object that is the document, or `None` if the text is not an object; without memory for its members, too, which
    /// [`limits::check_memory`] tells. Scans only its own level closely, and on the way
    /// along `path` the member `path[0]`, in that the member `path[1]`, and so on.
    pub fn document(text: &'a [u8], path: &[&'a str]) -> Option<TextObject<'a>> {
        let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        TextObject::at(text, blanks(text, mark), path)
    }

    fn at(text: &'a [u8], open: usize, path: &[&'a str]) -> Option<TextObject<'a>> {
        let mut object = TextObject { text, place: open..open, members: Vec::new(), inner: None };
        if text.get(open) != Some(&b'{') {
            return None;
        }
        let mut at = blanks(text, open + 1);
        if text.get(at) == Some(&b'}') {
            object.place.end = at + 1;
            return Some(object);
        }
        loop {
            let quoted = (text.get(at) == Some(&b'"')).then(|| at..string_end(text, at))?;
            let name = unescaped(&text[quoted.clone()])?;
            let colon = blanks(text, quoted.end);
            let value = (text.get(colon) == Some(&b':')).then(|| blanks(text, colon + 1))?;
            let end = object.value_of(&name, value, path)?;
            limits::push(&mut object.members, MemberText { name, place: quoted.start..end, value })
                .inspect_err(|_| limits::memory_ended())
                .ok()?;
            at = blanks(text, end);
            match text.get(at)? {
                b',' => at = blanks(text, at + 1),
                b'}' => {
                    object.place.end = at + 1;
                    return Some(object);
                }
                _ => return None,
            }
        }
    }

    /// Where a member's value ends, which is looked into if the path leads there.
    fn value_of(&mut self, name: &str, value: usize, path: &[&'a str]) -> Option<usize> {
        match path.split_first() {
            Some((&first, rest)) if name == first => {
                self.inner = TextObject::at(self.text, value, rest).map(|inner| (first, Box::new(inner)));
                match &self.inner {
                    Some((_, inner)) => Some(inner.place.end),
                    None => value_end(self.text, value),
                }
            }
            _ => value_end(self.text, value),
        }
    }

    fn member(&self, name: &str) -> Option<&MemberText<'a>> {
        self.members.iter().rev().find(|m| m.name == name)
    }

    /// The names of its members, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|m| &*m.name)
    }

    /// The names of its members with the texts of their values, in their order.
    pub fn values(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        self.members.iter().map(|m| (&*m.name, &self.text[m.value..m.place.end]))
    }

    /// The text of a member's value.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        self.place(name).map(|place| &self.text[place])
    }

    /// Returns the range of a member's value in the whole text, or `None` if there is no such member.
    pub fn place(&self, name: &str) -> Option<Range<usize>> {
        self.member(name).map(|m| m.value..m.place.end)
    }

    /// Returns the object that is the value of member `name`, or `None` if the search path did not lead through it.
    pub fn object(&self, name: &str) -> Option<&TextObject<'a>> {
        self.inner.as_ref().filter(|(inner, _)| *inner == name).map(|(_, object)| &**object)
    }

    /// Returns the whole text with this object, which is `depth` levels deep, changed: a member named in `changes` gets that value (text
    /// whose lines are indented for their place), or goes if it is `None`; members for whose names `gone` is true go, too; with a new one
    /// all are brought into `order`.
    pub fn changed(
        &self,
        changes: &HashMap<String, Option<String>>,
        gone: impl Fn(&str) -> bool,
        order: impl Fn(&str, &str) -> Ordering,
        depth: usize,
    ) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        limits::reserve(&mut out, self.changed_length(changes, depth))?;
        out.extend_from_slice(&self.text[..=self.place.start]);
        let (mut first, mut margin) = (true, String::from("\n"));
        // Writing to a `String` cannot fail.
        let _ = indent(&mut margin, depth + 1);
        let mut begin = |out: &mut Vec<u8>| {
            out.extend_from_slice(if std::mem::take(&mut first) { b"" } else { b"," });
            out.extend_from_slice(margin.as_bytes());
        };
        // Of a name that occurs twice the last member is the one that counts. Changes and members may both be many.
        let last: HashMap<&str, usize> = limits::collect_table(self.members.iter().enumerate().map(|(i, m)| (&*m.name, i)))?;
        let mut added: Vec<(&str, &str)> =
            limits::collect(changes.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?))))?;
        added.retain(|(name, _)| !last.contains_key(name));
        sort_by(&mut added, |(a, _), (b, _)| order(b, a));
        let mut sequence: Vec<usize> = limits::collect(0..self.members.len())?;
        if !added.is_empty() && !self.members.is_sorted_by(|a, b| order(&a.name, &b.name).is_le()) {
            sort_by(&mut sequence, |&a, &b| order(&self.members[a].name, &self.members[b].name).then(a.cmp(&b)));
        }
        let mut add = |out: &mut Vec<u8>, begin: &mut dyn FnMut(&mut Vec<u8>), until: Option<&str>| {
            while let Some((name, value)) = added.pop_if(|(name, _)| until.is_none_or(|until| order(name, until).is_lt())) {
                begin(out);
                out.extend_from_slice(super::quoted(name).as_bytes());
                out.extend_from_slice(b": ");
                out.extend_from_slice(value.as_bytes());
            }
        };
        for i in sequence {
            let member = &self.members[i];
            add(&mut out, &mut begin, Some(&member.name));
            match changes.get(&*member.name) {
                Some(Some(value)) if last.get(&*member.name) == Some(&i) => {
                    begin(&mut out);
                    out.extend_from_slice(&self.text[member.place.start..member.value]);
                    out.extend_from_slice(value.as_bytes());
                }
                Some(_) => {}
                None if gone(&member.name) => {}
                None => {
                    begin(&mut out);
                    out.extend_from_slice(&self.text[member.place.clone()]);
                }
            }
        }
        add(&mut out, &mut begin, None);
        if !first {
            out.extend_from_slice(&margin.as_bytes()[..margin.len() - 2]);
        }
        out.extend_from_slice(&self.text[self.place.end - 1..]);
        Ok(out)
    }

    /// Returns a number of bytes that [`TextObject::changed`] never exceeds.
    fn changed_length(&self, changes: &HashMap<String, Option<String>>, depth: usize) -> usize {
        // With what is around new members, and the escapes of their names.
        let more = changes.iter().map(|(name, value)| 64 + 2 * depth + 6 * name.len() + value.as_ref().map_or(0, String::len));
        self.text.len() + self.members.len() * (2 * depth + 4) + more.sum::<usize>()
    }

    /// Returns the whole text without member `name` of this object, or unchanged if there is no such member.
    pub fn without(&self, name: &str) -> Result<Cow<'a, [u8]>> {
        match self.member(name) {
            None => Ok(Cow::Borrowed(self.text)),
            Some(_) => self.changed(&HashMap::from([(name.to_string(), None)]), |_| false, str::cmp, 0).map(Cow::Owned),
        }
    }
}

/// Returns the offset of the first byte from `at` on that is not a blank.
fn blanks(text: &[u8], at: usize) -> usize {
    at + text[at.min(text.len())..].iter().take_while(|b| b.is_ascii_whitespace()).count()
}

/// The bytes that begin or end something inside of a value.
const MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    let mut i = 0;
    while i < b"\"{}[]".len() {
        marks[b"\"{}[]"[i] as usize] = true;
        i += 1;
    }
    marks
};

/// Returns where the value that begins at `at` ends, or `None` if it has no end. Does not check what is inside.
fn value_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => return Some(string_end(text, at)),
        b'{' | b'[' => {}
        _ => {
            let end = at + text[at..].iter().take_while(|b| !b",]}".contains(b) && !b.is_ascii_whitespace()).count();
            return (end > at).then_some(end);
        }
    }
    let (mut open, mut next) = (0usize, at);
    loop {
        next += text[next..].iter().position(|b| MARKS[usize::from(*b)])?;
        match text[next] {
            b'"' => {
                next = string_end(text, next);
                continue;
            }
            b'{' | b'[' => open += 1,
            _ => open -= 1,
        }
        next += 1;
        if open == 0 {
            return Some(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{parse, to_compact, to_text};

    const TEXT: &str = r#" {"a" : {"x":"}\"]", "y":[1,{"z":[]}]},"b\u0031":-1.5e3 , "c":null,"a":{"k":true}, "d":"NaN"} "#;

    fn changes(list: &[(&str, Option<&str>)]) -> HashMap<String, Option<String>> {
        list.iter().map(|(name, value)| (name.to_string(), value.map(str::to_string))).collect()
    }

    #[test]
    fn members_are_found_by_name_and_the_last_of_a_name_counts() {
        let object = TextObject::document(TEXT.as_bytes(), &["a"]).unwrap();
        for (name, value) in [("b1", "-1.5e3"), ("c", "null"), ("a", r#"{"k":true}"#), ("d", r#""NaN""#)] {
            assert_eq!(object.value(name), Some(value.as_bytes()));
        }
        assert!(object.value("x").is_none() && object.object("c").is_none());
        assert_eq!(object.object("a").unwrap().value("k"), Some(&b"true"[..]));
    }

    #[test]
    fn changes_leave_everything_else_as_it_is() {
        let object = TextObject::document(TEXT.as_bytes(), &["a"]).unwrap();
        let out = object
            .changed(&changes(&[("a", Some("[]")), ("c", None), ("new\"", Some("7")), ("no", None)]), |name| name == "d", str::cmp, 0)
            .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " {\n  \"a\":[],\n  \"b\\u0031\":-1.5e3,\n  \"new\\\"\": 7\n} ");
    }

    #[test]
    fn a_document_of_this_library_keeps_its_form() {
        let value = parse(br#"{"m":{"a":{"shape":[1,2],"l":{}},"b":{"q":"s"}},"n":[]}"#, 999).unwrap();
        let text = to_text(&value);
        let inner = |text: &str, list: &[(&str, Option<&str>)]| {
            let document = TextObject::document(text.as_bytes(), &["m"]).unwrap();
            String::from_utf8(document.object("m").unwrap().changed(&changes(list), |_| false, str::cmp, 1).unwrap()).unwrap()
        };
        let more = inner(&text, &[("c", Some("{}")), ("a", None)]);
        assert_eq!(more, to_text(&parse(more.as_bytes(), 999).unwrap()));
        assert_eq!(to_compact(&parse(more.as_bytes(), 999).unwrap()), r#"{"m":{"b":{"q":"s"},"c":{}},"n":[]}"#);
        let none = inner(&text, &[("b", None), ("a", None)]);
        assert_eq!(none, to_text(&parse(none.as_bytes(), 999).unwrap()));
        let some = inner(&none, &[("z", Some("1"))]);
        assert_eq!(some, to_text(&parse(some.as_bytes(), 999).unwrap()));
        assert_eq!(
            TextObject::document(text.as_bytes(), &[]).unwrap().without("m").unwrap(),
            to_text(&parse(br#"{"n":[]}"#, 9).unwrap()).as_bytes()
        );
    }

    #[test]
    fn a_new_member_brings_all_into_order() {
        let cases = [
            ("{}", "a c", "a c"),
            (r#"{"b": 1, "d": 2}"#, "e a c", "a b c d e"),
            (r#"{"d": 1, "b": 2}"#, "c", "b c d"),
            (r#"{"d": 1, "b": 2}"#, "b", "d b"),
            (r#"{"b": 1, "d": 2}"#, "b a", "a b d"),
        ];
        for (text, new, want) in cases {
            let list: Vec<_> = new.split(' ').map(|name| (name, Some("0"))).collect();
            let out = TextObject::document(text.as_bytes(), &[]).unwrap().changed(&changes(&list), |_| false, str::cmp, 0).unwrap();
            let names: Vec<String> = parse(&out, 99).unwrap().as_object().unwrap().keys().map(ToString::to_string).collect();
            assert_eq!(names.join(" "), want, "{text} with {new}");
        }
    }

    #[test]
    fn what_is_no_object_is_none() {
        for text in [
            "",
            "[]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":]}",
            "{\"a\":\"",
            "{\"a\":[1}",
        ] {
            assert!(TextObject::document(text.as_bytes(), &["a"]).is_none(), "{text}");
        }
        assert!(TextObject::document(b"\xEF\xBB\xBF{}", &[]).unwrap().value("a").is_none());
    }
}
