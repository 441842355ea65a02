//! `{name, configuration, must_understand}`: the one form of all extension points.
//! Specification: v3 core, "Extensions"; a v2 codec is the same with `id` and its parameters beside it.

use super::{Map, Text, Value};
use crate::error::{Result, bail, err};

/// A named extension with its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// The name (v3) or id (v2).
    pub name: Text,
    /// The configuration; empty where the document has none.
    pub configuration: Map,
    /// Whether a reader that does not know the name must refuse.
    pub must_understand: bool,
}

/// An extension as it is in a document.
#[derive(Clone, Copy)]
pub(super) struct ExtensionRef<'a> {
    pub name: &'a Text,
    pub configuration: &'a Map,
    pub must_understand: bool,
}

/// The configuration of an extension without one.
static NOTHING: Map = Map::new();

impl<'a> ExtensionRef<'a> {
    /// Reads the v3 form: a string, or an object with `name`, `configuration`, `must_understand`.
    pub fn from_v3(value: &'a Value) -> Result<ExtensionRef<'a>> {
        let object = match value {
            Value::String(name) => return Ok(ExtensionRef { name, configuration: &NOTHING, must_understand: true }),
            Value::Object(object) => object,
            other => bail!(Metadata, "found {}, expected a name or an object with a name", super::json::brief(other)),
        };
        let (mut name, mut configuration, mut must_understand) = (None, &NOTHING, true);
        let expected = |what: &str, found: &Value, member: &str| {
            Err(err!(Metadata, "found {}, expected {what}", super::json::brief(found)).at_field(member))
        };
        let mut unknown = None;
        for (member, value) in object {
            match (member.as_str(), value) {
                ("name", Value::String(text)) => name = Some(text),
                ("name", other) => return expected("a string", other, member),
                ("configuration", Value::Object(members)) => configuration = members,
                ("configuration", Value::Null) => {}
                ("configuration", other) => return expected("an object", other, member),
                ("must_understand", Value::Bool(must)) => must_understand = *must,
                ("must_understand", other) => return expected("true or false", other, member),
                _ => unknown = unknown.or(Some(member)),
            }
        }
        let name = name.ok_or_else(|| err!(Metadata, "the member is missing").at_field("name"))?;
        if let Some(member) = unknown {
            return Err(err!(Metadata, "unknown member beside the name {name:?}").at_field(member));
        }
        Ok(ExtensionRef { name, configuration, must_understand })
    }

    fn to_owned(self) -> Extension {
        Extension { name: self.name.clone(), configuration: self.configuration.clone(), must_understand: self.must_understand }
    }
}

impl Extension {
    /// An extension that must be understood.
    pub fn new(name: impl Into<Text>, configuration: Map) -> Extension {
        Extension { name: name.into(), configuration, must_understand: true }
    }

    /// Reads the v3 form: a string, or an object with `name`, `configuration`, `must_understand`.
    pub fn from_v3(value: &Value) -> Result<Extension> {
        ExtensionRef::from_v3(value).map(ExtensionRef::to_owned)
    }

    /// This extension as a document would have it.
    pub(super) fn borrowed(&self) -> ExtensionRef<'_> {
        ExtensionRef { name: &self.name, configuration: &self.configuration, must_understand: self.must_understand }
    }

    /// Reads the v2 form: an object with `id` and the parameters beside it.
    pub fn from_v2(value: &Value) -> Result<Extension> {
        let Value::Object(object) = value else {
            bail!(Metadata, "found {}, expected an object with an id", super::json::brief(value));
        };
        let mut configuration = object.clone();
        match configuration.shift_remove("id") {
            Some(Value::String(name)) => Ok(Extension::new(name, configuration)),
            Some(other) => Err(err!(Metadata, "found {}, expected a string", super::json::brief(&other)).at_field("id")),
            None => Err(err!(Metadata, "the member is missing").at_field("id")),
        }
    }

    /// The v3 form: `{"name": …, "configuration": …}`, the configuration only where there is one. Codecs of numcodecs have one,
    /// be it empty: zarr-python refuses them without.
    pub fn to_v3(&self) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), Value::String(self.name.clone()));
        if !self.configuration.is_empty() || self.name.starts_with("numcodecs.") {
            object.insert("configuration".into(), Value::Object(self.configuration.clone()));
        }
        if !self.must_understand {
            object.insert("must_understand".into(), Value::Bool(false));
        }
        Value::Object(object)
    }

    /// The v2 form: `{"id": …, parameters…}`.
    pub fn to_v2(&self) -> Value {
        let mut object = Map::new();
        object.insert("id".into(), Value::String(self.name.clone()));
        object.extend(self.configuration.clone());
        Value::Object(object)
    }
}

/// Ids of numcodecs that some writers (simplezarr, zarrita.js) have as names in v3. No codec is registered by one of these.
const BARE: &[&str] = &["adler32", "bz2", "crc32", "fletcher32", "jenkins_lookup3", "lz4", "lzma", "zlib"];

/// Whether a v3 name lacks the "numcodecs." that belongs before it.
pub fn is_bare(name: &str) -> bool {
    BARE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn an_empty_configuration_is_written_where_peers_want_one() {
        let text = |name: &str| Extension::new(name, Map::new()).to_v3();
        assert_eq!(text("crc32c"), json!({"name": "crc32c"}));
        assert_eq!(text("numcodecs.crc32c"), json!({"name": "numcodecs.crc32c", "configuration": {}}));
    }

    #[test]
    fn what_need_not_be_understood_is_written_again_as_such() {
        for (document, written) in [
            (json!({"name": "x", "must_understand": false}), json!({"name": "x", "must_understand": false})),
            (json!({"name": "x", "must_understand": true, "configuration": {"a": 1}}), json!({"name": "x", "configuration": {"a": 1}})),
            (json!("x"), json!({"name": "x"})),
        ] {
            assert_eq!(Extension::from_v3(&document).unwrap().to_v3(), written, "{document}");
        }
    }
}
