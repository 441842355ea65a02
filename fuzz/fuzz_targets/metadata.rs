//! Runs targets/metadata.rs on what libFuzzer finds: tools/fuzz metadata 60
#![no_main]
#[path = "../targets/metadata.rs"]
mod metadata;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metadata::run(bytes));
