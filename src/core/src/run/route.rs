//! Where the tasks of a superstep lead: their own wishes, their branches,
//! their edges, and the joins they complete.

use std::sync::Arc;

use smallvec::SmallVec;

use super::agenda::{Agenda, Sent};
use super::barrier::Blamed;
use super::conflict::is_reset;
use super::frame::{Frame, Record, Status};
use super::log::Log;
use super::unit::{Place, span};
use crate::channel::{ChannelId, Merge, Op, Write};
use crate::command::{Choice, Route, Update};
use crate::event::{Event, EventKind, Level};
use crate::fault::{Category, Fault};
use crate::graph::{Branch, END, Graph, NodeId, Sight};
use crate::rules::{Rules, Site};
use crate::seed::Seed;
use crate::state::View;
use crate::task::Failure;
use crate::time::Time;
use crate::value::Value;

/// Where one task leads, looked up and known to exist.
#[derive(Debug)]
pub(super) enum Hop<V> {
    To(Option<NodeId>, Name),
    Send(Sent<V>),
    /// To a node that does not exist, where the graph is lenient about that.
    Lost(Arc<str>),
}

/// What one task has written, over the state.
pub(super) type Overlay<V> = SmallVec<[(ChannelId, V); 2]>;

/// Under which name a target was chosen.
#[derive(Debug)]
pub(super) enum Name {
    Own,
    /// A label of the branch that stands for it.
    Label(Arc<str>),
}

/// What an event says of the edge that was taken.
#[derive(Clone, Copy)]
enum Label<'a> {
    None,
    /// The name of the target.
    Target,
    Text(&'a str),
}

impl<V: Value> Frame<V> {
    /// Asks the branches of several tasks, each with its own writes alone over
    /// the state before the superstep. A single task sees the same after the
    /// merge, and is asked then, unless its node may have to run again.
    pub(super) fn route_by_own_sight(
        &mut self,
        unit: u32,
        rules: &mut impl Rules<V>,
    ) -> Result<(), Blamed> {
        let alone = self.records.len() < 2;
        if self.graph.habits().sight != Sight::Own || (alone && !self.may_repeat_first()) {
            return Ok(());
        }
        for slot in 0..self.records.len() {
            if !self.wants_routing(slot) {
                continue;
            }
            let overlay = if self.asks_branches(slot) {
                self.overlay(slot, rules).map_err(|fault| (index(slot), fault.into()))?
            } else {
                Overlay::new()
            };
            self.route_one(unit, slot, &overlay, rules)?;
        }
        Ok(())
    }

    pub(super) fn route(&mut self, unit: u32, rules: &mut impl Rules<V>) -> Result<(), Blamed> {
        for slot in 0..self.records.len() {
            if self.wants_routing(slot) {
                self.route_one(unit, slot, &[], rules)?;
            }
        }
        Ok(())
    }

    fn may_repeat_first(&self) -> bool {
        let node = self.records.first().and_then(|record| self.graph.node(record.node));
        node.is_some_and(|node| node.policy.may_retry())
    }

    /// Forgets where a task leads: it has failed, and will be asked again.
    pub(super) fn forget_route(&mut self, slot: u32) {
        self.hops.retain(|(of, _)| *of != slot);
        if let Some(record) = self.records.get_mut(slot as usize) {
            record.routed = false;
        }
    }

    fn wants_routing(&self, slot: usize) -> bool {
        self.records.get(slot).is_some_and(|record| record.wants_routing(&self.graph))
    }

    /// Whether anybody looks at the state before it is known where a task leads.
    fn asks_branches(&self, slot: usize) -> bool {
        self.records.get(slot).is_some_and(|record| !self.graph.branches(record.node).is_empty())
    }

    fn route_one(
        &mut self,
        unit: u32,
        slot: usize,
        overlay: &[(ChannelId, V)],
        rules: &mut impl Rules<V>,
    ) -> Result<(), Blamed> {
        let place = index(slot);
        let blame = |fault: Fault| (place, Failure::from(fault));
        let Self { graph, state, records, hops, .. } = self;
        let Some(record) = records.get_mut(slot) else { return Ok(()) };
        let Status::Done(update) = &mut record.status else { return Ok(()) };
        let (own, ask) = match &mut update.route {
            Route::Also(choices) => (std::mem::take(choices), true),
            Route::Only(choices) => (std::mem::take(choices), false),
            Route::Follow | Route::End => (Vec::new(), true),
        };
        let (node, attempt) = (record.node, record.attempt);
        for choice in own {
            hops.push((place, hop(graph, node, None, choice).map_err(blame)?));
        }
        let branches = if ask { graph.branches(node) } else { &[] };
        for branch in branches {
            let (slots, changed, revision) = (state.slots(), state.changed(), state.revision());
            let view =
                View { unit, slot: place, node, attempt, graph, slots, overlay, changed, revision };
            for choice in rules.route(branch.router, &view).map_err(|failure| (place, failure))? {
                hops.push((place, hop(graph, node, Some(branch), choice).map_err(blame)?));
            }
        }
        record.routed = true;
        Ok(())
    }

