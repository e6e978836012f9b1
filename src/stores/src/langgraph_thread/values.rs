//! Versions of values, each stored as pieces that it shares with others.

use std::sync::Arc;

use antiphon_core::Fault;

use crate::codec::corrupt;

/// The index of a version in its [`ValueVersions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ValueVersion(usize);

/// A piece of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VersionPiece {
    /// Bytes of the previous version.
    Base { from: usize, length: usize },
    /// Bytes of the nth value that tasks wrote to the channel.
    Written { nth: usize, from: usize, length: usize },
    /// New bytes.
    New(Vec<u8>),
}

/// The stored form of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VersionDelta {
    /// All its bytes.
    Whole(Vec<u8>),
    /// Its pieces, in order.
    Pieces(Vec<VersionPiece>),
}

/// All versions of a thread.
#[derive(Debug, Default)]
pub(super) struct ValueVersions {
    nodes: Vec<VersionNode>,
    stamps: u64,
}

#[derive(Debug)]
struct VersionNode {
    /// Unique for ever in this thread, also when versions are renumbered.
    stamp: u64,
    length: usize,
    body: VersionBody,
    /// All bytes, while the next version is likely to be compared with them.
    flat: Option<Arc<[u8]>>,
}

#[derive(Debug)]
enum VersionBody {
    Whole(Arc<[u8]>),
    Derived { base: Option<ValueVersion>, parts: Vec<PlacedPiece> },
}

/// A piece and its offset in the version.
#[derive(Debug)]
struct PlacedPiece {
    at: usize,
    source: PieceSource,
}

#[derive(Debug)]
enum PieceSource {
    Base(usize),
    Bytes(Arc<[u8]>, usize),
}

/// A range of bytes that is still to be resolved, and its target offset.
struct ByteRange {
    to: usize,
    from: usize,
    length: usize,
}

impl ValueVersions {
    /// The greatest length of a version: pieces can claim more than there is memory.
    const MOST: usize = 1 << 31;

    /// Adds a version.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if a piece is not within `base` or `written`.
    pub(super) fn add(
        &mut self,
        delta: VersionDelta,
        base: Option<ValueVersion>,
        written: &[Arc<[u8]>],
    ) -> Result<ValueVersion, Fault> {
        let (length, body) = match delta {
            VersionDelta::Whole(bytes) => (bytes.len(), VersionBody::Whole(bytes.into())),
            VersionDelta::Pieces(pieces) => self.derive(pieces, base, written)?,
        };
        self.stamps += 1;
        self.nodes.push(VersionNode { stamp: self.stamps, length, body, flat: None });
        Ok(ValueVersion(self.nodes.len() - 1))
    }

    fn derive(
        &self,
        pieces: Vec<VersionPiece>,
        base: Option<ValueVersion>,
        written: &[Arc<[u8]>],
    ) -> Result<(usize, VersionBody), Fault> {
        let whole = base.map_or(0, |base| self.length(base));
        let (mut at, mut parts) = (0, Vec::with_capacity(pieces.len()));
        for piece in pieces {
            let (source, length) = match piece {
                VersionPiece::Base { from, length } => {
                    (is_within(from, length, whole).then_some(PieceSource::Base(from)), length)
                }
                VersionPiece::Written { nth, from, length } => {
                    let bytes =
                        written.get(nth).filter(|bytes| is_within(from, length, bytes.len()));
                    (bytes.map(|bytes| PieceSource::Bytes(Arc::clone(bytes), from)), length)
                }
                VersionPiece::New(bytes) => {
                    let length = bytes.len();
                    (Some(PieceSource::Bytes(bytes.into(), 0)), length)
                }
            };
            let source = source.ok_or_else(|| corrupt("a piece of a value that is not there"))?;
            parts.push(PlacedPiece { at, source });
            at = at.saturating_add(length);
        }
        if at > Self::MOST {
            return Err(corrupt("a value without an end"));
        }
        Ok((at, VersionBody::Derived { base, parts }))
    }

    /// The length of a version in bytes.
    pub(super) fn length(&self, version: ValueVersion) -> usize {
        self.node(version).map_or(0, |node| node.length)
    }

    /// The stamp of a version: unique in its thread.
    pub(super) fn stamp(&self, version: ValueVersion) -> u64 {
        self.node(version).map_or(0, |node| node.stamp)
    }

    /// Gives a renumbered version the stamp that it had before.
    pub(super) fn restamp(&mut self, version: ValueVersion, stamp: u64) {
        if let Some(node) = self.nodes.get_mut(version.0) {
            node.stamp = stamp;
            self.stamps = self.stamps.max(stamp);
        }
    }

    /// Makes all future stamps greater than those of `other`.
    pub(super) fn stamp_after(&mut self, other: &Self) {
        self.stamps = self.stamps.max(other.stamps);
    }

