//! The barrier of a superstep: all writes are checked, then all are merged,
//! in the order of the tasks and whatever order they ended in.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Run;
use super::frame::{Frame, Status};
use crate::channel::{ChannelId, Merge, Op, Write};
use crate::event::EventKind;
use crate::fault::{Category, Fault};
use crate::rules::{Rules, Site};
use crate::value::Value;

/// A failure and the slot of the task whose failure it is.
pub(super) type Blamed = (u32, Fault);

impl<V: Value> Run<V> {
    /// Merges a superstep and follows its edges. False if a task turned out to
    /// have failed, in which case nothing more is to be done now.
    pub(super) fn barrier(&mut self, unit: u32, rules: &mut impl Rules<V>) -> bool {
        let commits = self.desk.commits;
        let Some(frame) = self.units.frame_mut(unit) else { return false };
        if frame.records.is_empty() {
            return true;
        }
        let merged = frame.merge(unit, unit != 0, commits, rules);
        if let Err((slot, fault)) = merged {
            frame.open += 1;
            self.settle(unit, slot, fault);
            return false;
        }
        self.log_merge(unit);
        if let Some(frame) = self.units.frame_mut(unit) {
            frame.follow(unit, &mut self.desk.log);
        }
        if commits {
            self.commit(unit);
        }
        true
    }

    fn commit(&mut self, unit: u32) {
        let id = self.desk.next_commit();
        let delta = self.units.delta(unit, id, None);
        self.desk.deltas.extend(delta.map(Box::new));
        let Self { units, desk } = self;
        let step = units.frame_mut(unit).map_or(0, |frame| {
            frame.uncommitted.clear();
            frame.step
        });
        desk.log.emit(|| {
            let mut event = units.unit_event(unit, EventKind::Checkpoint);
            event.data.insert("id".into(), id.into());
            event.data.insert("step".into(), step.into());
            event
        });
    }

