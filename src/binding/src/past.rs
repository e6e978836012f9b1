//! What a thread held at its checkpoints, newest first.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::checkpoint::{Change, Commit, Delta, Image, Kept, Memory, Source};
use antiphon_core::effect::{Ending, Question};
use antiphon_core::graph::{Graph, NodeId};
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::EntryKind;
use antiphon_stores::{Codec, Header, Record, Vault, is_checkpoint};

use crate::codec::ObjectCodec;
use crate::object::Object;

/// A checkpoint: the graph between two supersteps, and what has happened since.
pub(crate) struct Shot {
    pub(crate) seq: u64,
    /// The checkpoint before it; 0 for the first.
    pub(crate) parent: u64,
    pub(crate) at: Time,
    pub(crate) source: Source,
    /// The nodes whose writes it merged.
    pub(crate) wrote: Vec<NodeId>,
    pub(crate) image: Image<Object>,
    pub(crate) header: Option<Header>,
    /// What tasks of the next superstep came to before that was merged, by key.
    pub(crate) tasks: BTreeMap<u64, Kept<Object>>,
    /// What was asked last, with the key of who asked, by that of the task of the run's own graph.
    pub(crate) asked: BTreeMap<u64, Vec<(u64, Question<Object>)>>,
    pub(crate) ended: Option<Result<Ending, Fault>>,
}

/// Which checkpoints of a thread are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// From this one back; from the last if none is named.
    pub(crate) from: Option<u64>,
    pub(crate) limit: usize,
}

/// The entries that checkpoints are made of, in parts that begin with a
/// snapshot, newest first.
pub(crate) async fn entries(
    vault: Vault,
    thread: String,
    wanted: Wanted,
) -> Result<Vec<Vec<Record>>, Fault> {
    let mut way = match wanted.from {
        Some(seq) => vault.way_to_checkpoint(&thread, seq).await?,
        None => vault.way_to(&thread, None).await?,
    };
    let (mut parts, mut found) = (Vec::new(), 0);
    loop {
        found += checkpoints(&way);
        let before = way.first().map_or(0, |record| record.parent);
        parts.push(way);
        // One more says what the last that is wanted comes from, and another
        // may be the same as the snapshot that follows it.
        if before == 0 || found > wanted.limit.saturating_add(1) {
            return Ok(parts);
        }
        // Whatever came before a snapshot may have been pruned.
        if vault.store().find(&thread, before).await?.is_none() {
            return Ok(parts);
        }
        way = vault.way_to(&thread, Some(before)).await?;
    }
}

/// The checkpoints that entries add up to, newest first, and what is known at
/// the last entry.
///
/// # Errors
/// Those of reading entries.
pub(crate) fn shots(
    (graph, values): (&Arc<Graph<Object>>, &ObjectCodec),
    parts: &[Vec<Record>],
    limit: usize,
) -> Result<(Vec<Shot>, Memory<Object>), Fault> {
    let most = parts.iter().map(|part| checkpoints(part)).sum::<usize>();
    let skipped = most.saturating_sub(limit.saturating_add(2));
    let mut album = Album {
        graph,
        codec: Codec::new(graph, values),
        memory: Memory::new(graph),
        header: None,
        skipped,
        last: Last::default(),
        shots: Vec::new(),
    };
    for part in parts.iter().rev() {
        for record in part {
            album.add(record)?;
        }
    }
    album.finish();
    let Album { mut shots, memory, .. } = album;
    shots.reverse();
    shots.truncate(limit);
    Ok((shots, memory))
}

struct Album<'a> {
    graph: &'a Arc<Graph<Object>>,
    codec: Codec<'a, Object, ObjectCodec>,
    memory: Memory<Object>,
    header: Option<Header>,
    /// So many checkpoints nobody wants to see.
    skipped: usize,
    last: Last,
    shots: Vec<Shot>,
}

/// The last checkpoint so far, whether it is wanted or not.
#[derive(Default)]
struct Last {
    seq: u64,
    step: u64,
    /// The nodes that were to run next.
    next: Vec<NodeId>,
}

