//! Runs targets/shard.rs on what libFuzzer finds: tools/fuzz shard 60
#![no_main]
#[path = "../targets/shard.rs"]
mod shard;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shard::run(bytes));
