//! Protection of entries: a checksum that detects damage, or keys that encrypt and authenticate.
//!
//! The tag of an entry has two parts. The first covers its position (thread, sequence numbers,
//! kind, time and size), so that lists can trust what they read without a body. The second
//! covers the body, and the first covers the second: neither can be moved to another entry. A
//! thread has a tag over its last sequence number; without it, nobody would notice that its last
//! entries were cut off. All tags cover the random id of the store, so that entries of another
//! store with the same key are refused.
//!
//! Checksums (XXH3) detect damage by disks and tools; anyone can forge them. Keys protect
//! against forgery, but not against rollback: a thread that is restored to an older state is
//! valid.

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::store::{EntryKind, EntryMark, EntryTag, ThreadHead};
use twox_hash::XxHash3_64;

mod key;

use key::{CipherKey, ParsedTag};

/// The random id of a store.
type StoreId = [u64; 2];

/// The position of an entry. An entry that is moved elsewhere does not open.
#[derive(Clone, Copy, Debug)]
pub struct EntryPosition<'a> {
    /// The thread.
    pub thread: &'a str,
    /// The entry's sequence number.
    pub seq: u64,
    /// The sequence number of the entry it follows.
    pub parent: u64,
    /// The sequence number of the nearest snapshot.
    pub base: u64,
    /// Its kind.
    pub kind: EntryKind,
    /// Supersteps so far.
    pub step: u64,
    /// When it was written.
    pub at: Time,
}

/// Seals and opens the bodies of entries. With keys, plain text is neither written nor accepted.
pub struct Cipher {
    /// The first one seals; all of them open.
    keys: Box<[CipherKey]>,
    /// The store that the entries belong to.
    store: StoreId,
}

impl Cipher {
    /// Detects damage, and does not encrypt.
    pub fn tagged() -> Self {
        Self::with_keys([])
    }

    /// Entries are encrypted and authenticated with `key` (XChaCha20-Poly1305).
    pub fn keyed(key: &[u8; 32]) -> Self {
        Self::with_keys([key])
    }

    /// As [`Cipher::keyed`], with several keys: the first one seals, all of them open.
    pub fn with_keys<'a>(keys: impl IntoIterator<Item = &'a [u8; 32]>) -> Self {
        Self { keys: keys.into_iter().map(CipherKey::new).collect(), store: StoreId::default() }
    }

    /// Seals a body.
    ///
    /// # Errors
    /// `store_failed` if the operating system provides no random numbers.
    pub fn close(&self, place: EntryPosition<'_>, body: &mut [u8]) -> Result<EntryTag, Fault> {
        let about = self.about(place, body.len() as u64);
        match self.keys.first() {
            Some(key) => key.close((place.thread, &about), body),
            None => Ok(checksum((place.thread, &about), XxHash3_64::oneshot(body))),
        }
    }

    /// Opens a body.
    ///
    /// # Errors
    /// Those of [`Cipher::check`].
    pub fn open(
        &self,
        place: EntryPosition<'_>,
        tag: &EntryTag,
        mut body: Vec<u8>,
    ) -> Result<Vec<u8>, Fault> {
        let about = (place.thread, &self.about(place, body.len() as u64));
        if !place.is_possible() {
            return Err(damaged(place));
        }
        match (&*self.keys, tag) {
            ([], EntryTag::Short(_)) => {
                let is_whole = checksum(about, XxHash3_64::oneshot(&body)) == *tag;
                if is_whole { Ok(body) } else { Err(damaged(place)) }
            }
            (keys, _) => match key::find(keys, tag) {
                ParsedTag::With(key, sealed) if key.open(about, sealed, &mut body) => Ok(body),
                other => Err(refused(&other, place)),
            },
        }
    }

    /// Checks the tag of an entry without its body.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the entry was changed or moved, or sealed with another key;
    /// `checkpoint_encrypted` and `checkpoint_plain` if a key is missing or superfluous.
    pub fn check(&self, thread: &str, mark: &EntryMark, tag: &EntryTag) -> Result<(), Fault> {
        let place = EntryPosition::of(thread, mark);
        let about = (thread, &self.about(place, mark.size));
        if !place.is_possible() {
            return Err(damaged(place));
        }
        match (&*self.keys, tag) {
            ([], EntryTag::Short(bytes)) => {
                let body = bytes.last_chunk().map_or(0, |body| u64::from_be_bytes(*body));
                if checksum(about, body) == *tag { Ok(()) } else { Err(damaged(place)) }
            }
            (keys, _) => match key::find(keys, tag) {
                ParsedTag::With(key, sealed) if key.check(about, sealed) => Ok(()),
                other => Err(refused(&other, place)),
            },
        }
    }

    /// Whether an entry, or a thread, was sealed with the first key.
    pub fn is_current(&self, tag: &EntryTag) -> bool {
        match (&*self.keys, key::find(&self.keys, tag)) {
            ([first, ..], ParsedTag::With(key, _)) => std::ptr::eq(first, key),
            _ => self.keys.is_empty(),
        }
    }

    /// Seals the head of a thread: that `last` is its last entry.
    ///
    /// # Errors
    /// As [`Cipher::close`].
    pub fn close_head(&self, thread: &str, last: u64) -> Result<EntryTag, Fault> {
        let about = self.head(last);
        match self.keys.first() {
            Some(key) => key.close((thread, &about), &mut []),
            None => Ok(checksum((thread, &about), 0)),
        }
    }

    /// Checks the head of a thread.
    ///
    /// # Errors
    /// As [`Cipher::check`].
    pub fn check_head(&self, thread: &str, found: &ThreadHead) -> Result<(), Fault> {
        if found.last != found.stored {
            return Err(cut(thread, found));
        }
        // An empty thread was never sealed.
        if found.last == 0 && found.tag.as_bytes().is_empty() {
            return Ok(());
        }
        let about = self.head(found.last);
        let place = EntryPosition::head(thread, found.last);
        match (&*self.keys, &found.tag) {
            ([], EntryTag::Short(_)) => {
                let is_whole = checksum((thread, &about), 0) == found.tag;
                if is_whole { Ok(()) } else { Err(cut(thread, found)) }
            }
            (keys, tag) => match key::find(keys, tag) {
                ParsedTag::With(key, sealed) if key.check((thread, &about), sealed) => Ok(()),
                ParsedTag::With(..) | ParsedTag::Damaged => Err(cut(thread, found)),
                other => Err(refused(&other, place)),
            },
        }
    }
}