    /// What the state would be after this task's writes alone.
    fn overlay(&self, slot: usize, rules: &mut impl Rules<V>) -> Result<Overlay<V>, Fault> {
        match self.records.get(slot).map(|record| &record.status) {
            Some(Status::Done(update)) => self.over(update.writes.iter(), rules),
            _ => Ok(Overlay::new()),
        }
    }

    /// The channels that some writes would change, as they would be then.
    pub(super) fn over<'a>(
        &self,
        writes: impl Iterator<Item = &'a Write<V>> + Clone,
        rules: &mut impl Rules<V>,
    ) -> Result<Overlay<V>, Fault>
    where
        V: 'a,
    {
        let mut overlay = Overlay::new();
        let resets = writes.clone().filter(|write| is_reset(write));
        let others = writes.filter(|write| !is_reset(write));
        // As in the merge of all writes, resets come first.
        for write in resets.chain(others) {
            let Some(channel) = self.graph.channel(write.channel) else { continue };
            let own = overlay.iter().position(|(id, _)| *id == write.channel);
            let own = own.map(|place| overlay.swap_remove(place).1);
            let old = || own.or_else(|| self.state.get(write.channel).cloned());
            let value = match (&write.op, &channel.merge) {
                (Op::Replace(new), _)
                | (Op::Merge(new), Merge::Set | Merge::Last | Merge::Once) => new.clone(),
                (Op::Reset, _) => match &channel.default {
                    Some(default) => default.fresh(),
                    None => continue,
                },
                (Op::Merge(new), Merge::Foreign(rule)) => {
                    let at = Site { graph: &self.graph, channel: write.channel, rule: *rule };
                    rules.reduce(at, old(), new.clone())?
                }
                (Op::Merge(new), rule) => V::merge(rule, old(), new.clone()),
            };
            overlay.push((write.channel, value));
        }
        Ok(overlay)
    }

    /// Makes ready what comes next. Nothing can fail any more.
    pub(super) fn follow(&mut self, place: &Place<'_>, log: &mut Log) {
        let Self { graph, records, agenda, hops, .. } = self;
        if hops.len() > 1 {
            // In order already, unless a failure sent some tasks another way.
            hops.sort_by_key(|(slot, _)| *slot);
        }
        let mut hops = (!hops.is_empty()).then(|| hops.drain(..).peekable());
        for (slot, record) in (0_u32..).zip(&*records) {
            let Status::Done(update) = &record.status else { continue };
            let follows = matches!(update.route, Route::Follow | Route::Also(_));
            agenda.over |= matches!(update.route, Route::End);
            let mut path = Path { graph, agenda, log, record, slot, place };
            if follows {
                for &target in graph.successors(path.record.node) {
                    path.take_edge(target, Label::None);
                }
                if !graph.joins().is_empty() {
                    path.arrive();
                }
            }
            let Some(hops) = &mut hops else { continue };
            while let Some((_, hop)) = hops.next_if(|(of, _)| *of <= slot) {
                path.take_hop(hop);
            }
        }
    }
}

impl<V> Record<V> {
    /// Whether it is done and it is not known yet where that leads.
    pub(super) fn wants_routing(&self, graph: &Graph<V>) -> bool {
        match &self.status {
            Status::Done(Update { route: Route::Follow, .. }) => {
                !self.routed && !graph.branches(self.node).is_empty()
            }
            Status::Done(Update { route: Route::Also(_) | Route::Only(_), .. }) => !self.routed,
            _ => false,
        }
    }
}

/// The way on from one task.
struct Path<'a, V> {
    graph: &'a Graph<V>,
    agenda: &'a mut Agenda<V>,
    log: &'a mut Log,
    record: &'a Record<V>,
    slot: u32,
    place: &'a Place<'a>,
}

