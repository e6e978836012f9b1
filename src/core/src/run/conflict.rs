//! Finding writes that cannot be merged, before anything is changed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::frame::{Frame, TaskRecord, TaskStatus};
use super::write_claims::WriteClaims;
use crate::channel::{Channel, ChannelId, Reducer, Write, WriteOp};
use crate::fault::{Fault, FaultCode};
use crate::graph::{Graph, NodeId};
use crate::state::State;
use crate::value::Value;

/// What a merge involves beyond setting channels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MergeSurvey {
    /// Reducers of the host are called.
    pub(super) foreign: bool,
    /// Channels are reset first.
    pub(super) resets: bool,
    /// Tasks have to be routed.
    pub(super) routes: bool,
}

impl<V: Value> Frame<V> {
    /// Checks all writes of the superstep.
    pub(super) fn check(&mut self) -> Result<MergeSurvey, (u32, Fault)> {
        let Self { graph, state, records, sealed, claims, .. } = self;
        let check = Check { graph, state, records, sealed };
        let mut survey = MergeSurvey::default();
        claims.begin();
        let mut fields = FieldWrites::new();
        for (slot, record) in (0_u32..).zip(check.records) {
            let TaskStatus::Done(update) = &record.status else { continue };
            survey.routes |= record.wants_routing(graph);
            for (place, write) in update.writes.iter().enumerate() {
                survey.resets |= write.op.is_reset();
                let blame = |fault| (slot, fault);
                if record.node == NodeId::START {
                    mistyped(graph, write).map_or(Ok(()), Err).map_err(blame)?;
                }
                let Some(channel) = graph.channel(write.channel) else { continue };
                survey.foreign |= matches!(channel.merge, Reducer::Foreign(_));
                check.fits(record, channel, write).map_err(blame)?;
                if is_exclusive(channel, write) {
                    let at = (slot, place);
                    check.claim(at, channel, &update.writes, claims).map_err(blame)?;
                } else if channel.merge == Reducer::Fields {
                    check.claim_fields(slot, write, &mut fields).map_err(blame)?;
                }
            }
        }
        Ok(survey)
    }
}

/// Whether two writers have to agree.
const fn is_exclusive<V>(channel: &Channel<V>, write: &Write<V>) -> bool {
    match write.op {
        WriteOp::Merge(_) => !channel.merge.joins(),
        WriteOp::Replace(_) => true,
        WriteOp::Reset => false,
    }
}

/// Fields of records: the first writer in the superstep, and its value.
type FieldWrites<V> = BTreeMap<(ChannelId, String), (u32, V)>;

/// The superstep that is checked.
struct Check<'a, V> {
    graph: &'a Graph<V>,
    state: &'a State<V>,
    records: &'a [TaskRecord<V>],
    sealed: &'a [ChannelId],
}

