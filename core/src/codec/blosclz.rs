//! BloscLZ, the compressor that only `blosc` has: decoding alone, in safe code.
//!
//! The format (of the FastLZ family): a control byte below 32 begins a run of that many bytes and one; of the first control byte only
//! those five bits count. Any other is a match: three bits of length (7: more bytes of length follow, up to one that is not 255), five
//! bits and a byte of distance; where both are all ones, a distance of 16 bits follows, high byte first, counted from 8191 on.

/// The distance from which on 16 more bits follow.
const FAR: usize = 8191;

/// Decodes to the front of `out`: the number of bytes, or `None` where the input is damaged or there is no room.
pub(super) fn decode(src: &[u8], out: &mut [u8]) -> Option<usize> {
    let (mut at, mut made) = (1, 0);
    let mut control = usize::from(src.first()? & 31);
    loop {
        if control < 32 {
            let run = control + 1;
            out.get_mut(made..made + run)?.copy_from_slice(src.get(at..at + run)?);
            (at, made) = (at + run, made + run);
        } else {
            let mut length = (control >> 5) - 1;
            if length == 6 {
                loop {
                    let more = usize::from(*src.get(at)?);
                    (length, at) = (length + more, at + 1);
                    if more != 255 {
                        break;
                    }
                }
            }
            let (high, low) = (control & 31, usize::from(*src.get(at)?));
            at += 1;
            let mut distance = (high << 8) + low;
            if distance == FAR {
                let more = src.get(at..at + 2)?.first_chunk::<2>()?;
                (distance, at) = (FAR + usize::from(u16::from_be_bytes(*more)), at + 2);
            }
            repeat(out, made, distance + 1, length + 3)?;
            made += length + 3;
        }
        match src.get(at) {
            Some(byte) => control = usize::from(*byte),
            None => return Some(made),
        }
        at += 1;
    }
}

/// Copies `length` bytes from `distance` bytes before `at` to `at`, where source and destination may overlap.
fn repeat(out: &mut [u8], at: usize, distance: usize, length: usize) -> Option<()> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length).filter(|end| *end <= out.len())?;
    if distance == 1 {
        let byte = *out.get(from)?;
        out.get_mut(at..end)?.fill(byte);
        return Some(());
    }
    // What is there doubles with each copy.
    let mut done = at;
    while done < end {
        let n = (done - from).min(end - done);
        out.copy_within(from..from + n, done);
        done += n;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(src: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; room];
        decode(src, &mut out).map(|n| out[..n].to_vec())
    }

    #[test]
    fn runs_and_matches_follow_the_format() {
        assert_eq!(decoded(&[2, 7, 8, 9], 9).unwrap(), [7, 8, 9]);
        // Of the first control byte only five bits count.
        assert_eq!(decoded(&[0x20 | 2, 7, 8, 9], 9).unwrap(), [7, 8, 9]);
        assert_eq!(decoded(&[2, 7, 8, 9, 1 << 5, 2], 9).unwrap(), [7, 8, 9, 7, 8, 9]);
        assert_eq!(decoded(&[0, 5, 7 << 5, 10, 0], 99).unwrap(), [5; 1 + 6 + 3 + 10]);
        assert_eq!(decoded(&[1, 5, 6, 7 << 5, 255, 1, 1, 0, 9], 999).unwrap().len(), 2 + 6 + 256 + 3 + 1);
        let mut far = vec![0, 77];
        // 8,192 bytes of 1, then a match at the least of the far distances.
        far.extend([0, 1, 7 << 5]);
        far.extend([255; 32]);
        far.extend([22, 0]);
        far.extend([1 << 5 | 31, 255, 0, 1]);
        let out = decoded(&far, 20_000).unwrap();
        let n = 2 + 6 + 32 * 255 + 22 + 3;
        assert_eq!(out.len(), n + 3);
        assert_eq!(out[n..], out[n - 8193..][..3]);
    }

    #[test]
    fn damage_is_found() {
        for bad in [&[][..], &[2, 7, 8], &[0, 5, 1 << 5], &[0, 5, 1 << 5, 1], &[0, 5, 7 << 5, 255], &[0, 5, 1 << 5 | 31, 255, 0]] {
            assert_eq!(decoded(bad, 100), None, "{bad:?}");
        }
        assert_eq!(decoded(&[2, 7, 8, 9], 2), None);
        assert_eq!(decoded(&[0, 5, 7 << 5, 10, 0], 19), None);
    }
}
