//! The attribute `_Unsigned`: integers with a sign that stand for those without one, or the other way round.
//! Conventions: netCDF's best practices, "Unsigned Data".

use crate::dtype::coding::of_other_sign;
use crate::dtype::{DataType, Kind};
use crate::metadata::{Map, Value};

/// The name of the attribute.
pub(in crate::node) const UNSIGNED: &str = "_Unsigned";

/// Whether signed integers are stored in place of unsigned ones or, by servers that know no signed bytes, the other way round.
pub(super) fn has_other_sign(attributes: &Map, data_type: DataType) -> bool {
    let told = match data_type.kind() {
        Kind::Int => "true",
        Kind::UInt => "false",
        _ => return false,
    };
    attributes.get(UNSIGNED).and_then(Value::as_str).is_some_and(|text| text.eq_ignore_ascii_case(told))
}

/// The type of the numbers that elements mean: of the other sign where the attribute says so, else their own.
pub(in crate::node) fn meant_type(attributes: &Map, data_type: DataType) -> DataType {
    if has_other_sign(attributes, data_type) { of_other_sign(data_type) } else { data_type }
}
