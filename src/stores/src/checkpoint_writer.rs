//! Commits of a run to entries of its thread, and back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::BudgetUsage;
use antiphon_core::checkpoint::{Commit, CommitChange, GraphSnapshot, RecoveredRun};
use antiphon_core::graph::Graph;
use antiphon_core::value::Value;
use antiphon_core::{Fault, FaultCode, Seed, Time};
use antiphon_runtime::store::{EntryKind, StoreFuture};
use futures_util::FutureExt;

use crate::codec::{Codec, DecodedCommit, MissingParts, ValueCodec};
use crate::exit_buffer::{BufferedEntry, ExitBuffer};
use crate::lease::{self, TERM};
use crate::owner;
use crate::pruner::Pruner;
use crate::run_header::RunHeader;
use crate::sealed_store::{OpenedEntry, SealedStore};
use crate::thread_log::ThreadLog;

/// When a commit must be durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before the run continues.
    Sync,
    /// While the run continues, in order, and before it ends or pauses. A call that is not
    /// repeatable waits until its beginning is durable, and the run waits until a question is.
    /// The run also waits for the oldest commits while more than 1,024 of them, or more than 16
    /// MiB, are pending: a crash of the process loses no more than that.
    #[default]
    Async,
    /// Only when the run ends, fails or asks. If the process crashes before that, its calls are
    /// forgotten and repeated.
    Exit,
}

/// The contents of a thread.
#[derive(Clone, Debug)]
pub struct LoadedThread<V> {
    /// The run that its commits add up to.
    pub memory: RecoveredRun<V>,
    /// The run that wrote last.
    pub header: Option<RunHeader>,
    /// The sequence number of the last superstep's entry, which is the name of the checkpoint.
    pub checkpoint: u64,
}

/// Writes the commits of one run into its thread.
pub struct CheckpointWriter<V, C> {
    graph: Arc<Graph<V>>,
    values: Arc<C>,
    log: ThreadLog,
    durability: Durability,
    /// Appends that are not yet known to be durable, each with its size in bytes.
    under_way: VecDeque<(usize, StoreFuture<()>)>,
    /// The total size of `under_way`.
    weight: usize,
    /// With [`Durability::Exit`]: what is not yet written.
    exit_buffer: ExitBuffer,
    /// The encoded header of the run. It is repeated after each snapshot, because readers begin
    /// at a snapshot.
    header: Vec<u8>,
    /// Whether the header is still to be written, together with the first commit.
    begins: bool,
    has_started: bool,
    step: u64,
    checkpoint: u64,
    pruner: Pruner,
    /// The entry after which this run is a branch, if it is one.
    branch: Option<u64>,
}

impl<V: Value, C: ValueCodec<V>> CheckpointWriter<V, C> {
    /// The most commits that may be pending before the run has to wait.
    const UNDER_WAY: usize = 1024;
    /// The most bytes of pending commits.
    const WEIGHT: usize = 16 * 1024 * 1024;

    /// Acquires a thread and loads its contents; `None` if it is new.
    ///
    /// # Errors
    /// `thread_busy`, and those of reading entries.
    pub async fn open(
        (sealed_store, thread): (SealedStore, &str),
        (owner, term): (&str, Duration),
        (graph, values): (Arc<Graph<V>>, Arc<C>),
        durability: Durability,
    ) -> Result<(Self, Option<LoadedThread<V>>), Fault> {
        let pruner = Pruner::new(sealed_store.keep());
        let (log, way) = ThreadLog::open(sealed_store, thread, owner, term).await?;
        let mut checkpoint_writer = Self {
            graph,
            values,
            log,
            durability,
            under_way: VecDeque::new(),
            weight: 0,
            exit_buffer: ExitBuffer::default(),
            header: Vec::new(),
            begins: false,
            has_started: false,
            step: 0,
            checkpoint: 0,
            pruner,
            branch: None,
        };
        match checkpoint_writer.found(&way) {
            Ok(found) => Ok((checkpoint_writer, found)),
            Err(fault) => {
                checkpoint_writer.log.release().await?;
                Err(fault)
            }
        }
    }

