//! Keys of a service: erased, and listed.

use super::get::Want;
use super::key_of;
use super::live::Live;
use super::tries::{Failure, Tries};
use super::version::version_of;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{add, collect, push, text_of};
use crate::store::remote::Service;
use crate::store::{GOES_LAST, ListedKey, Listing};
use futures_util::StreamExt;
use object_store::list::{PaginatedListOptions, PaginatedListResult};
use object_store::path::Path;
use object_store::{ListResult, ObjectMeta, ObjectStore};
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

impl Live {
    /// Erases a key.
    pub(super) async fn erase(&self, path: &Path) -> Result<()> {
        let mut tries = self.tries(false);
        loop {
            let store = self.store();
            let one = futures_util::stream::iter([Ok(path.clone())]).boxed();
            let Err(fault) = tries.run(async move { store.delete_stream(one).next().await.transpose() }).await else { return Ok(()) };
            let (sight, is_gone) = (tries.sight(), matches!(fault, Failure::Store(object_store::Error::NotFound { .. })));
            // One that an earlier try erased, its answer lost, is gone. Azure answers for each key within a 202: a 404 is of the whole batch,
            // where the container is missing, say, or a server knows no batches. So it is with a request of S3's for several.
            let is_gone = match self.remote.service {
                Service::Azure => is_gone && sight.status == 202,
                _ if sight.of_several && sight.inside == 0 => false,
                _ => sight.is_missing() || is_gone && !sight.foreign && !sight.credentials,
            };
            if is_gone {
                return Ok(());
            }
            self.again(&mut tries, fault).await?;
        }
    }

    /// Erases a key; false if it held nothing.
    pub(super) async fn erase_known(&self, path: &Path) -> Result<bool> {
        let _permit = self.permit().await?;
        if self.get_unlimited(path, Want::Nothing, None).await?.is_some() {
            return self.erase(path).await.map(|()| true);
        }
        if self.options.forbidden_is_missing {
            // A user that may not look may erase.
            match self.erase(path).await {
                Err(e) if e.kind() == ErrorKind::Permission => {}
                other => other?,
            }
        }
        Ok(false)
    }

    /// Erases all keys below a prefix, several at a time, and then the one that is to go last, if it is there.
    pub(super) async fn erase_below(&self, prefix: &Path) -> Result<()> {
        let _permit = self.permit().await?;
        let last = prefix.clone().join(GOES_LAST);
        if self.erase_all_but(prefix, &last).await? {
            self.erase(&last).await.map_err(|e| self.at_location(e, Some(&last)))
        } else {
            Ok(())
        }
    }

    /// Names the key of a location, where that is known, in an error.
    fn at_location(&self, e: Error, location: Option<&Path>) -> Error {
        match location.and_then(|location| key_of(&self.remote, location.as_ref())) {
            Some(key) => e.at_key(key),
            None => e,
        }
    }

    /// Erases all keys below a prefix but one; whether that is there. An error names the first key that was not erased.
    async fn erase_all_but(&self, prefix: &Path, kept: &Path) -> Result<bool> {
        let (mut tries, is_kept) = (self.tries(false), Arc::new(AtomicBool::new(false)));
        loop {
            let (store, root) = (self.store(), prefix.as_ref().to_string());
            let (kept, found_kept) = (kept.clone(), is_kept.clone());
            let is_to_go = move |found: &object_store::Result<ObjectMeta>| {
                let is_kept = found.as_ref().is_ok_and(|meta| meta.location == kept);
                found_kept.fetch_or(is_kept, Ordering::Relaxed);
                std::future::ready(!is_kept)
            };
            // The answers come in the order of the keys.
            let asked = Arc::new(Mutex::new(VecDeque::new()));
            let asks = asked.clone();
            let ask = move |found: object_store::Result<ObjectMeta>| {
                found
                    .inspect(|meta| asks.lock().unwrap_or_else(PoisonError::into_inner).push_back(meta.location.clone()))
                    .map(|meta| meta.location)
            };
            let listed = store.list((!root.is_empty()).then_some(prefix)).filter(is_to_go).map(ask);
            let mut erased = store.delete_stream(listed.boxed());
            let (mut circle, mut failed, mut failed_at) = (Circle::default(), None, None);
            loop {
                let answer = tries.run(async { erased.next().await.transpose() }).await;
                let key = asked.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let gone = match answer {
                    Ok(Some(key)) => key.to_string(),
                    Ok(None) => break,
                    Err(Failure::Store(object_store::Error::NotFound { path, .. }))
                        if !tries.sight().foreign && !tries.sight().of_several =>
                    {
                        path
                    }
                    // The others go all the same: then less is left for the next try.
                    Err(fault) => {
                        let is_over = matches!(fault, Failure::Deadline);
                        (failed, failed_at) = (Some(fault), failed_at.or(key));
                        if is_over {
                            break;
                        }
                        continue;
                    }
                };
                if circle.closes(&gone) {
                    bail!(Network, "the server lists the same keys again and again, {gone:?} among them");
                }
                tries.begin_part();
            }
            let Some(fault) = failed else { return Ok(is_kept.load(Ordering::Relaxed)) };
            self.again(&mut tries, fault).await.map_err(|e| self.at_location(e, failed_at.as_ref()))?;
        }
    }

