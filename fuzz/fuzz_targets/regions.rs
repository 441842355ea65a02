//! Runs targets/regions.rs on what libFuzzer finds: tools/fuzz regions 60
#![no_main]
#[path = "../targets/regions.rs"]
mod regions;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| regions::run(bytes));
