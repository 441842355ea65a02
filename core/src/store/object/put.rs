//! Puts, with and without conditions: a mark on the object tells whose value is there when an answer was lost.

use super::get::{MARK, Want};
use super::kept;
use super::live::Live;
use super::tries::{Failure, is_locked, is_of_container};
use super::version::strong_tag_of;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::store::remote::{Conditional, Service};
use crate::store::{Condition, Version, question};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{Attribute, Attributes, PutMode, PutOptions, UpdateVersion};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

/// How often a put is made on a condition that holds and is refused.
const REFUSALS: u32 = 5;

/// The error of a put without a condition: nobody can be faster, and to make the change again would not help.
pub(super) fn without_condition(e: Error) -> Error {
    match e.kind() {
        ErrorKind::Conflict => Error::new(ErrorKind::Network, e.message()).with_http_status(e.http_status()),
        _ => e,
    }
}

impl Live {
    /// Stores a value.
    pub(super) async fn put(&self, path: &Path, bytes: Bytes, condition: Condition) -> Result<()> {
        let kept = condition == Condition::None || self.keeps_conditions(path).await?;
        let _permit = self.permit().await?;
        if !kept {
            if self.options.conditional == Conditional::Require {
                bail!(
                    Unsupported,
                    "the server keeps no conditions of puts, which \"cloud.conditional_put\" requires: changes of other processes could be lost"
                );
            }
            self.unconditional.store(true, Ordering::Relaxed);
            return self.put_after_look(path, bytes, condition).await;
        }
        let mode = match condition {
            Condition::None => return self.put_as(path, bytes, PutMode::Overwrite, None).await,
            Condition::Absent => PutMode::Create,
            Condition::Match(version) => PutMode::Update(self.update_of(path, version).await?),
        };
        self.put_while_it_stands(path, bytes, mode, condition).await
    }

    /// Puts on a condition. A refusal although the key still holds what it should is no other writer's value: programs that change keys would
    /// read and put the same for ever. Nor is one where the key holds this put's own value: a proxy sent it twice, or a server did what it
    /// had refused for now.
    async fn put_while_it_stands(&self, path: &Path, bytes: Bytes, mode: PutMode, condition: Condition) -> Result<()> {
        let (started, mark) = (Instant::now(), random_mark());
        let mut round = 0;
        loop {
            round += 1;
            let e = match self.put_as(path, bytes.clone(), mode.clone(), Some(&mark)).await {
                Err(e) if e.kind() == ErrorKind::Conflict && !e.is_unsure() => e,
                other => return other,
            };
            let there = self.get_unlimited(path, Want::Nothing, None).await;
            let stands = match (condition, there) {
                // Whose value it is was not told.
                (_, Err(_)) => return Err(e.unsure()),
                (_, Ok(Some(found))) if found.mark.as_ref() == Some(&mark) => return Ok(()),
                (Condition::Absent, Ok(None)) => true,
                // Where objects have numbers, equal content may be another writer's.
                (Condition::Match(version), Ok(Some(found))) => {
                    version == found.version && !matches!(&mode, PutMode::Update(of) if of.version != found.update.version)
                }
                _ => false,
            };
            if !stands {
                return Err(e);
            }
            if round == REFUSALS || started.elapsed() > self.options.deadline {
                bail!(Network, "the server refuses to store the value though the key holds what it should: {}", e.message());
            }
        }
    }

    /// Puts, and leaves a mark. Only a put on a condition has one.
    async fn put_as(&self, path: &Path, bytes: Bytes, mode: PutMode, mark: Option<&str>) -> Result<()> {
        let mut tries = self.tries(false);
        tries.allow(bytes.len() as u64);
        // An earlier try may have been carried out, its answer lost.
        let mut unsure = false;
        loop {
            let mut attributes = Attributes::new();
            if let Some(mark) = mark {
                attributes.insert(Attribute::Metadata(MARK.into()), mark.to_string().into());
            }
            let options = PutOptions { mode: mode.clone(), attributes, ..PutOptions::default() };
            let store = self.store();
            let Err(fault) = tries.run(store.put_opts(path, bytes.clone().into(), options)).await else { return Ok(()) };
            let sight = tries.sight();
            // To a put on a condition "missing" may also mean that there is no object to be replaced.
            if is_of_container(&sight.code) {
                self.no_container(&tries).map_err(|e| if unsure { e.unsure() } else { e })?;
            }
            if mark.is_some() && (sight.inside == 412 || self.is_conflict(&fault, &sight.code, sight.status)) {
                if !unsure {
                    bail!(Conflict, "the key holds another value by now");
                }
                // Another mark tells which writer stored last, and nothing of what was there before that.
                return match self.has(path, mark).await.map_err(Error::unsure)? {
                    true => Ok(()),
                    false => Err(err!(Conflict, "the key holds another value by now, and an answer was lost before").unsure()),
                };
            }
            unsure |= sight.is_lost() || matches!(fault, Failure::Deadline) && !sight.credentials;
            if let Err(e) = self.again(&mut tries, fault).await {
                let e = if mark.is_none() { without_condition(e) } else { e };
                // An answer that says so and is not understood: the key tells whether it was done.
                let is_odd = sight.is_lost() && sight.transport.is_none() && matches!(sight.status, 200..=299);
                return match is_odd && self.has(path, mark).await.unwrap_or(false) {
                    true => Ok(()),
                    false => Err(if unsure { e.unsure() } else { e }),
                };
            }
        }
    }

