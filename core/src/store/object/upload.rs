//! A value that is put in parts: large shards. The first part is kept until the end, because a shard's index may stand there.

use super::get::{MARK, Want};
use super::live::Live;
use super::put::{random_mark, without_condition};
use super::threads::{Coming, Task};
use super::tries::Failure;
use crate::error::{Error, Result, bail, err};
use crate::fork::forks;
use crate::limits::reserve;
use crate::store::remote::Service;
use crate::store::{Condition, StagedWrite};
use bytes::Bytes;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{Attribute, Attributes, PutMultipartOptions};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Parts on their way at the same time, and fewer where they are longer than was asked for.
const AT_ONCE: usize = 4;
/// How long an upload that failed is waited for until it is ended.
const END: Duration = Duration::from_secs(2);
/// The most parts that services take.
const MOST_PARTS: usize = 10_000;
/// So many parts of a value of unknown length have the length that was asked for: some servers take no others. After each [`STEP`] more they are
/// longer by it.
const EVEN_PARTS: usize = 5_000;
/// With it 10,000 parts that begin with 16 MiB reach the 5 TiB of S3's largest objects.
const STEP: usize = 32;
/// No part grows beyond this, which the last one has then: Azure takes 4,000 MiB, others 5 GiB.
const LONGEST: usize = 2512 << 20;

/// See the module.
pub(super) struct Upload {
    live: Arc<Live>,
    path: Path,
    part: usize,
    /// How many parts have that length.
    even: usize,
    /// The first part, once there is more.
    first: Option<Vec<u8>>,
    /// What is not yet a whole part.
    rest: Vec<u8>,
    /// The service's name of the upload, once it has begun.
    id: Option<String>,
    /// What tells the object from those of others; Azure takes none.
    mark: Option<String>,
    /// Of the whole value.
    len: u64,
    /// The next part's number.
    next: usize,
    coming: VecDeque<(usize, Coming<PartId>)>,
    parts: Vec<(usize, PartId)>,
    /// The process whose upload it is.
    forks: u32,
}

impl Upload {
    pub(super) fn new(live: Arc<Live>, path: Path, part: usize) -> Upload {
        let (first, rest, coming, parts) = (None, Vec::new(), VecDeque::new(), Vec::new());
        let mark = (live.remote.service != Service::Azure).then(random_mark);
        Upload { live, path, part, even: EVEN_PARTS, first, rest, id: None, mark, len: 0, next: 1, coming, parts, forks: forks() }
    }

    fn begin(&mut self) -> Result<String> {
        if let Some(id) = &self.id {
            return Ok(id.clone());
        }
        let (live, path) = (self.live.clone(), self.path.clone());
        let mark = self.mark.iter().map(|mark| (Attribute::Metadata(MARK.into()), mark.clone()));
        let options = PutMultipartOptions { attributes: Attributes::from_iter(mark), ..PutMultipartOptions::default() };
        let id = self.live.threads.wait(async move {
            let mut tries = live.tries(false);
            loop {
                match tries.run(parts_of(&live)?.create_multipart_opts(&path, options.clone())).await {
                    Ok(id) => return Ok(id),
                    Err(fault) => live.again(&mut tries, fault).await?,
                }
            }
        })?;
        self.id = Some(id.clone());
        Ok(id)
    }

    /// Sends a part, once not too many are on their way.
    fn send(&mut self, number: usize, bytes: Vec<u8>) -> Result<()> {
        if number >= MOST_PARTS {
            bail!(Limit, "a value of more than {MOST_PARTS} parts, the first ones of {} bytes; set \"cloud.part_size\" higher", self.part);
        }
        let id = self.begin()?;
        while self.coming.len() >= (AT_ONCE * self.part / bytes.len()).clamp(1, AT_ONCE) {
            self.take_oldest()?;
        }
        let (live, path, bytes) = (self.live.clone(), self.path.clone(), Bytes::from(bytes));
        let sending = self.live.threads.start(async move {
            let _permit = live.permit().await?;
            let mut tries = live.tries(false);
            tries.allow(bytes.len() as u64);
            loop {
                match tries.run(parts_of(&live)?.put_part(&path, &id, number, bytes.clone().into())).await {
                    Ok(part) => return Ok(part),
                    Err(fault) => live.again(&mut tries, fault).await?,
                }
            }
        });
        self.coming.push_back((number, sending));
        Ok(())
    }

