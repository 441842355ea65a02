//! Runs targets/shard_writes.rs on what libFuzzer finds: tools/fuzz shard_writes 60
#![no_main]
#[path = "../targets/model.rs"]
mod model;
#[path = "../targets/shard_writes.rs"]
mod shard_writes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shard_writes::run(bytes));
