//! Stores: maps from keys to bytes.
//!
//! A key is a UTF-8 path without a leading slash (`run/t/zarr.json`); a prefix is empty or ends in `/`.
//! Keys reach a store only after their node names were checked (in the crate `ozarr`), so they never contain `..`.
//! Adding a store: implement [`Storage`] (and [`ReadObject`] if it is neither a file nor memory), run
//! `suite::check` over it, and teach `location.rs` its name.

mod azure;
pub mod cache;
mod calls;
mod endpoints;
#[cfg(any(test, feature = "faults"))]
pub mod fault;
pub(crate) mod file_object;
pub(crate) mod file_options;
mod forward;
mod interface;
pub(crate) mod keys;
pub mod latency;
pub mod local;
pub mod location;
pub(crate) mod mailbox;
pub mod memory;
mod memory_object;
#[cfg(feature = "cloud")]
pub mod object;
mod opened;
mod option_values;
pub mod os;
mod partitions;
pub mod prefix;
pub mod question;
pub mod registered;
pub mod remote;
mod root_last;
mod snapshot;
mod staged;
mod stamp;
#[doc(hidden)]
pub mod suite;
pub mod swap;
#[cfg(test)]
mod tests_wrappers;
mod token;
mod tuning;
pub mod withhold;
pub mod zip;

pub use crate::forward;
pub use calls::{StorageExt, get, get_many, start_and_wait};
pub use interface::{
    ByteRange, Capabilities, Change, ChangeDone, Check, Condition, CutMark, Fetched, Folder, Keys, ListInto, ListedKey, Listing,
    LocalFiles, LockUse, ProcessLock, ReadDone, SharedStore, Started, Storage, read_now,
};
pub use keys::GOES_LAST;
pub use opened::{Object, ReadObject};
pub use staged::{Staged, StagedWrite};
pub use stamp::{Stamp, Version};
pub use tuning::Tuning;