impl<V: Value> Check<'_, V> {
    fn fits(
        &self,
        record: &TaskRecord<V>,
        channel: &Channel<V>,
        write: &Write<V>,
    ) -> Result<(), Fault> {
        let WriteOp::Merge(new) = &write.op else { return Ok(()) };
        V::check(&channel.merge, self.state.get(write.channel), new)
            .map_err(|reason| self.unmergeable(record, channel, &reason))
    }

    fn claim(
        &self,
        (slot, place): (u32, usize),
        channel: &Channel<V>,
        writes: &[Write<V>],
        claims: &mut WriteClaims,
    ) -> Result<(), Fault> {
        let Some(write) = writes.get(place) else { return Ok(()) };
        let (id, once) = (write.channel, channel.merge == Reducer::Once);
        if once && self.sealed.contains(&id) && !self.resets(id) {
            let Some(record) = self.records.get(slot as usize) else { return Ok(()) };
            let reason = "it can be written only once, and already has a value";
            return Err(self.unmergeable(record, channel, reason));
        }
        let exclusive = self.graph.semantics().exclusive;
        // Of several writes by one task the last one counts.
        let mut later = writes.iter().skip(place + 1);
        if !exclusive && !once && later.any(|later| later.channel == id && !later.op.is_reset()) {
            return Ok(());
        }
        let Some(first) = claims.claim(id, slot, place) else { return Ok(()) };
        let agree = match (self.value(first.slot, first.place), self.value(slot, place)) {
            (Some(one), Some(two)) => first.slot != slot && one.agrees_with(two),
            _ => true,
        };
        if agree && !exclusive {
            Ok(())
        } else {
            Err(self.conflict(first.slot, slot, &channel.name))
        }
    }

    fn claim_fields(
        &self,
        slot: u32,
        write: &Write<V>,
        claimed: &mut FieldWrites<V>,
    ) -> Result<(), Fault> {
        let WriteOp::Merge(record) = &write.op else { return Ok(()) };
        if self.records.len() < 2 {
            return Ok(());
        }
        for (field, value) in record.fields().unwrap_or_default() {
            match claimed.entry((write.channel, field)) {
                Entry::Vacant(free) => {
                    free.insert((slot, value));
                }
                Entry::Occupied(mut taken) => {
                    let (first, found) = taken.get();
                    if *first == slot {
                        taken.insert((slot, value));
                    } else if !found.agrees_with(&value) {
                        return Err(self.conflict(*first, slot, &taken.key().1));
                    }
                }
            }
        }
        Ok(())
    }

    fn value(&self, slot: u32, place: usize) -> Option<&V> {
        let record = self.records.get(slot as usize)?;
        let TaskStatus::Done(update) = &record.status else { return None };
        match &update.writes.get(place)?.op {
            WriteOp::Merge(value) | WriteOp::Replace(value) => Some(value),
            WriteOp::Reset => None,
        }
    }

    fn resets(&self, channel: ChannelId) -> bool {
        let writes = self.records.iter().filter_map(|record| match &record.status {
            TaskStatus::Done(update) => Some(&update.writes),
            _ => None,
        });
        writes.flatten().any(|write| write.channel == channel && write.op.is_reset())
    }

    fn writer(&self, slot: u32) -> Arc<str> {
        let node = self.records.get(slot as usize).map(|record| record.node);
        self.graph.node_name(node)
    }

    fn conflict(&self, first: u32, second: u32, name: &str) -> Fault {
        let (first, second) = (self.writer(first), self.writer(second));
        let message = format!(
            "`{first}` and `{second}` wrote different values in one superstep to the key: {name}"
        );
        Fault::new(FaultCode::WriteConflict, message)
            .with("key", name)
            .with("nodes", serde_json::json!([&*first, &*second]))
            .hint("declare a reducer for the key, for instance `Annotated[list, append]`")
    }

    fn unmergeable(&self, record: &TaskRecord<V>, channel: &Channel<V>, reason: &str) -> Fault {
        let (writer, name) = (self.graph.node_name(Some(record.node)), &*channel.name);
        let message = format!(
            "`{writer}` wrote a value that cannot be merged into the key `{name}`: {reason}"
        );
        Fault::new(FaultCode::WriteUnmergeable, message).with("key", name)
    }
}

/// The fault of a write of the wrong kind.
pub(super) fn mistyped<V: Value>(graph: &Graph<V>, write: &Write<V>) -> Option<Fault> {
    let Some(channel) = graph.channel(write.channel) else {
        let message = format!("the graph has no channel with the number: {}", write.channel.0);
        return Some(Fault::new(FaultCode::StateKeyUnknown, message));
    };
    let value = match &write.op {
        // An element of a list has another kind than the list.
        WriteOp::Merge(_) if channel.merge.takes_parts() => return None,
        WriteOp::Merge(value) | WriteOp::Replace(value) => value,
        WriteOp::Reset => return None,
    };
    if value.fits(channel.kind) {
        return None;
    }
    let kind = channel.kind.as_str();
    let message = format!("the key `{}` must be {kind}, found: {value:.80?}", channel.name);
    Some(Fault::new(FaultCode::WriteMistyped, message).with("key", &*channel.name))
}
