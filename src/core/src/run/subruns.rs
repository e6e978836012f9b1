//! Subruns: runs that a task starts. They are calls of the task, and continue where they were when
//! the task runs again.
//!
//! Their seeds derive from the task's, so that their tasks and questions are recognised and their
//! calls keep their keys.

use super::machine::Run;
use crate::checkpoint::{
    Call, Callee, Commit, CommitChange, KnownSubrun, RecoveredRun, SubrunCommit, diverged,
};
use crate::fault::Fault;
use crate::notice::EventOptions;
use crate::seed::Seed;
use crate::task::TaskId;
use crate::value::Value;

use super::calls::cancelled;
use super::frame::TaskRecord;

/// A subrun that a task may start now.
#[derive(Debug)]
pub struct Subrun<V> {
    /// The index of the call in its task.
    pub index: u32,
    /// Its [`super::Options::seed`].
    pub seed: Seed,
    /// Its [`super::Options::key_salt`].
    pub key_salt: u64,
    /// Its recorded state.
    pub known: KnownSubrun<V>,
    /// A commit to store before its own commits.
    pub intent: Option<Box<Commit<V>>>,
}

impl<V: Value> Run<V> {
    /// Starts a subrun of the graph `name`, with an input of that digest. It is open until
    /// [`Run::end_subrun`].
    ///
    /// Returns `None` if the run is not recorded with the task: a tool of a declared agent is
    /// recorded as a whole, and a cancelled task starts nothing.
    ///
    /// # Errors
    /// `replay_diverged`, as [`Run::begin_call`].
    pub fn begin_subrun(
        &mut self,
        id: TaskId,
        name: &str,
        digest: u64,
    ) -> Result<Option<Subrun<V>>, Fault> {
        if self.scopes.is_agent(id.scope) || !self.is_running(id) {
            return Ok(None);
        }
        let TaskId { scope, slot, .. } = id;
        let name = name.to_owned();
        let call = Call { callee: Callee::Graph, name, digest, repeatable: true };
        let (task, key_salt) = (self.scopes.task_seed(scope, slot), self.queue.key_salt);
        let Some(record) = self.scopes.record(scope, slot) else { return Ok(None) };
        let entered = record.tracker().enter(&call).map_err(|before| diverged(&before, &call))?;
        let (call_record, nth, known) = entered;
        let Call { name, digest, .. } = &call_record.call;
        let seed = task.child(u64::MAX - 1).named(name).child(*digest).child(nth);
        let (index, is_new) = (call_record.index, matches!(known, KnownSubrun::Nothing));
        let intent = if is_new { self.commit_of_call(scope, slot, call_record) } else { None };
        Ok(Some(Subrun { index, seed, key_salt, known, intent }))
    }

    /// The commit that contains a commit of a subrun, if its task has no outcome yet and the run
    /// commits.
    ///
    /// # Errors
    /// A `Cancelled` fault if it is about to make a call with side effects and its task was
    /// cancelled: the call must not be made.
    pub fn commit_subrun(
        &mut self,
        id: TaskId,
        commit: SubrunCommit,
    ) -> Result<Option<Box<Commit<V>>>, Fault> {
        if commit.must_be_durable && !commit.repeatable && !self.is_running(id) {
            return Err(cancelled());
        }
        let TaskId { scope, slot, serial } = id;
        let under_way =
            |record: &&mut TaskRecord<V>| record.serial == serial && record.status.is_under_way();
        let Some(record) = self.scopes.record(scope, slot).filter(under_way) else {
            return Ok(None);
        };
        record.tracker().mark_subrun(&commit);
        let attempt = record.attempt;
        let change = |task| CommitChange::Subrun(task, attempt, Box::new(commit));
        Ok(self.commit_of(scope, slot, change))
    }

    /// Keeps a handle of the driver with a subrun that is not stored.
    pub fn park_subrun(&mut self, id: TaskId, index: u32, handle: V) {
        self.note_subrun(id, index, KnownSubrun::Parked(handle));
    }

    /// Keeps the final state of a subrun, in place of its handle.
    pub fn finish_subrun(&mut self, id: TaskId, index: u32, recovered: RecoveredRun<V>) {
        self.note_subrun(id, index, KnownSubrun::Ended(Box::new(recovered)));
    }

    /// A subrun is paused or has ended: its task need not wait for it.
    pub fn end_subrun(&mut self, id: TaskId, index: u32) {
        self.abandon_call(id, index);
    }

    /// A paused subrun continues.
    pub fn resume_subrun(&mut self, id: TaskId, index: u32) {
        let TaskId { scope, slot, serial } = id;
        let record = self.scopes.record(scope, slot).filter(|record| record.serial == serial);
        if let Some(record) = record.filter(|record| record.status.is_awaited()) {
            record.tracker().reopen(index);
        }
    }

    /// The final state of the run.
    pub fn recovered_run(&self) -> Option<RecoveredRun<V>> {
        let (spent, events) = (*self.queue.budget.spent(), self.queue.log.seq);
        let ended = self.queue.ended.clone();
        self.graph_snapshot().map(|graph_snapshot| RecoveredRun {
            spent,
            events,
            ended,
            ..RecoveredRun::at(graph_snapshot)
        })
    }

    /// Changes which events and notices a paused run reports.
    pub fn watch(&mut self, events: bool, event_options: EventOptions) {
        self.queue.log.recording = events;
        self.queue.event_options = event_options;
        if let Some(root) = self.scopes.get_mut(0).filter(|_| events || event_options.states) {
            root.trace();
        }
    }

    /// Visits the values that are kept with subruns, for the host's garbage collector.
    pub fn visit_subruns(&self, visit: &mut dyn FnMut(&V)) {
        let frames = self.scopes.indices().filter_map(|scope| self.scopes.frame(scope));
        let records = frames.flat_map(|frame| &frame.records);
        let trackers = records.filter_map(|record| record.extra.as_ref()?.tracker.as_ref());
        for known in trackers.flat_map(|tracker| tracker.subruns()) {
            match known {
                KnownSubrun::Parked(handle) => visit(handle),
                KnownSubrun::Ended(recovered) => {
                    let slots = recovered.root.state.snapshot();
                    slots.iter().flatten().for_each(&mut *visit);
                }
                KnownSubrun::Nothing | KnownSubrun::Commits(_) => {}
            }
        }
    }

    fn note_subrun(&mut self, id: TaskId, index: u32, known: KnownSubrun<V>) {
        let TaskId { scope, slot, serial } = id;
        let record = self.scopes.record(scope, slot).filter(|record| record.serial == serial);
        if let Some(record) = record.filter(|record| record.status.is_awaited()) {
            record.tracker().note_subrun(index, known);
        }
    }
}
