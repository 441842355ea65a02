//! The configuration of one codec, read member by member with errors that name the member.

use crate::dtype::{DataType, ElementType, Kind, parse_v2};
use crate::error::{Error, Result, err};
use crate::metadata::extension::Extension;
use crate::metadata::{Map, Value, json::brief};

/// Whose conventions a configuration follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// v2: numcodecs parameters beside the id.
    V2,
    /// v3: a registered codec.
    V3,
    /// v3: `numcodecs.…`, with numcodecs parameters as its configuration.
    Numcodecs,
}

/// The configuration of one codec. Members that are null count as missing; unknown members are ignored.
#[derive(Clone, Copy)]
pub(super) struct Config<'a> {
    map: &'a Map,
    /// Whose conventions it follows.
    pub style: Style,
}

impl<'a> Config<'a> {
    /// A configuration of that style.
    pub fn new(map: &'a Map, style: Style) -> Config<'a> {
        Config { map, style }
    }

    /// The configuration of a registered v3 codec.
    #[cfg(test)]
    pub fn v3(map: &'a Map) -> Config<'a> {
        Config::new(map, Style::V3)
    }

    /// Where the member is, seen from the codec's object.
    pub fn path(&self, name: &str) -> String {
        if self.style == Style::V2 { name.into() } else { format!("configuration.{name}") }
    }

    /// An error of kind `Metadata` about that member.
    pub fn error(&self, name: &str, message: String) -> Error {
        err!(Metadata, "{message}").at_field(self.path(name))
    }

    /// The member, if it is there and not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|v| !v.is_null())
    }

    /// Refuses members of any other name, even if they are null.
    pub fn only(&self, names: &[&str]) -> Result<()> {
        match self.map.keys().find(|k| !names.contains(&k.as_str())) {
            None => Ok(()),
            Some(other) => Err(self.error(other, format!("an unknown member, expected {}", names.join(", ")))),
        }
    }

    /// An integer between `low` and `high`; `default` where it is missing.
    pub fn int(&self, name: &str, low: i64, high: i64, default: i64) -> Result<i64> {
        match self.get(name) {
            None => Ok(default),
            Some(v) => match self.number(v).filter(|n| (low..=high).contains(n)) {
                Some(n) => Ok(n),
                None if (low, high) == (i64::MIN, i64::MAX) => Err(self.error(name, format!("found {}, expected an integer", brief(v)))),
                None => Err(self.error(name, format!("found {}, expected an integer from {low} to {high}", brief(v)))),
            },
        }
    }

    /// An integer; in v2 one writer puts them into texts (HD-14). Python's programs store what they were given: `true` for 1, or `3.0`.
    pub fn number(&self, value: &Value) -> Option<i64> {
        let whole = |x: f64| (x.fract() == 0.0 && x.abs() < 1e15).then_some(x as i64);
        match value {
            Value::String(text) if self.style == Style::V2 => text.parse().ok(),
            Value::Bool(is_true) => Some((*is_true).into()),
            other => other.as_i64().or_else(|| other.as_f64().and_then(whole)),
        }
    }

    /// True or false, or as Python's programs may have it 1 or 0; `default` where it is missing. In v2 one writer, GDAL, has "YES" and "NO" (HD-14).
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(b)) => Ok(*b),
            Some(Value::String(text)) if self.style == Style::V2 && matches!(text.as_str(), "YES" | "NO") => Ok(text == "YES"),
            Some(v) => match self.number(v) {
                Some(n @ (0 | 1)) => Ok(n == 1),
                _ => Err(self.error(name, format!("found {}, expected true or false", brief(v)))),
            },
        }
    }

    /// A string, if it is there.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(s)) => Ok(Some(s)),
            Some(v) => Err(self.error(name, format!("found {}, expected a string", brief(v)))),
        }
    }

    /// A list of codecs.
    pub fn codec_list(&self, name: &str) -> Result<Vec<Extension>> {
        match self.get(name) {
            None => Err(self.error(name, "the member is missing".into())),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(i, v)| Extension::from_v3(v).map_err(|e| e.at_field(format!("[{i}]")).at_field(self.path(name))))
                .collect(),
            Some(other) => Err(self.error(name, format!("found {}, expected a list of codecs", brief(other)))),
        }
    }

    /// Reads a NumPy type string, with a byte order (`<i4`), without one (`i4`) or as a name (`int32`), or `None` where the member is missing.
    pub fn element(&self, name: &str) -> Result<Option<ElementType>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let element = parse_v2::parse_spelling(value).map_err(|e| e.at_field(self.path(name)))?;
        if !is_numpy_number(element) {
            let found = element.data_type.name();
            return Err(err!(Unsupported, "found {found}, expected the type of a number of NumPy").at_field(self.path(name)));
        }
        Ok(Some(element))
    }

    /// Reads a NumPy type string that v2 requires; in v3 a missing one is `item`, the type of the array before the codec.
    pub fn element_or(&self, name: &str, item: ElementType) -> Result<ElementType> {
        match self.element(name)? {
            Some(e) => Ok(e),
            None if self.style == Style::V2 => Err(self.error(name, "the member is missing".into())),
            None if !is_numpy_number(item) => {
                Err(err!(Unsupported, "the elements are of {}, expected the type of a number of NumPy", item.data_type.name()))
            }
            None => Ok(item),
        }
    }
}