    fn take_oldest(&mut self) -> Result<()> {
        if let Some((number, part)) = self.coming.pop_front() {
            self.parts.push((number, part.wait()?));
        }
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        let id = self.begin()?;
        while !self.coming.is_empty() {
            self.take_oldest()?;
        }
        self.parts.sort_unstable_by_key(|(number, _)| *number);
        let parts: Vec<PartId> = self.parts.drain(..).map(|(_, part)| part).collect();
        let (live, path) = (self.live.clone(), self.path.clone());
        let (mark, len) = (self.mark.clone(), self.len);
        let done = self.live.threads.wait(async move {
            let mut tries = live.tries(false);
            let mut unsure = false;
            loop {
                let Err(fault) = tries.run(parts_of(&live)?.complete_multipart(&path, &id, parts.clone())).await else { return Ok(()) };
                let sight = tries.sight();
                // The upload is gone, on Azure its blocks are: an earlier try was carried out, its answer lost, or others ended the upload.
                if unsure && (sight.is_missing() || sight.code == "InvalidBlockList") {
                    let there = live.get_unlimited(&path, Want::Nothing, None).await.map_err(Error::unsure)?;
                    return match there {
                        Some(got) if got.size == len && (mark.is_none() || got.mark == mark) => Ok(()),
                        _ => Err(err!(Network, "an upload in parts is gone, and its value is not there").unsure()),
                    };
                }
                unsure |= sight.is_lost() || matches!(fault, Failure::Deadline) && !sight.credentials;
                live.again(&mut tries, fault).await.map_err(without_condition).map_err(|e| if unsure { e.unsure() } else { e })?;
            }
        });
        done.inspect(|()| self.id = None)
    }
}

/// The bytes of a part of that number, where those of the first ones, of which there are `even`, are `part`.
fn part_len(part: usize, even: usize, number: usize) -> usize {
    (part * (1 + number.saturating_sub(even) / STEP)).min(part.max(LONGEST))
}

/// What makes uploads now: a part may find that the client was made anew since the last one.
fn parts_of(live: &Live) -> Result<Arc<dyn MultipartStore>> {
    live.parts().ok_or_else(|| err!(Internal, "an upload in parts to a store that has none"))
}

impl StagedWrite for Upload {
    /// All parts get one length with which they suffice.
    fn expect(&mut self, len: u64) {
        let least = len.div_ceil(MOST_PARTS as u64);
        (self.part, self.even) = (self.part.max(usize::try_from(least).unwrap_or(usize::MAX)), MOST_PARTS);
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.len += bytes.len() as u64;
        while !bytes.is_empty() {
            let part = part_len(self.part, self.even, if self.first.is_some() { self.next } else { 0 });
            let fits = bytes.len().min(part - self.rest.len());
            reserve(&mut self.rest, fits)?;
            self.rest.extend_from_slice(&bytes[..fits]);
            bytes = &bytes[fits..];
            // A part is sent when more follows: the last may have any length.
            if self.rest.len() == part && !bytes.is_empty() {
                let full = std::mem::take(&mut self.rest);
                if self.first.is_none() {
                    self.first = Some(full);
                } else {
                    let number = self.next;
                    self.next += 1;
                    self.send(number, full)?;
                }
            }
        }
        Ok(())
    }

    fn replace_head(&mut self, bytes: &[u8]) -> Result<()> {
        match self.first.as_mut().unwrap_or(&mut self.rest).get_mut(..bytes.len()) {
            Some(head) => {
                head.copy_from_slice(bytes);
                Ok(())
            }
            None => bail!(Limit, "a head of {} bytes, more than a part of {}; set \"cloud.part_size\" higher", bytes.len(), self.part),
        }
    }

    fn publish(mut self: Box<Self>) -> Result<()> {
        let rest = std::mem::take(&mut self.rest);
        let Some(first) = self.first.take() else {
            let (live, path) = (self.live.clone(), self.path.clone());
            return self.live.threads.wait(async move { live.put(&path, rest.into(), Condition::None).await });
        };
        let last = self.next;
        self.send(last, rest)?;
        self.send(0, first)?;
        self.complete()
    }
}

