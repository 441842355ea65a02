//! Threads of the library's own, as loom starts them.

use loom::thread::{JoinHandle, spawn};
use std::ffi::CStr;

pub struct Thread(JoinHandle<()>);

pub fn start(_name: &'static CStr, work: Box<dyn FnOnce() + Send>) -> Result<Thread, i32> {
    Ok(Thread(spawn(work)))
}

impl Thread {
    pub fn join(self) {
        self.0.join().unwrap();
    }
}
