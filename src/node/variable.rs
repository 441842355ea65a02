//! Elements of variable length: a region as offsets and data, the layout of Apache Arrow's variable-size arrays.

use super::Array;
use crate::dtype::DataType;
use crate::dtype::variable::{self, Arena, VarItem};
use crate::engine::{self, Memory, Overflow, Selection};
use crate::error::{Result, bail, err};
use crate::limits::{c_strides, chunk_bytes, element_count, grow, reserve};
use std::sync::Arc;

/// The elements of a region, in C order: element `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// One number more than there are elements; the first is 0, none is smaller than the one before.
    pub offsets: Vec<i64>,
    /// The bytes of all elements, one after the other.
    pub data: Vec<u8>,
}

impl Variable {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of element `i`.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let (start, end) = (*self.offsets.get(i)?, *self.offsets.get(i.checked_add(1)?)?);
        self.data.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

impl Array {
    /// Reads the selected elements, which are of variable length, in C order of the selection.
    ///
    /// Text is UTF-8; JSON values are their text; arrays of numbers are the numbers' bytes in the order of this host. Text and bytes of
    /// a fixed length come without the NULs at their end.
    pub fn read_variable(&self, selection: &Selection) -> Result<Variable> {
        let data_type = self.item_type()?;
        if !self.data_type().is_variable() {
            return self.read_padded(selection);
        }
        let count = element_count(selection.shape())?;
        let mut buffer = Vec::new();
        let bytes = items_bytes(count)?;
        grow(&mut buffer, bytes)?;
        let arena = Arc::new(Arena::default());
        let memory = items_memory(buffer.as_mut_ptr(), bytes, selection.shape(), data_type, arena.clone());
        // Items of chunks that are not stored point into its fill value, which a handle on another shape has not any more.
        let bound = self.bound_for_reading(selection)?;
        // SAFETY: the buffer has room for every item and nothing else uses it.
        unsafe { engine::read(&bound, selection, &memory) }?;
        // SAFETY: reading filled every item; the arena and `bound` keep what they point into.
        let all = unsafe { gather(&buffer) };
        drop(bound);
        all
    }

    /// [`Array::read_variable`] of text or bytes of a fixed length.
    fn read_padded(&self, selection: &Selection) -> Result<Variable> {
        // A code point has at most four bytes in UTF-8, as it has in UTF-32.
        let data_type = DataType::Bytes(u32::try_from(self.data_type().size()).unwrap_or(u32::MAX));
        let (size, count) = (data_type.size(), element_count(selection.shape())?);
        let (bytes, mut buffer, mut all) = (chunk_bytes(&[count], size)?, Vec::new(), Variable::default());
        let data = grow(&mut buffer, bytes)?.as_mut_ptr();
        let memory = Memory::dense(data, bytes, selection.shape(), data_type);
        // SAFETY: the buffer has room for every element and nothing else uses it.
        unsafe { self.read(selection, &memory) }?;
        reserve_offsets(&mut all, count as usize)?;
        let value = |padded: &'_ [u8]| padded.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        reserve(&mut all.data, buffer.chunks_exact(size).map(value).sum())?;
        for padded in buffer.chunks_exact(size) {
            all.data.extend_from_slice(&padded[..value(padded)]);
            all.offsets.push(all.data.len() as i64);
        }
        Ok(all)
    }

    /// Writes the selected elements, in C order of the selection: element `i` is `data[offsets[i]..offsets[i + 1]]`.
    ///
    /// Errors: `BufferSize` where there are not as many offsets as elements, and one more; `Bounds` where offsets fall, are
    /// negative or pass the end of `data`; `Range` where bytes are not what the type holds (text that is not UTF-8, or too long for
    /// a type of a fixed length).
    pub fn write_variable(&self, selection: &Selection, offsets: &[i64], data: &[u8]) -> Result<()> {
        self.write_pieces(selection, pieces_of(selection.shape(), offsets, data)?)
    }

    /// Makes dimension `dim` longer by `count` as [`Array::append`] does, with elements as in [`Array::write_variable`].
    pub fn append_variable(&self, dim: usize, count: u64, offsets: &[i64], data: &[u8]) -> Result<()> {
        let mut slab = self.shape();
        slab.iter_mut().skip(dim).take(1).for_each(|length| *length = count);
        // SAFETY: the memory has the elements of the slab.
        self.with_items(&slab, pieces_of(&slab, offsets, data)?, |memory| unsafe { self.append(dim, count, memory) })
    }

