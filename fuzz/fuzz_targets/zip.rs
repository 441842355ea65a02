//! Runs targets/zip.rs on what libFuzzer finds: tools/fuzz zip 60
#![no_main]
#[path = "../targets/zip.rs"]
mod zip;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| zip::run(bytes));
