//! The past checkpoints of a thread, newest first, in pages.
//!
//! Entries are deltas: a checkpoint is a snapshot and the fold of all entries since. Reading
//! backwards would therefore fold the same entries again and again. Instead a page is found by
//! bisection: the entries since the snapshot are folded to their middle, the state there is put
//! aside for the older half, and the newer half is divided in turn. This keeps O(log n) states
//! and folds each entry O(log n) times, however long the thread is.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::checkpoint::{
    Commit, CommitChange, GraphSnapshot, RecoveredRun, SuperstepDelta, TaskSnapshot, WriteSource,
};
use antiphon_core::effect::{Ending, Question};
use antiphon_core::graph::{Graph, NodeId};
use antiphon_core::value::Value;
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::EntryKind;

use crate::codec::{Codec, DecodedCommit, MissingParts, ValueCodec};
use crate::run_header::RunHeader;
use crate::sealed_store::{OpenedEntry, SealedStore};

mod view;

pub use view::TaskView;

/// A checkpoint: the graph between two supersteps, and the commits since.
#[derive(Clone, Debug)]
pub struct CheckpointView<V> {
    /// Its sequence number.
    pub seq: u64,
    /// The sequence number of the previous checkpoint; 0 for the first.
    pub parent: u64,
    /// When it was written.
    pub at: Time,
    /// What led to it.
    pub source: WriteSource,
    /// The nodes whose writes it merged.
    pub wrote: Vec<NodeId>,
    /// State and pending work.
    pub graph_snapshot: GraphSnapshot<V>,
    /// The run that continued from it, or led to it.
    pub header: Option<RunHeader>,
    /// The outcomes of tasks of the next superstep before that was merged, by key.
    pub tasks: BTreeMap<u64, TaskSnapshot<V>>,
    /// The last questions: the key of the asking task and the question, by the key of the task
    /// of the run's own graph.
    pub asked: BTreeMap<u64, Vec<(u64, Question<V>)>>,
    /// How the run ended there, if it did.
    pub ended: Option<Result<Ending, Fault>>,
}

/// A page of checkpoints, newest first.
#[derive(Clone, Debug)]
pub struct HistoryPage<V> {
    /// The checkpoints.
    pub checkpoints: Vec<CheckpointView<V>>,
    /// The run as of the last entry that was read; only on the first page.
    pub tip: Option<RecoveredRun<V>>,
}

/// Reads a thread backwards.
///
/// Call [`HistoryReader::load`], then [`HistoryReader::page`] until it returns `None`, and
/// repeat; [`HistoryReader::is_finished`] tells when to stop.
pub struct HistoryReader<V> {
    sealed_store: SealedStore,
    thread: String,
    /// Where the next older part ends.
    older: OlderPosition,
    /// A part that was read and is not yet decoded.
    loaded: Option<Vec<OpenedEntry>>,
    /// The commits after the last checkpoint of the next older part.
    carried: Vec<HistoryEntry<V>>,
    /// The segments of the current part that are left, newest last.
    segments: Vec<Segment<V>>,
    is_first: bool,
}

#[derive(Clone, Copy)]
enum OlderPosition {
    Tip,
    Checkpoint(u64),
    Entry(u64),
    Nothing,
}

impl<V: Value> HistoryReader<V> {
    /// The most checkpoints of a page.
    pub const PAGE: usize = 16;

    /// The history of a thread back from the checkpoint `from`, with what happened until the
    /// next one; or from its tip.
    pub fn new(sealed_store: SealedStore, thread: &str, from: Option<u64>) -> Self {
        let older = from.map_or(OlderPosition::Tip, OlderPosition::Checkpoint);
        let (loaded, carried, segments) = (None, Vec::new(), Vec::new());
        let thread = thread.to_owned();
        Self { sealed_store, thread, older, loaded, carried, segments, is_first: true }
    }

    /// Whether there are no more checkpoints.
    pub fn is_finished(&self) -> bool {
        let is_empty = self.loaded.is_none() && self.segments.is_empty();
        is_empty && matches!(self.older, OlderPosition::Nothing)
    }