/// The protection of a whole store.
impl Cipher {
    /// The tag for a new store.
    ///
    /// # Errors
    /// As [`Cipher::close`].
    pub fn new_store(&self) -> Result<EntryTag, Fault> {
        self.of_store(key::random_id()?).close_store()
    }

    /// The tag that replaces the store's, sealed with the first key.
    ///
    /// # Errors
    /// As [`Cipher::close`].
    pub fn close_store(&self) -> Result<EntryTag, Fault> {
        let about = about(STORE, self.store);
        let tag = match self.keys.first() {
            Some(key) => key.close(("", &about), &mut [])?,
            None => checksum(("", &about), 0),
        };
        let [high, low] = self.store.map(u64::to_be_bytes);
        Ok(EntryTag::new(&[tag.as_bytes(), &high, &low].concat()))
    }

    /// This cipher for an existing store, by the store's tag. Refuses a tag that was made with
    /// none of these keys, or with a key if there are none.
    ///
    /// # Errors
    /// `checkpoint_encrypted`, `checkpoint_plain`, and `store_corrupt`.
    pub fn open_store(&self, name: &str, found: &EntryTag) -> Result<Self, Fault> {
        let (tag, store) = split(found);
        let about = about(STORE, store);
        self.check_store(name, (&tag, &about)).map(|()| self.of_store(store))
    }

    /// Whether a store's tag was sealed with the first key.
    pub fn is_current_store(&self, found: &EntryTag) -> bool {
        self.is_current(&split(found).0)
    }

    fn of_store(&self, store: StoreId) -> Self {
        Self { keys: self.keys.clone(), store }
    }

    fn check_store(
        &self,
        name: &str,
        (tag, about): (&EntryTag, &AssociatedData),
    ) -> Result<(), Fault> {
        let refused = |code, problem: &str, hint: &str| {
            Err(Fault::new(code, format!("{problem}: {name}")).hint(hint))
        };
        match (&*self.keys, key::find(&self.keys, tag)) {
            ([], ParsedTag::Plain) if checksum(("", about), 0) == *tag => Ok(()),
            (_, ParsedTag::With(key, sealed)) if key.check(("", about), sealed) => Ok(()),
            (_, ParsedTag::Locked) => refused(
                FaultCode::CheckpointEncrypted,
                "the store is encrypted",
                "open it with its key",
            ),
            ([_, ..], ParsedTag::Plain) => refused(
                FaultCode::CheckpointPlain,
                "the store is not encrypted",
                "open it without a key; encryption must be chosen when a store is created",
            ),
            ([_, ..], ParsedTag::Damaged) if key::is_of_a_key(tag) => refused(
                FaultCode::CheckpointEncrypted,
                "the store is encrypted with another key",
                "open it with its key; during a key rotation with both: key=[new, old]",
            ),
            _ => refused(
                FaultCode::StoreCorrupt,
                "the store is damaged: its protection is unknown",
                "restore it from a copy",
            ),
        }
    }
}

