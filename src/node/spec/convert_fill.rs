//! A fill value of one type as one of another.

use crate::dtype::fill::Fill;
use crate::dtype::run::Run;
use crate::dtype::transfer::Transfer;
use crate::dtype::variable::{self, VarItem};
use crate::dtype::{DataType, Element, ElementType, Kind, zeros};
use crate::error::{Result, bail};
use crate::limits::readable;

/// The fill value as one of another type, if it fits.
pub(in crate::node) fn converted_fill(fill: &Fill, from: DataType, to: DataType) -> Result<Option<Fill>> {
    let converted = readable(convert_fill(from, &fill.try_element(from)?, to))?;
    Ok(converted.map(|converted| Fill { defined: fill.defined, ..converted }))
}

/// The fill value of one element of `from`; of variable length: of the bytes of a text.
pub(super) fn convert_fill(from: DataType, element: &[u8], to: DataType) -> Result<Fill> {
    if from.is_variable() {
        return convert_text(from, element, to);
    }
    if element.len() != from.size() {
        bail!(BufferSize, "found {} bytes, expected the {} of one {}", element.len(), from.size(), from.name());
    }
    if from == to {
        return Fill::of_any(element);
    }
    let transfer = Transfer::new(ElementType::native(from), ElementType::native(to))?;
    let fill = convert_one(&transfer, element)?;
    if to.is_variable() {
        // SAFETY: one item, into `element` or into what the conversion keeps.
        let text = unsafe { variable::items(&fill).next().unwrap_or(VarItem::EMPTY).bytes() };
        return Fill::variable(text);
    }
    // The elements of a region lose their fractions; a fill value is stated once, so that losing it would be an oversight.
    if from.kind() == Kind::Float && matches!(to.kind(), Kind::Int | Kind::UInt) {
        let wide = Transfer::new(ElementType::native(from), ElementType::native(DataType::Float64))?;
        let value = f64::from_ne_bytes(convert_one(&wide, element)?[..].try_into().unwrap_or_default());
        if value.fract() != 0.0 {
            bail!(Range, "the value {value} has a fraction, which {} has no place for", to.name());
        }
    }
    Fill::of_any(&fill)
}

/// The fill value of text or bytes of variable length.
fn convert_text(from: DataType, text: &[u8], to: DataType) -> Result<Fill> {
    if !matches!(from, DataType::VarText | DataType::VarBytes) {
        bail!(Type, "a value of {} is given as JSON: set the member \"fill_value\" of the document", from.name());
    }
    if [from, to].contains(&DataType::VarText)
        && let Err(e) = std::str::from_utf8(text)
    {
        bail!(Range, "the text is not UTF-8 at byte {}", e.valid_up_to());
    }
    if matches!(to, DataType::VarText | DataType::VarBytes) {
        return Fill::variable(text);
    }
    let transfer = Transfer::new(ElementType::native(from), ElementType::native(to))?;
    convert_one(&transfer, &VarItem::new(text).to_element()).and_then(|fill| Fill::of_any(&fill))
}

/// One element of the transfer's source (of its size) as one of its destination.
fn convert_one(transfer: &Transfer, element: &[u8]) -> Result<Element> {
    let (from, to) = (transfer.from().data_type, transfer.to().data_type);
    let mut out = zeros(to.size())?;
    // SAFETY: the source holds one element (checked by the caller), the destination has room for one.
    let done = unsafe { transfer.run(Run::one(element.as_ptr(), out.as_mut_ptr())) };
    match done {
        Ok(()) => Ok(out),
        Err(_) => bail!(Range, "the value of type {} does not fit into {}", from.name(), to.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_fixed_length_becomes_a_fill_value_of_any_length() {
        let points: Vec<u8> = ['ö', 'x', '\0'].iter().flat_map(|&c| u32::from(c).to_ne_bytes()).collect();
        for (from, element, expected) in
            [(DataType::Bytes(4), &b"abc\0"[..], "abc"), (DataType::Text(3), &points, "öx"), (DataType::Bytes(2), b"\0\0", "")]
        {
            let fill = convert_fill(from, element, DataType::VarText).unwrap();
            assert_eq!(&fill.element(DataType::VarText)[..], expected.as_bytes(), "{}", from.name());
        }
        assert!(convert_fill(DataType::Bytes(1), &[0xff], DataType::VarText).is_err());
    }

    #[test]
    fn text_of_any_length_is_given_as_its_bytes() {
        use crate::error::ErrorKind;
        use DataType::{Bytes, Float32, Text, VarBytes, VarJson, VarText};
        let points: Vec<u8> = ['ö', 'x', '\0'].iter().flat_map(|&c| u32::from(c).to_ne_bytes()).collect();
        for (from, text, to, expected) in [
            (VarText, "0123456789abcdef", VarText, &b"0123456789abcdef"[..]),
            (VarText, "", VarText, b""),
            (VarBytes, "ab", VarBytes, b"ab"),
            (VarText, "öx", Text(3), &points),
            (VarText, "0123456789abcdef", Bytes(18), b"0123456789abcdef\0\0"),
            (VarBytes, "ab", Bytes(3), b"ab\0"),
            (VarText, "öx", VarBytes, "öx".as_bytes()),
            (VarBytes, "öx", VarText, "öx".as_bytes()),
        ] {
            let fill = convert_fill(from, text.as_bytes(), to).unwrap();
            assert_eq!(&fill.element(to)[..], expected, "{from:?} {to:?}");
        }
        for (from, text, to, kind) in [
            (VarText, &[0x41, 0xff][..], VarText, ErrorKind::Range),
            (VarText, &[0xff; 16], Bytes(16), ErrorKind::Range),
            (VarText, b"abcdefghijklmnop", Bytes(5), ErrorKind::Range),
            (VarBytes, &[0x41, 0xff], VarText, ErrorKind::Range),
            (VarText, &[0x40; 16], Float32, ErrorKind::Type),
            (VarJson, &[0x40; 16], VarJson, ErrorKind::Type),
            (DataType::VarArray(&DataType::Int8), &[0x40; 16], DataType::VarArray(&DataType::Int8), ErrorKind::Type),
        ] {
            assert_eq!(convert_fill(from, text, to).unwrap_err().kind(), kind, "{from:?} {to:?}");
        }
    }
}
