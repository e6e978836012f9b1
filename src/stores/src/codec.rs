//! The encoding of commits and snapshots.
//!
//! The format is `MessagePack`, and data only: decoding builds values of the types named here
//! and imports or calls nothing. Nodes and channels are stored by name, so that a graph may gain
//! and lose some: values of a channel that is gone are left out, and what was stored about work of
//! a node that is gone is refused where that work is still open.

use antiphon_core::checkpoint::{
    Callee, Commit, CommitChange, GraphSnapshot, PendingWork, RecoveredRun,
};
use antiphon_core::command::{Destination, Route, Update};
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode};

mod calls;
mod change;
mod names;
mod pending_work;
pub(crate) mod reader;
mod reducer;
mod summary;
mod value;
mod writer;

pub use reader::{ByteReader, Item};
pub(crate) use summary::end;
pub use summary::{CommitEvent, CommitSummary, WrittenValue};
pub use value::{JsonCodec, ValueCodec};
pub use writer::{ByteWriter, OpenBlock};

use names::GraphNames;
pub use names::MissingParts;

/// The formats that can be decoded. A commit is encoded in the first format that has its change,
/// so that an older antiphon can read files without newer changes.
const FORMATS: std::ops::RangeInclusive<u64> = FORMAT..=WITH_REDUCERS;
const FORMAT: u64 = 1;
const WITH_CALLS: u64 = 2;
const WITH_SUBRUNS: u64 = 3;
const WITH_LIMITS: u64 = 4;
const WITH_REDUCERS: u64 = 5;

/// Most sealed commits are smaller.
const COMMIT: usize = 512;

/// Encodes and decodes what a run of one graph stores.
#[derive(Clone, Copy, Debug)]
pub struct Codec<'a, V, C> {
    graph: &'a Graph<V>,
    values: &'a C,
}

impl<'a, V: antiphon_core::value::Value, C: ValueCodec<V>> Codec<'a, V, C> {
    /// A codec for runs of `graph`, whose values `values` encodes and decodes.
    pub const fn new(graph: &'a Graph<V>, values: &'a C) -> Self {
        Self { graph, values }
    }

    /// The name of the graph.
    pub(crate) fn graph_name(&self) -> &str {
        self.graph.name()
    }

    /// Encodes a commit.
    ///
    /// # Errors
    /// `value_unstorable` if a value has no stored form; it names the channel.
    pub fn encode(&self, commit: &Commit<V>) -> Result<Vec<u8>, Fault> {
        let mut out = ByteWriter::with_capacity(COMMIT);
        out.array(5);
        out.number(format_of(&commit.change));
        let names = GraphNames::within(self.graph, &commit.within)?;
        out.levels(self.graph, &commit.within);
        out.spent(&commit.spent);
        out.number(commit.events);
        out.change(self.values, &names, &commit.change)?;
        Ok(out.into_bytes())
    }

    /// Decodes a commit of which the graph has all parts. Its id is 0, because it was acknowledged
    /// when it was stored.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the bytes are not a commit, `checkpoint_misfit` if the commit is
    /// of another graph.
    pub fn decode(&self, bytes: &[u8]) -> Result<Commit<V>, Fault> {
        let DecodedCommit { commit, missing: MissingParts { channel, work } } =
            self.decode_present(bytes)?;
        match (commit, channel.or(work)) {
            (Some(commit), None) => Ok(commit),
            (_, fault) => Err(fault.unwrap_or_else(|| corrupt("a commit without a change"))),
        }
    }

    /// Decodes what the graph still has of a commit.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the bytes are not a commit.
    pub fn decode_present(&self, bytes: &[u8]) -> Result<DecodedCommit<V>, Fault> {
        let mut from = ByteReader::new(bytes);
        from.expect_array(5)?;
        from.expect_version()?;
        let within = match from.levels(self.graph) {
            Err(fault) if fault.code == FaultCode::CheckpointMisfit => {
                let missing = MissingParts { work: Some(fault), channel: None };
                return Ok(DecodedCommit { commit: None, missing });
            }
            levels => levels?,
        };
        let names = GraphNames::within(self.graph, &within)?;
        let (spent, events) = (from.spent()?, from.number()?);
        let change = from.change(self.values, &names)?;
        from.expect_end()?;
        let commit = change.map(|change| Commit { id: 0, within, spent, events, change });
        Ok(DecodedCommit { commit, missing: names.into_missing() })
    }