    /// Whether a key holds what was put with a mark.
    async fn has(&self, path: &Path, mark: Option<&str>) -> Result<bool> {
        let Some(mark) = mark else { return Ok(false) };
        let there = self.get_unlimited(path, Want::Nothing, None).await?;
        Ok(there.is_some_and(|got| got.mark.as_deref() == Some(mark)))
    }

    /// Whether a refused put says that its condition does not hold (rather than that two came at once).
    fn is_conflict(&self, fault: &Failure, code: &str, status: u16) -> bool {
        let refused = matches!(fault, Failure::Store(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }));
        refused && !is_locked(code) && (status != 409 || matches!(code, "BlobAlreadyExists" | "UnmodifiedSinceNotMet"))
    }

    /// What a service's conditional put wants to know of a version.
    async fn update_of(&self, path: &Path, version: Version) -> Result<UpdateVersion> {
        if let (Some(tag), true) = (strong_tag_of(version), self.remote.service != Service::Gcs) {
            return Ok(UpdateVersion { e_tag: Some(tag), version: None });
        }
        match self.get_unlimited(path, Want::Nothing, None).await? {
            Some(got) if got.version == version => Ok(got.update),
            _ => bail!(Conflict, "the key holds another value by now"),
        }
    }

    /// For servers that do not keep conditions: two writers of a key at the same moment are not kept apart.
    async fn put_after_look(&self, path: &Path, bytes: Bytes, condition: Condition) -> Result<()> {
        let found = self.get_unlimited(path, Want::Nothing, None).await?.map(|got| got.version);
        match (condition, found) {
            (Condition::None, _) | (Condition::Absent, None) => {}
            (Condition::Match(version), Some(found)) if version == found => {}
            (Condition::Absent, Some(_)) => bail!(Conflict, "the key holds a value already"),
            (Condition::Match(_), _) => bail!(Conflict, "the key holds another value by now"),
        }
        self.put_as(path, bytes, PutMode::Overwrite, None).await
    }

    /// Whether the server keeps conditions of puts; found out once in the process, with a key beside the one that is to be put.
    async fn keeps_conditions(&self, path: &Path) -> Result<bool> {
        let find_out = || async {
            let kept = self.probe(path).await?;
            if kept {
                kept::remember(self.client().server);
            }
            Ok(kept)
        };
        self.conditional.get_or_try_init(find_out).await.copied()
    }

    async fn probe(&self, path: &Path) -> Result<bool> {
        let _permit = self.permit().await?;
        let probe = question::beside(path.as_ref(), SystemTime::now(), &random_mark());
        let probe = Path::parse(probe).map_err(|e| err!(Name, "{e}"))?;
        let value = || Bytes::from_static(question::VALUE);
        let keeps = async {
            let first = self.put_while_it_stands(&probe, value(), PutMode::Create, Condition::Absent).await;
            // Some servers refuse conditions as unknown: they take the same put without one.
            let is_refused = first.as_ref().is_err_and(may_refuse_conditions);
            if !is_refused || self.put_as(&probe, value(), PutMode::Overwrite, None).await.is_err() {
                first.map_err(|e| match e.kind() {
                    // Nobody else puts a key of this name.
                    ErrorKind::Conflict if !e.is_unsure() => err!(Network, "the server refuses to store a new key: {}", e.message()),
                    _ => e,
                })?;
            }
            let refused = |result: Result<()>| match result {
                Ok(()) => Ok(false),
                Err(e) if e.kind() == ErrorKind::Conflict => Ok(true),
                Err(e) => Err(e),
            };
            let other = UpdateVersion { e_tag: Some("\"00000000000000000000000000000000\"".to_string()), version: None };
            let mark = random_mark();
            let second = self.put_as(&probe, value(), PutMode::Create, Some(&mark)).await;
            if is_refused && second.as_ref().is_err_and(may_refuse_conditions) {
                // What is refused but once may have been damaged on the way.
                return Ok(false);
            }
            Ok(refused(second)? && refused(self.put_as(&probe, value(), PutMode::Update(other), Some(&mark)).await)?)
        };
        let kept: Result<bool> = keeps.await;
        let result = match kept {
            Err(e) if e.kind() == ErrorKind::Unsupported => Ok(false),
            // The value itself is put after this.
            other => other.map_err(Error::sure),
        };
        // A client without the right to erase may still have the right to put.
        let _ = self.erase(&probe).await;
        result
    }
}

/// Whether a put on a condition was refused as one may be whose condition the server does not know.
fn may_refuse_conditions(e: &Error) -> bool {
    e.kind() == ErrorKind::Network && matches!(e.http_status(), 400 | 405 | 422)
}

/// A text that no other put has.
pub(super) fn random_mark() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
}
