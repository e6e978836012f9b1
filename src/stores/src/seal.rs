//! What protects entries: a tag that shows damage, or a key that keeps them secret.
//!
//! Both follow the body, so that a body is closed and opened where it is. The
//! tag is a checksum (XXH3, 128 bits): it shows what disks and tools do to
//! bytes, and anybody can make one. Against those who forge there is the key.

use antiphon_core::{Category, Fault};
use antiphon_runtime::store::EntryKind;
use chacha20poly1305::aead::{AeadInOut, Generate, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use twox_hash::{XxHash3_64, XxHash3_128};

/// The last byte of a sealed body.
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
    pub fn close(&self, place: Place<'_>, mut body: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let Some(cipher) = &self.cipher else {
            let tag = place.tag(&body);
            body.extend_from_slice(&tag);
            body.push(TAGGED);
            return Ok(body);
        };
        let nonce = XNonce::try_generate().map_err(|_| failed())?;
        cipher.encrypt_in_place(&nonce, &place.bytes(), &mut body).map_err(|_| failed())?;
        body.extend_from_slice(&nonce);
        body.push(ENCRYPTED);
        Ok(body)
    }

    /// Opens a body.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if it was changed or moved, or the key is another;
    /// `checkpoint_encrypted` and `checkpoint_plain` if a key is missing or too much.
    pub fn open(&self, place: Place<'_>, mut sealed: Vec<u8>) -> Result<Vec<u8>, Fault> {
        match (&self.cipher, sealed.pop()) {
            (cipher, Some(TAGGED)) => {
                let tag = split_last::<TAG>(&mut sealed).ok_or_else(|| damaged(place))?;
                match cipher {
                    _ if place.tag(&sealed) != tag => Err(damaged(place)),
                    Some(_) => Err(plain(place)),
                    None => Ok(sealed),
                }
            }
            (Some(cipher), Some(ENCRYPTED)) => {
                let nonce = split_last::<NONCE>(&mut sealed).ok_or_else(|| damaged(place))?;
                let opened = cipher.decrypt_in_place(&nonce.into(), &place.bytes(), &mut sealed);
                opened.map_err(|_| damaged(place)).map(|()| sealed)
            }
            (None, Some(ENCRYPTED)) => Err(locked(place)),
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

    fn tag(&self, body: &[u8]) -> [u8; TAG] {
        let numbers = [self.seq, self.parent].map(u64::to_be_bytes);
        let about = [self.thread.as_bytes(), self.kind.as_str().as_bytes(), numbers.as_flattened()];
        let seed = about.into_iter().fold(0, XxHash3_64::oneshot_with_seed);
        XxHash3_128::oneshot_with_seed(seed, body).to_be_bytes()
    }
}

/// Takes the last bytes off.
fn split_last<const COUNT: usize>(bytes: &mut Vec<u8>) -> Option<[u8; COUNT]> {
    let last = *bytes.last_chunk()?;
    bytes.truncate(bytes.len() - COUNT);
    Some(last)
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