    /// All keys below a prefix, sorted, each with what the listing tells of it.
    pub(super) async fn list(&self, prefix: &Path) -> Result<Vec<(String, ListedKey)>> {
        let _permit = self.permit().await?;
        let mut tries = self.tries(false);
        let (mut keys, mut empty) = (Vec::<(String, ListedKey)>::new(), Vec::new());
        loop {
            let root = (!prefix.as_ref().is_empty()).then_some(prefix);
            let store = self.store();
            let mut found = match keys.last() {
                None => store.list(root),
                Some((last, _)) => store.list_with_offset(root, &Path::parse(last).map_err(|e| err!(Name, "{e}"))?),
            };
            let mut circle = Circle::default();
            let fault = loop {
                tries.allow(1 << 16);
                match tries.run(async { found.next().await.transpose() }).await {
                    Ok(Some(meta)) => {
                        let key = meta.location.to_string();
                        if circle.closes(&key) {
                            bail!(Network, "the server lists the same keys again and again, {key:?} among them");
                        }
                        if meta.size == 0 {
                            push(&mut empty, key.clone())?;
                        }
                        let version = version_of(&meta);
                        // Two values of one length may have one time.
                        let told = version.is_settled().then(|| version.told());
                        push(&mut keys, (key, ListedKey { told, len: Some(meta.size) }))?;
                    }
                    Ok(None) => {
                        keys.sort_unstable();
                        keys.dedup_by(|next, key| next.0 == key.0);
                        without_marks(&mut keys, &empty);
                        return Ok(keys);
                    }
                    Err(fault) => break fault,
                }
            };
            self.again_listing(&mut tries, fault, prefix).await?;
            // What comes next begins behind the last key only if keys come in order, as those of S3's directory buckets do not.
            if self.remote.base.ends_with("--x-s3") || !keys.is_sorted_by_key(|(key, _)| key) {
                keys.clear();
            }
        }
    }

    /// Lists what is directly below a prefix.
    pub(super) async fn list_dir(&self, prefix: &Path) -> Result<Listing> {
        let _permit = self.permit().await?;
        let mut tries = self.tries(false);
        let (mut folder, mut token, mut circle) = (ListedFolder::default(), None, Circle::default());
        loop {
            match tries.run(self.page(prefix, token.clone())).await {
                Ok(PaginatedListResult { result, page_token }) => {
                    let new = folder.take(prefix, &result)?;
                    tries.allow((new as u64) << 16);
                    let Some(next) = page_token.filter(|next| !next.is_empty()) else { return folder.listing() };
                    // A server may say the same of many keys that are below one prefix.
                    if circle.closes(&next) && new == 0 {
                        bail!(Network, "the server lists the same keys of the folder {:?} again and again", prefix.as_ref());
                    }
                    token = Some(next);
                }
                // What was listed stays: it goes on with the page that failed.
                Err(fault) => self.again_listing(&mut tries, fault, prefix).await?,
            }
        }
    }

    /// Goes on with the next try of a list, or says why not, and of what the list was to be: no key says it.
    async fn again_listing(&self, tries: &mut Tries, fault: Failure, prefix: &Path) -> Result<()> {
        self.no_container(tries)?;
        let place = || self.remote.at(prefix.as_ref()).describe();
        self.again(tries, fault).await.map_err(|e| e.with_note(&format!("; it was asked for the keys in {}", place())))
    }