    /// Writes the selected elements, in C order of the selection, from one piece of bytes for each.
    pub fn write_pieces<'a>(&self, selection: &Selection, pieces: impl Iterator<Item = Result<&'a [u8]>>) -> Result<()> {
        // SAFETY: the memory has as many elements as are selected.
        self.with_items(selection.shape(), pieces, |memory| unsafe { self.write(selection, memory) })
    }

    /// Does something with the memory of elements of a shape, in C order, of one piece of bytes each.
    fn with_items<'a>(
        &self,
        shape: &[u64],
        pieces: impl Iterator<Item = Result<&'a [u8]>>,
        action: impl FnOnce(&Memory) -> Result<()>,
    ) -> Result<()> {
        let data_type = self.item_type()?;
        let count = element_count(shape)?;
        let bytes = items_bytes(count)?;
        let mut buffer = Vec::new();
        let items = grow(&mut buffer, bytes)?;
        let mut found = 0;
        for piece in pieces {
            if !variable::set(items, found, VarItem::new(piece?)) {
                bail!(BufferSize, "found more than {count} elements, expected {count}");
            }
            found += 1;
        }
        if found as u64 != count {
            bail!(BufferSize, "found {found} elements, expected {count}");
        }
        // The buffer holds an item for each element, and the pieces outlive the call.
        action(&items_memory(buffer.as_mut_ptr(), bytes, shape, data_type, Arc::default()))
    }

    /// What items of the array's elements are in memory.
    fn item_type(&self) -> Result<DataType> {
        match self.data_type() {
            t if t.is_variable() => Ok(t),
            DataType::Text(_) => Ok(DataType::VarText),
            DataType::Bytes(_) => Ok(DataType::VarBytes),
            t => bail!(Type, "the array's elements are {}, expected text, bytes or elements of variable length", t.name()),
        }
    }
}

/// The elements of a shape as pieces of `data`.
fn pieces_of<'a>(shape: &[u64], offsets: &'a [i64], data: &'a [u8]) -> Result<impl Iterator<Item = Result<&'a [u8]>>> {
    let count = element_count(shape)?;
    if offsets.len() as u64 != count.saturating_add(1) {
        bail!(BufferSize, "found {} offsets, expected {} for {count} elements", offsets.len(), count.saturating_add(1));
    }
    Ok(offsets.windows(2).enumerate().map(|(i, w)| {
        let range = usize::try_from(w[0]).ok().zip(usize::try_from(w[1]).ok()).and_then(|(start, end)| data.get(start..end));
        range.ok_or_else(|| err!(Bounds, "element {i} is from {} to {} of {} bytes of data", w[0], w[1], data.len()))
    }))
}

fn items_bytes(count: u64) -> Result<usize> {
    chunk_bytes(&[count], size_of::<VarItem>())
}

fn items_memory(data: *mut u8, size: usize, shape: &[u64], data_type: DataType, arena: Arc<Arena>) -> Memory {
    let strides = c_strides(shape, size_of::<VarItem>());
    Memory { data, size, offset: 0, strides, data_type, overflow: Overflow::Error, arena: Some(arena) }
}

/// Reserves room for the offsets of `count` elements, and adds the first offset.
fn reserve_offsets(all: &mut Variable, count: usize) -> Result<()> {
    all.offsets.try_reserve_exact(count + 1).map_err(|_| err!(NoMemory, "{} offsets", count + 1))?;
    all.offsets.push(0);
    Ok(())
}