impl Drop for Upload {
    /// Parts that belong to nothing cost their owner money. It is waited for, as a program may end right after an error.
    fn drop(&mut self) {
        let (Some(id), Ok(store)) = (self.id.take(), parts_of(&self.live)) else { return };
        // A child of `fork` has a copy, and none of the threads.
        if self.forks != forks() {
            return;
        }
        let (live, path) = (self.live.clone(), self.path.clone());
        let ending: Task = Box::pin(async move {
            let mut tries = live.tries(false);
            let _ = tries.run(store.abort_multipart(&path, &id)).await;
        });
        // A thread of a runtime may be the one that is to do it.
        if Handle::try_current().is_ok() {
            return self.live.threads.spawn(ending);
        }
        let _ = self.live.threads.wait(async move {
            let _ = tokio::time::timeout(END, tokio::spawn(ending)).await;
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::object::tests::{KEYS, said, serve, store_at};

    /// The numbers of parts, and how many bytes they have, as a server gets them of a value of `len` bytes, `told` before or not, whose next part
    /// is `next`.
    fn parts_of_value(part: usize, next: usize, (len, told): (usize, bool)) -> Result<Vec<(usize, usize)>> {
        let (port, asked) = serve(|head| match head.split(' ').next().unwrap_or_default() {
            "put" => said("200 OK", "ETag: \"p\"\r\n", ""),
            "post" if head.contains("?uploads") => {
                said("200 OK", "", "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
            }
            _ => said("200 OK", "", "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"),
        });
        let store = store_at(port, KEYS);
        let mut upload = Upload::new(store.0.live()?, Path::from("key"), part);
        upload.next = next;
        if told {
            upload.expect(len as u64);
        }
        // Pieces that are cut elsewhere than parts.
        (0..len).step_by(37).try_for_each(|at| upload.append(&[0; 37][..37.min(len - at)]))?;
        Box::new(upload).publish()?;
        let number_in = |head: &str, before: &str| -> Option<usize> {
            let (_, rest) = head.split_once(before)?;
            rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
        };
        let asked = asked.lock().unwrap();
        let mut parts: Vec<_> =
            asked.iter().filter_map(|head| Some((number_in(head, "partnumber=")?, number_in(head, "content-length: ")?))).collect();
        parts.sort_unstable();
        Ok(parts)
    }

    #[test]
    fn parts_grow_where_so_many_of_one_length_would_not_hold_the_value() {
        // Services count from 1.
        assert_eq!(parts_of_value(100, 1, (250, false)).unwrap(), [(1, 100), (2, 100), (3, 50)]);
        let next = EVEN_PARTS + STEP - 2;
        let grown = [(1, 100), (next + 1, 100), (next + 2, 100), (next + 3, 200), (next + 4, 200), (next + 5, 1)];
        assert_eq!(parts_of_value(100, next, (701, false)).unwrap(), grown);
        let last = part_len(1, EVEN_PARTS, MOST_PARTS - 1);
        assert_eq!(parts_of_value(1, MOST_PARTS - 1, (1 + last, false)).unwrap(), [(1, 1), (MOST_PARTS, last)]);
        let e = parts_of_value(1, MOST_PARTS - 1, (2 + last, false)).unwrap_err();
        assert!(e.kind() == crate::error::ErrorKind::Limit && e.message().contains("\"cloud.part_size\""), "{e}");
    }

    #[test]
    fn parts_have_one_length_where_that_of_the_value_is_known() {
        let next = EVEN_PARTS + STEP - 1;
        let even = [(1, 100), (next + 1, 100), (next + 2, 100), (next + 3, 1)];
        assert_eq!(parts_of_value(100, next, (301, true)).unwrap(), even);
        let store = store_at(1, KEYS);
        let mut upload = Upload::new(store.0.live().unwrap(), Path::from("key"), 16);
        for (len, part) in [(1, 16), (16 * MOST_PARTS, 16), (16 * MOST_PARTS + 1, 17)] {
            upload.expect(len as u64);
            assert_eq!((upload.part, upload.even), (part, MOST_PARTS), "{len}");
        }
    }

    #[test]
    fn the_most_parts_hold_the_largest_object() {
        for mib in [16, 64, 256, 1024] {
            let all = || (0..MOST_PARTS).map(|number| part_len(mib << 20, EVEN_PARTS, number) as u64);
            assert!(all().sum::<u64>() >= 5 << 40 && all().max().unwrap() <= 4000 << 20, "{mib}");
        }
    }
}
