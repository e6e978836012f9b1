//! The barrier of a superstep: all writes are checked, then merged in the order of the tasks,
//! independent of the order in which they ended.

use smallvec::SmallVec;

use super::event_keys::{internal_keys, is_internal};
use super::frame::{Frame, TaskStatus};
use super::machine::Run;
use super::route::BlamedFailure;
use super::scope::{ScopeBody, TaskOrigin};
use crate::channel::{ChannelId, Reducer, Write, WriteOp};
use crate::checkpoint::{CommitChange, MergedWrites, SuperstepMerge};
use crate::effect::Effect;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::graph::NodeId;
use crate::rules::{ReducerSite, Rules};
use crate::task::{Failure, RetryVerdict};
use crate::time::Time;
use crate::value::Value;

/// Results of the host's reducers that are not in the state yet.
type StagedValues<V> = Vec<(ChannelId, V)>;

impl<V: Value> Run<V> {
    /// As [`Run::step`], as far as what has ended is to be stored: merges supersteps whose tasks
    /// have all ended, and starts nothing. Gives a commit, or the wait for one; otherwise a driver
    /// may rest here, for instance while its caller reads what a task has returned, and nothing
    /// that has ended is lost.
    pub fn settle(&mut self, now: Time, rules: &mut impl Rules<V>) -> Option<Effect<V>> {
        self.keep_time(now);
        loop {
            if let Some(effect) = self.queue.next_commit_effect() {
                return Some(effect);
            }
            let ended = |scope: &u32| self.has_ended_superstep(*scope);
            let scope = self.queue.active.iter().copied().find(ended)?;
            if self.barrier(scope, rules)
                && let Some(frame) = self.scopes.frame_mut(scope)
            {
                frame.merged = true;
            }
        }
    }

    /// Whether the tasks of a superstep have all ended, and it is not merged yet.
    fn has_ended_superstep(&self, scope: u32) -> bool {
        let at_work =
            self.scopes.get(scope).is_some_and(|at| at.open > 0 || at.terminate.is_some());
        let is_open = |frame: &Frame<V>| frame.planned && frame.paused == 0;
        !at_work && self.scopes.frame(scope).is_some_and(is_open)
    }

    /// Merges a superstep and follows its edges. Returns false if the merge failed a task.
    pub(super) fn barrier(&mut self, scope: u32, rules: &mut impl Rules<V>) -> bool {
        let Some(frame) = self.scopes.frame_mut(scope) else { return false };
        frame.merged = false;
        if frame.records.is_empty() {
            return true;
        }
        if let Err((slot, failure)) = frame.merge(scope, rules, self.queue.commits) {
            frame.forget_route(slot);
            frame.unstored = frame.unstored.filter(|unstored| *unstored != slot);
            if let Some(found) = self.scopes.get_mut(scope) {
                found.open += 1;
            }
            self.fail(scope, slot, failure);
            return false;
        }
        self.log_merge(scope);
        self.notify_merged(scope);
        // Only events need the path, whose length is the depth of nesting.
        let recording = self.queue.log.recording;
        let path = if recording { self.scopes.scope_path(scope) } else { Vec::new() };
        let Some(found) = self.scopes.get_mut(scope) else { return false };
        if let ScopeBody::Graph(frame) = &mut found.body {
            let origin = TaskOrigin { path: &path, seed: found.seed, step: frame.step };
            frame.follow(&origin, &mut self.queue.log);
            frame.planned = false;
        }
        if self.queue.commits {
            self.commit(scope);
        }
        if let Some(frame) = self.scopes.frame_mut(scope) {
            frame.state.clear_touched();
        }
        true
    }

    fn commit(&mut self, scope: u32) {
        let Some(delta) = self.scopes.frame_mut(scope).map(Frame::take_delta) else { return };
        let id = self.store(scope, CommitChange::Step(delta));
        if scope == 0 {
            self.queue.recovered = None;
        }
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.scope_event(scope, EventKind::Checkpoint);
            event.data.insert("id".into(), id.into());
            event.data.insert("step".into(), scopes.frame(scope).map(|frame| frame.step).into());
            event
        });
    }

    fn log_merge(&mut self, scope: u32) {
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.scope_event(scope, EventKind::StateUpdated);
            if let Some(frame) = scopes.frame(scope) {
                event.data.insert("step".into(), frame.step.into());
                event.data.insert("changed".into(), frame.sizes());
            }
            event
        });
    }
}

impl<V: Value> Frame<V> {
    fn merge(
        &mut self,
        scope: u32,
        rules: &mut impl Rules<V>,
        commits: bool,
    ) -> Result<(), BlamedFailure> {
        let survey = self.check().map_err(not_retried)?;
        // All that can fail comes before the first change: a superstep is merged as a whole or not
        // at all, so that its failed task can be retried against the state it has seen.
        let staged = if survey.foreign { self.stage(rules) } else { Ok(StagedValues::new()) };
        let staged = staged.map_err(not_retried)?;
        if survey.routes {
            self.route_by_own_writes(scope, rules)?;
        }
        if survey.resets {
            self.reset();
        }
        self.note_fields();
        self.apply(staged, commits);
        if survey.routes {
            // Nothing can be tried again now that the state has changed.
            self.route(scope, rules)
                .map_err(|(slot, failure)| not_retried((slot, failure.fault)))?;
        }
        Ok(())
    }