/// # Safety
/// The buffer holds items whose bytes are kept.
unsafe fn gather(buffer: &[u8]) -> Result<Variable> {
    // SAFETY: the caller's promise.
    let items = || unsafe { variable::items(buffer) };
    let total = items().try_fold(0usize, |n, item| n.checked_add(item.len));
    let total = total.filter(|n| i64::try_from(*n).is_ok()).ok_or_else(|| err!(Limit, "the elements have more than 2^63 bytes"))?;
    let mut all = Variable::default();
    reserve(&mut all.data, total)?;
    reserve_offsets(&mut all, items().len())?;
    for item in items() {
        // SAFETY: the caller's promise.
        all.data.extend_from_slice(unsafe { item.bytes() });
        all.offsets.push(all.data.len() as i64);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::tests_growth::Folder;
    use crate::node::{Context, Create, Spec, Store};
    use crate::store::suite::Random;

    fn store() -> Store {
        Store::memory(&Context::default())
    }

    fn spec(json: &str) -> Spec {
        Spec::from_json(json).unwrap()
    }

    const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[7,5],"data_type":"string","fill_value":"füll",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4]}},"chunk_key_encoding":{"name":"default"},"codecs":CODECS}"#;

    fn documents() -> Vec<String> {
        let shard = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,4],"codecs":["vlen-utf8",{"name":"zstd"}],
            "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]}}]"#;
        let v2 = r#"{"zarr_format":2,"shape":[7,5],"chunks":[4,4],"dtype":"|O","fill_value":"füll","order":"ORDER","filters":FILTERS,
            "compressor":{"id":"zlib","level":1}}"#;
        vec![
            V3.replace("CODECS", r#"["vlen-utf8"]"#),
            V3.replace("CODECS", r#"["vlen-utf8",{"name":"gzip"},"crc32c"]"#),
            V3.replace("CODECS", r#"[{"name":"transpose","configuration":{"order":[1,0]}},"vlen-utf8"]"#),
            V3.replace("CODECS", shard),
            v2.replace("ORDER", "C").replace("FILTERS", r#"[{"id":"vlen-utf8"}]"#),
            v2.replace("ORDER", "F").replace("FILTERS", r#"[{"id":"vlen-utf8"},{"id":"crc32"}]"#),
        ]
    }

    /// Random texts through random regions, against a list of strings.
    #[test]
    fn every_region_holds_what_was_written_last() {
        for document in documents() {
            let (store, mut random) = (store(), Random(7));
            let array = Array::create(&store, "a", &spec(&document), Create::New).unwrap();
            let mut model = vec!["füll".to_string(); 35];
            for round in 0..60u64 {
                let start: Vec<i64> = [7, 5].iter().map(|&n| random.below(n) as i64).collect();
                let count: Vec<i64> = [7, 5].iter().zip(&start).map(|(&n, &s)| 1 + random.below((n - s) as u64) as i64).collect();
                let selection = Selection::new(&[7, 5], &start, &count, None).unwrap();
                let places: Vec<usize> = (0..count[0])
                    .flat_map(|i| (0..count[1]).map(move |j| (i, j)))
                    .map(|(i, j)| ((start[0] + i) * 5 + start[1] + j) as usize)
                    .collect();
                if round % 2 == 0 {
                    let texts: Vec<String> = places
                        .iter()
                        .map(|_| if random.below(4) == 0 { "füll".into() } else { "é".repeat(random.below(9) as usize) + "x" })
                        .collect();
                    array.write_pieces(&selection, texts.iter().map(|t| Ok(t.as_bytes()))).unwrap();
                    places.iter().zip(texts).for_each(|(&p, t)| model[p] = t);
                } else {
                    let got = array.read_variable(&selection).unwrap();
                    let want: Vec<&[u8]> = places.iter().map(|&p| model[p].as_bytes()).collect();
                    assert_eq!((0..got.len()).map(|i| got.get(i).unwrap()).collect::<Vec<_>>(), want, "{document}");
                }
            }
        }
    }

    #[test]
    fn json_bytes_arrays_and_categories_are_written_and_read() {
        let v2 = |filters: &str| {
            spec(&format!(
                r#"{{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":"|O","fill_value":null,"order":"C","filters":[{filters}],"compressor":null}}"#
            ))
        };
        let cases: &[(&str, [&[u8]; 3])] = &[
            (r#"{"id":"json2"}"#, [b"[1,null]", b"\"x\"", b"3.5"]),
            (r#"{"id":"msgpack2"}"#, [b"{\"k\":true}", b"-7", b"\"\""]),
            (r#"{"id":"vlen-bytes"}"#, [&[0xff, 0], b"", b"abc"]),
            (r#"{"id":"vlen-array","dtype":">i2"}"#, [&[1, 0, 2, 0], b"", &[3, 0]]),
            (r#"{"id":"categorize","labels":["a","bc"],"dtype":"|O","astype":"|u1"},{"id":"delta","dtype":"|u1"}"#, [b"bc", b"", b"a"]),
        ];
        for (filters, values) in cases {
            let store = store();
            let array = Array::create(&store, "a", &v2(filters), Create::New).unwrap();
            let all = Selection::all(&[3]);
            array.write_pieces(&all, values.iter().map(|v| Ok(*v))).unwrap();
            let again = Array::open(&store, "a").unwrap();
            let got = again.read_variable(&all).unwrap();
            assert_eq!((0..3).map(|i| got.get(i).unwrap()).collect::<Vec<_>>(), values, "{filters}");
        }
    }

    #[test]
    fn text_and_bytes_of_a_fixed_length_are_read_without_their_padding() {
        for (data_type, long) in [("<U3", "äöüß"), (">U3", "abcd"), ("|S4", "abcde")] {
            let store = store();
            let document = format!(
                r#"{{"zarr_format":2,"shape":[2,2],"chunks":[2,1],"dtype":"{data_type}","fill_value":"","order":"F","filters":null,"compressor":null}}"#
            );
            let array = Array::create(&store, "a", &spec(&document), Create::New).unwrap();
            let row = Selection::new(&[2, 2], &[1, 0], &[1, 2], None).unwrap();
            array.write_variable(&row, &[0, 2, 5], b"yzx\0w").unwrap();
            let want = Variable { offsets: vec![0, 0, 0, 2, 5], data: b"yzx\0w".to_vec() };
            assert_eq!(array.read_variable(&Selection::all(&[2, 2])).unwrap(), want, "{data_type}");
            let e = array.write_pieces(&row, [&b"x"[..], long.as_bytes()].into_iter().map(Ok)).unwrap_err();
            assert_eq!(e.kind(), crate::error::ErrorKind::Range, "{e}");
        }
    }

    /// Two handles, in threads, that do not know of each other's texts, in memory and in a folder.
    #[test]
    fn texts_that_several_append_are_all_kept() {
        let folder = Folder::new("texts");
        for (store, columns) in [(&store(), 1u64), (&folder.1, 2)] {
            let document = V3.replace("CODECS", r#"["vlen-utf8"]"#).replace("[7,5]", &format!("[0,{columns}]"));
            let array = Array::create(store, "a", &spec(&document), Create::New).unwrap();
            let append = |word: u8| {
                let array = Array::open(store, "a").unwrap();
                let offsets: Vec<i64> = (0..=columns as i64).collect();
                (0..20).for_each(|_| array.append_variable(0, 1, &offsets, &vec![word; columns as usize]).unwrap());
            };
            std::thread::scope(|s| {
                s.spawn(|| append(b'x'));
                s.spawn(|| append(b'y'));
            });
            array.refresh().unwrap();
            assert_eq!(array.shape().as_slice(), [40, columns]);
            let mut found = array.read_variable(&Selection::all(&[40, columns])).unwrap().data;
            found.sort_unstable();
            assert_eq!(found, [vec![b'x'; 20 * columns as usize], vec![b'y'; 20 * columns as usize]].concat());
            for (offsets, data) in [([0, 1, 2, 3], b"abc"), ([0, 9, 9, 9], b"abc"), ([0, 1, 2, 3], b"\xff\xff\xff")] {
                let offsets = if data == b"abc" && offsets[1] == 1 { &offsets[..] } else { &offsets[..columns as usize + 1] };
                assert!(array.append_variable(0, 1, offsets, data).is_err(), "{offsets:?}");
                assert_eq!(array.shape()[0], 40);
            }
            assert!(array.append_variable(2, 1, &[0, 1], b"a").is_err());
        }
    }

    #[test]
    fn wrong_offsets_and_types_are_refused() {
        let store = store();
        let array = Array::create(&store, "a", &spec(&documents()[0]), Create::New).unwrap();
        let two = Selection::new(&[7, 5], &[0, 0], &[1, 2], None).unwrap();
        for offsets in [&[0, 1][..], &[0, 2, 1], &[-1, 0, 1], &[0, 1, 4]] {
            assert!(array.write_variable(&two, offsets, b"abc").is_err(), "{offsets:?}");
        }
        assert_eq!(array.write_variable(&two, &[0, 1, 2], &[0xff, b'x']).unwrap_err().kind(), crate::error::ErrorKind::Range);
        array.write_variable(&two, &[0, 1, 3], b"abc").unwrap();
        assert_eq!(array.read_variable(&two).unwrap(), Variable { offsets: vec![0, 1, 3], data: b"abc".to_vec() });
        let numbers = Array::create(&store, "n", &Spec::new(DataType::Int8, &[3]).unwrap(), Create::New).unwrap();
        assert_eq!(numbers.read_variable(&Selection::all(&[3])).unwrap_err().kind(), crate::error::ErrorKind::Type);
    }
}
