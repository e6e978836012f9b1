//! One key: it seals and opens the bodies and the tags of entries.

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::store::EntryTag;
use chacha20poly1305::aead::{AeadInOut, Generate, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use super::{AssociatedData, StoreId};

const ID: usize = 4;
const NONCE: usize = 24;
const MAC: usize = 16;
/// The length of a tag: the id of its key, the nonce, and the MACs of position and body.
const LENGTH: usize = ID + NONCE + MAC + MAC;

/// The nonce that derives keys. It cannot collide with the nonces of entries: the given key
/// is used for nothing else, and entries use the derived keys.
const DERIVING: [u8; NONCE] = *b"antiphon: keys of a seal";

#[derive(Clone)]
pub(super) struct CipherKey {
    /// Identifies the key without revealing it.
    id: [u8; ID],
    /// Encrypts bodies. Positions have their own key, so that one nonce serves both.
    body: XChaCha20Poly1305,
    about: XChaCha20Poly1305,
}

/// The parts of a tag.
#[derive(Clone, Copy)]
pub(super) struct TagParts {
    nonce: [u8; NONCE],
    about: [u8; MAC],
    body: [u8; MAC],
}

/// The key of a tag, before the tag is checked.
pub(super) enum ParsedTag<'a> {
    With(&'a CipherKey, TagParts),
    /// The tag was made without a key.
    Plain,
    /// The tag was made with a key, and there is none.
    Locked,
    Damaged,
}

/// The key that a tag was made with.
pub(super) fn find<'a>(keys: &'a [CipherKey], tag: &EntryTag) -> ParsedTag<'a> {
    let EntryTag::Long(bytes) = tag else { return ParsedTag::Plain };
    if bytes.len() != LENGTH {
        return ParsedTag::Damaged;
    }
    let Some((id, sealed)) = read(bytes) else { return ParsedTag::Damaged };
    match keys.iter().find(|key| key.id == id) {
        Some(key) => ParsedTag::With(key, sealed),
        None if keys.is_empty() => ParsedTag::Locked,
        None => ParsedTag::Damaged,
    }
}

/// Whether a tag has the form of those that are made with a key.
pub(super) fn is_of_a_key(tag: &EntryTag) -> bool {
    tag.as_bytes().len() == LENGTH
}

fn read(bytes: &[u8]) -> Option<([u8; ID], TagParts)> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (nonce, rest) = rest.split_first_chunk()?;
    let (about, rest) = rest.split_first_chunk()?;
    let (body, _) = rest.split_first_chunk()?;
    Some((*id, TagParts { nonce: *nonce, about: *about, body: *body }))
}

impl CipherKey {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let mut derived = [0; 32 + 32 + ID];
        // Encrypting zeros yields a key stream, which reveals nothing about the key.
        let filled = XChaCha20Poly1305::new(key.into()).encrypt_inout_detached(
            &DERIVING.into(),
            &[],
            derived.as_mut_slice().into(),
        );
        debug_assert!(filled.is_ok(), "only what is far longer is refused");
        let (mut body, mut about, mut id) = ([0; 32], [0; 32], [0; ID]);
        let into = body.iter_mut().chain(&mut about).chain(&mut id);
        into.zip(derived).for_each(|(to, from)| *to = from);
        let cipher = |key: [u8; 32]| XChaCha20Poly1305::new(&key.into());
        Self { id, body: cipher(body), about: cipher(about) }
    }

    pub(super) fn close(
        &self,
        (thread, about): (&str, &AssociatedData),
        body: &mut [u8],
    ) -> Result<EntryTag, Fault> {
        let nonce = XNonce::try_generate().map_err(|_| failed())?;
        let mac = self.body.encrypt_inout_detached(&nonce, &[], body.into());
        let mac = mac.map_err(|_| failed())?;
        let bound = [&about[..], &*mac, thread.as_bytes()].concat();
        let bound = self.about.encrypt_inout_detached(&nonce, &bound, (&mut [][..]).into());
        let bound = bound.map_err(|_| failed())?;
        Ok(EntryTag::new(&[&self.id, &*nonce, &*bound, &*mac].concat()))
    }

    /// Decrypts a body; returns whether it is authentic.
    pub(super) fn open(
        &self,
        about: (&str, &AssociatedData),
        sealed: TagParts,
        body: &mut [u8],
    ) -> bool {
        let nonce = sealed.nonce.into();
        self.check(about, sealed)
            && self
                .body
                .decrypt_inout_detached(&nonce, &[], body.into(), &sealed.body.into())
                .is_ok()
    }

    /// Whether the position of an entry is authentic.
    pub(super) fn check(&self, (thread, about): (&str, &AssociatedData), sealed: TagParts) -> bool {
        let bound = [&about[..], &sealed.body, thread.as_bytes()].concat();
        let (nonce, mac) = (sealed.nonce.into(), sealed.about.into());
        self.about.decrypt_inout_detached(&nonce, &bound, (&mut [][..]).into(), &mac).is_ok()
    }
}

/// A random id that cannot be predicted.
pub(super) fn random_id() -> Result<StoreId, Fault> {
    let random = XNonce::try_generate().map_err(|_| failed())?;
    let mut id = StoreId::default();
    for (number, bytes) in id.iter_mut().zip(random.as_chunks().0) {
        *number = u64::from_be_bytes(*bytes);
    }
    Ok(id)
}

fn failed() -> Fault {
    Fault::new(FaultCode::StoreFailed, "an entry could not be encrypted")
        .hint("the operating system provides no random numbers")
}
