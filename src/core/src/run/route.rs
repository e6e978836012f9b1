//! Where the tasks of a superstep lead: their own wishes, their branches,
//! their edges, and the joins they complete.

use std::sync::Arc;

use smallvec::SmallVec;

use super::barrier::Blamed;
use super::frame::{Frame, Sent, Status};
use super::log::Log;
use crate::channel::{ChannelId, Merge, Op};
use crate::command::{Choice, Choices, Route};
use crate::event::{Event, EventKind, Level};
use crate::fault::{Category, Fault};
use crate::graph::{Branch, END, Graph, NodeId, Sight};
use crate::rules::{Rules, Site};
use crate::state::View;
use crate::time::Time;
use crate::value::Value;

/// Where one task leads, looked up and known to exist.
#[derive(Debug)]
pub(super) enum Hop<V> {
    To(Option<NodeId>, Option<Arc<str>>),
    Send(Sent<V>),
}

pub(super) type Hops<V> = SmallVec<[Hop<V>; 1]>;

impl<V: Value> Frame<V> {
    /// Asks the branches of several tasks, each with its own writes alone over
    /// the state before the superstep. A single task sees the same after the
    /// merge, and is asked then.
    pub(super) fn route_by_own_sight(
        &mut self,
        unit: u32,
        rules: &mut impl Rules<V>,
    ) -> Result<(), Blamed> {
        if self.graph.habits().sight != Sight::Own || self.records.len() < 2 {
            return Ok(());
        }
        for slot in 0..self.records.len() {
            if !self.wants_routing(slot) {
                continue;
            }
            let overlay = self.overlay(slot, rules).map_err(|fault| (index(slot), fault))?;
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

    fn wants_routing(&self, slot: usize) -> bool {
        let Some(record) = self.records.get(slot) else { return false };
        let Status::Done(update) = &record.status else { return false };
        match update.route {
            Route::Follow => {
                record.routed.is_none() && !self.graph.branches(record.node).is_empty()
            }
            Route::Also(_) | Route::Only(_) => record.routed.is_none(),
            Route::End => false,
        }
    }

    fn route_one(
        &mut self,
        unit: u32,
        slot: usize,
        overlay: &[(ChannelId, V)],
        rules: &mut impl Rules<V>,
    ) -> Result<(), Blamed> {
        let blame = |fault| (index(slot), fault);
        let graph = Arc::clone(&self.graph);
        let Some(record) = self.records.get_mut(slot) else { return Ok(()) };
        let node = record.node;
        let Status::Done(update) = &mut record.status else { return Ok(()) };
        let mut hops = SmallVec::new();
        let (own, ask) = match &mut update.route {
            Route::Also(choices) => (std::mem::take(choices), true),
            Route::Only(choices) => (std::mem::take(choices), false),
            Route::Follow | Route::End => (Vec::new(), true),
        };
        resolve(&graph, node, None, own.into(), &mut hops).map_err(blame)?;
        let branches = if ask { graph.branches(node) } else { &[] };
        for branch in branches {
            let (slots, changed) = (self.state.slots(), self.state.changed());
            let slot = index(slot);
            let view = View { unit, slot, graph: &graph, slots, overlay, changed };
            let choices = rules.route(branch.router, &view).map_err(blame)?;
            resolve(&graph, node, Some(branch), choices, &mut hops).map_err(blame)?;
        }
        if let Some(record) = self.records.get_mut(slot) {
            record.routed = Some(hops);
        }
        Ok(())
    }

    /// What the state would be after this task's writes alone.
    fn overlay(
        &self,
        slot: usize,
        rules: &mut impl Rules<V>,
    ) -> Result<Vec<(ChannelId, V)>, Fault> {
        let mut overlay: Vec<(ChannelId, V)> = Vec::new();
        let Some(Status::Done(update)) = self.records.get(slot).map(|record| &record.status) else {
            return Ok(overlay);
        };
        for write in &update.writes {
            let Some(channel) = self.graph.channel(write.channel) else { continue };
            let own = overlay.iter().position(|(id, _)| *id == write.channel);
            let old = match own {
                Some(place) => Some(overlay.swap_remove(place).1),
                None => self.state.get(write.channel).cloned(),
            };
            let value = match (&write.op, &channel.merge) {
                (Op::Replace(new), _) => new.clone(),
                (Op::Reset, _) => match &channel.default {
                    Some(default) => default.clone(),
                    None => continue,
                },
                (Op::Merge(new), Merge::Foreign(rule)) => {
                    let at = Site { graph: &self.graph, channel: write.channel, rule: *rule };
                    rules.reduce(at, old, new.clone())?
                }
                (Op::Merge(new), rule) => V::merge(rule, old, new.clone()),
            };
            overlay.push((write.channel, value));
        }
        Ok(overlay)
    }

    /// Makes ready what comes next. Nothing can fail any more.
    pub(super) fn follow(&mut self, unit: u32, log: &mut Log) {
        let graph = Arc::clone(&self.graph);
        for slot in 0..self.records.len() {
            let Some(record) = self.records.get_mut(slot) else { continue };
            let Status::Done(update) = &record.status else { continue };
            let node = record.node;
            let (edges, ends) = match update.route {
                Route::Follow | Route::Also(_) => (true, false),
                Route::Only(_) => (false, false),
                Route::End => (false, true),
            };
            let hops = record.routed.take().unwrap_or_default();
            self.over |= ends;
            if edges {
                for &target in graph.successors(node) {
                    self.take_edge((unit, node), target, None, log);
                }
                self.arrive((unit, node), log);
            }
            for hop in hops {
                match hop {
                    Hop::To(target, label) => {
                        self.take_edge((unit, node), target, label.as_deref(), log);
                    }
                    Hop::Send(sent) => {
                        log.emit(|| edge(&graph, node, Some(sent.node), Some("send")));
                        self.sends.push(sent);
                    }
                }
            }
        }
    }

    fn take_edge(
        &mut self,
        from: (u32, NodeId),
        target: Option<NodeId>,
        label: Option<&str>,
        log: &mut Log,
    ) {
        log.emit(|| edge(&self.graph, from.1, target, label));
        if let Some(target) = target {
            self.make_ready(target);
        }
    }

    /// Counts a finished node towards the joins it belongs to.
    fn arrive(&mut self, from: (u32, NodeId), log: &mut Log) {
        let graph = Arc::clone(&self.graph);
        for (place, join) in graph.joins().iter().enumerate() {
            if !join.sources.contains(&from.1) {
                continue;
            }
            let Some(arrived) = self.arrived.get_mut(place) else { continue };
            if !arrived.contains(&from.1) {
                arrived.push(from.1);
            }
            if arrived.len() == join.sources.len() {
                arrived.clear();
                self.take_edge(from, Some(join.target), Some("join"), log);
            }
        }
    }

    pub(super) fn make_ready(&mut self, node: NodeId) {
        let deferred = self.graph.node(node).is_some_and(|node| node.policy.deferred);
        if let Some(mark) = self.marked.get_mut(node.0 as usize)
            && !std::mem::replace(mark, true)
        {
            if deferred { self.deferred.push(node) } else { self.ready.push(node) }
        }
    }
}

impl<V: Value> Frame<V> {
    /// Drops whatever was to come next and goes to `target` instead.
    pub(super) fn redirect(&mut self, target: NodeId) {
        self.ready.clear();
        self.deferred.clear();
        self.sends.clear();
        self.marked.fill(false);
        self.over = false;
        self.make_ready(target);
    }
}

/// Looks up what was chosen. A branch that declares its targets may choose
/// among those only.
fn resolve<V>(
    graph: &Graph<V>,
    from: NodeId,
    branch: Option<&Branch>,
    choices: Choices<V>,
    hops: &mut Hops<V>,
) -> Result<(), Fault> {
    let name = branch.map(|branch| Arc::clone(&branch.name));
    for choice in choices {
        let hop = match choice {
            Choice::End => Some(Hop::To(None, name.clone())),
            Choice::Node(node) => Some(Hop::To(Some(node), name.clone())),
            Choice::Name(label) => named(graph, branch, &label)?.map(|to| Hop::To(to, Some(label))),
            Choice::Send(send) => match graph.node_id(&send.node) {
                Some(node) if node != NodeId::START => {
                    Some(Hop::Send(Sent { node, input: send.input, timeout: send.timeout }))
                }
                _ => unknown(graph, from, &send.node)?,
            },
        };
        match hop {
            Some(hop) => hops.push(hop),
            None if graph.habits().lenient => {}
            None => return Err(undeclared(graph, from, branch, "")),
        }
    }
    Ok(())
}

#[expect(clippy::option_option, reason = "outer: whether it was found; inner: the end has no node")]
fn named<V>(
    graph: &Graph<V>,
    branch: Option<&Branch>,
    label: &Arc<str>,
) -> Result<Option<Option<NodeId>>, Fault> {
    let declared = branch.and_then(|branch| branch.targets.as_ref());
    let found = match declared {
        Some(targets) => targets.get(label).copied(),
        None if &**label == END => Some(None),
        None => graph.node_id(label).filter(|&node| node != NodeId::START).map(Some),
    };
    match found {
        Some(target) => Ok(Some(target)),
        None if graph.habits().lenient && declared.is_none() => Ok(None),
        None => Err(undeclared(graph, NodeId::START, branch, label)),
    }
}

fn unknown<V, T>(graph: &Graph<V>, from: NodeId, name: &str) -> Result<Option<T>, Fault> {
    if graph.habits().lenient { Ok(None) } else { Err(undeclared(graph, from, None, name)) }
}

fn undeclared<V>(graph: &Graph<V>, from: NodeId, branch: Option<&Branch>, name: &str) -> Fault {
    let known: Vec<&str> = match branch.and_then(|branch| branch.targets.as_ref()) {
        Some(targets) => targets.keys().map(|label| &**label).collect(),
        None => graph.nodes().iter().skip(1).map(|node| &*node.name).chain([END]).collect(),
    };
    let source =
        branch.map_or_else(|| graph.node_name(Some(from)), |branch| Arc::clone(&branch.name));
    let message = format!("`{source}` leads to a target that does not exist: {name}");
    Fault::new(Category::State, "target_unknown", message)
        .with("target", name)
        .with("known", known.join(", "))
        .hint(format!("choose one of: {}", known.join(", ")))
}

fn edge<V>(graph: &Graph<V>, from: NodeId, to: Option<NodeId>, label: Option<&str>) -> Event {
    let (source, target) = (graph.node_name(Some(from)), graph.node_name(to));
    let mut data = serde_json::Map::new();
    data.insert("source".into(), (*source).into());
    data.insert("target".into(), (*target).into());
    data.extend(label.map(|label| ("label".to_owned(), label.into())));
    Event {
        seq: 0,
        at: Time::default(),
        path: vec![Arc::clone(&source)],
        kind: EventKind::EdgeTaken,
        name: target,
        data,
        level: Level::Debug,
        span_id: String::new(),
        parent_span_id: None,
    }
}

fn index(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}
