//! Attributes that are for programs and not for users: what a group is, and how other libraries open it.

use super::NodeKind;
use crate::metadata::{Format, v2};

/// The attribute of a checkpoint's group: the name that it was given, and its number. It stays when all are replaced.
pub(super) const CHECKPOINT: &str = "ozarr_checkpoint";

/// Whether an attribute of a node is for programs only: which checkpoint a group is, the names of a v2 array's dimensions, and what netCDF-C,
/// NCZarr and libozarr_netcdf add (XR-02, XR-07). xarray hides all that begin with `_nc`; an attribute of a user's own, such as `_NCAR_id`, is not hidden.
pub(super) fn is_hidden(name: &str, format: Format, kind: NodeKind) -> bool {
    let is_names = name == v2::DIMENSIONS && (format, kind) == (Format::V2, NodeKind::Array);
    let is_nczarr = name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("_nczarr"));
    let is_netcdf = is_nczarr || name == "_NCProperties" || name == "_nc_model";
    let is_checkpoint = name == CHECKPOINT && kind == NodeKind::Group;
    is_checkpoint || is_names || is_netcdf && (format == Format::V2 || kind == NodeKind::Group)
}
