//! Object stores against real servers on loopback, which `tools/cloud` starts: the behaviour of every store, and what happens when a
//! server or what lies before it misbehaves.
#![cfg(feature = "cloud")]

#[path = "cloud/arrays.rs"]
mod arrays;
#[path = "cloud/checkpoints.rs"]
mod checkpoints;
#[path = "cloud/faults.rs"]
mod faults;
#[path = "cloud/forward.rs"]
mod forward;
#[path = "support/int32.rs"]
mod int32;
#[path = "cloud/manners.rs"]
mod manners;
#[path = "cloud/proxy.rs"]
mod proxy;
#[path = "cloud/reach.rs"]
mod reach;
#[path = "cloud/resizes.rs"]
mod resizes;
#[path = "cloud/series.rs"]
mod series;
#[path = "cloud/suite.rs"]
mod suite;
#[path = "cloud/swap.rs"]
mod swap;
