//! A fill value of one type as one of another.

use crate::dtype::fill::Fill;
use crate::dtype::run::Run;
use crate::dtype::transfer::Transfer;
use crate::dtype::{DataType, ElementType, Kind};
use crate::error::{Result, bail};

/// The fill value as one of another type, if it fits.
pub(in crate::node) fn converted_fill(fill: &Fill, from: DataType, to: DataType) -> Option<Fill> {
    let sized = !from.is_variable() && !to.is_variable();
    let converted = if sized { convert_fill(from, &fill.element(from), to).ok()? } else { return None };
    Some(Fill { defined: fill.defined, ..converted })
}

pub(super) fn convert_fill(from: DataType, element: &[u8], to: DataType) -> Result<Fill> {
    if element.len() != from.size() {
        bail!(BufferSize, "found {} bytes, expected the {} of one {}", element.len(), from.size(), from.name());
    }
    if from == to {
        return Ok(Fill::from_bytes(element));
    }
    let fill = convert_one(from, element, to)?;
    // The elements of a region lose their fractions; a fill value is stated once, so that losing it would be an oversight.
    if from.kind() == Kind::Float && matches!(to.kind(), Kind::Int | Kind::UInt) {
        let value = f64::from_ne_bytes(convert_one(from, element, DataType::Float64)?.try_into().unwrap_or_default());
        if value.fract() != 0.0 {
            bail!(Range, "the value {value} has a fraction, which {} has no place for", to.name());
        }
    }
    Ok(Fill::from_bytes(&fill))
}

/// One element of `from` (of its size) as one of `to`.
fn convert_one(from: DataType, element: &[u8], to: DataType) -> Result<Vec<u8>> {
    let transfer = Transfer::new(ElementType::native(from), ElementType::native(to))?;
    let mut out = vec![0u8; to.size()];
    // SAFETY: the source holds one element of `from` (checked by the caller), the destination has room for one of `to`.
    let done = unsafe { transfer.run(Run::one(element.as_ptr(), out.as_mut_ptr())) };
    match done {
        Ok(()) => Ok(out),
        Err(_) => bail!(Range, "the value of type {} does not fit into {}", from.name(), to.name()),
    }
}
