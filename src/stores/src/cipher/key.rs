//! One key, and what it makes: the bodies and the tags of entries.

use antiphon_core::{Category, Fault};
use antiphon_runtime::store::EntryTag;
use chacha20poly1305::aead::{AeadInOut, Generate, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use super::{AssociatedData, StoreId};

const ID: usize = 4;
const NONCE: usize = 24;
const MAC: usize = 16;
/// The length of a tag: which key it is of, what both parts are made with, and these.
const LENGTH: usize = ID + NONCE + MAC + MAC;

/// Told apart from the nonces of entries by what it is for alone: those are random.
const DERIVING: [u8; NONCE] = *b"antiphon: keys of a seal";

#[derive(Clone)]
pub(super) struct CipherKey {
    /// Tells it from others, and nothing of it.
    id: [u8; ID],
    /// For bodies, and for what is told of them: the same nonce serves both.
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

/// What can be said of a tag before it is checked.
pub(super) enum ParsedTag<'a> {
    With(&'a CipherKey, TagParts),
    /// It is of no key.
    Plain,
    /// It is of some key, and there is none.
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

/// Whether a tag has the form of one that was made with some key.
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
        // What encrypts nothing is a stream that tells nothing of the key.
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
        let told = [&about[..], &*mac, thread.as_bytes()].concat();
        let told = self.about.encrypt_inout_detached(&nonce, &told, (&mut [][..]).into());
        let told = told.map_err(|_| failed())?;
        Ok(EntryTag::new(&[&self.id, &*nonce, &*told, &*mac].concat()))
    }

    /// Whether a body is what it was; then it is plain.
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

    /// Whether what is told of it is what it was.
    pub(super) fn check(&self, (thread, about): (&str, &AssociatedData), sealed: TagParts) -> bool {
        let told = [&about[..], &sealed.body, thread.as_bytes()].concat();
        let (nonce, mac) = (sealed.nonce.into(), sealed.about.into());
        self.about.decrypt_inout_detached(&nonce, &told, (&mut [][..]).into(), &mac).is_ok()
    }
}

/// An id that nobody can foresee.
pub(super) fn random_id() -> Result<StoreId, Fault> {
    let random = XNonce::try_generate().map_err(|_| failed())?;
    let mut id = StoreId::default();
    for (number, bytes) in id.iter_mut().zip(random.as_chunks().0) {
        *number = u64::from_be_bytes(*bytes);
    }
    Ok(id)
}

fn failed() -> Fault {
    Fault::new(Category::State, "store_failed", "an entry could not be encrypted")
        .hint("the operating system gives no random numbers")
}
