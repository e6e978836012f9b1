//! Differences between checkpoints.

use std::sync::Arc;

use antiphon_core::Fault;

use super::diff::{KnownBytes, pieces, shared};
use super::values::{ValueVersion, ValueVersions, VersionDelta, VersionPiece};
use super::wire::CheckpointDiff;
use super::{CheckpointRecord, LangGraphThread, NewCheckpoint, ValueChange};
use crate::codec::corrupt;

/// All bytes of a value that is stored in pieces; the head has no name.
pub(super) type FlatValue = (Option<String>, Vec<u8>);

/// The difference of a value, if it has changed, and all its bytes, if they are known.
type EncodedChange = Option<(VersionDelta, Option<Vec<u8>>)>;

impl LangGraphThread {
    pub(super) fn difference(
        &self,
        new: NewCheckpoint,
        base: Option<String>,
    ) -> Result<(CheckpointDiff, Vec<FlatValue>), Fault> {
        let NewCheckpoint { space, id, parent, run, head, values, .. } = new;
        let record = self.record(&space, base.as_deref());
        let names: Vec<_> = values.iter().map(|(name, _)| name.clone()).collect();
        let (head, flat) =
            self.values.head_difference(head, record.as_ref().map(|record| record.head))?;
        let mut flats: Vec<FlatValue> = flat.into_iter().map(|flat| (None, flat)).collect();
        let mut changed = Vec::new();
        for (name, change) in values {
            let before =
                record.as_ref().and_then(|record| record.values.get(name.as_str())).copied();
            let written = self.written(&space, base.as_deref(), &name);
            if let Some((delta, flat)) = self.values.difference(change, before, &written)? {
                flats.extend(flat.map(|flat| (Some(name.clone()), flat)));
                changed.push((name, delta));
            }
        }
        let had = record.iter().flat_map(|record| record.values.keys());
        let gone = had.filter(|name| !names.iter().any(|known| **known == ***name));
        let gone = gone.map(ToString::to_string).collect();
        Ok((CheckpointDiff { space, id, parent, run, base, head, changed, gone }, flats))
    }
}

impl ValueVersions {
    fn head_difference(
        &self,
        head: Vec<u8>,
        before: Option<ValueVersion>,
    ) -> Result<(VersionDelta, Option<Vec<u8>>), Fault> {
        let difference = self.difference(ValueChange::Whole(head), before, &[])?;
        let length = before.map_or(0, |before| self.length(before));
        Ok(difference.unwrap_or_else(|| {
            (VersionDelta::Pieces(vec![VersionPiece::Base { from: 0, length }]), None)
        }))
    }

    fn difference(
        &self,
        change: ValueChange,
        before: Option<ValueVersion>,
        written: &[Arc<[u8]>],
    ) -> Result<EncodedChange, Fault> {
        match (change, before) {
            (ValueChange::Same, Some(_)) => Ok(None),
            (ValueChange::Spliced { head, middle, tail }, Some(before)) => {
                let delta = self.splice(before, (head, &middle, tail), written)?;
                Ok(Some((VersionDelta::Pieces(delta), None)))
            }
            (ValueChange::Whole(bytes), Some(before)) => self.compare(before, bytes, written),
            (ValueChange::Whole(bytes), None) => Ok(Some(new_difference(bytes, written))),
            (_, None) => Err(corrupt("the base of a value is missing")),
        }
    }

    fn compare(
        &self,
        before: ValueVersion,
        bytes: Vec<u8>,
        written: &[Arc<[u8]>],
    ) -> Result<EncodedChange, Fault> {
        let old = self.bytes(before);
        let (head, tail) = shared(&old, &bytes);
        if head == bytes.len() && head == old.len() {
            return Ok(None);
        }
        let middle = bytes.get(head..bytes.len() - tail).unwrap_or_default();
        let delta = self.splice(before, (head, middle, tail), written)?;
        Ok(Some(smaller_form(delta, bytes)))
    }

    fn splice(
        &self,
        before: ValueVersion,
        (head, middle, tail): (usize, &[u8], usize),
        written: &[Arc<[u8]>],
    ) -> Result<Vec<VersionPiece>, Fault> {
        let length = self.length(before);
        let Some(left) = length.checked_sub(head).and_then(|left| left.checked_sub(tail)) else {
            return Err(corrupt("a value shares more bytes than its base has"));
        };
        // Only bytes that were replaced can be found again in the middle; often there are none,
        // and the old value need not be assembled.
        let old = if left == 0 || middle.is_empty() { Arc::default() } else { self.bytes(before) };
        let base = old.get(head..head + left).unwrap_or_default();
        let between = pieces(&KnownBytes { base, from: head, written }, middle);
        let first = (head > 0).then_some(VersionPiece::Base { from: 0, length: head });
        let last = (tail > 0).then_some(VersionPiece::Base { from: length - tail, length: tail });
        Ok(first.into_iter().chain(between).chain(last).collect())
    }

    /// Keeps all bytes of these values in memory, because the next checkpoint is compared with
    /// them.
    pub(super) fn cache_all(
        &mut self,
        flats: Vec<FlatValue>,
        record: &CheckpointRecord,
        before: Option<&CheckpointRecord>,
    ) {
        for (name, bytes) in flats {
            let of = |record: &CheckpointRecord| match &name {
                Some(name) => record.values.get(name.as_str()).copied(),
                None => Some(record.head),
            };
            if let Some(version) = of(record) {
                self.cache_bytes(version, before.and_then(of), bytes);
            }
        }
    }
}

fn new_difference(bytes: Vec<u8>, written: &[Arc<[u8]>]) -> (VersionDelta, Option<Vec<u8>>) {
    if written.is_empty() {
        return (VersionDelta::Whole(bytes), None);
    }
    smaller_form(pieces(&KnownBytes { base: &[], from: 0, written }, &bytes), bytes)
}

/// Pieces, unless the whole value is smaller.
fn smaller_form(pieces: Vec<VersionPiece>, bytes: Vec<u8>) -> (VersionDelta, Option<Vec<u8>>) {
    /// The size of a piece beside its bytes.
    const PIECE: usize = 6;
    let size = |piece: &VersionPiece| match piece {
        VersionPiece::New(bytes) => PIECE + bytes.len(),
        VersionPiece::Base { .. } | VersionPiece::Written { .. } => PIECE,
    };
    if pieces.iter().map(size).sum::<usize>() < bytes.len() {
        (VersionDelta::Pieces(pieces), Some(bytes))
    } else {
        (VersionDelta::Whole(bytes), None)
    }
}
