//! The zarrs crate, through its public API, one call a region: the `perform` of benches/bench.h.
//!
//! What zarrs does not have is done as its user would: strides by a gather from the bounding box, Fortran order by a blocked transpose,
//! float64 by a map.
use std::ffi::{CStr, c_char};
use std::sync::{Arc, Once};
use unsafe_cell_slice::UnsafeCellSlice;
use zarrs::array::{Array, ArrayBytes, ArrayBytesDecodeIntoTarget, ArrayBytesFixedDisjointView, ArrayMetadata, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zarrs::storage::{ReadableWritableListableStorage, ReadableWritableListableStorageTraits};

#[repr(C)]
pub struct Region {
    start: [i64; 3],
    count: [i64; 3],
    step: [i64; 3],
}

/// As in bench.h.
#[repr(C)]
pub struct Request {
    op: *const c_char,
    path: *const c_char,
    meta: *const c_char,
    codec: *const c_char,
    memory: *const c_char,
    sync: *const c_char,
    settings: *const c_char,
    shape: [i64; 3],
    chunk: [i64; 3],
    shard: [i64; 3],
    format: i32,
    threads: i32,
    repeat: i32,
    fill: f32,
    big: bool,
    fortran: bool,
    f64: bool,
    reopen: bool,
    consolidated: bool,
    check: bool,
    skip: bool,
    regions: *const Region,
    count: usize,
    bytes: usize,
    data: *mut u8,
}

type Node = Array<dyn ReadableWritableListableStorageTraits>;
type Failed = Box<dyn std::error::Error>;

fn text<'a>(p: *const c_char) -> &'a str {
    unsafe { CStr::from_ptr(p) }.to_str().expect("UTF-8")
}

fn store(r: &Request) -> Result<ReadableWritableListableStorage, Failed> {
    Ok(Arc::new(FilesystemStore::new(text(r.path))?))
}

fn new_array(r: &Request) -> Result<Node, Failed> {
    let meta: ArrayMetadata = serde_json::from_str(text(r.meta))?;
    let array = Node::new_with_metadata(store(r)?, "/", meta)?;
    array.store_metadata()?;
    Ok(array)
}

fn unsigned(v: [i64; 3]) -> Vec<u64> {
    v.iter().map(|&x| x as u64).collect()
}

fn elements(q: &Region) -> usize {
    q.count.iter().product::<i64>() as usize
}

/// Into the caller's memory.
fn read_into(array: &Node, subset: &ArraySubset, out: &mut [u8]) -> Result<(), Failed> {
    let shape = subset.shape().to_vec();
    let mut view =
        unsafe { ArrayBytesFixedDisjointView::new(UnsafeCellSlice::new(out), 4, &shape, ArraySubset::new_with_shape(shape.clone()))? };
    Ok(array.retrieve_array_subset_into(subset, ArrayBytesDecodeIntoTarget::Fixed(&mut view))?)
}

/// Through an array of zarrs's own.
fn read_other(r: &Request, array: &Node, q: &Region, out: &mut [u8]) -> Result<(), Failed> {
    let bounds: Vec<u64> = (0..3).map(|d| ((q.count[d] - 1) * q.step[d] + 1) as u64).collect();
    let v: Vec<f32> = array.retrieve_array_subset(&ArraySubset::new_with_start_shape(unsigned(q.start), bounds.clone())?)?;
    let (n, m) = (q.count.map(|x| x as usize), [bounds[0] as usize, bounds[1] as usize, bounds[2] as usize]);
    if r.f64 {
        let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<f64>(), v.len()) };
        out.iter_mut().zip(&v).for_each(|(o, x)| *o = f64::from(*x));
        return Ok(());
    }
    let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<f32>(), elements(q)) };
    if r.fortran {
        for y in 0..n[1] {
            for zb in (0..n[0]).step_by(16) {
                for xb in (0..n[2]).step_by(16) {
                    for x in xb..(xb + 16).min(n[2]) {
                        for z in zb..(zb + 16).min(n[0]) {
                            out[z + n[0] * (y + n[1] * x)] = v[(z * n[1] + y) * n[2] + x];
                        }
                    }
                }
            }
        }
        return Ok(());
    }
    let s = q.step.map(|x| x as usize);
    let mut k = 0;
    for z in 0..n[0] {
        for y in 0..n[1] {
            for x in 0..n[2] {
                out[k] = v[(z * s[0] * m[1] + y * s[1]) * m[2] + x * s[2]];
                k += 1;
            }
        }
    }
    Ok(())
}

