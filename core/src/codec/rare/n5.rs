//! `n5_default`: the blocks of N5: a header with the block's own shape, then its elements, big-endian and in column-major order.
//!
//! Specification: zarr-extensions, "n5_default" (v3 name `n5_default`); N5 specification 4.0, "default" blocks.
//! Example: `{"name": "n5_default", "configuration": {"codecs": [{"name": "transpose", "configuration": {"order": [0]}}, {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip", "configuration": {"level": 5}}]}}`
//!
//! The elements are brought into their order by [`crate::codec::parse`]; here is the stage with the header. Blocks that are shorter than the
//! chunk, as some writers make them at the edges of an array, are padded with zeros; longer ones are cut.

use crate::codec::stage::{Dest, Size, Stage, StageRef};
use crate::codec::streams::decode_known;
use crate::error::{Result, bail, err};
use crate::limits::{self, Dims};
use std::sync::Arc;

/// The most bytes of a block beyond the chunk's own.
const SLACK: usize = 1 << 20;

/// The stage of a block.
#[derive(Clone)]
pub(in crate::codec) struct BlockStage {
    /// Bytes of an element.
    pub item: usize,
    /// The compressor, if there is one.
    pub inner: Option<StageRef>,
    /// The chunk's shape before the transposition: the fastest dimension first. Empty before it is known.
    pub shape: Dims,
}

impl BlockStage {
    fn header_size(&self) -> usize {
        4 + 4 * self.shape.len()
    }

    /// The block's shape, and what follows the header.
    fn header<'a>(&self, src: &'a [u8]) -> Result<(Dims, &'a [u8])> {
        let Some((head, rest)) = src.split_at_checked(self.header_size()) else {
            bail!(Truncated, "found {} bytes, expected at least the {} of an N5 header", src.len(), self.header_size());
        };
        let (fixed, sides) = head.split_first_chunk::<4>().map_or(([0; 4], head), |(f, s)| (*f, s));
        let (mode, rank) = (u16::from_be_bytes([fixed[0], fixed[1]]), u16::from_be_bytes([fixed[2], fixed[3]]));
        if mode != 0 {
            bail!(Chunk, "found an N5 block of mode {mode}, expected 0 (default)");
        }
        if usize::from(rank) != self.shape.len() {
            bail!(Chunk, "found an N5 block of rank {rank}, expected {}", self.shape.len());
        }
        Ok((sides.as_chunks::<4>().0.iter().map(|side| u32::from_be_bytes(*side).into()).collect(), rest))
    }

    fn decode_inner(&self, src: &[u8], out: &mut [u8]) -> Result<()> {
        match &self.inner {
            Some(stage) => stage.decode(src, Dest::Exact(out)),
            None if src.len() == out.len() => {
                out.copy_from_slice(src);
                Ok(())
            }
            None => bail!(Chunk, "found {} bytes in an N5 block, expected {}", src.len(), out.len()),
        }
    }

    /// Copies what chunk and block have in common; all else of the chunk is zero.
    fn copy(&self, block: &[u64], src: &[u8], out: &mut [u8]) {
        out.fill(0);
        let (Some((&run_out, rest_out)), Some((&run_src, rest_src))) = (self.shape.split_first(), block.split_first()) else {
            return out.iter_mut().zip(src).for_each(|(o, s)| *o = *s);
        };
        let (run_out, run_src) = (run_out as usize * self.item, run_src as usize * self.item);
        let run = run_out.min(run_src);
        let mut at = Dims::from_elem(0, rest_out.len());
        let common: Dims = rest_out.iter().zip(rest_src).map(|(a, b)| *a.min(b)).collect();
        if run == 0 || common.contains(&0) {
            return;
        }
        let row = |shape: &[u64], at: &[u64]| at.iter().zip(shape).rev().fold(0, |row, (n, side)| row * *side as usize + *n as usize);
        loop {
            let (to, from) = (row(rest_out, &at) * run_out, row(rest_src, &at) * run_src);
            if let (Some(to), Some(from)) = (out.get_mut(to..to + run), src.get(from..from + run)) {
                to.copy_from_slice(from);
            }
            let mut more = false;
            for (n, &side) in at.iter_mut().zip(&common) {
                *n += 1;
                if *n < side {
                    more = true;
                    break;
                }
                *n = 0;
            }
            if !more {
                return;
            }
        }
    }
}

