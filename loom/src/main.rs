//! Tries the orders in which threads can take turns at handles, locks, requests and values that are made once, and the old values that
//! they may see there. The files of the library are compiled here as they are, with loom's primitives in the place of the standard library's.
//!
//!   ozarr-loom [--seconds N] [NAME...]   the models whose names begin so, or all; N seconds each at most

#![allow(dead_code, unused_imports)]

#[path = "../../core/src/counting.rs"]
mod counting;
#[path = "../../core/src/error.rs"]
mod error;
#[path = "../../core/src/limits.rs"]
mod limits;
// With the standard library's `thread_local!`: nothing is kept here, and giving back finds nothing.
#[path = "../../core/src/per_thread.rs"]
mod per_thread;
#[path = "../../core/src/platform/mod.rs"]
mod platform;
#[path = "../../core/src/reserve.rs"]
mod reserve;

#[macro_use]
mod locals;
mod models;
mod sync;
mod threads;

#[path = "../../core/src/fork.rs"]
mod fork;

mod engine {
    #[path = "../../../core/src/engine/budget.rs"]
    mod budget;
    #[path = "../../../core/src/engine/buffer_guard.rs"]
    mod buffer_guard;
    #[path = "../../../core/src/engine/flight_room.rs"]
    mod flight_room;
    #[path = "../../../core/src/engine/footprint.rs"]
    mod footprint;
    #[path = "../../../core/src/engine/fork_join.rs"]
    mod fork_join;
    #[path = "../../../core/src/engine/inside_request.rs"]
    mod inside_request;
    #[path = "../../../core/src/engine/lock.rs"]
    mod lock;
    #[path = "../../../core/src/engine/pending.rs"]
    mod pending;
    #[path = "../../../core/src/engine/pool.rs"]
    mod pool;
    #[path = "../../../core/src/engine/request.rs"]
    mod request;
    #[path = "../../../core/src/engine/request_queue.rs"]
    mod request_queue;
    #[path = "../../../core/src/engine/turns.rs"]
    mod turns;

    pub mod models_locks;
    pub mod models_requests;
}

mod ffi {
    #[path = "../../../src/ffi/handle.rs"]
    pub(crate) mod handle;

    pub mod models;
}

mod store {
    #[path = "../../../core/src/store/mailbox.rs"]
    mod mailbox;
    #[path = "../../../core/src/store/tuning.rs"]
    mod tuning;

    pub mod models;
    pub use tuning::Tuning;
}

fn main() {
    models::run_all();
}