    /// [`CheckpointWriter::open`] for [`TERM`]. If the process that holds the thread is gone,
    /// its lease is revoked instead of waited for.
    ///
    /// # Errors
    /// As [`CheckpointWriter::open`].
    pub async fn take(
        (sealed_store, thread): (SealedStore, &str),
        owner: &str,
        (graph, values): (Arc<Graph<V>>, Arc<C>),
        durability: Durability,
    ) -> Result<(Self, Option<LoadedThread<V>>), Fault> {
        let open = || {
            let about = (Arc::clone(&graph), Arc::clone(&values));
            Self::open((sealed_store.clone(), thread), (owner, TERM), about, durability)
        };
        match open().await {
            Err(fault) => {
                free(&sealed_store, thread, fault).await?;
                open().await
            }
            opened => opened,
        }
    }

    /// Goes back to an earlier checkpoint: later commits become a branch.
    ///
    /// # Errors
    /// Those of [`ThreadLog::go_back`], and of reading what it finds.
    pub async fn go_back(&mut self, seq: u64) -> Result<Option<LoadedThread<V>>, Fault> {
        let way = self.log.go_back(seq).await?;
        self.branch = Some(self.log.last());
        self.found(&way)
    }

    /// The [key salt](RunHeader::key_salt) for resuming a stored run. A branch gets a salt of
    /// its own, so that its calls are made and not taken from the original run.
    pub fn key_salt(&self, stored: u64) -> u64 {
        self.branch.map_or(stored, |last| Seed::new(stored).child(last).number())
    }

    fn found(&mut self, way: &[OpenedEntry]) -> Result<Option<LoadedThread<V>>, Fault> {
        let found = read(&self.graph, &*self.values, way)?;
        self.step = found.as_ref().map_or(0, |found| found.memory.root.step);
        self.checkpoint = found.as_ref().map_or(0, |found| found.checkpoint);
        self.exit_buffer = ExitBuffer::after(found.is_some());
        Ok(found)
    }

    /// Begins or resumes a run. The header is written together with the run's first commit,
    /// because until then the thread still belongs to the previous run.
    pub fn begin(&mut self, header: &RunHeader) {
        self.header = header.encode();
        self.begins = true;
    }

    /// Whether the run has committed anything.
    pub const fn has_started(&self) -> bool {
        self.has_started
    }

    /// The last checkpoint that was written or loaded; 0 if there is none.
    pub const fn checkpoint(&self) -> u64 {
        self.checkpoint
    }

    /// Writes a commit. The caller must await the returned future before the run continues.
    /// `graph_snapshot` is called only for a commit of the run's own graph.
    ///
    /// # Errors
    /// `value_unstorable`, or the fault of an earlier commit that could not be written.
    pub fn keep(
        &mut self,
        commit: &Commit<V>,
        graph_snapshot: impl Fn() -> Option<GraphSnapshot<V>>,
        at: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        let kind = kind(commit);
        if let (EntryKind::Step, CommitChange::Step(delta)) = (kind, &commit.change) {
            self.step = delta.step;
        }
        let entries = match self.durability {
            Durability::Exit => self.entries_at_rest(kind, commit, graph_snapshot)?,
            Durability::Sync | Durability::Async => self.entries(kind, commit, graph_snapshot)?,
        };
        self.has_started = true;
        if entries.is_empty() {
            return Ok(None);
        }
        let waits = self.durability == Durability::Sync || commit.change.must_be_durable();
        let weight = entries.iter().map(|(_, body)| body.len()).sum();
        let answer = self.append(entries, at, waits)?;
        if waits {
            return Ok(Some(answer));
        }
        self.weight += weight;
        self.under_way.push_back((weight, answer));
        self.clear()?;
        Ok(self.too_much())
    }

    /// A future that resolves once everything is durable. The caller awaits it before it reports
    /// the end or a pause of the run.
    pub fn settle(&mut self) -> StoreFuture<()> {
        let under_way = std::mem::take(&mut self.under_way);
        self.weight = 0;
        Box::pin(async move {
            for (_, answer) in under_way {
                answer.await?;
            }
            Ok(())
        })
    }