    /// Reads the next older part of the thread, unless the current one has pages left.
    ///
    /// # Errors
    /// Those of [`SealedStore::way_to`] and [`SealedStore::way_to_checkpoint`].
    pub async fn load(&mut self) -> Result<(), Fault> {
        if self.loaded.is_some() || !self.segments.is_empty() {
            return Ok(());
        }
        let Self { sealed_store, thread, .. } = self;
        let way = match self.older {
            OlderPosition::Tip => sealed_store.way_to(thread, None).await?,
            OlderPosition::Checkpoint(seq) => {
                let mut way = sealed_store.way_to_checkpoint(thread, seq).await?;
                way.append(&mut sealed_store.superstep_after(thread, seq).await?);
                way
            }
            // The thread may be pruned or deleted while it is read.
            OlderPosition::Entry(seq) => {
                sealed_store.way_if_present(thread, seq, |_| true).await?.unwrap_or_default()
            }
            OlderPosition::Nothing => return Ok(()),
        };
        self.older = match way.first().map_or(0, |first| first.parent) {
            0 => OlderPosition::Nothing,
            // What precedes a snapshot may have been pruned.
            before if sealed_store.store().find(thread, before).await?.is_none() => {
                OlderPosition::Nothing
            }
            before => OlderPosition::Entry(before),
        };
        self.loaded = (!way.is_empty()).then_some(way);
        Ok(())
    }

    /// The next checkpoints, at most `limit` and at most [`HistoryReader::PAGE`]; `None` if
    /// another part must be loaded first, or none is left.
    ///
    /// # Errors
    /// `checkpoint_corrupt` or `checkpoint_misfit` if entries cannot be decoded.
    pub fn page(
        &mut self,
        graph: &Arc<Graph<V>>,
        values: &impl ValueCodec<V>,
        most: usize,
    ) -> Result<Option<HistoryPage<V>>, Fault> {
        if let Some(part) = self.loaded.take() {
            self.divide(graph, decode(&Codec::new(graph, values), part)?)?;
        }
        let most = most.clamp(1, Self::PAGE);
        while let Some(segment) = self.segments.pop() {
            if segment.views() <= most {
                let (checkpoints, tip) = segment.read(graph)?;
                let tip = Some(tip).filter(|_| std::mem::take(&mut self.is_first));
                return Ok(Some(HistoryPage { checkpoints, tip }));
            }
            let (older, newer) = segment.halve(graph)?;
            self.segments.extend([older, newer]);
        }
        Ok(None)
    }

    /// The part as one segment. If it begins with a snapshot that repeats the superstep before
    /// it, that checkpoint belongs to the next older part, and its commits wait there.
    fn divide(
        &mut self,
        graph: &Arc<Graph<V>>,
        mut steps: Vec<HistoryEntry<V>>,
    ) -> Result<(), Fault> {
        steps.append(&mut self.carried);
        mark_views(&mut steps);
        let mut start = EntryFold::new(graph);
        if matches!(self.older, OlderPosition::Entry(_)) {
            let later = steps.iter().skip(1).position(|step| step.begins_view);
            let rest = steps.split_off(later.map_or(steps.len(), |place| place + 1));
            for step in &steps {
                start.add(graph, step)?;
            }
            self.carried = steps;
            steps = rest;
        }
        let segment = Segment { steps, start };
        // If the tip belongs to the next older part, it is reported with that.
        if segment.views() > 0 {
            self.segments.push(segment);
        }
        Ok(())
    }
}

/// A decoded entry. States that are folded from it share its values.
struct HistoryEntry<V> {
    seq: u64,
    parent: u64,
    step: u64,
    at: Time,
    /// Whether a checkpoint begins here; a snapshot may repeat the superstep before it.
    begins_view: bool,
    body: EntryBody<V>,
}

enum EntryBody<V> {
    Header(RunHeader),
    Snapshot(Box<RecoveredRun<V>>),
    Commit(Box<Commit<V>>),
    /// A commit about work of a node that the graph no longer has.
    Gone,
}

fn mark_views<V>(steps: &mut [HistoryEntry<V>]) {
    let mut last = None;
    for step in steps {
        let is_repeated = last == Some((step.parent, step.step));
        step.begins_view = match &step.body {
            EntryBody::Snapshot(_) => !is_repeated,
            EntryBody::Commit(commit) => checkpoint_source(commit).is_some(),
            EntryBody::Header(_) | EntryBody::Gone => false,
        };
        if step.begins_view || matches!(step.body, EntryBody::Snapshot(_)) {
            last = Some((step.seq, step.step));
        }
    }
}

