//! Commits of a run, and how a run resumes from them.

use std::sync::Arc;

use super::agent::AgentScope;
use super::call_tracker::CallTracker;
use super::frame::{Frame, TaskStatus};
use super::machine::Options;
use super::machine::Run;
use super::queue::RecoveredTasks;
use crate::checkpoint::{
    Commit, CommitChange, GraphSnapshot, NestedLevel, PendingWork, RecoveredRun, SuperstepDelta,
    TaskKey, TaskSnapshot, TaskSnapshotState, WriteSource,
};
use crate::command::Update;
use crate::graph::{Graph, NodeId};
use crate::time::Time;
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Resumes a run from its commits: finished tasks do not run again, and questions are open
    /// again. The options must have the same seed, by which tasks are recognised.
    pub fn resume(
        graph: Arc<Graph<V>>,
        recovered: RecoveredRun<V>,
        options: Options,
        now: Time,
    ) -> Self {
        let RecoveredRun { root, nested, tasks, spent, events, .. } = recovered;
        let mut frame = Frame::restored(graph, root);
        frame.state.show();
        let mut run = Self::of(frame, options, events, now);
        run.queue.budget.resume(spent);
        run.queue.recovered = Some(Box::new(RecoveredTasks { nested, tasks }));
        run
    }

    /// A further run on the state of an earlier one, with new input. The pending work of the
    /// earlier run is dropped.
    pub fn turn(
        graph: Arc<Graph<V>>,
        graph_snapshot: GraphSnapshot<V>,
        input: impl Into<Update<V>>,
        options: Options,
        now: Time,
    ) -> Self {
        let graph_snapshot = GraphSnapshot {
            pending_work: PendingWork::default(),
            step: graph_snapshot.step + 1,
            ..graph_snapshot
        };
        let mut frame = Frame::restored(graph, graph_snapshot);
        frame.merge_first(NodeId::START, input.into(), WriteSource::Turn);
        frame.state.show();
        Self::of(frame, options, 0, now)
    }

    /// Merges writes in the name of a node, follows the node's edges, and ends. The single commit
    /// contains the new pending work.
    pub fn edit(
        graph: Arc<Graph<V>>,
        graph_snapshot: GraphSnapshot<V>,
        (node, update): (NodeId, Update<V>),
        options: Options,
        now: Time,
    ) -> Self {
        let pending_work = PendingWork {
            sealed: graph_snapshot.pending_work.sealed.clone(),
            ..PendingWork::default()
        };
        let mut frame = Frame::restored(
            graph,
            GraphSnapshot { pending_work, step: graph_snapshot.step + 1, ..graph_snapshot },
        );
        frame.merge_first(node, update, WriteSource::Edit);
        frame.state.show();
        Self::of(frame, Options { commits: true, ..options }, 0, now)
    }

    /// The run's own graph after its last merged superstep. Commits of the open superstep are not
    /// included.
    pub fn graph_snapshot(&self) -> Option<GraphSnapshot<V>> {
        self.scopes.frame(0).map(Frame::graph_snapshot)
    }

    /// Queues a commit, which is handed out before anything else.
    pub(super) fn store(&mut self, scope: u32, change: CommitChange<V>) -> u64 {
        let commit = self.commit_with(scope, change);
        let id = commit.id;
        self.queue.pending_commits.push_back(commit);
        id
    }

    fn commit_with(&mut self, scope: u32, change: CommitChange<V>) -> Box<Commit<V>> {
        let id = self.queue.next_commit();
        let (spent, events) = (*self.queue.budget.spent(), self.queue.log.seq);
        Box::new(Commit { id, within: self.within(scope), spent, events, change })
    }

    /// Queues a commit about a task, if the run commits.
    pub(super) fn store_of(
        &mut self,
        scope: u32,
        slot: u32,
        change: impl FnOnce(TaskKey) -> CommitChange<V>,
    ) {
        let commit = self.commit_of(scope, slot, change);
        self.queue.pending_commits.extend(commit);
    }

    /// The commit about a task, if the run commits.
    pub(super) fn commit_of(
        &mut self,
        scope: u32,
        slot: u32,
        change: impl FnOnce(TaskKey) -> CommitChange<V>,
    ) -> Option<Box<Commit<V>>> {
        if !self.queue.commits {
            return None;
        }
        let node = self.scopes.record(scope, slot)?.node;
        let key = self.scopes.task_seed(scope, slot).number();
        Some(self.commit_with(scope, change(TaskKey { key, slot, node })))
    }

    /// Commits the end of a task, unless the commit of its superstep is to follow at once.
    pub(super) fn commit_finished(&mut self, scope: u32, slot: u32, update: &Update<V>) {
        let Some(found) = self.scopes.get(scope).filter(|_| self.queue.commits) else { return };
        let (is_last, ends_early) = (found.open <= 1, found.terminate.is_some());
        let Some(frame) = self.scopes.frame_mut(scope) else { return };
        if is_last && !ends_early && frame.paused == 0 {
            frame.unstored = Some(slot);
        } else {
            self.store_of(scope, slot, |task| CommitChange::Finished(task, update.clone()));
        }
    }

    /// Commits the end of the last task of a superstep whose own commit may not follow any more.
    pub(super) fn commit_unstored(&mut self, scope: u32) {
        let Some(frame) = self.scopes.frame_mut(scope) else { return };
        let Some(slot) = frame.unstored.take() else { return };
        let Some(TaskStatus::Done(update)) = frame.records.get(slot as usize).map(|it| &it.status)
        else {
            return;
        };
        let update = update.clone();
        self.store_of(scope, slot, |task| CommitChange::Finished(task, update));
    }

    /// The nesting of a scope, outermost first.
    fn within(&self, scope: u32) -> Vec<NestedLevel> {
        let mut levels = Vec::new();
        let mut at = self.scopes.get(scope);
        while let Some((seed, (parent, slot))) =
            at.and_then(|scope| Some((scope.seed, scope.parent?)))
        {
            let record =
                self.scopes.frame(parent).and_then(|frame| frame.records.get(slot as usize));
            let (node, attempt) =
                record.map_or((NodeId::START, 0), |record| (record.node, record.attempt));
            levels.push(NestedLevel { node, attempt, key: seed.number() });
            at = self.scopes.get(parent);
        }
        levels.reverse();
        levels
    }

    /// Restores a task from its snapshot; returns whether it need not be started.
    pub(super) fn restore_task(&mut self, scope: u32, slot: u32) -> bool {
        let key = self.scopes.task_seed(scope, slot).number();
        let recovered = self.queue.recovered.as_mut();
        let Some(snapshot) = recovered.and_then(|recovered| recovered.tasks.remove(&key)) else {
            return false;
        };
        let TaskSnapshot { answers, relayed, state, journal, .. } = snapshot;
        let Some(frame) = self.scopes.frame_mut(scope) else { return false };
        let Some(record) = frame.records.get_mut(slot as usize) else { return false };
        if !answers.is_empty() {
            record.extra().answers = answers;
        }
        if !relayed.is_empty() {
            record.extra().relayed = relayed;
        }
        // A paused task runs the same attempt again once it is answered.
        record.attempt = journal.as_ref().map_or(1, |journal| journal.attempt);
        if let Some(journal) = journal {
            record.extra().tracker = Some(Box::new(CallTracker::of(*journal)));
        }
        record.status = match state {
            None => {
                record.attempt -= 1;
                return false;
            }
            Some(TaskSnapshotState::Finished(update)) => TaskStatus::Done(update),
            Some(TaskSnapshotState::Asked(question)) => {
                frame.paused += 1;
                TaskStatus::Paused(question)
            }
        };
        self.close_task(scope);
        true
    }

    /// Restores the questions about an agent's calls, and their answers, in the attempt that
    /// starts.
    pub(super) fn restore_approvals(&mut self, scope: u32, slot: u32, agent: &mut AgentScope<V>) {
        let (key, attempt) =
            (self.scopes.task_seed(scope, slot).number(), self.scopes.attempt(scope, slot));
        let Some(recovered) = self.queue.recovered.as_mut() else { return };
        let is_own = |snapshot: &TaskSnapshot<V>| {
            snapshot.within.last().is_some_and(|level| (level.key, level.attempt) == (key, attempt))
        };
        let own = recovered.tasks.extract_if(.., |_, snapshot| is_own(snapshot));
        let mut own: Vec<_> = own.map(|(_, snapshot)| snapshot).collect();
        own.sort_by_key(|snapshot| snapshot.task.slot);
        for TaskSnapshot { task, mut answers, waiting, state, .. } in own {
            match (state, answers.pop(), waiting) {
                (Some(TaskSnapshotState::Asked(question)), ..) => {
                    agent.restore_question(task, *question);
                }
                (_, Some(answer), _) => agent.restore_answer(task, answer),
                (_, None, Some(question)) => agent.restore_waiting(task, *question),
                _ => {}
            }
        }
    }

    /// Restores the nested graph of a task.
    pub(super) fn restore_graph(&mut self, scope: u32, slot: u32) -> Option<GraphSnapshot<V>> {
        let key = self.scopes.task_seed(scope, slot).number();
        let recovered = self.queue.recovered.as_mut()?;
        let nested = recovered.nested.remove(&key);
        let tasks = recovered.tasks.values().flat_map(|snapshot| &snapshot.within);
        let mut levels = nested.iter().flat_map(|nested| &nested.within).chain(tasks);
        let attempt = levels.find(|level| level.key == key).map(|level| level.attempt);
        if let (Some(record), Some(attempt)) = (self.scopes.record(scope, slot), attempt) {
            record.attempt = attempt;
        }
        nested.map(|nested| nested.graph_snapshot)
    }
}

impl<V: Value> Frame<V> {
    /// Takes the writes since the last commit, with the pending work.
    pub(super) fn take_delta(&mut self) -> SuperstepDelta<V> {
        self.unstored = None;
        SuperstepDelta {
            source: std::mem::take(&mut self.source),
            step: self.step,
            merges: std::mem::take(&mut self.merges),
            pending_work: self.pending_work(),
        }
    }
}