    pub(super) fn writes(&self) -> impl Iterator<Item = (u32, &Write<V>)> + Clone {
        (0_u32..).zip(&self.records).flat_map(|(slot, record)| {
            let writes = match &record.status {
                TaskStatus::Done(update) => update.writes.as_slice(),
                _ => &[],
            };
            writes.iter().map(move |write| (slot, write))
        })
    }

    /// Keeps the fields that are written to internal channels, for the event.
    fn note_fields(&mut self) {
        if !self.state.is_traced() {
            return;
        }
        let named = |(_, write): (u32, &Write<V>)| {
            Some(internal_keys(self.graph.channel(write.channel)?, write))
        };
        let fields = self.writes().filter_map(named).flatten().collect();
        self.state.touch_fields(fields);
    }

    /// Applies the host's reducers, which may fail, without changing the state.
    fn stage(&self, rules: &mut impl Rules<V>) -> Result<StagedValues<V>, (u32, Fault)> {
        let mut staged = StagedValues::new();
        for (slot, write) in self.writes() {
            let WriteOp::Merge(new) = &write.op else { continue };
            let Some(Reducer::Foreign(rule)) = self.rule(write.channel) else { continue };
            let place = staged.iter().position(|(channel, _)| *channel == write.channel);
            let old = match place {
                Some(place) => Some(staged.swap_remove(place).1),
                None if self.is_reset(write.channel) => self.default(write.channel),
                None => self.state.get(write.channel).cloned(),
            };
            let at = ReducerSite { graph: &self.graph, channel: write.channel, rule: *rule };
            let merged = rules.reduce(at, old, new.clone()).map_err(|fault| (slot, fault))?;
            staged.push((write.channel, merged));
        }
        Ok(staged)
    }

    fn reset(&mut self) {
        let reset: SmallVec<[ChannelId; 2]> = self
            .writes()
            .filter(|(_, write)| write.op.is_reset())
            .map(|(_, write)| write.channel)
            .collect();
        for &channel in &reset {
            self.state.put(channel, self.default(channel));
            self.sealed.retain(|sealed| *sealed != channel);
        }
    }

    /// Applies all writes; nothing can fail here. Records them if the run commits.
    fn apply(&mut self, staged: StagedValues<V>, commits: bool) {
        let mut merged = MergedWrites::default();
        if commits {
            merged.reduced.clone_from(&staged);
        }
        for (channel, value) in staged {
            self.state.put(channel, Some(value));
        }
        let Self { graph, state, records, sealed, outward, .. } = self;
        let replaced = Vec::new();
        let mut merging = SuperstepMerge { graph, former: &[], state, outward, replaced };
        for record in records {
            let TaskStatus::Done(update) = &mut record.status else { continue };
            // Taken from the end one by one, which is cheaper than draining.
            update.writes.reverse();
            while let Some(write) = update.writes.pop() {
                if commits {
                    merged.writes.push(write.clone());
                }
                if graph
                    .channel(write.channel)
                    .is_some_and(|channel| channel.merge == Reducer::Once)
                    && !write.op.is_reset()
                {
                    sealed.push(write.channel);
                }
                merging.take(write, record.node != NodeId::START);
            }
        }
        if commits {
            self.merges.push(merged);
        }
    }

    fn rule(&self, channel: ChannelId) -> Option<&Reducer> {
        Some(&self.graph.channel(channel)?.merge)
    }

    fn default(&self, channel: ChannelId) -> Option<V> {
        self.graph.channel(channel)?.default.as_ref().map(V::fresh_copy)
    }

    fn is_reset(&self, channel: ChannelId) -> bool {
        self.writes().any(|(_, write)| write.channel == channel && write.op.is_reset())
    }

    /// The sizes of the changed keys, by name.
    fn sizes(&self) -> serde_json::Value {
        let mut sizes = serde_json::Map::new();
        for &id in self.state.touched() {
            let Some(channel) = self.graph.channel(id) else { continue };
            let value = self.state.get(id);
            if !is_internal(channel) {
                sizes.insert(channel.name.to_string(), value.map_or(0, Value::size).into());
            } else if channel.merge == Reducer::Fields {
                let fields = value.and_then(Value::fields).unwrap_or_default();
                let changed = |(key, _): &(String, V)| self.state.touched_fields().contains(key);
                let size = |(key, value): (String, V)| (key, value.size().into());
                sizes.extend(fields.into_iter().filter(changed).map(size));
            }
        }
        serde_json::Value::Object(sizes)
    }
}

/// A failure that is not retried.
fn not_retried((slot, fault): (u32, Fault)) -> BlamedFailure {
    (slot, Failure { fault, verdict: RetryVerdict::Never })
}