    /// Encodes a snapshot: the state of a run's own graph between two supersteps.
    ///
    /// # Errors
    /// As [`Codec::encode`].
    pub fn encode_memory(&self, memory: &RecoveredRun<V>) -> Result<Vec<u8>, Fault> {
        let names = GraphNames::of(self.graph);
        let mut out = ByteWriter::new();
        out.array(6);
        out.number(format_of_work(&memory.root.pending_work));
        out.spent(&memory.spent);
        out.number(memory.events);
        out.number(memory.root.step);
        out.state(self.values, &names, &memory.root.state)?;
        out.pending_work(self.values, &names, &memory.root.pending_work)?;
        Ok(out.into_bytes())
    }

    /// Decodes what the graph still has of a snapshot.
    ///
    /// # Errors
    /// As [`Codec::decode_present`].
    pub fn decode_memory(&self, bytes: &[u8]) -> Result<(RecoveredRun<V>, MissingParts), Fault> {
        let names = GraphNames::of(self.graph);
        let mut from = ByteReader::new(bytes);
        from.expect_array(6)?;
        from.expect_version()?;
        let (spent, events, step) = (from.spent()?, from.number()?, from.number()?);
        let state = from.state(self.values, &names)?;
        let pending_work = from.pending_work(self.values, &names)?;
        from.expect_end()?;
        let root = GraphSnapshot { state, step, pending_work, ..GraphSnapshot::new(self.graph) };
        let missing = names.into_missing();
        let lost = missing.work.clone();
        Ok((RecoveredRun { spent, events, lost, ..RecoveredRun::at(root) }, missing))
    }
}

/// A commit as far as the graph has its parts.
#[derive(Clone, Debug)]
pub struct DecodedCommit<V> {
    /// None if it is about work of a node that is gone.
    pub commit: Option<Commit<V>>,
    /// What the graph lacks of it.
    pub missing: MissingParts,
}

/// The first format that has the change.
fn format_of<V>(change: &CommitChange<V>) -> u64 {
    match change {
        CommitChange::Subrun(..) => WITH_SUBRUNS,
        CommitChange::Called(_, _, made) if made.call.callee == Callee::Graph => WITH_SUBRUNS,
        CommitChange::Called(..) => WITH_CALLS,
        CommitChange::Step(delta) if reducer::are_named(delta) => WITH_REDUCERS,
        CommitChange::Step(delta) => format_of_work(&delta.pending_work),
        CommitChange::Finished(_, Update { route: Route::Also(to) | Route::Only(to), .. })
            if to
                .iter()
                .any(|to| matches!(to, Destination::Send(send) if send.limit.is_some())) =>
        {
            WITH_LIMITS
        }
        _ => FORMAT,
    }
}

fn format_of_work<V>(work: &PendingWork<V>) -> u64 {
    if work.sends.iter().any(|send| send.limit.is_some()) { WITH_LIMITS } else { FORMAT }
}

/// `checkpoint_corrupt`: the bytes are not what was written.
pub fn corrupt(problem: &str) -> Fault {
    let message = format!("the stored data is damaged: {problem}");
    Fault::new(FaultCode::CheckpointCorrupt, message)
        .hint("restore the store from a backup, or delete the thread")
}

/// `checkpoint_corrupt`: an entry is missing.
pub(crate) fn damaged_chain(thread: &str, seq: u64) -> Fault {
    corrupt(&format!("entry {seq} of the thread {thread} is missing"))
        .with("thread", thread)
        .with("entry", seq)
}

pub(crate) fn version(found: u64) -> Fault {
    let message = format!("the data was stored by a later version of antiphon: format {found}");
    Fault::new(FaultCode::StoreVersion, message).hint("install that version or a later one")
}

fn misfit(what: &str, name: &str) -> Fault {
    let message = format!("the graph no longer has the {what}: {name}");
    Fault::new(FaultCode::CheckpointMisfit, message)
        .with("missing", name)
        .hint("resume with the graph that stored it, or start a new run")
}

/// `value_unstorable`: a value that has no stored form.
pub fn unstorable(channel: &str, problem: &str) -> Fault {
    let (channel, problem) = within(channel, problem).unwrap_or((channel, problem));
    let message = format!("a value of `{channel}` cannot be stored: {problem}");
    Fault::new(FaultCode::ValueUnstorable, message)
        .with("channel", channel)
        .hint("convert it to plain data, or register its type: antiphon.checkpoint.register")
}

/// The keys of a record channel are what its users know, not the channel itself, whose name
/// begins with `__`.
fn within<'a>(channel: &str, problem: &'a str) -> Option<(&'a str, &'a str)> {
    let place = problem.strip_prefix("key `").filter(|_| channel.starts_with("__"))?;
    let (key, rest) = place.split_once('`')?;
    Some((key, rest.trim_start_matches([',', ':', ' '])))
}