/// Returns what codecs of numbers take elements for: times are their counts, integers of 64 bits just as the buffer has them, because
/// numcodecs does not turn them even where their order is not the host's.
pub(super) fn as_number(item: ElementType) -> ElementType {
    if item.data_type.kind() == Kind::Time { ElementType::native(DataType::Int64) } else { item }
}

/// Whether numcodecs' codecs know the type: NumPy's numbers, and times.
fn is_numpy_number(element: ElementType) -> bool {
    DataType::NUMPY.contains(&element.data_type) || element.data_type.kind() == Kind::Time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::config_of;

    #[test]
    fn configuration_members_are_checked() {
        let map = config_of(r#"{"a": 3, "b": null, "c": "x", "d": 1.5, "e": true}"#);
        let c = Config::v3(&map);
        assert_eq!(c.int("a", 0, 9, 1).unwrap(), 3);
        assert_eq!(c.int("b", 0, 9, 1).unwrap(), 1);
        assert_eq!(c.int("d", 0, 9, 1).unwrap_err().field(), Some("configuration.d"));
        assert!(c.int("a", 0, 2, 1).is_err());
        assert!(c.int("c", i64::MIN, i64::MAX, 1).unwrap_err().message().ends_with("expected an integer"));
        assert_eq!(c.text("c").unwrap(), Some("x"));
        assert!(c.text("a").is_err() && c.flag("a", true).is_err());
        assert!(c.flag("e", false).unwrap());
        let texts = config_of(r#"{"a": "3", "b": "-1", "c": "x", "yes": "YES", "no": "NO"}"#);
        let c = Config::new(&texts, Style::V2);
        assert!(c.flag("yes", false).unwrap() && !c.flag("no", true).unwrap() && c.flag("c", true).is_err());
        assert_eq!((c.int("a", 0, 9, 1).unwrap(), c.int("b", -1, 9, 1).unwrap()), (3, -1));
        assert!(c.int("c", 0, 9, 1).is_err() && c.int("b", 0, 9, 1).is_err());
        assert!(Config::v3(&texts).int("a", 0, 9, 1).is_err() && Config::v3(&texts).flag("yes", true).is_err());
        let python = config_of(r#"{"one": true, "zero": false, "three": 3.0, "half": 0.5, "large": 1e300}"#);
        for style in [Style::V2, Style::V3, Style::Numcodecs] {
            let c = Config::new(&python, style);
            assert_eq!(["one", "zero", "three"].map(|name| c.int(name, 0, 9, 5).unwrap()), [1, 0, 3]);
            assert!(c.int("half", 0, 9, 1).is_err() && c.int("large", 0, 9, 1).is_err() && c.flag("three", true).is_err());
        }
        let numbers = config_of(r#"{"one": 1, "zero": 0}"#);
        let c = Config::new(&numbers, Style::V2);
        assert!(c.flag("one", false).unwrap() && !c.flag("zero", true).unwrap());
    }

    #[test]
    fn types_are_read_in_every_spelling_of_numpy() {
        for (text, name) in [
            ("<i4", "<i4"),
            ("int32", "<i4"),
            ("i4", "<i4"),
            ("=i4", "<i4"),
            (">i4", ">i4"),
            ("f8", "<f8"),
            ("=f2", "<f2"),
            ("u1", "|u1"),
            ("=u1", "|u1"),
            ("b1", "|b1"),
            ("c16", "<c16"),
            ("M8[ms]", "<M8[ms]"),
        ] {
            let map = config_of(&format!(r#"{{"t": "{text}"}}"#));
            let expected = parse_v2::parse(&name.into()).unwrap();
            assert_eq!(Config::new(&map, Style::Numcodecs).element("t").unwrap(), Some(expected), "{text}");
        }
        for text in ["", "=", "i3", "=<i4", "<<i4", "int", "O", "S4", "V4"] {
            let map = config_of(&format!(r#"{{"t": "{text}"}}"#));
            assert_eq!(Config::new(&map, Style::Numcodecs).element("t").unwrap_err().field(), Some("configuration.t"), "{text:?}");
        }
    }
}
