//! Finding writes that cannot be merged, before anything is changed.

use std::sync::Arc;

use super::barrier::Blamed;
use super::frame::{Frame, Status};
use crate::channel::{Channel, ChannelId, Merge, Op, Write};
use crate::fault::{Category, Fault};
use crate::graph::{Graph, NodeId};
use crate::value::Value;

impl<V: Value> Frame<V> {
    /// Looks at all writes of the superstep.
    pub(super) fn check(&mut self) -> Result<(), Blamed> {
        self.claims.begin();
        for slot in 0..self.records.len() {
            let slot = u32::try_from(slot).unwrap_or(u32::MAX);
            for place in 0..self.writes_of(slot).len() {
                self.check_one(slot, u32::try_from(place).unwrap_or(u32::MAX))?;
            }
        }
        Ok(())
    }

    fn check_one(&mut self, slot: u32, place: u32) -> Result<(), Blamed> {
        let writes = self.writes_of(slot);
        let Some(write) = writes.get(place as usize) else { return Ok(()) };
        if self.is_input(slot)
            && let Some(fault) = mistyped(&self.graph, write)
        {
            return Err((slot, fault));
        }
        let Some(channel) = self.graph.channel(write.channel) else { return Ok(()) };
        if let Op::Merge(new) = &write.op
            && let Err(reason) = V::check(&channel.merge, self.state.get(write.channel), new)
        {
            return Err((slot, self.unmergeable(slot, channel, &reason)));
        }
        let alone = matches!(channel.merge, Merge::Set | Merge::Once);
        if matches!(write.op, Op::Reset) || (!alone && matches!(write.op, Op::Merge(_))) {
            return Ok(());
        }
        let id = write.channel;
        if channel.merge == Merge::Once && self.sealed.contains(&id) && !self.is_reset(id) {
            let reason = "it is written once, and it holds a value already";
            return Err((slot, self.unmergeable(slot, channel, reason)));
        }
        // One writer may change its mind; the last write counts.
        let lenient = !self.graph.habits().exclusive && channel.merge != Merge::Once;
        let later = writes.iter().skip(place as usize + 1);
        if lenient && later.filter(|later| later.channel == id).any(|later| !is_reset(later)) {
            return Ok(());
        }
        self.claim(id, slot, place)
    }

    fn claim(&mut self, id: ChannelId, slot: u32, place: u32) -> Result<(), Blamed> {
        let Some(first) = self.claims.claim(id, slot, place) else { return Ok(()) };
        let value = |slot: u32, place: u32| match &self.writes_of(slot).get(place as usize)?.op {
            Op::Merge(value) | Op::Replace(value) => Some(value),
            Op::Reset => None,
        };
        let agree = match (value(first.slot, first.place), value(slot, place)) {
            (Some(one), Some(two)) => first.slot != slot && one.same(two),
            _ => true,
        };
        if agree && !self.graph.habits().exclusive {
            return Ok(());
        }
        Err((slot, self.conflict(first.slot, slot, id)))
    }

    fn writes_of(&self, slot: u32) -> &[Write<V>] {
        match self.records.get(slot as usize).map(|record| &record.status) {
            Some(Status::Done(update)) => &update.writes,
            _ => &[],
        }
    }

    fn is_input(&self, slot: u32) -> bool {
        self.records.get(slot as usize).is_some_and(|record| record.node == NodeId::START)
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

    fn unmergeable(&self, slot: u32, channel: &Channel<V>, reason: &str) -> Fault {
        let name = &*channel.name;
        let message =
            format!("`{}` wrote what key `{name}` cannot take: {reason}", self.writer(slot));
        Fault::new(Category::State, "write_unmergeable", message).with("key", name)
    }
}

const fn is_reset<V>(write: &Write<V>) -> bool {
    matches!(write.op, Op::Reset)
}

/// What is wrong with a write that its channel's kind does not take.
pub(super) fn mistyped<V: Value>(graph: &Graph<V>, write: &Write<V>) -> Option<Fault> {
    let Some(channel) = graph.channel(write.channel) else {
        let message = format!("the graph has no channel of that number: {}", write.channel.0);
        return Some(Fault::new(Category::State, "state_key_unknown", message));
    };
    let value = match &write.op {
        // What is added to a list may be of another kind than the list.
        Op::Merge(_) if channel.merge.takes_parts() => return None,
        Op::Merge(value) | Op::Replace(value) => value,
        Op::Reset => return None,
    };
    if value.fits(channel.kind) {
        return None;
    }
    let kind = channel.kind.as_str();
    let message = format!("the key `{}` takes {kind}, and was given: {value:.80?}", channel.name);
    Some(Fault::new(Category::State, "write_mistyped", message).with("key", &*channel.name))
}