    /// Keeps all bytes of a version in memory, and drops those of the previous one.
    pub(super) fn cache_bytes(
        &mut self,
        version: ValueVersion,
        before: Option<ValueVersion>,
        bytes: Vec<u8>,
    ) {
        if let Some(node) = before.and_then(|before| self.nodes.get_mut(before.0)) {
            node.flat = None;
        }
        if let Some(node) = self.nodes.get_mut(version.0)
            && let VersionBody::Derived { .. } = node.body
        {
            node.flat = Some(bytes.into());
        }
    }

    /// The version that another one was derived from, and its pieces.
    pub(super) fn origin(
        &self,
        version: ValueVersion,
    ) -> Option<(ValueVersion, Vec<VersionPiece>)> {
        let node = self.node(version)?;
        let VersionBody::Derived { base: Some(base), parts } = &node.body else { return None };
        let ends = parts.iter().skip(1).map(|part| part.at).chain([node.length]);
        let pieces = parts.iter().zip(ends).map(|(part, end)| match &part.source {
            PieceSource::Base(from) => VersionPiece::Base { from: *from, length: end - part.at },
            PieceSource::Bytes(bytes, from) => {
                let bytes = bytes.get(*from..*from + (end - part.at));
                VersionPiece::New(bytes.unwrap_or_default().to_vec())
            }
        });
        Some((*base, pieces.collect()))
    }

    /// All bytes of a version.
    pub(super) fn bytes(&self, version: ValueVersion) -> Arc<[u8]> {
        let Some(node) = self.node(version) else { return Arc::default() };
        match (&node.flat, &node.body) {
            (Some(flat), _) => Arc::clone(flat),
            (None, VersionBody::Whole(bytes)) => Arc::clone(bytes),
            (None, VersionBody::Derived { .. }) => self.assemble(node).into(),
        }
    }

    /// Assembles a version: resolves its ranges in one version after the other, back to one that
    /// has all its bytes.
    fn assemble<'a>(&'a self, mut node: &'a VersionNode) -> Vec<u8> {
        let mut out = vec![0; node.length];
        let mut wanted = vec![ByteRange { to: 0, from: 0, length: node.length }];
        while !wanted.is_empty() {
            if let Some(bytes) = node.whole() {
                for range in &wanted {
                    range.copy(&mut out, bytes, range.from);
                }
                break;
            }
            let VersionBody::Derived { base, parts } = &node.body else { break };
            let mut deeper = Vec::new();
            for range in &wanted {
                range.resolve((parts, node.length), &mut out, &mut deeper);
            }
            wanted = deeper;
            let Some(base) = base.and_then(|base| self.node(base)) else { break };
            node = base;
        }
        out
    }

    fn node(&self, version: ValueVersion) -> Option<&VersionNode> {
        self.nodes.get(version.0)
    }
}

impl VersionNode {
    fn whole(&self) -> Option<&[u8]> {
        match (&self.flat, &self.body) {
            (Some(flat), _) => Some(flat),
            (None, VersionBody::Whole(bytes)) => Some(bytes),
            (None, VersionBody::Derived { .. }) => None,
        }
    }
}

impl ByteRange {
    /// Copies what these parts have, and collects the ranges that the previous version has.
    fn resolve(
        &self,
        (parts, end): (&[PlacedPiece], usize),
        out: &mut [u8],
        deeper: &mut Vec<Self>,
    ) {
        let first = parts.partition_point(|part| part.at <= self.from).saturating_sub(1);
        let (mut from, mut to, mut left) = (self.from, self.to, self.length);
        let mut rest = parts.get(first..).unwrap_or_default().iter().peekable();
        while let Some(part) = rest.next()
            && left > 0
        {
            let part_end = rest.peek().map_or(end, |next| next.at);
            let (skipped, length) = (from - part.at, left.min(part_end.saturating_sub(from)));
            match &part.source {
                PieceSource::Bytes(bytes, start) => {
                    Self { to, from, length }.copy(out, bytes, start + skipped);
                }
                PieceSource::Base(start) => {
                    deeper.push_joined(Self { to, from: start + skipped, length });
                }
            }
            (from, to, left) = (from + length, to + length, left - length);
        }
    }

    fn copy(&self, out: &mut [u8], bytes: &[u8], from: usize) {
        let target = out.get_mut(self.to..self.to + self.length);
        if let (Some(target), Some(bytes)) = (target, bytes.get(from..from + self.length)) {
            target.copy_from_slice(bytes);
        }
    }
}

/// Joins adjacent ranges, which keeps their number small in long chains of versions.
trait JoinRanges {
    fn push_joined(&mut self, range: ByteRange);
}

impl JoinRanges for Vec<ByteRange> {
    fn push_joined(&mut self, range: ByteRange) {
        match self.last_mut() {
            Some(last)
                if last.to + last.length == range.to && last.from + last.length == range.from =>
            {
                last.length += range.length;
            }
            _ => self.push(range),
        }
    }
}

const fn is_within(from: usize, length: usize, whole: usize) -> bool {
    match from.checked_add(length) {
        Some(end) => end <= whole,
        None => false,
    }
}