    /// Renews the lease for `term` from now.
    ///
    /// # Errors
    /// `thread_busy` if the lease was lost.
    pub fn renew(&self, term: Duration) -> StoreFuture<()> {
        let answer = self.log.renew(term);
        Box::pin(async move { answer.await.map(|_| ()) })
    }

    /// Releases the thread and prunes it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn close(self) -> StoreFuture<()> {
        let Self { pruner, log, .. } = self;
        let (sealed_store, (thread, owner)) = log.ownership();
        let rest = pruner.finish(sealed_store.clone(), thread.to_owned(), owner.to_owned());
        let released = log.release();
        Box::pin(async move {
            released.await?;
            rest.await;
            Ok(())
        })
    }

    fn entries(
        &mut self,
        kind: EntryKind,
        commit: &Commit<V>,
        graph_snapshot: impl Fn() -> Option<GraphSnapshot<V>>,
    ) -> Result<Vec<BufferedEntry>, Fault> {
        let codec = Codec::new(&self.graph, &*self.values);
        let body = codec.encode(commit)?;
        let mut entries = Vec::new();
        if std::mem::take(&mut self.begins) {
            entries.push((EntryKind::Run, self.header.clone()));
        }
        entries.push((kind, body));
        if kind == EntryKind::Step
            && self.log.wants_snapshot()
            && let Some(graph_snapshot) = graph_snapshot()
        {
            let memory = memory(commit, commit.spent.supersteps, graph_snapshot);
            entries.push((EntryKind::Snapshot, codec.encode_memory(&memory)?));
            entries.push((EntryKind::Run, self.header.clone()));
        }
        Ok(entries)
    }

    /// With [`Durability::Exit`]: the buffered entries if they are due, else none.
    fn entries_at_rest(
        &mut self,
        kind: EntryKind,
        commit: &Commit<V>,
        graph_snapshot: impl Fn() -> Option<GraphSnapshot<V>>,
    ) -> Result<Vec<BufferedEntry>, Fault> {
        if kind == EntryKind::Step {
            self.exit_buffer = ExitBuffer::merged(commit.spent.supersteps);
            return Ok(Vec::new());
        }
        let codec = Codec::new(&self.graph, &*self.values);
        let rests = matches!(commit.change, CommitChange::Ended(_) | CommitChange::Asked(..));
        self.exit_buffer.add((kind, codec.encode(commit)?), rests);
        if !self.exit_buffer.is_due() {
            return Ok(Vec::new());
        }
        let mut entries = Vec::new();
        if let Some(supersteps) = self.exit_buffer.before() {
            let Some(graph_snapshot) = graph_snapshot() else { return Ok(Vec::new()) };
            let memory = memory(commit, supersteps, graph_snapshot);
            entries.push((EntryKind::Snapshot, codec.encode_memory(&memory)?));
            self.begins = true;
        }
        if std::mem::take(&mut self.begins) {
            entries.push((EntryKind::Run, self.header.clone()));
        }
        entries.append(&mut self.exit_buffer.take());
        Ok(entries)
    }

    fn append(
        &mut self,
        entries: Vec<BufferedEntry>,
        at: Time,
        waits: bool,
    ) -> Result<StoreFuture<()>, Fault> {
        let first = self.log.last() + 1;
        if let Some(place) = entries.iter().rposition(|(kind, _)| is_checkpoint(*kind)) {
            self.checkpoint = first + place as u64;
        }
        self.pruner.added(entries.iter().map(|(kind, _)| *kind), at);
        let answer = if waits {
            self.log.append(entries, self.step, at)?
        } else {
            self.log.append_soon(entries, self.step, at)?
        };
        let (sealed_store, owned) = self.log.ownership();
        self.pruner.resume(sealed_store, owned);
        Ok(answer)
    }

    /// Removes commits from `under_way` that have become durable.
    fn clear(&mut self) -> Result<(), Fault> {
        while let Some((_, answer)) = self.under_way.front_mut()
            && let Some(answer) = answer.now_or_never()
        {
            self.first_under_way();
            answer?;
        }
        Ok(())
    }

    /// The oldest pending commit, while there are more than the limits allow.
    fn too_much(&mut self) -> Option<StoreFuture<()>> {
        let mut first = Vec::new();
        while self.under_way.len() > Self::UNDER_WAY || self.weight > Self::WEIGHT {
            first.extend(self.first_under_way());
        }
        if first.len() <= 1 {
            return first.pop();
        }
        Some(Box::pin(async move {
            for answer in first {
                answer.await?;
            }
            Ok(())
        }))
    }

    fn first_under_way(&mut self) -> Option<StoreFuture<()>> {
        let (weight, answer) = self.under_way.pop_front()?;
        self.weight -= weight;
        Some(answer)
    }
}