impl<V: Value> Path<'_, V> {
    fn take_hop(&mut self, hop: Hop<V>) {
        match hop {
            Hop::To(target, Name::Own) => self.take_edge(target, Label::Target),
            Hop::To(target, Name::Label(label)) => self.take_edge(target, Label::Text(&label)),
            Hop::Send(sent) => {
                let Self { graph, log, record, slot, place, .. } = self;
                let target = || graph.node_name(Some(sent.node));
                let label = Label::Text("send");
                log.emit(|| edge(place, place.task(graph, record, *slot), target(), label));
                self.agenda.sends.push(sent);
            }
            Hop::Lost(name) => {
                let Self { graph, log, record, slot, place, .. } = self;
                log.emit(|| {
                    let task = place.task(graph, record, *slot);
                    let mut event = edge(place, task, name, Label::None);
                    event.level = Level::Warning;
                    event.data.insert("exists".into(), false.into());
                    event
                });
            }
        }
    }

    fn take_edge(&mut self, target: Option<NodeId>, label: Label<'_>) {
        let Self { graph, agenda, log, record, slot, place } = self;
        log.emit(|| {
            let to = graph.node_name(target);
            edge(place, place.task(graph, record, *slot), to, label)
        });
        if let Some(target) = target {
            agenda.add(graph, target);
        }
    }

    fn arrive(&mut self) {
        for target in self.agenda.arrive(self.graph, self.record.node) {
            self.take_edge(Some(target), Label::Text("join"));
        }
    }
}

fn edge(place: &Place<'_>, task: (Arc<str>, Seed), to: Arc<str>, label: Label<'_>) -> Event {
    let (source, seed) = task;
    let mut data = serde_json::Map::new();
    data.insert("source".into(), (*source).into());
    data.insert("target".into(), (*to).into());
    let label = match label {
        Label::None => None,
        Label::Target => Some(&*to),
        Label::Text(text) => Some(text),
    };
    data.extend(label.map(|label| ("label".to_owned(), label.into())));
    Event {
        seq: 0,
        at: Time::default(),
        path: place.path.iter().cloned().chain([source]).collect(),
        kind: EventKind::EdgeTaken,
        name: to,
        data,
        level: Level::Debug,
        span_id: span(seed),
        parent_span_id: Some(span(place.seed)),
    }
}

/// Looks up what was chosen. A branch that declares its targets may choose
/// among those only.
fn hop<V>(
    graph: &Graph<V>,
    from: NodeId,
    branch: Option<&Branch>,
    choice: Choice<V>,
) -> Result<Hop<V>, Fault> {
    match choice {
        Choice::End => Ok(Hop::To(None, Name::Own)),
        Choice::Node(node) if node != NodeId::START && graph.node(node).is_some() => {
            Ok(Hop::To(Some(node), Name::Own))
        }
        Choice::Node(node) => Err(undeclared(graph, from, branch, &node.0.to_string())),
        Choice::Name(name) => named(graph, from, branch, name),
        Choice::Send(send) => match graph.node_id(&send.node) {
            Some(node) if node != NodeId::START => {
                Ok(Hop::Send(Sent { node, input: send.input, timeout: send.timeout }))
            }
            _ if graph.habits().lenient => Ok(Hop::Lost(send.node)),
            _ => Err(undeclared(graph, from, branch, &send.node)),
        },
    }
}

fn named<V>(
    graph: &Graph<V>,
    from: NodeId,
    branch: Option<&Branch>,
    name: Arc<str>,
) -> Result<Hop<V>, Fault> {
    let declared = branch.and_then(|branch| branch.targets.as_ref());
    let found = match declared {
        Some(targets) => targets.get(&name).copied(),
        None if &*name == END => Some(None),
        None => graph.node_id(&name).filter(|&node| node != NodeId::START).map(Some),
    };
    match found {
        Some(target) if declared.is_some() => Ok(Hop::To(target, Name::Label(name))),
        Some(target) => Ok(Hop::To(target, Name::Own)),
        None if graph.habits().lenient && declared.is_none() => Ok(Hop::Lost(name)),
        None => Err(undeclared(graph, from, branch, &name)),
    }
}

fn undeclared<V>(graph: &Graph<V>, from: NodeId, branch: Option<&Branch>, name: &str) -> Fault {
    let known: Vec<&str> = match branch.and_then(|branch| branch.targets.as_ref()) {
        Some(targets) => targets.keys().map(|label| &**label).collect(),
        None => graph.nodes().iter().skip(1).map(|node| &*node.name).chain([END]).collect(),
    };
    let source = graph.node_name(Some(from));
    let message = format!("`{source}` leads to a target that does not exist: {name}");
    let fault = Fault::new(Category::State, "target_unknown", message)
        .with("target", name)
        .with("known", known.join(", "))
        .hint(format!("choose one of: {}", known.join(", ")));
    match branch {
        Some(branch) => fault.with("branch", &*branch.name),
        None => fault,
    }
}

fn index(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}
