//! `categorize`: text becomes the number of its label, counted from 1; 0 is everything else, and decodes to no text.
//! Specification: numcodecs `categorize`.

use crate::codec::build::Built;
use crate::codec::config::Config;
use crate::codec::stage::{Dest, Size, Stage, VariableCodec};
use crate::codec::streams::decode_known;
use crate::dtype::variable::{self, VarItem};
use crate::dtype::{ByteOrder, DataType, ElementType, Kind};
use crate::error::{Result, bail, err};
use crate::limits::{self, grow};
use crate::metadata::Value;
use std::sync::Arc;

/// The labels and the numbers that stand for them.
struct Categories {
    labels: Vec<String>,
    /// The type of the numbers.
    code: ElementType,
}

impl Categories {
    fn parse(config: &Config<'_>) -> Result<Categories> {
        let Some(Value::Array(list)) = config.get("labels") else {
            return Err(config.error("labels", "expected a list of strings".into()));
        };
        let text = |label: &Value| match label.as_str() {
            Some(text) => limits::text_of(text),
            None => Err(config.error("labels", "expected a list of strings".into())),
        };
        let labels = limits::try_collect(list.iter().map(text))?;
        let code = config.element("astype")?.unwrap_or(ElementType::native(DataType::UInt8));
        if !matches!(code.data_type.kind(), Kind::Int | Kind::UInt) {
            return Err(config.error("astype", format!("found {}, expected the type of an integer", code.data_type.name())));
        }
        let bits = code.size() * 8 - usize::from(code.data_type.kind() == Kind::Int);
        if bits < 64 && labels.len() >= 1 << bits {
            return Err(config.error("labels", format!("found {} labels, more than {} counts", labels.len(), code.data_type.name())));
        }
        Ok(Categories { labels, code })
    }

    fn code_of(&self, text: &str) -> u64 {
        self.labels.iter().position(|l| l == text).map_or(0, |n| n as u64 + 1)
    }

    fn label(&self, code: u64) -> &str {
        code.checked_sub(1).and_then(|n| usize::try_from(n).ok()).and_then(|n| self.labels.get(n)).map_or("", String::as_str)
    }

    fn store(&self, code: u64, dst: &mut [u8]) {
        dst.iter_mut().zip(code.to_le_bytes()).for_each(|(d, b)| *d = b);
        if self.code.order == ByteOrder::Big {
            dst.reverse();
        }
    }

    fn load(&self, src: &[u8]) -> u64 {
        let fold = |n: u64, b: &u8| n << 8 | u64::from(*b);
        if self.code.order == ByteOrder::Big { src.iter().fold(0, fold) } else { src.iter().rev().fold(0, fold) }
    }
}

/// `categorize` over `|O`.
struct Objects {
    categories: Categories,
    /// All labels one after the other, for items to point into.
    joined: String,
}

/// The codec for elements of variable length.
pub(in crate::codec) fn build_objects(config: &Config<'_>, data_type: DataType) -> Result<Arc<dyn VariableCodec>> {
    if data_type != DataType::VarText {
        bail!(Metadata, "\"categorize\" does not take elements of {}", data_type.name());
    }
    let categories = Categories::parse(config)?;
    Ok(Arc::new(Objects { joined: limits::joined(categories.labels.iter().map(String::as_str), "")?, categories }))
}

impl VariableCodec for Objects {
    fn name(&self) -> &'static str {
        "categorize"
    }

    fn encode(&self, items: &[u8], _shape: &[u64], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        let size = self.categories.code.size();
        // SAFETY: the engine passes buffers of items whose bytes it keeps.
        let list = unsafe { variable::items(items) };
        let out = grow(dst, list.len() * size)?;
        for ((i, item), code) in list.enumerate().zip(out.chunks_exact_mut(size)) {
            // SAFETY: as above.
            let text = std::str::from_utf8(unsafe { item.bytes() }).map_err(|e| err!(Range, "element {i} is not UTF-8: {e}"))?;
            self.categories.store(self.categories.code_of(text), code);
        }
        Ok(())
    }

    fn decode(&self, bytes: Vec<u8>, items: &mut [u8]) -> Result<Vec<u8>> {
        let (wanted, size) = (items.len() / size_of::<VarItem>(), self.categories.code.size());
        if bytes.len() != wanted * size {
            bail!(Chunk, "found {} bytes, expected {} for {wanted} elements", bytes.len(), wanted * size);
        }
        let kept = self.joined.as_bytes().to_vec();
        let starts: Vec<usize> = self.categories.labels.iter().scan(0, |at, l| Some(std::mem::replace(at, *at + l.len()))).collect();
        for (i, code) in bytes.chunks_exact(size).enumerate() {
            let code = self.categories.load(code);
            let label = self.categories.label(code);
            let start = code.checked_sub(1).and_then(|n| starts.get(usize::try_from(n).ok()?)).copied().unwrap_or(0);
            variable::set(items, i, VarItem::new(kept.get(start..start + label.len()).unwrap_or_default()));
        }
        Ok(kept)
    }

    fn keeps_fill(&self) -> bool {
        true
    }

    fn encoded_item(&self) -> ElementType {
        self.categories.code
    }
}

/// `categorize` over text of one length.
struct Fixed {
    categories: Categories,
    text: ElementType,
}

