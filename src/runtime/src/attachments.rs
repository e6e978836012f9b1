//! Bytes that travel beside JSON, named in it by their ids.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_core::checkpoint::digest;
use bytes::Bytes;

/// Bytes that travel beside JSON, such as the rows of a query as columns of Arrow: a value names
/// them by their id. Clones share what they hold.
///
/// A tool leaves bytes in [`CallContext::attachments`](crate::CallContext::attachments), where a
/// caller that can read them has given some.
///
/// ```
/// use antiphon_runtime::Attachments;
/// let attachments = Attachments::default();
/// let id = attachments.put(vec![1, 2, 3]);
/// assert_eq!(attachments.put(vec![1, 2, 3]), id);
/// assert_eq!(attachments.get(&id).unwrap(), [1, 2, 3].as_slice());
/// ```
#[derive(Clone, Default)]
pub struct Attachments(Arc<Mutex<HeldAttachments>>);

#[derive(Default)]
struct HeldAttachments {
    by_id: BTreeMap<String, Bytes>,
    unsaved: Vec<String>,
}

impl Attachments {
    /// Keeps bytes, and returns their id: the same for the same bytes.
    pub fn put(&self, bytes: impl Into<Bytes>) -> String {
        let bytes = bytes.into();
        let mut id = format!("{:016x}", digest(&bytes));
        let mut held = self.held();
        while let Some(known) = held.by_id.get(&id) {
            if *known == bytes {
                return id;
            }
            id.push('+');
        }
        held.unsaved.push(id.clone());
        held.by_id.insert(id.clone(), bytes);
        id
    }

    /// Takes back bytes that were stored under their id.
    pub fn restore(&self, id: &str, bytes: impl Into<Bytes>) {
        self.held().by_id.insert(id.to_owned(), bytes.into());
    }

    /// The bytes with this id; none if nobody has put or restored them.
    pub fn get(&self, id: &str) -> Option<Bytes> {
        self.held().by_id.get(id).cloned()
    }

    /// All of them, by their ids.
    pub fn all(&self) -> BTreeMap<String, Bytes> {
        self.held().by_id.clone()
    }

    /// Those that were put since the last call.
    pub fn take_unsaved(&self) -> Vec<(String, Bytes)> {
        let mut held = self.held();
        let ids = std::mem::take(&mut held.unsaved);
        let with_bytes = |id: String| held.by_id.get(&id).cloned().map(|bytes| (id, bytes));
        ids.into_iter().filter_map(with_bytes).collect()
    }

    fn held(&self) -> MutexGuard<'_, HeldAttachments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Attachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.held();
        let sizes = held.by_id.iter().map(|(id, bytes)| (id, bytes.len()));
        f.debug_map().entries(sizes).finish()
    }
}
