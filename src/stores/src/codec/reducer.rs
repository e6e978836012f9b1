//! The reducers of merged writes. They are stored with the writes, so that a version of the graph
//! with other reducers reads the values that were merged.

use antiphon_core::Fault;
use antiphon_core::channel::{ChannelId, Reducer, WriteOp};
use antiphon_core::checkpoint::SuperstepDelta;
use antiphon_core::graph::Graph;

use super::corrupt;
use super::reader::ByteReader;

/// The kind of a write: `MERGE` is one whose reducer is not known, `MERGED` and above one that
/// names it.
pub(super) const MERGE: u64 = 0;
pub(super) const REPLACE: u64 = 1;
pub(super) const RESET: u64 = 2;
const MERGED: u64 = 3;

/// By number from `MERGED` on; reducers that merge alike have one number. `Upsert` is followed by
/// its key.
static REDUCERS: [Reducer; 10] = [
    Reducer::Set,
    Reducer::Append,
    Reducer::Extend,
    Reducer::Record,
    Reducer::Upsert { key: String::new() },
    Reducer::Put,
    Reducer::Sum,
    Reducer::Max,
    Reducer::Messages,
    Reducer::Foreign(0),
];

/// Whether a superstep has writes that name their reducers.
pub(super) fn are_named<V>(delta: &SuperstepDelta<V>) -> bool {
    let mut writes = delta.merges.iter().flat_map(|merged| &merged.writes);
    writes.any(|write| matches!(write.op, WriteOp::Merge(_)))
}

/// The kind of a write that a reducer has merged, and the key of `Upsert`.
pub(super) fn kind_of(reducer: &Reducer) -> (u64, Option<&str>) {
    let key = match reducer {
        Reducer::Upsert { key } => Some(key.as_str()),
        _ => None,
    };
    let is_same = |known: &Reducer| match known {
        Reducer::Upsert { .. } => key.is_some(),
        known => known.merges_like(reducer),
    };
    let kind = (MERGED..).zip(&REDUCERS).find(|(_, known)| is_same(known));
    (kind.map_or(MERGE, |(kind, _)| kind), key)
}

/// Whether the value is all that the channel holds after the write.
pub(super) const fn is_whole(kind: u64) -> bool {
    matches!(kind, REPLACE | RESET | MERGED)
}

impl ByteReader<'_> {
    /// The reducer of a write of this kind in an array of `length` items; `None` if the kind names
    /// none.
    pub(super) fn reducer(&mut self, kind: u64, length: usize) -> Result<Option<Reducer>, Fault> {
        let place = kind.checked_sub(MERGED).and_then(|place| usize::try_from(place).ok());
        let reducer = match place.map(|place| REDUCERS.get(place)) {
            None => None,
            Some(None) => return Err(corrupt("an unknown kind of write")),
            Some(Some(Reducer::Upsert { .. })) if length == 4 => {
                return Ok(Some(Reducer::Upsert { key: self.text()?.to_owned() }));
            }
            Some(Some(reducer)) => Some(reducer.clone()),
        };
        if length == 3 { Ok(reducer) } else { Err(corrupt("a write of another length")) }
    }
}

/// The reducer of a stored write, if the graph has another one now.
pub(super) fn former<V>(
    graph: &Graph<V>,
    channel: ChannelId,
    stored: Option<Reducer>,
) -> Option<(ChannelId, Reducer)> {
    let declared = &graph.channel(channel)?.merge;
    stored.filter(|stored| !stored.merges_like(declared)).map(|stored| (channel, stored))
}
