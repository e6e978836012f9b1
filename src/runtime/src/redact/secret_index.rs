//! The known secrets, by their first bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::MASK;

/// The bytes by which secrets are found; none is shorter.
const START: usize = super::SHORTEST;
/// A beginning of a secret with so many bytes is masked as the secret is.
const PIECE: usize = 16;

/// Finds secrets in one pass over a text, however many there are. It has no `Debug`, which would
/// print them.
pub(super) struct SecretIndex {
    by_start: BTreeMap<[u8; START], Vec<Box<str>>>,
    /// Whether a secret begins with this byte: passes over most of a text.
    is_first: [bool; 256],
}

impl SecretIndex {
    pub(super) const fn new() -> Self {
        Self { by_start: BTreeMap::new(), is_first: [false; 256] }
    }

    pub(super) fn insert(&mut self, secret: String) {
        let bytes = secret.as_bytes();
        let (Some(start), Some(first)) = (bytes.first_chunk(), bytes.first()) else { return };
        if let Some(is_first) = self.is_first.get_mut(usize::from(*first)) {
            *is_first = true;
        }
        let known = self.by_start.entry(*start).or_default();
        if !known.iter().any(|other| **other == secret) {
            known.push(secret.into());
        }
    }

    /// `text` without secrets, and the position up to which it was read. If the text `is_complete`,
    /// that is its end; otherwise it stops before what the next piece may complete to a secret.
    pub(super) fn clean<'t>(&self, text: &'t str, is_complete: bool) -> (Cow<'t, str>, usize) {
        let mut cleaned = String::new();
        let (mut at, mut copied) = (0, 0);
        let slice = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        while let Some((rest, first)) =
            text.as_bytes().get(at..).and_then(|r| Some((r, r.first()?)))
        {
            if !self.is_first.get(usize::from(*first)).is_some_and(|known| *known) {
                at += 1;
                continue;
            }
            if !is_complete && self.is_prefix(rest) {
                break;
            }
            let Some(length) = self.length_of_secret(rest) else {
                at += 1;
                continue;
            };
            cleaned.push_str(slice(copied, at));
            cleaned.push_str(MASK);
            at = text.ceil_char_boundary(at + length);
            copied = at;
        }
        if copied == 0 {
            return (Cow::Borrowed(slice(0, at)), at);
        }
        cleaned.push_str(slice(copied, at));
        (Cow::Owned(cleaned), at)
    }

    /// Masks secrets without moving what follows; returns whether there were any.
    pub(super) fn mask(&self, bytes: &mut [u8]) -> bool {
        let mut found = false;
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..)
            && let Some(first) = rest.first()
        {
            let is_first = self.is_first.get(usize::from(*first)).is_some_and(|known| *known);
            let length = is_first.then(|| self.length_of_secret(rest)).flatten();
            // A beginning may end within a character.
            let within = |length: &usize| rest.get(*length).is_some_and(|byte| byte >> 6 == 0b10);
            let length =
                length.and_then(|least| (least..=rest.len()).find(|length| !within(length)));
            if let Some(secret) = length.and_then(|length| rest.get_mut(..length)) {
                secret.fill(b'*');
                found = true;
            }
            at += length.unwrap_or(1);
        }
        found
    }

    /// The bytes of the secret, or of the beginning of one, that `text` begins with.
    fn length_of_secret(&self, text: &[u8]) -> Option<usize> {
        let known = self.by_start.get(text.first_chunk::<START>()?)?;
        let found = known.iter().filter_map(|secret| {
            let pairs = secret.bytes().zip(text).take_while(|(left, right)| left == *right);
            Some(pairs.count()).filter(|shared| *shared >= secret.len().min(PIECE))
        });
        found.max()
    }

    /// Whether all of `text` is the beginning of a longer secret.
    fn is_prefix(&self, text: &[u8]) -> bool {
        let mut start = [0; START];
        let shared = text.len().min(START);
        start.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        // Secrets with the same beginning are neighbours.
        let neighbours = self.by_start.range(start..);
        let mut alike = neighbours
            .take_while(|(other, _)| other.iter().zip(text).take(shared).all(|(a, b)| a == b))
            .flat_map(|(_, secrets)| secrets);
        alike.any(|secret| secret.len() > text.len() && secret.as_bytes().starts_with(text))
    }
}
