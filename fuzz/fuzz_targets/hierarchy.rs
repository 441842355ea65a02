//! Runs targets/hierarchy.rs on what libFuzzer finds: tools/fuzz hierarchy 60
#![no_main]
#[path = "../targets/hierarchy.rs"]
mod hierarchy;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hierarchy::run(bytes));
