//! Finds the bytes that a value shares with stored ones.

use std::sync::Arc;

use super::values::VersionPiece;

/// The stored bytes that a value may share: a part of its previous version, and values that
/// tasks wrote.
pub(super) struct KnownBytes<'a> {
    /// The part of the previous version.
    pub(super) base: &'a [u8],
    /// The offset of `base` in the previous version.
    pub(super) from: usize,
    /// Values that tasks have written.
    pub(super) written: &'a [Arc<[u8]>],
}

/// The lengths of the common prefix and the common suffix.
pub(super) fn shared(old: &[u8], new: &[u8]) -> (usize, usize) {
    let blocks = old.chunks_exact(BLOCK).zip(new.chunks_exact(BLOCK));
    let sure = blocks.take_while(|(old, new)| old == new).count() * BLOCK;
    let rest = old.iter().skip(sure).zip(new.iter().skip(sure));
    let head = sure + rest.take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - head;
    let blocks = old.rchunks_exact(BLOCK).zip(new.rchunks_exact(BLOCK)).take(most / BLOCK);
    let sure = blocks.take_while(|(old, new)| old == new).count() * BLOCK;
    let rest = old.iter().rev().skip(sure).zip(new.iter().rev().skip(sure)).take(most - sure);
    (head, sure + rest.take_while(|(old, new)| old == new).count())
}

/// The number of bytes that are compared at once.
const BLOCK: usize = 64;

/// Splits bytes into pieces that are known and new ones.
pub(super) fn pieces(known: &KnownBytes<'_>, new: &[u8]) -> Vec<VersionPiece> {
    let buffer = SearchBuffer::of(known);
    if new.is_empty() || buffer.bytes.is_empty() {
        return if new.is_empty() { Vec::new() } else { vec![VersionPiece::New(new.to_vec())] };
    }
    let index = KeyIndex::of(&buffer.bytes);
    let (mut found, mut done, mut at) = (Vec::new(), 0, 0);
    while at + index.key <= new.len() {
        let Some(run) =
            index.find(new, at).and_then(|place| buffer.longest_match(place, new, (done, at)))
        else {
            at += 1;
            continue;
        };
        let begins = at - run.before;
        push_new(&mut found, new.get(done..begins));
        found.push(buffer.piece(run.from, run.length));
        done = begins + run.length;
        at = done;
    }
    push_new(&mut found, new.get(done..));
    found
}

fn push_new(found: &mut Vec<VersionPiece>, bytes: Option<&[u8]>) {
    if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
        found.push(VersionPiece::New(bytes.to_vec()));
    }
}

/// All known bytes, concatenated.
struct SearchBuffer {
    bytes: Vec<u8>,
    /// The end of each part.
    parts: Vec<(usize, BufferPart)>,
}

#[derive(Clone, Copy)]
enum BufferPart {
    Base(usize),
    Written(usize),
}

/// A common substring.
struct MatchedBytes {
    from: usize,
    length: usize,
    /// How many of its bytes lie before the position where it was found.
    before: usize,
}

impl SearchBuffer {
    fn of(known: &KnownBytes<'_>) -> Self {
        let (mut bytes, mut parts) = (known.base.to_vec(), Vec::new());
        parts.push((bytes.len(), BufferPart::Base(known.from)));
        for (nth, written) in known.written.iter().enumerate() {
            bytes.extend_from_slice(written);
            parts.push((bytes.len(), BufferPart::Written(nth)));
        }
        Self { bytes, parts }
    }

    /// The longest common substring through a position, within one part.
    fn longest_match(
        &self,
        place: usize,
        new: &[u8],
        (done, at): (usize, usize),
    ) -> Option<MatchedBytes> {
        let (start, end, _) = self.part(place);
        let ahead = self.bytes.get(place..end)?.iter().zip(new.get(at..)?);
        let after = ahead.take_while(|(old, new)| old == new).count();
        let behind =
            self.bytes.get(start..place)?.iter().rev().zip(new.get(done..at)?.iter().rev());
        let before = behind.take_while(|(old, new)| old == new).count();
        Some(MatchedBytes { from: place - before, length: before + after, before })
    }

    fn piece(&self, from: usize, length: usize) -> VersionPiece {
        match self.part(from) {
            (start, _, BufferPart::Base(first)) => {
                VersionPiece::Base { from: first + from - start, length }
            }
            (start, _, BufferPart::Written(nth)) => {
                VersionPiece::Written { nth, from: from - start, length }
            }
        }
    }

    fn part(&self, place: usize) -> (usize, usize, BufferPart) {
        let index = self.parts.partition_point(|(end, _)| *end <= place);
        let start = index.checked_sub(1).and_then(|index| self.parts.get(index));
        let start = start.map_or(0, |(end, _)| *end);
        let here = self.parts.get(index).copied();
        let (end, part) = here.unwrap_or((self.bytes.len(), BufferPart::Base(0)));
        (start, end, part)
    }
}

/// An index of the known bytes by hashes of short keys.
struct KeyIndex<'a> {
    buffer: &'a [u8],
    /// Positions, counted from 1, by the hash of the key there.
    table: Vec<u32>,
    key: usize,
}

impl<'a> KeyIndex<'a> {
    /// In small buffers every position is indexed, by a shorter key.
    const SMALL: usize = 4096;

    fn of(buffer: &'a [u8]) -> Self {
        let (key, stride) = if buffer.len() <= Self::SMALL { (8, 1) } else { (16, 16) };
        let places = buffer.len() / stride + 1;
        let mut index = Self { buffer, table: vec![0; (places * 2).next_power_of_two()], key };
        for place in (0..(buffer.len() + 1).saturating_sub(key)).step_by(stride) {
            let Ok(number) = u32::try_from(place + 1) else { break };
            if let Some(slot) = index.slot(buffer, place).and_then(|slot| index.table.get_mut(slot))
            {
                *slot = number;
            }
        }
        index
    }

    fn find(&self, new: &[u8], at: usize) -> Option<usize> {
        let number = *self.table.get(self.slot(new, at)?)?;
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        let is_same = self.buffer.get(place..place + self.key)? == new.get(at..at + self.key)?;
        is_same.then_some(place)
    }

    fn slot(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let (first, rest) = bytes.get(at..)?.split_first_chunk()?;
        let mut hash = u64::from_le_bytes(*first).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.key > 8 {
            let second = u64::from_le_bytes(*rest.first_chunk()?);
            hash = (hash ^ second).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        }
        let bits = self.table.len().trailing_zeros();
        usize::try_from(hash.checked_shr(64 - bits).unwrap_or_default()).ok()
    }
}