/// What distinguishes the tag of a store from those of entries and threads.
const STORE: [u64; 7] = [u64::MAX; 7];

/// The tag of a store without its id, and the id.
fn split(found: &EntryTag) -> (EntryTag, StoreId) {
    let bytes = found.as_bytes();
    let low = bytes.split_last_chunk();
    let high = low.and_then(|(bytes, low)| Some((bytes.split_last_chunk()?, low)));
    high.map_or_else(Default::default, |((tag, high), low)| {
        (EntryTag::new(tag), [*high, *low].map(u64::from_be_bytes))
    })
}

impl<'a> EntryPosition<'a> {
    /// The position of the entry that a mark describes.
    pub const fn of(thread: &'a str, mark: &EntryMark) -> Self {
        let EntryMark { seq, parent, base, kind, step, at, .. } = *mark;
        Self { thread, seq, parent, base, kind, step, at }
    }

    const fn head(thread: &'a str, last: u64) -> Self {
        let (kind, at) = (EntryKind::Run, Time::from_micros(0));
        Self { thread, seq: last, parent: 0, base: 0, kind, step: 0, at }
    }

    /// Whether an entry follows an earlier one; otherwise reading backwards would lead nowhere,
    /// or never end.
    const fn is_possible(&self) -> bool {
        self.parent < self.seq && self.base <= self.seq
    }

    fn described(&self, problem: &str) -> String {
        format!("{problem}: entry {} of the thread {}", self.seq, self.thread)
    }
}

/// The authenticated data of a tag, beside the name of the thread.
type AssociatedData = [u8; 72];

impl Cipher {
    fn about(&self, place: EntryPosition<'_>, size: u64) -> AssociatedData {
        let EntryPosition { seq, parent, base, kind, step, at, .. } = place;
        // The tags of threads have no size.
        let kind = 1 + EntryKind::ALL.iter().take_while(|other| **other != kind).count() as u64;
        about([kind, seq, parent, base, step, at.as_micros(), size], self.store)
    }

    fn head(&self, last: u64) -> AssociatedData {
        about([0, last, 0, 0, 0, 0, 0], self.store)
    }
}

fn about(numbers: [u64; 7], store: StoreId) -> AssociatedData {
    let mut about = [0; 72];
    let numbers = numbers.into_iter().chain(store);
    for (bytes, number) in about.as_chunks_mut().0.iter_mut().zip(numbers) {
        *bytes = number.to_be_bytes();
    }
    about
}

/// The tag of an entry that is not encrypted, by the checksum of its body.
fn checksum((thread, about): (&str, &AssociatedData), body: u64) -> EntryTag {
    let seed = XxHash3_64::oneshot_with_seed(body, thread.as_bytes());
    let place = XxHash3_64::oneshot_with_seed(seed, about);
    let mut tag = [0; 16];
    for (bytes, number) in tag.as_chunks_mut::<8>().0.iter_mut().zip([place, body]) {
        *bytes = number.to_be_bytes();
    }
    EntryTag::Short(tag)
}

fn refused(found: &ParsedTag<'_>, place: EntryPosition<'_>) -> Fault {
    match found {
        ParsedTag::With(..) | ParsedTag::Damaged => damaged(place),
        ParsedTag::Plain => plain(place),
        ParsedTag::Locked => locked(place),
    }
}

fn damaged(place: EntryPosition<'_>) -> Fault {
    let message = place.described("the stored data is damaged");
    Fault::new(FaultCode::CheckpointCorrupt, message)
        .with("thread", place.thread)
        .with("entry", place.seq)
        .hint("check the key, or restore the store from a copy")
}

/// The fault of a thread that does not end where its head says.
fn cut(thread: &str, found: &ThreadHead) -> Fault {
    let ThreadHead { last, stored, .. } = found;
    let message = if last == stored {
        format!("the end of the thread {thread} was modified: entry {last}")
    } else {
        format!("the thread {thread} was cut off: expected entry {last}, found {stored}")
    };
    Fault::new(FaultCode::CheckpointCorrupt, message)
        .with("thread", thread)
        .with("entry", *last)
        .hint("check the key, or restore the store from a copy")
}

fn locked(place: EntryPosition<'_>) -> Fault {
    let message = place.described("the stored data is encrypted");
    Fault::new(FaultCode::CheckpointEncrypted, message)
        .with("thread", place.thread)
        .hint("open the store with the key it was written with")
}

fn plain(place: EntryPosition<'_>) -> Fault {
    let message = place.described("the stored data is not encrypted");
    Fault::new(FaultCode::CheckpointPlain, message)
        .with("thread", place.thread)
        .hint("open the store without a key, or start a new thread")
}
