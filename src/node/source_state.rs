//! What the chunks of a node are like that is copied: a copy that was interrupted behind its last document is completed only where they still are.

use super::{Store, document, draft, marker, path, place};
use crate::error::Result;
use crate::store::os::hash;
use crate::store::{ListInto, ListedKey, question};

/// What is stored at a node and below it but documents: another text where something of it was written anew since, as far as a listing of the keys tells by
/// lengths, times and ETags. Where it does not, no two calls give the same.
pub(super) fn of_chunks(store: &Store, node: &str) -> Result<String> {
    let (mut sum, mut is_told) = (0_u64, store.shared().capabilities().listable);
    if is_told {
        let prefix = path::prefix(node);
        let prefix = if draft::entry(store)?.is_some() { format!("{}/{prefix}", draft::DATA) } else { prefix };
        let listed = store.shared().list_keys(
            &prefix,
            ListInto::Told(&mut |key, ListedKey { told, .. }| {
                let name = key.rsplit('/').next().unwrap_or(key);
                if !document::DOCUMENTS.contains(&name) && !marker::ALL.contains(&name) && question::is_over(name).is_none() {
                    is_told &= told.is_some();
                    sum = sum.wrapping_add(hash(format!("{key} {told:?}").as_bytes()));
                }
                Ok(())
            }),
        );
        // What is no part of the node may not be listed. The copying tells what it needs itself.
        is_told &= listed.is_ok();
    }
    Ok(if is_told { format!("{sum:016x}") } else { place::new_call() })
}