/// The stage for text of one length (`<U5`).
pub(in crate::codec) fn build(config: &Config<'_>, item: ElementType) -> Result<Built> {
    if !matches!(item.data_type, DataType::Text(_)) {
        bail!(Metadata, "\"categorize\" takes text, found elements of {}", item.data_type.name());
    }
    let categories = Categories::parse(config)?;
    let code = categories.code;
    Ok(Built { stage: Arc::new(Fixed { categories, text: item }), item: code })
}

impl Fixed {
    /// The code points of a text, without what pads it.
    fn points(&self, element: &[u8]) -> Vec<u32> {
        let swapped = self.text.swapped();
        let point = |p: &[u8; 4]| if swapped { u32::from_be_bytes(*p) } else { u32::from_le_bytes(*p) };
        let mut points: Vec<u32> = element.as_chunks::<4>().0.iter().map(point).collect();
        while points.last() == Some(&0) {
            points.pop();
        }
        points
    }
}

impl Stage for Fixed {
    fn name(&self) -> &'static str {
        "categorize"
    }

    fn keeps_fill(&self) -> bool {
        true
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        let scale = |n: usize| n / self.text.size().max(1) * self.categories.code.size();
        match decoded {
            Size::Exact(n) => Size::Exact(scale(n)),
            Size::AtMost(n) => Size::AtMost(scale(n)),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        let size = self.categories.code.size();
        let labels: Vec<Vec<u32>> = self.categories.labels.iter().map(|l| l.chars().map(u32::from).collect()).collect();
        let out = grow(dst, src.len() / self.text.size() * size)?;
        for (element, code) in src.chunks_exact(self.text.size()).zip(out.chunks_exact_mut(size)) {
            let points = self.points(element);
            self.categories.store(labels.iter().position(|l| *l == points).map_or(0, |n| n as u64 + 1), code);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dest: Dest<'_>) -> Result<()> {
        let size = self.categories.code.size();
        if !src.len().is_multiple_of(size) {
            bail!(Chunk, "found {} bytes, expected a multiple of {size}", src.len());
        }
        let n = (src.len() / size).checked_mul(self.text.size());
        decode_known(dest, n.ok_or_else(|| err!(Limit, "too many elements"))?, &mut |out| {
            for (code, element) in src.chunks_exact(size).zip(out.chunks_exact_mut(self.text.size())) {
                element.fill(0);
                // A label that is longer than the type is cut, as NumPy cuts it.
                for (point, c) in element.as_chunks_mut::<4>().0.iter_mut().zip(self.categories.label(self.categories.load(code)).chars()) {
                    *point = if self.text.swapped() { u32::from(c).to_be_bytes() } else { u32::from(c).to_le_bytes() };
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::config::Style;
    use crate::metadata::Map;

    fn map(json: &str) -> Map {
        crate::json::parse_object(json.as_bytes(), 1 << 20).unwrap()
    }

    #[test]
    fn labels_count_from_one_and_the_rest_is_nothing() {
        let map = map(r#"{"labels": ["a", "日本"], "dtype": "|O", "astype": ">i2"}"#);
        let codec = build_objects(&Config::new(&map, Style::V2), DataType::VarText).unwrap();
        let texts = ["a", "q", "日本"];
        let buffer: Vec<u8> = texts.iter().flat_map(|t| VarItem::new(t.as_bytes()).to_element()).collect();
        let mut stored = Vec::new();
        codec.encode(&buffer, &[3], &mut stored).unwrap();
        assert_eq!(stored, [0, 1, 0, 0, 0, 2]);
        stored[1] = 77;
        let mut items = vec![0; buffer.len()];
        let kept = codec.decode(stored, &mut items).unwrap();
        // SAFETY: `kept` lives.
        let got: Vec<&[u8]> = unsafe { variable::items(&items).map(|i| i.bytes()).collect() };
        assert_eq!(got, [b"".as_slice(), b"", "日本".as_bytes()]);
        drop(kept);
    }

    #[test]
    fn text_of_one_length_is_categorized_in_both_orders() {
        let map = map(r#"{"labels": ["ab", "c"], "dtype": "<U3", "astype": "|u1"}"#);
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let text = ElementType::new(DataType::Text(3), order);
            let built = build(&Config::new(&map, Style::V2), text).unwrap();
            let point = |c: char| if order == ByteOrder::Big { u32::from(c).to_be_bytes() } else { u32::from(c).to_le_bytes() };
            let data: Vec<u8> = "c\0\0zz\0ab\0".chars().flat_map(point).collect();
            let mut stored = Vec::new();
            built.stage.encode(&data, &mut stored).unwrap();
            assert_eq!((stored.as_slice(), built.item.size()), (&[2u8, 0, 1][..], 1));
            let mut back = vec![9; data.len()];
            built.stage.decode(&stored, Dest::Exact(&mut back)).unwrap();
            let want: Vec<u8> = "c\0\0\0\0\0ab\0".chars().flat_map(point).collect();
            assert_eq!(back, want);
        }
    }

    #[test]
    fn labels_must_be_texts_that_the_numbers_can_count() {
        for json in [r#"{}"#, r#"{"labels": [1]}"#, r#"{"labels": ["a"], "astype": "<f8"}"#] {
            assert!(build_objects(&Config::new(&map(json), Style::V2), DataType::VarText).is_err(), "{json}");
        }
        let many: Vec<String> = (0..256).map(|i| format!("\"{i}\"")).collect();
        let json = format!(r#"{{"labels": [{}]}}"#, many.join(","));
        assert!(build_objects(&Config::new(&map(&json), Style::V2), DataType::VarText).is_err());
    }
}
