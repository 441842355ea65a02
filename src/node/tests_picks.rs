//! Lists of elements over stores with latency, and what is counted there.

use super::tests::{far_from, memory, own, spec, view, write_all};
use super::*;
use crate::engine::{CoordinateSelection, Memory, Selection};
use crate::error::ErrorKind;
use crate::store::suite::Random;
use std::time::Duration;

const SHAPE: [u64; 2] = [24, 18];

fn line(data: &mut [i32], strides: &[i64]) -> Memory {
    Memory { strides: strides.into(), ..Memory::of(data, &[], crate::dtype::DataType::Int32) }
}

#[test]
fn lists_are_read_and_written_over_stores_with_latency() {
    let mut random = Random(5);
    for (compressor, inner) in [("none", None), ("zstd", None), ("zstd", Some([4, 3])), ("none", Some([2, 9]))] {
        let near = memory();
        let mut spec = spec(&SHAPE, &[8, 9]);
        spec.set_compressor(compressor, None).unwrap();
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner).unwrap();
        }
        Array::create(&near, "a", &spec, Create::New).unwrap();
        let store = far_from(&near, Duration::from_micros(50));
        let array = Array::open(&store, "a").unwrap();
        let mut model: Vec<i32> = (0..432).collect();
        write_all(&array, &mut model);
        for round in 0..30 {
            let (rows, columns) = (random.below(9), random.below(9));
            let rows: Vec<i64> = (0..rows).map(|_| random.below(24) as i64).collect();
            let columns: Vec<i64> = (0..columns).map(|_| random.below(18) as i64).collect();
            let points: Vec<i64> = rows.iter().zip(&columns).flat_map(|(&r, &c)| [r, c]).collect();
            let n = points.len() / 2;
            let mask: Vec<u8> = (0..432).map(|_| u8::from(random.below(5) == 0)).collect();
            let region = Selection::all(&SHAPE);
            let chosen: Vec<usize> = (0..432).filter(|&i| mask[i] != 0).collect();
            let at = |r: i64, c: i64| (r * 18 + c) as usize;
            let lists = [Some(&rows[..]), Some(&columns[..])];
            let (picks, places): (CoordinateSelection<'_>, Vec<usize>) = match round % 3 {
                0 => (CoordinateSelection::Orthogonal(&lists), rows.iter().flat_map(|&r| columns.iter().map(move |&c| at(r, c))).collect()),
                1 => (
                    CoordinateSelection::Points { count: n as u64, coordinates: &points },
                    points.chunks(2).map(|p| at(p[0], p[1])).collect(),
                ),
                _ => (CoordinateSelection::Mask { region: &region, mask: &mask }, chosen),
            };
            let strides: &[i64] = if round % 3 == 0 { &[columns.len() as i64 * 4, 4] } else { &[4] };
            let mut data: Vec<i32> = places.iter().map(|_| random.below(1000) as i32).collect();
            // SAFETY: the memory lives as long as the calls.
            unsafe {
                if round % 2 == 0 {
                    array.write_picks(&picks, &line(&mut data, strides)).unwrap();
                    places.iter().zip(&data).for_each(|(&i, &v)| model[i] = v);
                }
                array.read_picks(&picks, &line(&mut data, strides)).unwrap();
            }
            assert_eq!(data, places.iter().map(|&i| model[i]).collect::<Vec<_>>(), "{compressor} {inner:?} round {round}");
        }
        let mut all = vec![0; 432];
        own!(array.read(&Selection::all(&SHAPE), &view(&mut all, &SHAPE)).unwrap());
        assert_eq!(all, model, "{compressor} {inner:?}");
        assert!(array.stats().snapshot().reads > 0 && store.stats().snapshot().writes >= 6);
    }
}

#[test]
fn each_chunk_is_read_once_whatever_the_order_of_the_points() {
    let store = memory();
    let mut spec = spec(&[64, 64], &[32, 32]);
    spec.set_compressor("zstd", None).unwrap();
    spec.set_inner_chunks(&[8, 8]).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let mut values: Vec<i32> = (1..4097).collect();
    write_all(&array, &mut values);
    let array = Array::open(&store, "a").unwrap();
    // Back and forth between all four shards and eight inner chunks.
    let points: Vec<i64> = (0..800).flat_map(|i| [(i * 37) % 2 * 40 + i % 8, (i / 2) % 2 * 40 + i % 16]).collect();
    let mut data = vec![0; 800];
    let picks = CoordinateSelection::Points { count: 800, coordinates: &points };
    own!(array.read_picks(&picks, &line(&mut data, &[4])).unwrap());
    let stats = array.stats().snapshot();
    let touched: std::collections::BTreeSet<_> = points.chunks(2).map(|p| (p[0] / 8, p[1] / 8)).collect();
    assert_eq!(stats.decoded_chunks, touched.len() as u64);
    assert_eq!(stats.index_reads, 4);
    assert!(points.chunks(2).zip(&data).all(|(p, &v)| i64::from(v) == p[0] * 64 + p[1] + 1));
}