impl Stage for BlockStage {
    fn name(&self) -> &'static str {
        "n5_default"
    }

    fn for_shape(&self, shape: &[u64]) -> Result<Option<StageRef>> {
        if shape.iter().any(|n| u32::try_from(*n).is_err()) {
            bail!(Unsupported, "n5_default of chunks of shape {shape:?} is not supported");
        }
        // What comes in is transposed already.
        Ok(Some(Arc::new(BlockStage { shape: shape.iter().rev().copied().collect(), ..self.clone() })))
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        // Blocks that are not of the chunk's shape may be shorter or longer.
        let most = decoded.max().saturating_mul(2).saturating_add(SLACK);
        let inner = self.inner.as_ref().map_or(most, |stage| stage.encoded_size(Size::AtMost(most)).max());
        Size::AtMost(inner.saturating_add(self.header_size()))
    }

    fn check_writing(&self) -> Result<()> {
        self.inner.iter().try_for_each(|stage| stage.check_writing())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let mut packed = Vec::new();
        if let Some(stage) = &self.inner {
            stage.encode(src, &mut packed)?;
        }
        let payload = if self.inner.is_some() { &packed } else { src };
        dst.clear();
        limits::reserve(dst, self.header_size().saturating_add(payload.len()))?;
        dst.extend_from_slice(&0u16.to_be_bytes());
        dst.extend_from_slice(&(self.shape.len() as u16).to_be_bytes());
        self.shape.iter().for_each(|side| dst.extend_from_slice(&(*side as u32).to_be_bytes()));
        dst.extend_from_slice(payload);
        Ok(())
    }

    fn unverified(&self) -> Option<StageRef> {
        let inner = self.inner.as_ref()?.unverified()?;
        Some(Arc::new(BlockStage { inner: Some(inner), ..self.clone() }))
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let (shape, payload) = self.header(src)?;
        let n = limits::chunk_bytes(&self.shape, self.item)?;
        decode_known(dst, n, &mut |out| {
            if shape == self.shape {
                return self.decode_inner(payload, out);
            }
            let bytes = limits::element_count(&shape).ok().and_then(|n| usize::try_from(n).ok()?.checked_mul(self.item));
            let bytes = bytes.filter(|bytes| *bytes <= n.saturating_mul(2).saturating_add(SLACK / 2));
            let bytes =
                bytes.ok_or_else(|| err!(Chunk, "found an N5 block of shape {shape:?} in a chunk of {:?}", self.shape.as_slice()))?;
            let mut room = Vec::new();
            self.decode_inner(payload, limits::grow(&mut room, bytes)?)?;
            self.copy(&shape, &room, out);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn block(shape: &[u64], item: usize) -> StageRef {
        let encoded: Vec<u64> = shape.iter().rev().copied().collect();
        BlockStage { item, inner: None, shape: Dims::new() }.for_shape(&encoded).unwrap().unwrap()
    }

    fn frame(mode: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
        let mut out = vec![0, mode, 0, shape.len() as u8];
        shape.iter().for_each(|n| out.extend(n.to_be_bytes()));
        [&out, data].concat()
    }

    #[test]
    fn blocks_have_their_shape_in_front() {
        let b = block(&[3, 2], 2);
        let mut out = Vec::new();
        b.encode(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], &mut out).unwrap();
        assert_eq!(out, frame(0, &[3, 2], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
        let mut back = [0; 12];
        b.decode(&out, Dest::Exact(&mut back)).unwrap();
        assert_eq!(back, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }

    #[test]
    fn short_blocks_are_padded_and_long_ones_cut() {
        // The first dimension is the fastest.
        let b = block(&[3, 2], 1);
        let mut out = [9; 6];
        b.decode(&frame(0, &[2, 1], &[1, 2]), Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, [1, 2, 0, 0, 0, 0]);
        b.decode(&frame(0, &[4, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, [1, 2, 3, 5, 6, 7]);
        b.decode(&frame(0, &[2, 3], &[1, 2, 3, 4, 5, 6]), Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, [1, 2, 0, 3, 4, 0]);
        b.decode(&frame(0, &[0, 3], &[]), Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, [0; 6]);
    }

    #[test]
    fn other_modes_ranks_and_huge_blocks_are_errors() {
        let b = block(&[3, 2], 1);
        for (bad, kind) in [
            (frame(1, &[3, 2], &[0; 6]), ErrorKind::Chunk),
            (frame(0, &[6], &[0; 10]), ErrorKind::Chunk),
            (frame(0, &[u32::MAX, u32::MAX], &[]), ErrorKind::Chunk),
            (frame(0, &[3, 2], &[0; 7]), ErrorKind::Chunk),
            (vec![0; 11], ErrorKind::Truncated),
        ] {
            assert_eq!(b.decode(&bad, Dest::Exact(&mut [0; 6])).unwrap_err().kind(), kind);
        }
    }
}
