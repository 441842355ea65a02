//! Codecs that a program has registered: what they give is checked here, and they become stages as the library's own do.
//!
//! In v3 a codec has the place of its kind: before the codec that makes bytes, in its place, or behind. v2 knows no kinds: there
//! each is a stage at its place. A program's codec sees elements in this host's byte order.

use super::build::{ArrayCodec, Built};
use super::registry;
pub use super::stage::Size;
use super::stage::{BYTES, Dest, Stage, StageRef};
use super::streams::wrong_size;
use crate::dtype::registered::{RegisteredType, TypeCalls};
use crate::dtype::{ByteOrder, DataType, ElementType};
use crate::error::{ErrorKind, Result, bail, err};
use crate::fork::Lazy;
use crate::limits::grow;
use crate::metadata::extension::Extension;
use crate::metadata::{Map, Value, json, v3};
use crate::registry::{Registry, intern};
use std::sync::Arc;

/// The place of a codec in a v3 list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Bytes to bytes.
    Bytes,
    /// Elements to elements; `elementwise`: each for itself, so that their order does not matter.
    Array {
        /// See above.
        elementwise: bool,
    },
    /// Elements to bytes.
    Serial,
}

/// A codec of a program.
pub trait Codec: Send + Sync {
    /// Its place in a v3 list.
    fn class(&self) -> Class;
    /// Checks a configuration (an object of JSON; in v2 the parameters beside the id) and the elements that it is for, and gives what
    /// encodes and decodes them, and the type of the elements behind it (of [`Class::Array`]).
    fn open(&self, configuration: &str, v2: bool, input: DataType) -> Result<(Arc<dyn Opened>, DataType)>;
}

/// A codec with its configuration.
pub trait Opened: Send + Sync {
    /// Whether any thread may use it.
    fn any_thread(&self) -> bool;
    /// The size of what that number of bytes is encoded to.
    fn encoded_size(&self, decoded: usize) -> Result<Size>;
    /// Encodes into a buffer, and gives the number of bytes.
    fn encode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize>;
    /// Decodes into a buffer, and gives the number of bytes; too small a buffer is `BufferSize`.
    fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize>;
}

/// The registered codecs, under their names in each format.
static CODECS: Lazy<Registry<dyn Codec>> = Lazy::new(Registry::default);

/// The registry's names of the two formats.
const V2: &str = "v2";
const V3: &str = "v3";

/// Registers a codec under its v3 name, its v2 id, or both.
pub fn register(v3: Option<&str>, v2: Option<&str>, codec: Arc<dyn Codec>, replace: bool) -> Result<()> {
    let names: Vec<(&'static str, &str)> = v3.map(|n| (V3, n)).into_iter().chain(v2.map(|n| (V2, n))).collect();
    if let Some((_, name)) = names.iter().find(|(_, name)| registry::is_structural(name)) {
        bail!(Exists, "the codec {name:?} belongs to the format's core and cannot be replaced");
    }
    CODECS.get().add(&names, codec, |_, name| registry::has_built_in(name), replace).map(drop)
}

/// Forgets the codec of that name. Arrays that are open keep it. False if no codec has it.
pub fn unregister(name: &str) -> bool {
    let gone = CODECS.get().remove(V3, name);
    gone.or_else(|| CODECS.get().remove(V2, name)).is_some()
}

/// The registered codec of a v3 name.
pub(super) fn find_v3(name: &str) -> Option<Arc<dyn Codec>> {
    CODECS.get().find(V3, name)
}

/// The registered codec of a v2 id.
pub(super) fn find_v2(id: &str) -> Option<Arc<dyn Codec>> {
    CODECS.get().find(V2, id)
}

/// The name of a codec of a v3 list, or of one inside of its shards, that a program has registered: what v2 has under that name is another one.
pub fn first_in(list: &[Extension]) -> Option<String> {
    list.iter().find_map(|codec| {
        if find_v3(&codec.name).is_some() {
            return Some(codec.name.to_string());
        }
        let inside = codec.configuration.get("codecs").filter(|_| codec.name == "sharding_indexed")?;
        first_in(&v3::codec_list(inside).ok()?)
    })
}

fn text(configuration: &Map) -> String {
    json::to_compact(&Value::Object(configuration.clone()))
}

/// Elements of a struct, or of variable length, have no order that could be turned for a program.
fn check_input(input: DataType) -> Result<()> {
    if input.is_variable() || matches!(input, DataType::Struct(_)) {
        bail!(Unsupported, "registered codecs take numbers, text of one length and raw bits, found elements of {}", input.name());
    }
    Ok(())
}

/// The array→array codec of a registered data type: from its elements in memory to what they are in the file. `None` where they are the same.
pub(super) fn type_codec(registered: &'static RegisteredType) -> Result<Option<ArrayCodec>> {
    if !registered.converts() {
        return Ok(None);
    }
    let (from, to) = (ElementType::native(registered.memory()), ElementType::native(registered.carrier()));
    let sizes = Some((from.data_type.size(), to.data_type.size()));
    let (name, opened) = (registered.name(), Arc::new(Conversion(registered.calls()?)));
    Ok(Some(ArrayCodec::new(from, to, move |from, to| -> StageRef {
        Arc::new(RegisteredStage { name, opened: opened.clone(), sizes, before: unit_to_turn(from), after: unit_to_turn(to) })
    })))
}

/// The conversion of a registered data type.
struct Conversion(Arc<dyn TypeCalls>);

impl Opened for Conversion {
    fn any_thread(&self) -> bool {
        self.0.any_thread()
    }

    fn encoded_size(&self, decoded: usize) -> Result<Size> {
        bail!(Internal, "the sizes of {decoded} bytes of elements are known")
    }

    fn encode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.0.encode(src, dst).map(|()| dst.len())
    }

    fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.0.decode(src, dst).map(|()| dst.len())
    }
}

