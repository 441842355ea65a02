//! Runs targets/chunk.rs on what libFuzzer finds: tools/fuzz chunk 60
#![no_main]
#[path = "../targets/chunk.rs"]
mod chunk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chunk::run(bytes));