#[test]
fn of_a_chunk_without_codecs_only_what_lies_between_the_elements_is_read() {
    const CELLS: u64 = 1 << 16;
    let store = memory();
    let mut spec = spec(&[CELLS], &[CELLS]);
    spec.set_compressor("none", None).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let mut values: Vec<i32> = (1..=CELLS as i32).collect();
    write_all(&array, &mut values);
    let (region, mut mask) = (Selection::all(&[CELLS]), vec![0; CELLS as usize]);
    (mask[40_000], mask[40_003]) = (1, 1);
    let lists: [Option<&[i64]>; 1] = [Some(&[40_000, 40_003])];
    for (what, picks) in [
        ("lists", CoordinateSelection::Orthogonal(&lists)),
        ("points", CoordinateSelection::Points { count: 2, coordinates: &[40_000, 40_003] }),
        ("a mask", CoordinateSelection::Mask { region: &region, mask: &mask }),
    ] {
        let array = Array::open(&store, "a").unwrap();
        let mut data = [0; 2];
        own!(array.read_picks(&picks, &line(&mut data, &[4])).unwrap());
        assert_eq!((data, array.stats().snapshot().bytes_read), ([40_001, 40_004], 16), "{what}");
    }
}

#[test]
fn lists_are_checked_against_the_array_before_anything_is_touched() {
    let store = memory();
    let array = Array::create(&store, "a", &spec(&[6, 4], &[3, 4]), Create::New).unwrap();
    let mut data = vec![7; 24];
    let region = Selection::all(&[6, 4]);
    let (rows, columns) = ([0i64, 6], [1i64]);
    let short = [Some(&rows[..])];
    let far = [Some(&rows[..]), Some(&columns[..])];
    let cases: [(CoordinateSelection<'_>, ErrorKind, &str); 5] = [
        (CoordinateSelection::Orthogonal(&far), ErrorKind::Bounds, "dimension 0: the index 6 at position 1"),
        (CoordinateSelection::Orthogonal(&short), ErrorKind::Rank, "found 1 lists of indices, expected 2"),
        (CoordinateSelection::Points { count: 2, coordinates: &[0, 0, 5, -1] }, ErrorKind::Bounds, "point 1, dimension 1: the index -1"),
        (CoordinateSelection::Mask { region: &region, mask: &[1, 1] }, ErrorKind::BufferSize, "the mask has 2 bytes, expected 24"),
        (CoordinateSelection::Points { count: 30, coordinates: &[0; 60] }, ErrorKind::BufferSize, "96 bytes"),
    ];
    for (picks, kind, text) in cases {
        let strides: &[i64] = if matches!(picks, CoordinateSelection::Orthogonal(_)) { &[4, 4] } else { &[4] };
        for write in [false, true] {
            // SAFETY: the memory lives as long as the call.
            let e = unsafe {
                let memory = line(&mut data, strides);
                if write { array.write_picks(&picks, &memory) } else { array.read_picks(&picks, &memory) }
            };
            let e = e.unwrap_err();
            assert_eq!(e.kind(), kind, "{e}");
            assert!(e.to_string().contains(text), "{e}");
        }
    }
    assert!(data.iter().all(|&v| v == 7) && array.stats().snapshot().writes == 0);
}

#[test]
fn nothing_is_picked_from_very_many_chunks_at_once() {
    let store = memory();
    let array = Array::create(&store, "a", &spec(&[1 << 40, 4, 4], &[1, 4, 4]), Create::New).unwrap();
    let (mut data, uneven, none) = ([7; 4], [0i64, 3, 2], [0i64; 0]);
    let region = Selection::new(&array.shape(), &[0, 0, 0], &[1 << 40, 4, 0], None).unwrap();
    for (picks, strides) in [
        (CoordinateSelection::Mask { region: &region, mask: &[] }, &[4][..]),
        (CoordinateSelection::Orthogonal(&[None, Some(&uneven[..]), Some(&none[..])]), &[0, 0, 0]),
    ] {
        own!(array.read_picks(&picks, &line(&mut data, strides))).unwrap();
        own!(array.write_picks(&picks, &line(&mut data, strides))).unwrap();
    }
    assert_eq!(data, [7; 4]);
}

#[test]
fn points_are_read_from_a_shard_that_no_memory_would_hold() {
    let store = memory();
    let mut spec = spec(&[1 << 20, 1 << 20], &[1 << 20, 1 << 20]);
    spec.set_inner_chunks(&[1024, 1024]).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let mut data = [7; 2];
    let picks = CoordinateSelection::Points { count: 2, coordinates: &[5, 5, 1000, 1000] };
    own!(array.read_picks(&picks, &line(&mut data, &[4]))).unwrap();
    assert_eq!(data, [0, 0]);
}

/// Points of few shards are cut into items, and points whose chunk, inner chunk and place have no room in one number
/// are sorted by comparing.
#[test]
fn many_points_are_where_they_should_be_with_any_threads_and_shapes() {
    for threads in [1, 4] {
        let store = Store::memory(&Context::with_threads(threads));
        for (chunks, inner) in [([64u64, 64], Some([8u64, 16])), ([64, 64], Some([64, 2])), ([16, 64], None), ([64, 64], None)] {
            let mut spec = spec(&[64, 64], &chunks);
            spec.set_compressor("zstd", None).unwrap();
            inner.iter().for_each(|inner| spec.set_inner_chunks(inner).unwrap());
            let array = Array::create(&store, "a", &spec, Create::Overwrite).unwrap();
            write_all(&array, &mut (0..4096).collect::<Vec<_>>());
            let mut random = Random(3);
            for n in [1usize, 40, 3000] {
                let points: Vec<i64> = (0..2 * n).map(|_| random.below(64) as i64).collect();
                let picks = CoordinateSelection::Points { count: n as u64, coordinates: &points };
                let mut out = vec![-1; n];
                own!(array.read_picks(&picks, &line(&mut out, &[4])).unwrap());
                let wanted: Vec<i32> = points.chunks(2).map(|p| (p[0] * 64 + p[1]) as i32).collect();
                assert_eq!(out, wanted, "{chunks:?} {inner:?} {n} points, {threads} threads");
            }
        }
    }
    let huge = 1u64 << 60;
    let mut spec = spec(&[huge, 4], &[1 << 10, 4]);
    spec.set_inner_chunks(&[1, 4]).unwrap();
    let array = Array::create(&memory(), "huge", &spec, Create::New).unwrap();
    let points = [huge as i64 - 1, 3, 5, 0, huge as i64 - 1, 2, 5, 0];
    let picks = CoordinateSelection::Points { count: 4, coordinates: &points };
    own!(array.write_picks(&picks, &line(&mut [7, 8, 9, 10], &[4])).unwrap());
    let mut out = [0; 4];
    own!(array.read_picks(&picks, &line(&mut out, &[4])).unwrap());
    assert_eq!(out, [7, 10, 9, 10]);
}

#[test]
fn an_element_that_is_not_stored_is_named_where_the_fill_value_does_not_fit() {
    for inner in [None, Some([1, 2])] {
        let store = memory();
        let mut spec = spec(&[6, 8], &[2, 2]);
        spec.set_fill_json("-1").unwrap();
        if let Some(inner) = inner {
            spec.set_inner_chunks(&inner).unwrap();
        }
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        write_all(&array, &mut [5; 48]);
        array.chunk_erase(&[1, 1], false).unwrap();
        let mut bytes = [0u8; 20];
        let memory =
            |bytes: &mut [u8], strides: &[i64]| Memory { strides: strides.into(), ..Memory::of(bytes, &[], crate::dtype::DataType::UInt8) };
        let region = Selection::new(&[6, 8], &[1, 1], &[4, 5], None).unwrap();
        let e = own!(array.read(&region, &memory(&mut bytes, &[5, 1]))).unwrap_err();
        assert!(e.kind() == ErrorKind::Range && e.to_string().contains("element [1, 1] is not stored"), "{inner:?}: {e}");
        let points = CoordinateSelection::Points { count: 3, coordinates: &[0, 0, 3, 3, 5, 5] };
        let e = own!(array.read_picks(&points, &memory(&mut bytes, &[1]))).unwrap_err();
        assert!(e.to_string().contains("element [1] is not stored"), "{inner:?}: {e}");
    }
}
