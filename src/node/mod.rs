//! Groups and arrays at paths in a store: opening, creating, changing, listing. The facade that `ffi` is written on.
//!
//! A node's documents are found by `lookup`, changed by `document` under their lock after a fresh read, and published whole, so that
//! readers see old or new. `hierarchy` makes and erases nodes, `upkeep` keeps consolidated metadata right; [`spec`] says what to
//! create; the data themselves are the engine's.

mod above;
mod appender;
pub mod array;
mod attr_change;
mod attr_values;
pub mod attrs;
mod begun;
mod behind;
mod boundary;
pub mod buffer;
mod catalog;
mod checkpoint;
mod checkpoint_lists;
mod checkpoint_mark;
mod chunk;
mod claim;
mod close;
mod codec_edit;
mod commit;
mod committed;
mod compression;
mod consolidate;
pub mod context;
pub mod conventions;
mod converted;
mod copied_documents;
mod copy;
mod create_array;
mod current;
mod cut;
mod cut_watch;
mod dead_links;
mod departures;
mod dimensions;
mod document;
mod draft;
mod draft_root;
mod either;
mod export;
mod fault;
mod fill;
mod follow_type;
mod gone;
pub mod group;
mod groups_above;
mod growing;
mod hidden;
mod hierarchy;
mod in_no_group;
mod in_use;
mod info;
mod kept;
mod kinds;
mod known_groups;
mod last_handle;
mod left_out;
mod lines;
mod listed_lengths;
mod lookup;
mod lost;
mod marker;
mod migrate;
mod origin;
mod overlap;
mod own_folder;
pub mod path;
pub mod periodic;
mod place;
mod plan;
mod published;
mod read_once;
mod rechunk;
mod rename;
pub mod requests;
mod resize;
mod series;
mod series_lengths;
mod source_state;
pub mod spec;
mod state;
mod steps;
pub mod store;
mod store_changes;
mod store_keys;
mod store_log;
mod store_options;
mod stored;
mod stored_chunks;
mod together;
mod told_length;
mod trail;
mod transfer;
mod transform;
mod transformed;
mod upkeep;
mod usage;
mod v2_changes;
pub mod variable;
mod verify;
mod verify_chunks;
mod verify_left;
mod verify_places;
mod waiting;
mod walk;
mod watch;
mod whole;

pub use crate::codec::parse::has as has_codec;
pub use crate::codec::registered as registered_codec;
pub use crate::dtype::registered as registered_type;
pub use crate::dtype::registration as type_registration;
pub use appender::Appender;
pub use array::Array;
pub use attr_values::JsonKind;
pub use attrs::Attributes;
pub use checkpoint::Checkpoints;
pub use chunk::{ArrayShardWriter, ChunkPlace, Chunks};
pub use compression::{Shuffle, Zfp};
pub use context::{Context, Level, Log, Settings};
pub use conventions::{Calendar, Dataset, ImageAxis, ImageLevel, Multiscale, NcArray, NcDimension, NcType, TimeUnits, VariableSpec};
pub use dimensions::{Dimension, Dimensions};
pub use either::Node;
pub use fault::{Fault, FaultKind, Repaired, repair_zip};
pub use group::{Child, Group};
pub use hierarchy::OPEN_OR_OVERWRITE;
pub use kinds::{Create, Mode, NodeKind, OPEN_FOR_READING};
pub use lost::losses;
pub use migrate::Migrated;
pub use place::COMPLETE_OR_OVERWRITE;
pub use rechunk::{RechunkOptions, RechunkReport};
pub use series::Series;
pub use spec::{DIGEST, Spec};
pub use store::Store;
pub use store_options::{Consolidate, Nczarr, Options};
pub use transform::{Member, register_member, register_transformer, unregister_member, unregister_transformer};
pub use usage::Usage;
pub use verify::{Verified, VerifyOptions};

// The plain values that the facade's signatures speak of.
pub use crate::engine::explain::Explanation;
pub use crate::engine::pending::wait_any;
pub use crate::engine::stats::{Counters, Stats};
pub use crate::engine::{Budget, ChunkCache, OnDone, Pending, Progress, RequestOptions};
pub use crate::grid::Grid;
pub use crate::grid::key::{KeyEncoding, Separator};
pub use crate::grid::registered as registered_keys;
pub use crate::metadata::{Dialect, Format, Map, Order, Value, json};
pub use crate::store::local::{FileOptions, LockMode, SyncMode};
pub use crate::store::location::shown as shown_location;
pub use crate::store::registered;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_archives;
#[cfg(test)]
mod tests_checkpoint;
#[cfg(test)]
mod tests_commit;
#[cfg(test)]
mod tests_copies;
#[cfg(test)]
mod tests_cuts;
#[cfg(test)]
mod tests_ends;
#[cfg(test)]
mod tests_flight;
#[cfg(test)]
mod tests_folded;
#[cfg(test)]
mod tests_folders;
#[cfg(test)]
mod tests_growth;
#[cfg(test)]
mod tests_hier;
#[cfg(test)]
mod tests_late;
#[cfg(test)]
mod tests_left;
#[cfg(test)]
mod tests_lint;
#[cfg(test)]
mod tests_meanwhile;
#[cfg(all(test, target_os = "linux"))]
mod tests_mounts;
#[cfg(test)]
mod tests_named_values;
#[cfg(test)]
mod tests_orphans;
#[cfg(test)]
mod tests_picks;
#[cfg(test)]
mod tests_places;
#[cfg(test)]
mod tests_requests;
#[cfg(test)]
mod tests_resizes;
#[cfg(test)]
mod tests_retype;
#[cfg(test)]
mod tests_series;
#[cfg(test)]
mod tests_store;
#[cfg(test)]
mod tests_swap;
#[cfg(test)]
mod tests_together;
#[cfg(test)]
mod tests_unpublished;
#[cfg(all(test, target_os = "linux"))]
mod tests_users;