    fn log_merge(&mut self, unit: u32) {
        let Self { units, desk } = self;
        desk.log.emit(|| {
            let mut event = units.unit_event(unit, EventKind::StateUpdated);
            if let Some(frame) = units.frame(unit) {
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
        unit: u32,
        nested: bool,
        commits: bool,
        rules: &mut impl Rules<V>,
    ) -> Result<(), Blamed> {
        self.check()?;
        let staged = self.stage(rules)?;
        self.route_by_own_sight(unit, rules)?;
        self.apply(staged, nested, commits);
        self.route(unit, rules)
    }

    fn writes(&self) -> impl Iterator<Item = (u32, &Write<V>)> {
        (0_u32..).zip(&self.records).flat_map(|(slot, record)| {
            let writes = match &record.status {
                Status::Done(update) => update.writes.as_slice(),
                _ => &[],
            };
            writes.iter().map(move |write| (slot, write))
        })
    }

    /// Finds writes that cannot be merged, before anything is changed.
    fn check(&self) -> Result<(), Blamed> {
        let mut seen: SmallVec<[(u32, &Write<V>); 4]> = SmallVec::new();
        for (slot, write) in self.writes() {
            let Some(channel) = self.graph.channel(write.channel) else { continue };
            let old = self.state.get(write.channel);
            if let Op::Merge(new) = &write.op
                && let Err(reason) = V::check(&channel.merge, old, new)
            {
                return Err((slot, self.unmergeable(slot, write.channel, &reason)));
            }
            if channel.merge == Merge::Once && old.is_some() {
                let reason = "it is written once, and it holds a value already";
                return Err((slot, self.unmergeable(slot, write.channel, reason)));
            }
            if channel.merge.joins() && matches!(write.op, Op::Merge(_)) {
                continue;
            }
            let rivals = seen.iter().filter(|(_, earlier)| earlier.channel == write.channel);
            for (other, earlier) in rivals {
                if self.clashes((*other, earlier), (slot, write), &channel.merge) {
                    return Err((slot, self.conflict(*other, slot, write.channel)));
                }
            }
            seen.push((slot, write));
        }
        Ok(())
    }

    fn clashes(&self, first: (u32, &Write<V>), second: (u32, &Write<V>), rule: &Merge) -> bool {
        let exclusive = self.graph.habits().exclusive;
        match (&first.1.op, &second.1.op) {
            (Op::Reset, _) | (_, Op::Reset) => false,
            // One writer may change its mind; the last write counts.
            _ if first.0 == second.0 && !exclusive => *rule == Merge::Once,
            (Op::Merge(one) | Op::Replace(one), Op::Merge(two) | Op::Replace(two)) => {
                exclusive || !one.same(two)
            }
        }
    }

    /// Applies the host's own rules, which may fail, beside the state.
    fn stage(&self, rules: &mut impl Rules<V>) -> Result<Staged<V>, Blamed> {
        let mut staged: Staged<V> = SmallVec::new();
        for (slot, write) in self.writes() {
            let Op::Merge(new) = &write.op else { continue };
            let Some(Merge::Foreign(rule)) = self.rule(write.channel) else { continue };
            let place = staged.iter().position(|(channel, _)| *channel == write.channel);
            let old = match place {
                Some(place) => Some(staged.swap_remove(place).1),
                None if self.is_reset(write.channel) => self.default(write.channel),
                None => self.state.get(write.channel).cloned(),
            };
            let at = Site { graph: &self.graph, channel: write.channel, rule: *rule };
            let merged = rules.reduce(at, old, new.clone()).map_err(|fault| (slot, fault))?;
            staged.push((write.channel, merged));
        }
        Ok(staged)
    }

    fn apply(&mut self, staged: Staged<V>, nested: bool, commits: bool) {
        let graph = Arc::clone(&self.graph);
        let reset: SmallVec<[ChannelId; 2]> = self
            .writes()
            .filter(|(_, w)| matches!(w.op, Op::Reset))
            .map(|(_, w)| w.channel)
            .collect();
        for &channel in &reset {
            self.state.put(channel, self.default(channel));
        }
        for (channel, value) in staged {
            self.state.put(channel, Some(value));
        }
        let mut replaced: SmallVec<[ChannelId; 2]> = SmallVec::new();
        for slot in 0..self.records.len() {
            for write in self.take_writes(slot) {
                if nested {
                    self.pass_up(&write);
                }
                if commits && !self.uncommitted.contains(&write.channel) {
                    self.uncommitted.push(write.channel);
                }
                let Some(rule) = graph.channel(write.channel).map(|channel| &channel.merge) else {
                    continue;
                };
                match write.op {
                    Op::Replace(new) => {
                        replaced.push(write.channel);
                        self.state.put(write.channel, Some(new));
                    }
                    Op::Merge(new) if !replaced.contains(&write.channel) => {
                        self.merge_one(write.channel, rule, new);
                    }
                    Op::Merge(_) | Op::Reset => {}
                }
            }
        }
    }

    fn merge_one(&mut self, channel: ChannelId, rule: &Merge, new: V) {
        match rule {
            Merge::Foreign(_) => {}
            Merge::Set | Merge::Last | Merge::Once => self.state.put(channel, Some(new)),
            rule => {
                let old = self.state.take(channel);
                self.state.put(channel, Some(V::merge(rule, old, new)));
            }
        }
    }

    fn take_writes(&mut self, slot: usize) -> SmallVec<[Write<V>; 2]> {
        match self.records.get_mut(slot).map(|record| &mut record.status) {
            Some(Status::Done(update)) => std::mem::take(&mut update.writes),
            _ => SmallVec::new(),
        }
    }

    fn rule(&self, channel: ChannelId) -> Option<&Merge> {
        Some(&self.graph.channel(channel)?.merge)
    }

    fn default(&self, channel: ChannelId) -> Option<V> {
        self.graph.channel(channel)?.default.as_ref().map(V::fresh)
    }

    fn is_reset(&self, channel: ChannelId) -> bool {
        self.writes().any(|(_, write)| write.channel == channel && matches!(write.op, Op::Reset))
    }

    /// How large the channels are that changed last, by name.
    fn sizes(&self) -> serde_json::Value {
        let size = |&id: &ChannelId| {
            let size = self.state.get(id).map_or(0, Value::size);
            Some((self.graph.channel(id)?.name.to_string(), size.into()))
        };
        serde_json::Value::Object(self.state.changed().iter().filter_map(size).collect())
    }

    fn writer(&self, slot: u32) -> Arc<str> {
        let node = self.records.get(slot as usize).map(|record| record.node);
        self.graph.node_name(node)
    }

    fn conflict(&self, first: u32, second: u32, channel: ChannelId) -> Fault {
        let channel = self.graph.channel(channel).map_or("", |channel| &channel.name);
        let (first, second) = (self.writer(first), self.writer(second));
        let message = format!(
            "`{first}` and `{second}` wrote different values in one superstep to the key: {channel}"
        );
        Fault::new(Category::State, "write_conflict", message)
            .with("key", channel)
            .with("nodes", serde_json::json!([&*first, &*second]))
            .hint("declare a merge rule for the key, for instance `Annotated[list, append]`")
    }

    fn unmergeable(&self, slot: u32, channel: ChannelId, reason: &str) -> Fault {
        let channel = self.graph.channel(channel).map_or("", |channel| &channel.name);
        let message =
            format!("`{}` wrote what key `{channel}` cannot take: {reason}", self.writer(slot));
        Fault::new(Category::State, "write_unmergeable", message).with("key", channel)
    }
}

type Staged<V> = SmallVec<[(ChannelId, V); 2]>;
