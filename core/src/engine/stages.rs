//! Runs the bytes→bytes stages of a chain, forwards to encode and backwards to decode.

use super::scratch::StageBuffers;
use super::stats::{self, Counter};
use crate::codec::{CheckFirst, Dest, Size, StageRef};
use crate::error::{Result, bail};
use crate::limits::{grow, reserve};

/// Runs the stages backwards and puts the last result into exactly `dst`. Needs at least one stage.
pub(super) fn decode_stages(stages: &[StageRef], sizes: &[Size], encoded: &[u8], dst: &mut [u8], buffers: &mut StageBuffers) -> Result<()> {
    let Some((first, rest)) = stages.split_first() else { bail!(Internal, "a chain without stages has nothing to decode") };
    let mut in_a = false;
    for (i, stage) in rest.iter().enumerate().rev() {
        let src = if in_a { &buffers.a[..] } else { encoded };
        decode_to(stage, sizes[i + 1], src, &mut buffers.b)?;
        std::mem::swap(&mut buffers.a, &mut buffers.b);
        in_a = true;
    }
    let src = if in_a { &buffers.a[..] } else { encoded };
    stats::timed(Counter::DecodeNs, || first.decode(src, Dest::Exact(dst))).map_err(|e| e.at_field(first.name()))
}

fn decode_to(stage: &StageRef, size: Size, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    if let Size::Exact(n) = size {
        grow(dst, n)?;
        dst.truncate(n);
    }
    stats::timed(Counter::DecodeNs, || match size {
        Size::Exact(_) => stage.decode(src, Dest::Exact(dst)),
        // Other writers' encoders may be worse than the bound of ours.
        Size::AtMost(n) => stage.decode(src, Dest::AtMost(dst, n.saturating_mul(2).saturating_add(1 << 16))),
    })
    .map_err(|e| e.at_field(stage.name()))
}

/// Runs the stages backwards into `dst`, whose size is not known beforehand and at most `most`; `check` looks at its first bytes if it gets
/// long.
pub(super) fn decode_bounded(
    stages: &[StageRef],
    most: usize,
    check: Option<CheckFirst<'_>>,
    encoded: &[u8],
    dst: &mut Vec<u8>,
    buffers: &mut StageBuffers,
) -> Result<()> {
    let mut first = true;
    for (i, stage) in stages.iter().enumerate().rev() {
        let src = if first { encoded } else { &buffers.a[..] };
        let dest = match check.filter(|_| i == 0) {
            Some(check) => Dest::Checked(&mut buffers.b, most, check),
            None => Dest::AtMost(&mut buffers.b, most),
        };
        stats::timed(Counter::DecodeNs, || stage.decode(src, dest)).map_err(|e| e.at_field(stage.name()))?;
        std::mem::swap(&mut buffers.a, &mut buffers.b);
        first = false;
    }
    std::mem::swap(dst, &mut buffers.a);
    Ok(())
}

/// Runs the stages over `elements`, or over the contents of `buffers.a` if that is `None`. The result is in `buffers.a`.
pub(super) fn encode_stages(stages: &[StageRef], elements: Option<&[u8]>, buffers: &mut StageBuffers) -> Result<()> {
    for (i, stage) in stages.iter().enumerate() {
        let src = elements.filter(|_| i == 0).unwrap_or(&buffers.a);
        stats::timed(Counter::EncodeNs, || stage.encode(src, &mut buffers.b)).map_err(|e| e.at_field(stage.name()))?;
        std::mem::swap(&mut buffers.a, &mut buffers.b);
    }
    Ok(())
}

/// Appends `bytes` to `out`, or says that there is no memory.
pub(super) fn append(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}