/// Releases a thread whose owner is gone or done with it; returns any other fault.
pub(crate) async fn free(
    sealed_store: &SealedStore,
    thread: &str,
    fault: Fault,
) -> Result<(), Fault> {
    let holder = fault.details.get("owner").and_then(serde_json::Value::as_str);
    let is_over = |owner: &&str| owner::is_gone(owner) || lease::has_left(thread, owner);
    match holder.filter(|owner| fault.code == FaultCode::ThreadBusy && is_over(owner)) {
        Some(owner) => sealed_store.store().release(thread, owner).await,
        None => Err(fault),
    }
}

/// Folds the entries that lead to a checkpoint; `None` if the thread is empty.
///
/// # Errors
/// `checkpoint_corrupt` or `checkpoint_misfit` if an entry cannot be decoded.
pub fn read<V: Value>(
    graph: &Arc<Graph<V>>,
    values: &impl ValueCodec<V>,
    way: &[OpenedEntry],
) -> Result<Option<LoadedThread<V>>, Fault> {
    let codec = Codec::new(graph, values);
    let mut found = LoadedThread { memory: RecoveredRun::new(graph), header: None, checkpoint: 0 };
    for record in way {
        found.add(graph, &codec, record).map_err(|fault| match &found.header {
            Some(header) => header.name_graph(fault, graph.name()),
            None => fault,
        })?;
        if is_checkpoint(record.kind) {
            found.checkpoint = record.seq;
        }
    }
    Ok((!way.is_empty()).then_some(found))
}

impl<V: Value> LoadedThread<V> {
    fn add<C: ValueCodec<V>>(
        &mut self,
        graph: &Arc<Graph<V>>,
        codec: &Codec<'_, V, C>,
        record: &OpenedEntry,
    ) -> Result<(), Fault> {
        match record.kind {
            EntryKind::Run => self.header = Some(RunHeader::decode(&record.body)?),
            EntryKind::Snapshot => {
                let (memory, missing) = codec.decode_memory(&record.body)?;
                self.refuse_other(missing, graph)?;
                self.memory = memory;
            }
            EntryKind::Step | EntryKind::Part | EntryKind::End => {
                let DecodedCommit { commit, missing } = codec.decode_present(&record.body)?;
                if let Some(commit) = commit {
                    self.memory.fold(graph, commit)?;
                }
                if let Some(fault) = &missing.work {
                    self.memory.lost.get_or_insert_with(|| fault.clone());
                }
                self.refuse_other(missing, graph)?;
            }
        }
        Ok(())
    }

    /// What a graph has lost may be missing only from runs of that same graph.
    fn refuse_other(&self, missing: MissingParts, graph: &Graph<V>) -> Result<(), Fault> {
        let header = self.header.as_ref();
        header.map_or(Ok(()), |header| header.refuse_other(missing, graph.name()))
    }
}

/// Whether an entry is a checkpoint that a run can go back to.
pub const fn is_checkpoint(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Step | EntryKind::Snapshot)
}

fn kind<V>(commit: &Commit<V>) -> EntryKind {
    match &commit.change {
        CommitChange::Step(_) if commit.within.is_empty() => EntryKind::Step,
        CommitChange::Ended(_) => EntryKind::End,
        _ => EntryKind::Part,
    }
}

/// `supersteps` is the number that was spent when the snapshot was made.
fn memory<V: Value>(
    commit: &Commit<V>,
    supersteps: u64,
    graph_snapshot: GraphSnapshot<V>,
) -> RecoveredRun<V> {
    let spent = BudgetUsage { supersteps, ..commit.spent };
    RecoveredRun { spent, events: commit.events, ..RecoveredRun::at(graph_snapshot) }
}