/// The stage of a codec that is not of [`Class::Array`], or of any in v2.
pub(super) fn build(name: &str, codec: &dyn Codec, configuration: &Map, v2: bool, item: ElementType) -> Result<Built> {
    if let Class::Array { .. } = codec.class() {
        return array_codec(name, codec, configuration, v2, item).map(|codec| codec.built());
    }
    if codec.class() == Class::Serial {
        check_input(item.data_type)?;
    }
    let (opened, _) = codec.open(&text(configuration), v2, item.data_type)?;
    let swap = if codec.class() == Class::Serial { unit_to_turn(item) } else { 1 };
    Ok(Built { stage: Arc::new(RegisteredStage { name: intern(name), opened, sizes: None, before: swap, after: 1 }), item: BYTES })
}

/// The array→array codec of a codec between elements and elements.
pub(super) fn array_codec(name: &str, codec: &dyn Codec, configuration: &Map, v2: bool, item: ElementType) -> Result<ArrayCodec> {
    check_input(item.data_type)?;
    let (opened, output) = codec.open(&text(configuration), v2, item.data_type)?;
    check_input(output)?;
    let (name, sizes) = (intern(name), Some((item.data_type.size(), output.size())));
    let make = move |from: ElementType, to: ElementType| -> StageRef {
        Arc::new(RegisteredStage { name, opened: opened.clone(), sizes, before: unit_to_turn(from), after: unit_to_turn(to) })
    };
    let made = ArrayCodec::new(item, ElementType::new(output, item.order), make);
    Ok(if codec.class() == (Class::Array { elementwise: true }) { made } else { made.ordered() })
}

/// The bytes of the units whose order differs from this host's; 1 where none does.
fn unit_to_turn(element: ElementType) -> usize {
    if element.order == ByteOrder::NATIVE { 1 } else { element.data_type.swap_unit() }
}

