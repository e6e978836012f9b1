//! The state of one graph within a run, and what routers see of it.

use std::sync::Arc;

use crate::channel::{Channel, ChannelId};
use crate::graph::{Graph, NodeId};
use crate::value::Value;

/// The values of a graph's channels.
#[derive(Clone, Debug)]
pub struct State<V> {
    slots: Arc<Vec<Option<V>>>,
    /// Since the host last read the changes.
    changed: Channels,
    /// Counts all changes.
    revision: u64,
    /// By channel: the revision that changed it last. Channels at the end that have never changed
    /// are missing.
    revisions: Vec<u64>,
    /// What has changed since the last complete merge, if that is tracked.
    touched: Option<Box<TouchedChannels>>,
}

impl<V> Default for State<V> {
    fn default() -> Self {
        Self {
            slots: Arc::default(),
            changed: Channels::default(),
            revision: 0,
            revisions: Vec::new(),
            touched: None,
        }
    }
}

impl<V: Value> State<V> {
    pub(crate) fn new(graph: &Graph<V>) -> Self {
        let slots = graph
            .channels()
            .iter()
            .map(|channel| channel.default.as_ref().map(V::fresh_copy))
            .collect();
        Self { slots: Arc::new(slots), ..Self::default() }
    }

    /// A state that holds these values, by channel.
    pub fn of(values: Vec<Option<V>>) -> Self {
        Self { slots: Arc::new(values), ..Self::default() }
    }

    /// The value of a channel; `None` if it was never written and has no default.
    pub fn get(&self, id: ChannelId) -> Option<&V> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    /// A copy that later supersteps do not change.
    pub fn snapshot(&self) -> Arc<Vec<Option<V>>> {
        Arc::clone(&self.slots)
    }

    pub(crate) fn slots(&self) -> &[Option<V>] {
        &self.slots
    }

    /// Changes a channel, in place unless a snapshot of the state exists.
    pub(crate) fn change(&mut self, id: ChannelId, change: impl FnOnce(Option<V>) -> Option<V>) {
        if let Some(slot) = Arc::make_mut(&mut self.slots).get_mut(id.0 as usize) {
            *slot = change(slot.take());
            self.note(id);
        }
    }

    pub(crate) fn put(&mut self, id: ChannelId, value: Option<V>) {
        if let Some(slot) = Arc::make_mut(&mut self.slots).get_mut(id.0 as usize) {
            *slot = value;
            self.note(id);
        }
    }

    fn note(&mut self, id: ChannelId) {
        self.revision += 1;
        let place = id.0 as usize;
        if self.revisions.len() <= place {
            self.revisions.resize(place + 1, 0);
        }
        if let Some(revision) = self.revisions.get_mut(place) {
            *revision = self.revision;
        }
        self.changed.add(id);
        if let Some(touched) = &mut self.touched {
            touched.channels.add(id);
        }
    }

    /// Counts all changes, so that a host can detect new ones.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision that changed each channel last, in their order, so that a host can detect which of
    /// them are new. Channels at the end that have never changed are missing.
    pub fn revisions(&self) -> &[u64] {
        &self.revisions
    }

    /// Tracks which channels each superstep changes.
    pub(crate) fn trace(&mut self) {
        self.touched.get_or_insert_default();
    }

    /// Marks every channel with a value as changed, for a host that has not read any.
    pub(crate) fn show(&mut self) {
        let held = (0_u32..).map(ChannelId).zip(self.slots.iter());
        for (id, _) in held.filter(|(_, value)| value.is_some()) {
            self.changed.add(id);
        }
    }

    pub(crate) fn changed(&self) -> &[ChannelId] {
        &self.changed.list
    }

    pub(crate) fn clear_changes(&mut self) {
        self.changed.clear();
    }

    pub(crate) fn touched(&self) -> &[ChannelId] {
        self.touched.as_ref().map_or(&[], |touched| &touched.channels.list)
    }

    /// Whether the changes of a superstep are tracked.
    pub(crate) const fn is_traced(&self) -> bool {
        self.touched.is_some()
    }

    pub(crate) fn touched_fields(&self) -> &[String] {
        self.touched.as_ref().map_or(&[], |touched| &touched.fields)
    }

    pub(crate) fn touch_fields(&mut self, fields: Vec<String>) {
        if let Some(touched) = &mut self.touched {
            touched.fields.extend(fields);
        }
    }

    pub(crate) fn clear_touched(&mut self) {
        if let Some(touched) = &mut self.touched {
            touched.fields.clear();
            touched.channels.clear();
        }
    }
}

/// The channels that supersteps have changed.
#[derive(Clone, Debug, Default)]
struct TouchedChannels {
    channels: Channels,
    /// The fields of internal channels.
    fields: Vec<String>,
}

/// A set of channels in the order they were added.
#[derive(Clone, Debug, Default)]
struct Channels {
    list: Vec<ChannelId>,
    /// By channel: whether it is in the list.
    marks: Vec<bool>,
}

impl Channels {
    fn add(&mut self, id: ChannelId) {
        let place = id.0 as usize;
        if self.marks.len() <= place {
            self.marks.resize(place + 1, false);
        }
        if let Some(mark) = self.marks.get_mut(place)
            && !std::mem::replace(mark, true)
        {
            self.list.push(id);
        }
    }

    fn clear(&mut self) {
        if self.list.is_empty() {
            return;
        }
        for id in self.list.drain(..) {
            if let Some(mark) = self.marks.get_mut(id.0 as usize) {
                *mark = false;
            }
        }
    }
}

/// The state that a router sees; with [`crate::graph::RouterView::Own`], overlaid with the writes
/// of its task.
#[derive(Debug)]
pub struct View<'a, V> {
    /// The scope whose state it is.
    pub scope: u32,
    /// The slot of the task that is routed.
    pub slot: u32,
    /// The node of that task.
    pub node: NodeId,
    /// The attempt of that task.
    pub attempt: u32,
    /// The graph that gives the channels their names.
    pub graph: &'a Graph<V>,
    pub(crate) slots: &'a [Option<V>],
    pub(crate) overlay: &'a [(ChannelId, V)],
    pub(crate) changed: &'a [ChannelId],
    pub(crate) revision: u64,
}

impl<'a, V> View<'a, V> {
    /// The value of a channel.
    pub fn get(&self, id: ChannelId) -> Option<&'a V> {
        let own = self.overlay.iter().rev().find(|(channel, _)| *channel == id);
        match own {
            Some((_, value)) => Some(value),
            None => self.slots.get(id.0 as usize)?.as_ref(),
        }
    }

    /// The value of the channel with that name.
    pub fn named(&self, name: &str) -> Option<&'a V> {
        self.get(self.graph.channel_id(name)?)
    }

    /// All channels that hold something.
    pub fn iter(&self) -> impl Iterator<Item = (&'a Channel<V>, &'a V)> + '_ {
        let ids = (0_u32..).map(ChannelId);
        self.graph
            .channels()
            .iter()
            .zip(ids)
            .filter_map(|(channel, id)| Some((channel, self.get(id)?)))
    }

    /// The channels that changed since the host last read the changes, for hosts that mirror the
    /// state.
    pub const fn changed(&self) -> &'a [ChannelId] {
        self.changed
    }

    /// As [`State::revision`], for hosts that skip known changes.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The values that only this router's task has written so far.
    pub const fn overlay(&self) -> &'a [(ChannelId, V)] {
        self.overlay
    }
}