fn regions(r: &Request, writing: bool) -> Result<(), Failed> {
    let store = store(r)?;
    let mut array = Node::open(store.clone(), "/")?;
    let mut data = r.data;
    for (i, q) in unsafe { std::slice::from_raw_parts(r.regions, r.count) }.iter().enumerate() {
        if r.reopen && i > 0 {
            array = Node::open(store.clone(), "/")?;
        }
        let out = unsafe { std::slice::from_raw_parts_mut(data, elements(q) * if r.f64 { 8 } else { 4 }) };
        let subset = ArraySubset::new_with_start_shape(unsigned(q.start), unsigned(q.count))?;
        if writing {
            array.store_array_subset(&subset, ArrayBytes::new_flen(&*out))?;
        } else if r.f64 || r.fortran || q.step != [1; 3] {
            read_other(r, &array, q, out)?;
        } else {
            read_into(&array, &subset, out)?;
        }
        data = unsafe { data.add(out.len()) };
    }
    Ok(())
}

fn append(r: &Request) -> Result<(), Failed> {
    let mut array = new_array(r)?;
    let step = (r.shape[1] * r.shape[2] * 4) as usize;
    for t in 0..r.shape[0] as usize {
        array.set_shape(vec![t as u64 + 1, r.shape[1] as u64, r.shape[2] as u64])?;
        array.store_metadata()?;
        let subset = ArraySubset::new_with_start_shape(vec![t as u64, 0, 0], vec![1, r.shape[1] as u64, r.shape[2] as u64])?;
        array.store_array_subset(&subset, ArrayBytes::new_flen(unsafe { std::slice::from_raw_parts(r.data.add(t * step), step) }))?;
    }
    Ok(())
}

fn nodes(r: &Request) -> Result<(), Failed> {
    let store = store(r)?;
    let mut ranks = 0;
    match text(r.op) {
        "open" => (0..r.repeat).try_for_each(|_| Node::open(store.clone(), "/").map(|a| ranks += a.dimensionality()))?,
        "opens" => ranks = zarrs::group::Group::open(store, "/")?.child_arrays()?.iter().map(|a| a.dimensionality()).sum(),
        _ => ranks = zarrs::group::Group::open(store, "/")?.child_array_paths()?.len(),
    }
    if ranks == 0 { Err("no arrays".into()) } else { Ok(()) }
}

fn run(r: &Request) -> Result<(), Failed> {
    static POOL: Once = Once::new();
    POOL.call_once(|| {
        rayon::ThreadPoolBuilder::new().num_threads(r.threads as usize).build_global().expect("a pool");
        zarrs::config::global_config_mut().set_codec_concurrent_target(r.threads as usize);
    });
    match text(r.op) {
        "read" => regions(r, false),
        "update" => regions(r, true),
        "write" => {
            let array = new_array(r)?;
            Ok(array
                .store_array_subset(&array.subset_all(), ArrayBytes::new_flen(unsafe { std::slice::from_raw_parts(r.data, r.bytes) }))?)
        }
        "append" => append(r),
        "open" | "opens" | "list" => nodes(r),
        "noop" => Ok(()),
        _ => Err("unsupported operation".into()),
    }
}

/// # Safety
/// `request` is one of bench.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn perform(request: *const Request) -> *const c_char {
    match run(unsafe { &*request }) {
        Ok(()) => std::ptr::null(),
        Err(e) => std::ffi::CString::new(e.to_string()).unwrap_or_default().into_raw(),
    }
}