fn turn(bytes: &mut [u8], unit: usize) {
    if unit > 1 {
        bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
}

/// A program's codec as a stage.
struct RegisteredStage {
    name: &'static str,
    opened: Arc<dyn Opened>,
    /// Of a codec between elements: their sizes before and after.
    sizes: Option<(usize, usize)>,
    /// The units to turn before and after, when encoding.
    before: usize,
    after: usize,
}

impl RegisteredStage {
    fn size_of(&self, decoded: usize) -> Result<Size> {
        match self.sizes {
            Some((from, to)) => match (decoded / from.max(1)).checked_mul(to) {
                Some(n) => Ok(Size::Exact(n)),
                None => bail!(Limit, "{decoded} bytes are too many for {}", self.name),
            },
            None => self.opened.encoded_size(decoded),
        }
    }

    fn lied(&self, what: &str, said: String) -> crate::error::Error {
        err!(Callback, "`{what}` of the codec {:?} {said}", self.name)
    }

    /// Decodes into a buffer; the number of bytes is what the program says, and at most the buffer's.
    fn decode_into(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let mut turned = Vec::new();
        let src = if self.after > 1 {
            crate::limits::reserve(&mut turned, src.len())?;
            turned.extend_from_slice(src);
            turn(&mut turned, self.after);
            &turned
        } else {
            src
        };
        let n = self.opened.decode(src, dst)?;
        if n > dst.len() {
            return Err(self.lied("decode", format!("says that it wrote {n} bytes into {}", dst.len())));
        }
        turn(&mut dst[..n], self.before);
        Ok(n)
    }
}

impl Stage for RegisteredStage {
    fn name(&self) -> &'static str {
        self.name
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        let size = self.size_of(decoded.max()).unwrap_or(Size::AtMost(usize::MAX));
        match (decoded, size) {
            (Size::Exact(_), size) => size,
            (Size::AtMost(_), size) => Size::AtMost(size.max()),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let size = self.size_of(src.len())?;
        if size.max() as u64 > crate::limits::max_chunk().saturating_mul(2) {
            bail!(Limit, "{:?} makes up to {} bytes of {}", self.name, size.max(), src.len());
        }
        let mut turned = Vec::new();
        let src = if self.before > 1 {
            crate::limits::reserve(&mut turned, src.len())?;
            turned.extend_from_slice(src);
            turn(&mut turned, self.before);
            &turned
        } else {
            src
        };
        dst.clear();
        let n = self.opened.encode(src, grow(dst, size.max())?)?;
        if n > size.max() {
            return Err(self.lied("encode", format!("says that it wrote {n} bytes into {}", size.max())));
        }
        if matches!(size, Size::Exact(want) if want != n) {
            return Err(self.lied("encode", format!("gave {n} bytes, expected {} as it had said", size.max())));
        }
        dst.truncate(n);
        turn(dst, self.after);
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        match dst {
            Dest::Exact(buf) => match self.decode_into(src, buf)? {
                n if n == buf.len() => Ok(()),
                n => Err(wrong_size(n, buf.len())),
            },
            Dest::AtMost(buf, max) | Dest::Checked(buf, max, _) => {
                // The first guess of a size that nobody knows.
                let mut room = src.len().saturating_mul(4).max(64 << 10).min(max);
                loop {
                    buf.clear();
                    match self.decode_into(src, grow(buf, room)?) {
                        Ok(n) => {
                            buf.truncate(n);
                            return Ok(());
                        }
                        Err(e) if e.kind() == ErrorKind::BufferSize && room < max => room = room.saturating_mul(4).min(max),
                        Err(e) => {
                            buf.clear();
                            return Err(e);
                        }
                    }
                }
            }
        }
    }

    fn any_thread(&self) -> bool {
        self.opened.any_thread()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::BoundChain;
    use crate::codec::chain::Chain;
    use crate::metadata::v3::codec_list;
    use crate::metadata::{Codecs, Order};

    /// Adds one to every byte; says what it is told to.
    struct PlusOne {
        class: Class,
        says: Option<usize>,
    }

    impl Codec for PlusOne {
        fn class(&self) -> Class {
            self.class
        }
        fn open(&self, configuration: &str, _: bool, input: DataType) -> Result<(Arc<dyn Opened>, DataType)> {
            if configuration.contains("bad") {
                bail!(Metadata, "bad is bad");
            }
            Ok((Arc::new(PlusOne { ..*self }), input))
        }
    }

    impl Opened for PlusOne {
        fn any_thread(&self) -> bool {
            false
        }
        fn encoded_size(&self, decoded: usize) -> Result<Size> {
            Ok(Size::AtMost(decoded + 1))
        }
        fn encode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
            dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_add(1));
            Ok(self.says.unwrap_or(src.len()))
        }
        fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
            if dst.len() < src.len() {
                bail!(BufferSize, "too small");
            }
            dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_sub(1));
            Ok(self.says.unwrap_or(src.len()))
        }
    }

    fn chain(codecs: &Codecs) -> Result<Chain> {
        Chain::parse(codecs, DataType::UInt16, 1)
    }

    fn v3(list: &str) -> Codecs {
        Codecs::V3(codec_list(&crate::json::parse_text(list).unwrap()).unwrap())
    }

    fn encoded(codecs: &Codecs) -> Result<Vec<u8>> {
        let BoundChain::Leaf(leaf) = chain(codecs)?.bind(&[2]).unwrap() else { panic!("a leaf expected") };
        let (mut bytes, plain) = (vec![1, 2, 3, 4], vec![1, 2, 3, 4]);
        for stage in &leaf.stages {
            let mut out = Vec::new();
            stage.encode(&bytes, &mut out)?;
            bytes = out;
        }
        let mut back = bytes.clone();
        for stage in leaf.stages.iter().rev() {
            let mut out = Vec::new();
            stage.decode(&back, Dest::AtMost(&mut out, 100))?;
            back = out;
        }
        assert_eq!(back, plain);
        Ok(bytes)
    }

    #[test]
    fn a_registered_codec_stands_where_its_kind_belongs() {
        let big = r#"{"name": "bytes", "configuration": {"endian": "big"}}"#;
        let add = |name: &str, class| register(Some(name), Some(name), Arc::new(PlusOne { class, says: None }), false).unwrap();
        add("test.bytes", Class::Bytes);
        add("test.array", Class::Array { elementwise: true });
        add("test.serial", Class::Serial);
        for (list, want) in [
            (format!(r#"[{big}, "test.bytes"]"#), Some([3u8, 2, 5, 4])),
            (format!(r#"["test.array", {big}]"#), Some([3, 2, 5, 4])),
            (r#"["test.serial"]"#.to_string(), Some([2, 3, 4, 5])),
            (format!(r#"["test.bytes", {big}]"#), None),
            (format!(r#"[{big}, "test.array"]"#), None),
            (format!(r#"[{big}, "test.serial"]"#), None),
            (format!(r#"[{big}, {{"name": "test.bytes", "configuration": {{"bad": 1}}}}]"#), None),
        ] {
            let got = encoded(&v3(&list));
            match want {
                Some(_) => assert_eq!(got.ok().map(|b| b.len()), Some(4), "{list}"),
                None => assert_eq!(got.unwrap_err().kind(), ErrorKind::Metadata, "{list}"),
            }
        }
        assert!(!chain(&v3(&format!(r#"[{big}, "test.bytes"]"#))).unwrap().any_thread());
        for (data, index) in [("\"bytes\", \"test.bytes\"", big), ("\"bytes\"", &format!(r#"{big}, "test.bytes""#))] {
            let list = format!(r#"[{{"name": "zarrs.vlen", "configuration": {{"data_codecs": [{data}], "index_codecs": [{index}]}}}}]"#);
            assert!(!Chain::parse(&v3(&list), DataType::VarText, 1).unwrap().any_thread(), "{list}");
        }
        for id in ["test.bytes", "test.array", "test.serial"] {
            let filter = crate::metadata::extension::Extension::from_v2(&crate::json::json!({"id": id, "level": 3})).unwrap();
            let element = ElementType::new(DataType::UInt16, ByteOrder::Big);
            let codecs = Codecs::V2 { order: Order::C, element, filters: vec![filter], compressor: None };
            encoded(&codecs).unwrap();
            assert!(unregister(id) && !unregister(id));
            assert_eq!(chain(&codecs).err().unwrap().kind(), ErrorKind::Unsupported);
        }
    }

    #[test]
    fn a_registered_codec_that_goes_by_the_order_of_elements_is_inside_shards_whatever_its_name() {
        let index = r#"[{"name": "bytes", "configuration": {"endian": "little"}}]"#;
        let list = |name: &str| {
            format!(
                r#"["{name}", {{"name": "sharding_indexed", "configuration": {{"chunk_shape": [1], "codecs": {index}, "index_codecs": {index}}}}}]"#
            )
        };
        // The names without that of numcodecs are those of codecs that change each element by itself.
        for (name, elementwise, want) in
            [("numcodecs.scale_offset", true, None), ("numcodecs.cast_value", false, Some(ErrorKind::Unsupported))]
        {
            register(Some(name), None, Arc::new(PlusOne { class: Class::Array { elementwise }, says: None }), false).unwrap();
            assert_eq!(chain(&v3(&list(name))).err().map(|e| e.kind()), want, "{name}");
            assert!(unregister(name));
        }
    }

    #[test]
    fn names_of_the_core_and_of_others_are_kept() {
        let add = |name: &str, replace| {
            let codec = Arc::new(PlusOne { class: Class::Bytes, says: None });
            register(Some(name), None, codec, replace).err().map(|e| e.kind())
        };
        assert_eq!(
            (add("bytes", true), add("sharding_indexed", true), add("vlen-utf8", true)),
            (Some(ErrorKind::Exists), Some(ErrorKind::Exists), Some(ErrorKind::Exists))
        );
        assert_eq!(add("fletcher32", false), Some(ErrorKind::Exists));
        assert_eq!(add("test.twice", false), None);
        assert_eq!((add("test.twice", false), add("test.twice", true)), (Some(ErrorKind::Exists), None));
        assert!(unregister("test.twice"));
    }

    #[test]
    fn sizes_that_are_not_so_are_errors() {
        for says in [0, 3, 5, 6, usize::MAX] {
            let stage = RegisteredStage {
                name: "liar",
                opened: Arc::new(PlusOne { class: Class::Bytes, says: Some(says) }),
                sizes: None,
                before: 1,
                after: 1,
            };
            let mut exact = [0; 4];
            assert!(stage.decode(&[1; 4], Dest::Exact(&mut exact)).is_err(), "{says}");
            let mut out = Vec::new();
            let result = stage.encode(&[1; 4], &mut out);
            assert_eq!(result.is_ok(), says <= 5, "{says}");
            let kernel = RegisteredStage { sizes: Some((2, 2)), ..stage };
            assert!(kernel.encode(&[1; 4], &mut out).is_err(), "{says}");
        }
    }
}
