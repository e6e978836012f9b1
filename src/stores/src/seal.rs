//! What protects entries: a tag that shows damage, or a key that keeps them secret.

use antiphon_core::{Category, Fault};
use antiphon_runtime::store::EntryKind;
use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

/// The first byte of a sealed body.
const TAGGED: u8 = 0;
const ENCRYPTED: u8 = 1;
const TAG: usize = 16;
const NONCE: usize = 24;

/// Where an entry belongs; a body that is moved elsewhere does not open.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The thread.
    pub thread: &'a str,
    /// The entry's number.
    pub seq: u64,
    /// The entry it follows.
    pub parent: u64,
    /// What it is.
    pub kind: EntryKind,
}

/// Closes and opens the bodies of entries. With a key there is no plain text,
/// neither written nor accepted.
pub struct Seal {
    cipher: Option<Box<XChaCha20Poly1305>>,
}

impl Seal {
    /// Damage is noticed; whoever can read the store can read the entries.
    pub const fn tagged() -> Self {
        Self { cipher: None }
    }

    /// Entries are encrypted and authenticated with `key` (XChaCha20-Poly1305).
    pub fn keyed(key: &[u8; 32]) -> Self {
        Self { cipher: Some(Box::new(XChaCha20Poly1305::new(key.into()))) }
    }

    /// Closes a body.
    ///
    /// # Errors
    /// `store_failed` if the operating system gives no random numbers.
    pub fn close(&self, place: Place<'_>, body: &[u8]) -> Result<Vec<u8>, Fault> {
        let about = place.bytes();
        let Some(cipher) = &self.cipher else {
            let tag = tag(&about, body);
            return Ok([&[TAGGED][..], &tag, body].concat());
        };
        let nonce = XNonce::try_generate().map_err(|_| failed())?;
        let payload = Payload { msg: body, aad: &about };
        let closed = cipher.encrypt(&nonce, payload).map_err(|_| failed())?;
        Ok([&[ENCRYPTED][..], nonce.as_slice(), &closed].concat())
    }

    /// Opens a body.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if it was changed or moved, or the key is another;
    /// `checkpoint_encrypted` and `checkpoint_plain` if a key is missing or too much.
    pub fn open(&self, place: Place<'_>, sealed: &[u8]) -> Result<Vec<u8>, Fault> {
        let about = place.bytes();
        match (&self.cipher, sealed.split_first()) {
            (None, Some((&TAGGED, rest))) => {
                let (found, body) = rest.split_at_checked(TAG).ok_or_else(|| damaged(place))?;
                if tag(&about, body) == found { Ok(body.to_vec()) } else { Err(damaged(place)) }
            }
            (Some(cipher), Some((&ENCRYPTED, rest))) => {
                let (nonce, closed) = rest.split_at_checked(NONCE).ok_or_else(|| damaged(place))?;
                let nonce = XNonce::try_from(nonce).map_err(|_| damaged(place))?;
                let payload = Payload { msg: closed, aad: &about };
                cipher.decrypt(&nonce, payload).map_err(|_| damaged(place))
            }
            (None, Some((&ENCRYPTED, _))) => Err(locked(place)),
            (Some(_), Some((&TAGGED, _))) => Err(plain(place)),
            _ => Err(damaged(place)),
        }
    }
}

impl Place<'_> {
    fn told(&self, problem: &str) -> String {
        format!("{problem}: entry {} of the thread {}", self.seq, self.thread)
    }

    fn bytes(&self) -> Vec<u8> {
        let (seq, parent) = (self.seq.to_be_bytes(), self.parent.to_be_bytes());
        [self.kind.as_str().as_bytes(), &[0], &seq, &parent, self.thread.as_bytes()].concat()
    }
}

fn tag(about: &[u8], body: &[u8]) -> [u8; TAG] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(about.len() as u64).to_be_bytes()).update(about).update(body);
    let mut tag = [0; TAG];
    hasher.finalize_xof().fill(&mut tag);
    tag
}

fn failed() -> Fault {
    Fault::new(Category::State, "store_failed", "an entry could not be encrypted")
        .hint("the operating system gives no random numbers")
}

fn damaged(place: Place<'_>) -> Fault {
    let message = place.told("what was stored is damaged");
    Fault::new(Category::State, "checkpoint_corrupt", message)
        .hint("check the key, or restore the store from a copy")
}

fn locked(place: Place<'_>) -> Fault {
    let message = place.told("what was stored is encrypted");
    Fault::new(Category::State, "checkpoint_encrypted", message)
        .hint("open the store with the key it was written with")
}

fn plain(place: Place<'_>) -> Fault {
    let message = place.told("what was stored is not encrypted");
    Fault::new(Category::State, "checkpoint_plain", message)
        .hint("open the store without a key, or begin a new thread")
}