/// What led to a checkpoint, if the commit is one: a superstep of the run's own graph.
fn checkpoint_source<V>(commit: &Commit<V>) -> Option<WriteSource> {
    match &commit.change {
        CommitChange::Step(SuperstepDelta { source, .. }) if commit.within.is_empty() => {
            Some(*source)
        }
        _ => None,
    }
}

fn decode<V: Value, C: ValueCodec<V>>(
    codec: &Codec<'_, V, C>,
    part: Vec<OpenedEntry>,
) -> Result<Vec<HistoryEntry<V>>, Fault> {
    let mut run: Option<RunHeader> = None;
    let step = |record: OpenedEntry| {
        let OpenedEntry { seq, parent, kind, step, at, body } = record;
        let body = decode_body(codec, kind, &body).and_then(|(body, missing)| match &run {
            Some(header) => header.refuse_other(missing, codec.graph_name()).map(|()| body),
            None => Ok(body),
        });
        let body = body.map_err(|fault| match &run {
            Some(header) => header.name_graph(fault, codec.graph_name()),
            None => fault,
        })?;
        if let EntryBody::Header(header) = &body {
            run = Some(header.clone());
        }
        Ok(HistoryEntry { seq, parent, step, at, begins_view: false, body })
    };
    part.into_iter().map(step).collect()
}

fn decode_body<V: Value, C: ValueCodec<V>>(
    codec: &Codec<'_, V, C>,
    kind: EntryKind,
    body: &[u8],
) -> Result<(EntryBody<V>, MissingParts), Fault> {
    Ok(match kind {
        EntryKind::Run => (EntryBody::Header(RunHeader::decode(body)?), MissingParts::default()),
        EntryKind::Snapshot => {
            let (memory, missing) = codec.decode_memory(body)?;
            (EntryBody::Snapshot(Box::new(memory)), missing)
        }
        EntryKind::Step | EntryKind::Part | EntryKind::End => {
            let DecodedCommit { commit, missing } = codec.decode_present(body)?;
            (commit.map_or(EntryBody::Gone, |commit| EntryBody::Commit(Box::new(commit))), missing)
        }
    })
}

/// Entries that begin with a checkpoint, and the fold of those before them.
struct Segment<V> {
    steps: Vec<HistoryEntry<V>>,
    start: EntryFold<V>,
}

impl<V: Value> Segment<V> {
    fn views(&self) -> usize {
        self.steps.iter().filter(|step| step.begins_view).count()
    }

    /// Its checkpoints, newest first, and the run at its end.
    fn read(
        self,
        graph: &Arc<Graph<V>>,
    ) -> Result<(Vec<CheckpointView<V>>, RecoveredRun<V>), Fault> {
        let mut fold = EntryFold { views: Some(Vec::new()), ..self.start };
        for step in &self.steps {
            fold.add(graph, step)?;
        }
        fold.finish();
        let mut views = fold.views.unwrap_or_default();
        views.reverse();
        Ok((views, fold.memory))
    }

    /// The older and the newer half.
    fn halve(self, graph: &Arc<Graph<V>>) -> Result<(Self, Self), Fault> {
        let Self { mut steps, start } = self;
        let begins = |(place, step): (usize, &HistoryEntry<V>)| step.begins_view.then_some(place);
        let cuts: Vec<usize> = steps.iter().enumerate().filter_map(begins).collect();
        let middle = cuts.get(cuts.len() / 2).copied().unwrap_or(steps.len());
        let newer = steps.split_off(middle);
        let mut fold = start.clone();
        for step in &steps {
            fold.add(graph, step)?;
        }
        Ok((Self { steps, start }, Self { steps: newer, start: fold }))
    }
}

/// The fold of entries.
#[derive(Clone)]
struct EntryFold<V> {
    memory: RecoveredRun<V>,
    header: Option<RunHeader>,
    last: LastCheckpoint,
    /// The checkpoints so far, if they are collected.
    views: Option<Vec<CheckpointView<V>>>,
}

