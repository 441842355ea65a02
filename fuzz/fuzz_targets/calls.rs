//! Runs targets/calls.rs on what libFuzzer finds: tools/fuzz calls 60
#![no_main]
#[path = "../targets/calls.rs"]
mod calls;
#[path = "../targets/model.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| calls::run(bytes));
