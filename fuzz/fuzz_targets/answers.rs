//! Runs targets/answers.rs on what libFuzzer finds: tools/fuzz answers 60
#![no_main]
#[path = "../targets/answers.rs"]
mod answers;
#[path = "../targets/model.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| answers::run(bytes));