impl Album<'_> {
    fn add(&mut self, record: &Record) -> Result<(), Fault> {
        match record.kind {
            EntryKind::Run => self.header = Some(Header::decode(&record.body)?),
            EntryKind::Snapshot => self.add_snapshot(record)?,
            EntryKind::Step | EntryKind::Part | EntryKind::End => {
                self.add_commit(record, self.codec.decode(&record.body)?)?;
            }
        }
        Ok(())
    }

    /// A snapshot takes the place of the superstep that it repeats.
    fn add_snapshot(&mut self, record: &Record) -> Result<(), Fault> {
        let Last { seq, step, .. } = self.last;
        let repeats = seq != 0 && (seq, step) == (record.parent, record.step);
        if !repeats {
            self.finish();
        }
        self.memory = self.codec.decode_memory(&record.body)?;
        if !repeats {
            self.begin(record, Source::Step);
        } else if let Some(shot) = self.shots.last_mut() {
            shot.seq = record.seq;
        }
        self.last.seq = record.seq;
        Ok(())
    }

    fn add_commit(&mut self, record: &Record, commit: Commit<Object>) -> Result<(), Fault> {
        let source = match &commit.change {
            Change::Step(Delta { source, .. }) if commit.within.is_empty() => Some(*source),
            _ => None,
        };
        if let (Change::Asked(task, question), Some(shot)) = (&commit.change, self.shots.last_mut())
        {
            let key = commit.within.first().map_or(task.key, |level| level.key);
            let asked = shot.asked.entry(key).or_default();
            asked.retain(|(asker, _)| *asker != task.key);
            asked.push((task.key, Question::clone(question)));
        }
        match (source, self.shots.last_mut()) {
            (Some(_), _) => self.finish(),
            // Whoever goes on from a checkpoint is known once it has done something.
            (None, Some(shot)) => shot.header.clone_from(&self.header),
            (None, None) => {}
        }
        self.memory.fold(self.graph, commit)?;
        if let Some(source) = source {
            self.begin(record, source);
        }
        Ok(())
    }

    fn begin(&mut self, record: &Record, source: Source) {
        let next = next(self.graph, &self.memory.root);
        let wrote = match source {
            Source::Step if record.step == self.last.step + 1 => {
                std::mem::take(&mut self.last.next)
            }
            Source::Begin | Source::Turn => vec![NodeId::START],
            // A run that is kept when it rests does not tell of the steps before that.
            Source::Step | Source::Edit => Vec::new(),
        };
        let last = Last { seq: record.seq, step: record.step, next };
        let parent = std::mem::replace(&mut self.last, last).seq;
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        self.shots.push(Shot {
            seq: record.seq,
            parent,
            at: record.at,
            source,
            wrote,
            image: self.memory.root.clone(),
            header: self.header.clone(),
            tasks: BTreeMap::new(),
            asked: BTreeMap::new(),
            ended: None,
        });
    }

    /// Nothing more comes before the next checkpoint.
    fn finish(&mut self) {
        let Some(shot) = self.shots.last_mut().filter(|shot| shot.seq == self.last.seq) else {
            return;
        };
        shot.tasks.clone_from(&self.memory.tasks);
        shot.ended.clone_from(&self.memory.ended);
    }
}

fn checkpoints(records: &[Record]) -> usize {
    records.iter().filter(|record| is_checkpoint(record.kind)).count()
}

/// The nodes that run in the superstep after a checkpoint, in the order of its tasks.
pub(crate) fn next(graph: &Graph<Object>, image: &Image<Object>) -> Vec<NodeId> {
    if let Some(detour) = image.outlook.detour {
        return vec![detour];
    }
    let (ready, sends) = image.outlook.upcoming();
    let mut next = ready.to_vec();
    next.sort_unstable_by_key(|&node| graph.rank(node));
    next.extend(sends.iter().filter_map(|sent| graph.node_id(&sent.node)));
    next
}
