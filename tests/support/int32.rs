//! Stores, and arrays of int32, as several tests use them.

#![allow(dead_code)] // No test uses all of it.

use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::error::Result;
use ozarr::node::{Array, Context, Mode, Store};
use ozarr::store::SharedStore;
use ozarr::store::memory::MemoryStore;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a test holds that counts what the whole process does.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn memory() -> (Store, SharedStore) {
    let shared: SharedStore = Arc::new(MemoryStore::new());
    (Store::from_shared(&Context::default(), shared.clone(), Mode::ReadWrite), shared)
}

pub fn view(data: &mut [i32], shape: &[u64]) -> Memory {
    Memory::of(data, shape, DataType::Int32)
}

pub fn line(data: &mut [i32]) -> Memory {
    let shape = [data.len() as u64];
    view(data, &shape)
}

pub fn write(array: &Array, start: &[i64], count: &[i64], values: &[i32]) -> Result<()> {
    let selection = Selection::new(&array.shape(), start, count, None)?;
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&selection, &view(&mut values.to_vec(), selection.shape())) }
}

pub fn read(array: &Array, start: &[i64], count: &[i64]) -> Result<Vec<i32>> {
    let selection = Selection::new(&array.shape(), start, count, None)?;
    let mut values = vec![-7; count.iter().product::<i64>() as usize];
    // SAFETY: the memory lives as long as the call.
    unsafe { array.read(&selection, &view(&mut values, selection.shape()))? };
    Ok(values)
}

pub fn write_all(array: &Array, values: &[i32]) -> Result<()> {
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&Selection::all(&array.shape()), &view(&mut values.to_vec(), &array.shape())) }
}

pub fn read_all(array: &Array) -> Vec<i32> {
    let whole = array.shape().iter().map(|&n| n as i64).collect::<Vec<_>>();
    read(array, &vec![0; whole.len()], &whole).unwrap()
}