/// The last checkpoint so far, also if none are collected.
#[derive(Clone, Default)]
struct LastCheckpoint {
    seq: u64,
    step: u64,
    /// The nodes that were pending.
    next: Vec<NodeId>,
}

impl<V: Value> EntryFold<V> {
    fn new(graph: &Graph<V>) -> Self {
        let last = LastCheckpoint::default();
        Self { memory: RecoveredRun::new(graph), header: None, last, views: None }
    }

    fn add(&mut self, graph: &Arc<Graph<V>>, step: &HistoryEntry<V>) -> Result<(), Fault> {
        if step.begins_view {
            self.finish();
        }
        match &step.body {
            EntryBody::Header(header) => self.header = Some(header.clone()),
            EntryBody::Snapshot(memory) => {
                self.memory = RecoveredRun::clone(memory);
                if step.begins_view {
                    self.begin(graph, step, WriteSource::Step);
                } else if let Some(view) = self.view() {
                    view.seq = step.seq;
                }
                self.last.seq = step.seq;
            }
            EntryBody::Commit(commit) => self.add_commit(graph, step, commit)?,
            EntryBody::Gone => {}
        }
        Ok(())
    }

    fn add_commit(
        &mut self,
        graph: &Arc<Graph<V>>,
        step: &HistoryEntry<V>,
        commit: &Commit<V>,
    ) -> Result<(), Fault> {
        let source = checkpoint_source(commit);
        let header = self.header.clone();
        if let (None, Some(view)) = (source, self.view()) {
            // A run that continues from a checkpoint is known from its first commit.
            view.header = header;
            if let CommitChange::Asked(task, question) = &commit.change {
                let key = commit.within.first().map_or(task.key, |level| level.key);
                let asked = view.asked.entry(key).or_default();
                asked.retain(|(task_key, _)| *task_key != task.key);
                asked.push((task.key, Question::clone(question)));
            }
        }
        self.memory.fold(graph, commit.clone())?;
        if let Some(source) = source {
            self.begin(graph, step, source);
        }
        Ok(())
    }

    fn begin(&mut self, graph: &Graph<V>, step: &HistoryEntry<V>, source: WriteSource) {
        let wrote = match source {
            WriteSource::Step if step.step == self.last.step + 1 => {
                std::mem::take(&mut self.last.next)
            }
            WriteSource::Begin | WriteSource::Turn => vec![NodeId::START],
            // A run with durability `exit` does not store the steps before its snapshot.
            WriteSource::Step | WriteSource::Edit => Vec::new(),
        };
        let next = upcoming_nodes(graph, &self.memory.root);
        let last = LastCheckpoint { seq: step.seq, step: step.step, next };
        let parent = std::mem::replace(&mut self.last, last).seq;
        let Some(views) = &mut self.views else { return };
        views.push(CheckpointView {
            seq: step.seq,
            parent,
            at: step.at,
            source,
            wrote,
            graph_snapshot: self.memory.root.clone(),
            header: self.header.clone(),
            tasks: BTreeMap::new(),
            asked: BTreeMap::new(),
            ended: None,
        });
    }

    /// Closes a checkpoint: nothing more belongs to it.
    fn finish(&mut self) {
        let Some(view) = self.views.as_mut().and_then(|views| views.last_mut()) else { return };
        view.tasks.clone_from(&self.memory.tasks);
        view.ended.clone_from(&self.memory.ended);
    }

    fn view(&mut self) -> Option<&mut CheckpointView<V>> {
        self.views.as_mut()?.last_mut()
    }
}

/// The nodes that run in the superstep after a checkpoint, in the order of its tasks.
pub fn upcoming_nodes<V>(graph: &Graph<V>, graph_snapshot: &GraphSnapshot<V>) -> Vec<NodeId> {
    if let Some(detour) = graph_snapshot.pending_work.detour {
        return vec![detour];
    }
    let (ready, sends) = graph_snapshot.pending_work.upcoming();
    let mut next = ready.to_vec();
    next.sort_unstable_by_key(|&node| graph.rank(node));
    next.extend(sends.iter().filter_map(|sent| graph.node_id(&sent.node)));
    next
}