    /// A page of what is directly below a prefix; all of it where the crate gives no pages.
    async fn page(&self, prefix: &Path, page_token: Option<String>) -> object_store::Result<PaginatedListResult> {
        let (client, root) = (self.client(), prefix.as_ref());
        let Some(pages) = &client.pages else {
            let result = client.store.list_with_delimiter((!root.is_empty()).then_some(prefix)).await?;
            return Ok(PaginatedListResult { result, page_token: None });
        };
        let below = (!root.is_empty()).then(|| format!("{root}/"));
        let options = PaginatedListOptions { delimiter: Some("/".into()), page_token, ..PaginatedListOptions::default() };
        pages.list_paginated(below.as_deref(), options).await
    }

    /// Says that there is no container, where "missing" is the last answer to what names no object, or whose code says so.
    pub(super) fn no_container(&self, tries: &Tries) -> Result<()> {
        let sight = tries.sight();
        if sight.is_missing() {
            let code = if sight.code.is_empty() { String::new() } else { format!(" ({})", sight.code) };
            let why = tries.why_missing(&sight);
            bail!(NotFound, "there is no {}: the server answered 404{code}{why}", self.remote.at("").describe());
        }
        Ok(())
    }
}

/// What pages have said of a folder so far.
#[derive(Default)]
struct ListedFolder {
    keys: HashSet<String>,
    /// Those of the keys whose objects are empty.
    empty: HashSet<String>,
    prefixes: HashSet<String>,
}

impl ListedFolder {
    /// Takes what a page says; gives the number of names that no page before it had.
    fn take(&mut self, prefix: &Path, page: &ListResult) -> Result<usize> {
        let name = |path: &Path| text_of(path.filename().unwrap_or_default());
        let mut new = 0;
        for path in &page.common_prefixes {
            new += usize::from(add(&mut self.prefixes, name(path)?)?);
        }
        for meta in page.objects.iter().filter(|meta| meta.size > 0 || meta.location != *prefix) {
            if meta.size == 0 {
                add(&mut self.empty, name(&meta.location)?)?;
            }
            new += usize::from(add(&mut self.keys, name(&meta.location)?)?);
        }
        Ok(new)
    }

    /// All of it, without empty objects with the name of a folder, which are how some tools mark one.
    fn listing(self) -> Result<Listing> {
        let is_mark = |key: &String| self.empty.contains(key) && self.prefixes.contains(key);
        let mut keys = collect(self.keys.into_iter().filter(|key| !is_mark(key)))?;
        keys.sort_unstable();
        let mut prefixes = collect(self.prefixes.into_iter())?;
        prefixes.sort_unstable();
        Ok(Listing { keys, prefixes, ..Listing::default() })
    }
}

/// Leaves out empty objects with the name of a folder, which are how some tools mark one. `keys` are sorted.
fn without_marks(keys: &mut Vec<(String, ListedKey)>, empty: &[String]) {
    let is_folder = |key: &String| {
        let below = format!("{key}/");
        keys.get(keys.partition_point(|(other, _)| *other < below)).is_some_and(|(next, _)| next.starts_with(&below))
    };
    let marks: Vec<&String> = empty.iter().filter(|key| is_folder(key)).collect();
    marks.iter().for_each(|mark| drop(keys.binary_search_by(|(key, _)| key.cmp(mark)).map(|at| keys.remove(at))));
}

/// Finds out that a list goes around in a circle: one key of every power of two is compared with those that follow.
#[derive(Default)]
struct Circle {
    mark: String,
    count: u64,
}

impl Circle {
    /// Says whether this key came before.
    fn closes(&mut self, key: &str) -> bool {
        if self.count > 0 && self.mark == key {
            return true;
        }
        self.count += 1;
        if self.count.is_power_of_two() {
            self.mark = key.to_string();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Circle;

    #[test]
    fn a_circle_is_found_wherever_it_begins_and_a_list_has_none() {
        for (before, around) in [(0, 1), (0, 7), (5, 3), (1000, 1000), (3, 64)] {
            let mut circle = Circle::default();
            let found = (0..10 * (before + around)).position(|n| {
                let n = if n < before { n } else { before + (n - before) % around };
                circle.closes(&format!("k{n}"))
            });
            assert!(found.is_some_and(|found| found >= before + around), "{before} {around}: {found:?}");
        }
        let mut circle = Circle::default();
        assert!((0..10_000).all(|n| !circle.closes(&format!("k{n}"))));
    }
}
