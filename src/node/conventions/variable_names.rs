//! The names that a dataset's variables may have, and those that a folder takes for one and the same.

use crate::error::{Result, bail};
use crate::node::{Group, path};

/// Checks the name of a dimension or variable: that of one node.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || path::normalize(name)? != name || name.contains('/') {
        bail!(Name, "found the name {name:?}, expected one that is not empty and has no slash");
    }
    path::check_new(name)
}

/// Whether two names differ in the case of letters alone.
pub(super) fn differ_in_case(a: &str, b: &str) -> bool {
    a != b && a.chars().flat_map(char::to_lowercase).eq(b.chars().flat_map(char::to_lowercase))
}

/// Refuses a name by which the folder of `other` is found, which differs from it in case alone: file systems that do not tell upper case from lower
/// would have the elements of both in one array.
pub(super) fn check_two_folders(group: &Group, name: &str, other: &str) -> Result<()> {
    let shared = group.store().shared();
    let numbers = |name: &str| shared.folder_numbers(&path::prefix(&path::join(group.path(), name)));
    if numbers(name)?.is_some_and(|numbers_of_name| numbers(other).is_ok_and(|found| found == Some(numbers_of_name))) {
        bail!(Exists, "{other} and {name} are one and the same in {}: name one of them otherwise", shared.describe());
    }
    Ok(())
}
