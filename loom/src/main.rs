//! Tries the orders in which threads can take turns at handles, locks, requests and values that are made once, and the old values that
//! they may see there. The files of the library are compiled here as they are, with loom's primitives in the place of the standard library's.
//!
//!   ozarr-loom [--seconds N] [NAME...]   the models whose names begin so, or all; N seconds each at most

#![allow(dead_code, unused_imports)]

#[path = "../../src/counting.rs"]
mod counting;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/limits.rs"]
mod limits;
#[path = "../../src/platform/mod.rs"]
mod platform;
#[path = "../../src/reserve.rs"]
mod reserve;

#[macro_use]
mod locals;
mod models;
mod sync;
mod threads;

#[path = "../../src/fork.rs"]
mod fork;

mod engine {
    #[path = "../../../src/engine/budget.rs"]
    mod budget;
    #[path = "../../../src/engine/buffer_guard.rs"]
    mod buffer_guard;
    #[path = "../../../src/engine/footprint.rs"]
    mod footprint;
    #[path = "../../../src/engine/fork_join.rs"]
    mod fork_join;
    #[path = "../../../src/engine/inside_request.rs"]
    mod inside_request;
    #[path = "../../../src/engine/lock.rs"]
    mod lock;
    #[path = "../../../src/engine/pending.rs"]
    mod pending;
    #[path = "../../../src/engine/pool.rs"]
    mod pool;
    #[path = "../../../src/engine/request.rs"]
    mod request;
    #[path = "../../../src/engine/request_queue.rs"]
    mod request_queue;

    pub mod models_locks;
    pub mod models_requests;
}

mod ffi {
    #[path = "../../../src/ffi/handle.rs"]
    pub(crate) mod handle;

    pub mod models;
}

mod store {
    #[path = "../../../src/store/mailbox.rs"]
    mod mailbox;
    #[path = "../../../src/store/tuning.rs"]
    mod tuning;

    pub mod models;
    pub use tuning::Tuning;
}

fn main() {
    models::run_all();
}
