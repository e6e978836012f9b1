//! Routing: the targets that tasks choose, their branches, their edges, and the joins they
//! complete.

use std::sync::Arc;

use smallvec::SmallVec;

use super::frame::{Frame, TaskRecord, TaskStatus};
use super::frontier::{Frontier, ResolvedRoute, ResolvedSend, TargetName};
use super::log::EventLog;
use super::scope::{TaskOrigin, span};
use crate::channel::{ChannelId, Reducer, Write, WriteOp};
use crate::command::{Destination, Route, Update};
use crate::event::{Event, EventKind, Level};
use crate::fault::{Fault, FaultCode};
use crate::graph::{ConditionalEdge, END, Graph, NodeId, RouterView};
use crate::rules::{ReducerSite, Rules};
use crate::seed::Seed;
use crate::state::View;
use crate::task::Failure;
use crate::time::Time;
use crate::value::Value;

/// A failure, and the slot of the failed task.
pub(super) type BlamedFailure = (u32, Failure);

/// The writes of one task, over the state.
pub(super) type WriteOverlay<V> = SmallVec<[(ChannelId, V); 2]>;

/// The label of an edge in its event.
#[derive(Clone, Copy)]
enum Label<'a> {
    None,
    /// The name of the target.
    Target,
    Text(&'a str),
}

impl<V: Value> Frame<V> {
    /// Routes several tasks, each by the state before the superstep with its own writes only. A
    /// single task sees the same after the merge and is routed then, unless its node may be
    /// retried.
    pub(super) fn route_by_own_writes(
        &mut self,
        scope: u32,
        rules: &mut impl Rules<V>,
    ) -> Result<(), BlamedFailure> {
        let alone = self.records.len() < 2;
        if self.graph.semantics().router_view != RouterView::Own
            || (alone && !self.may_repeat_first())
        {
            return Ok(());
        }
        for slot in 0..self.records.len() {
            if !self.wants_routing(slot) {
                continue;
            }
            let overlay = if self.asks_branches(slot) {
                self.overlay(slot, rules).map_err(|fault| (index(slot), fault.into()))?
            } else {
                WriteOverlay::new()
            };
            self.route_one(scope, slot, &overlay, rules)?;
        }
        Ok(())
    }

    pub(super) fn route(
        &mut self,
        scope: u32,
        rules: &mut impl Rules<V>,
    ) -> Result<(), BlamedFailure> {
        for slot in 0..self.records.len() {
            if self.wants_routing(slot) {
                self.route_one(scope, slot, &[], rules)?;
            }
        }
        Ok(())
    }

    fn may_repeat_first(&self) -> bool {
        let node = self.records.first().and_then(|record| self.graph.node(record.node));
        node.is_some_and(|node| node.policy.may_retry())
    }

    /// Drops the routes of a task that has failed.
    pub(super) fn forget_route(&mut self, slot: u32) {
        self.routes.retain(|(of, _)| *of != slot);
        if let Some(record) = self.records.get_mut(slot as usize) {
            record.routed = false;
        }
    }

    fn wants_routing(&self, slot: usize) -> bool {
        self.records.get(slot).is_some_and(|record| record.wants_routing(&self.graph))
    }

    /// Whether routers decide about the task.
    fn asks_branches(&self, slot: usize) -> bool {
        self.records.get(slot).is_some_and(|record| !self.graph.branches(record.node).is_empty())
    }

    fn route_one(
        &mut self,
        scope: u32,
        slot: usize,
        overlay: &[(ChannelId, V)],
        rules: &mut impl Rules<V>,
    ) -> Result<(), BlamedFailure> {
        let slot_id = index(slot);
        let blame = |fault: Fault| (slot_id, Failure::from(fault));
        let Self { graph, state, records, routes, .. } = self;
        let Some(record) = records.get_mut(slot) else { return Ok(()) };
        let TaskStatus::Done(update) = &mut record.status else { return Ok(()) };
        let (own, ask) = match &mut update.route {
            Route::Also(choices) => (std::mem::take(choices), true),
            Route::Only(choices) => (std::mem::take(choices), false),
            Route::Follow | Route::End => (Vec::new(), true),
        };
        let (node, attempt) = (record.node, record.attempt);
        for choice in own {
            routes.push((slot_id, route(graph, node, None, choice).map_err(blame)?));
        }
        let branches = if ask { graph.branches(node) } else { &[] };
        for branch in branches {
            let (slots, changed, revision) = (state.slots(), state.changed(), state.revision());
            let view = View {
                scope,
                slot: slot_id,
                node,
                attempt,
                graph,
                slots,
                overlay,
                changed,
                revision,
            };
            for choice in rules.route(branch.router, &view).map_err(|failure| (slot_id, failure))? {
                routes.push((slot_id, route(graph, node, Some(branch), choice).map_err(blame)?));
            }
        }
        record.routed = true;
        Ok(())
    }

    /// The channels that this task's writes would change, with their values.
    fn overlay(&self, slot: usize, rules: &mut impl Rules<V>) -> Result<WriteOverlay<V>, Fault> {
        match self.records.get(slot).map(|record| &record.status) {
            Some(TaskStatus::Done(update)) => self.with_writes(update.writes.iter(), rules),
            _ => Ok(WriteOverlay::new()),
        }
    }

    /// The channels that some writes would change, with their values.
    pub(super) fn with_writes<'a>(
        &self,
        writes: impl Iterator<Item = &'a Write<V>> + Clone,
        rules: &mut impl Rules<V>,
    ) -> Result<WriteOverlay<V>, Fault>
    where
        V: 'a,
    {
        let mut overlay = WriteOverlay::new();
        let resets = writes.clone().filter(|write| write.op.is_reset());
        let others = writes.filter(|write| !write.op.is_reset());
        // As in the merge of all writes, resets come first.
        for write in resets.chain(others) {
            let Some(channel) = self.graph.channel(write.channel) else { continue };
            let own = overlay.iter().position(|(id, _)| *id == write.channel);
            let own = own.map(|place| overlay.swap_remove(place).1);
            let old = || own.or_else(|| self.state.get(write.channel).cloned());
            let value = match (&write.op, &channel.merge) {
                (WriteOp::Replace(new), _)
                | (WriteOp::Merge(new), Reducer::Set | Reducer::Last | Reducer::Once) => {
                    new.clone()
                }
                (WriteOp::Reset, _) => match &channel.default {
                    Some(default) => default.fresh_copy(),
                    None => continue,
                },
                (WriteOp::Merge(new), Reducer::Foreign(rule)) => {
                    let at =
                        ReducerSite { graph: &self.graph, channel: write.channel, rule: *rule };
                    rules.reduce(at, old(), new.clone())?
                }
                (WriteOp::Merge(new), rule) => V::merge(rule, old(), new.clone()),
            };
            overlay.push((write.channel, value));
        }
        Ok(overlay)
    }

    /// Follows all edges and routes; nothing can fail here.
    pub(super) fn follow(&mut self, origin: &TaskOrigin<'_>, log: &mut EventLog) {
        let Self { graph, records, frontier, routes, .. } = self;
        if routes.len() > 1 {
            // Sorted already, unless an error policy has rerouted tasks.
            routes.sort_by_key(|(slot, _)| *slot);
        }
        let mut routes = (!routes.is_empty()).then(|| routes.drain(..).peekable());
        for (slot, record) in (0_u32..).zip(&*records) {
            let TaskStatus::Done(update) = &record.status else { continue };
            let follows = matches!(update.route, Route::Follow | Route::Also(_));
            frontier.over |= matches!(update.route, Route::End);
            let mut edges = TaskEdges { graph, frontier, log, record, slot, origin };
            if follows {
                for &target in graph.successors(edges.record.node) {
                    edges.take_edge(target, Label::None);
                }
                if !graph.joins().is_empty() {
                    edges.arrive();
                }
            }
            let Some(routes) = &mut routes else { continue };
            while let Some((_, route)) = routes.next_if(|(of, _)| *of <= slot) {
                edges.take_route(route);
            }
        }
    }
}

impl<V> TaskRecord<V> {
    /// Whether it is done and its route is not resolved.
    pub(super) fn wants_routing(&self, graph: &Graph<V>) -> bool {
        match &self.status {
            TaskStatus::Done(Update { route: Route::Follow, .. }) => {
                !self.routed && !graph.branches(self.node).is_empty()
            }
            TaskStatus::Done(Update { route: Route::Also(_) | Route::Only(_), .. }) => !self.routed,
            _ => false,
        }
    }
}

/// Takes the edges of one task.
struct TaskEdges<'a, V> {
    graph: &'a Graph<V>,
    frontier: &'a mut Frontier<V>,
    log: &'a mut EventLog,
    record: &'a TaskRecord<V>,
    slot: u32,
    origin: &'a TaskOrigin<'a>,
}

impl<V: Value> TaskEdges<'_, V> {
    fn take_route(&mut self, route: ResolvedRoute<V>) {
        match route {
            ResolvedRoute::To(target, TargetName::Own) => self.take_edge(target, Label::Target),
            ResolvedRoute::To(target, TargetName::Label(label)) => {
                self.take_edge(target, Label::Text(&label));
            }
            ResolvedRoute::Send(sent) => {
                let Self { graph, log, record, slot, origin, .. } = self;
                let target = || graph.node_name(Some(sent.node));
                let label = Label::Text("send");
                log.emit(|| edge(origin, origin.task(graph, record, *slot), target(), label));
                self.frontier.sends.push(sent);
            }
            ResolvedRoute::Lost(name) => {
                let Self { graph, log, record, slot, origin, .. } = self;
                log.emit(|| {
                    let task = origin.task(graph, record, *slot);
                    let mut event = edge(origin, task, name, Label::None);
                    event.level = Level::Warning;
                    event.data.insert("exists".into(), false.into());
                    event
                });
            }
        }
    }

    fn take_edge(&mut self, target: Option<NodeId>, label: Label<'_>) {
        let Self { graph, frontier, log, record, slot, origin } = self;
        log.emit(|| {
            let to = graph.node_name(target);
            edge(origin, origin.task(graph, record, *slot), to, label)
        });
        if let Some(target) = target {
            frontier.add(graph, target);
        }
    }

    fn arrive(&mut self) {
        for target in self.frontier.arrive(self.graph, self.record.node) {
            self.take_edge(Some(target), Label::Text("join"));
        }
    }
}

fn edge(origin: &TaskOrigin<'_>, task: (Arc<str>, Seed), to: Arc<str>, label: Label<'_>) -> Event {
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
        path: origin.path.iter().cloned().chain([source]).collect(),
        kind: EventKind::EdgeTaken,
        name: to,
        data: data.into(),
        level: Level::Debug,
        span_id: span(seed),
        parent_span_id: Some(span(origin.seed)),
    }
}

/// Resolves a chosen target. A branch with declared targets may choose only among these.
fn route<V>(
    graph: &Graph<V>,
    from: NodeId,
    branch: Option<&ConditionalEdge>,
    choice: Destination<V>,
) -> Result<ResolvedRoute<V>, Fault> {
    match choice {
        Destination::End => Ok(ResolvedRoute::To(None, TargetName::Own)),
        Destination::Node(node) if node != NodeId::START && graph.node(node).is_some() => {
            Ok(ResolvedRoute::To(Some(node), TargetName::Own))
        }
        Destination::Node(node) => Err(undeclared(graph, from, branch, &node.0.to_string())),
        Destination::Name(name) => named(graph, from, branch, name),
        Destination::Send(send) => match graph.node_id(&send.node) {
            Some(node) if node != NodeId::START => Ok(ResolvedRoute::Send(ResolvedSend {
                node,
                input: send.input,
                timeout: send.timeout,
                limit: send.limit,
            })),
            _ if graph.semantics().lenient => Ok(ResolvedRoute::Lost(send.node)),
            _ => Err(undeclared(graph, from, branch, &send.node)),
        },
    }
}

fn named<V>(
    graph: &Graph<V>,
    from: NodeId,
    branch: Option<&ConditionalEdge>,
    name: Arc<str>,
) -> Result<ResolvedRoute<V>, Fault> {
    let declared = branch.and_then(|branch| branch.targets.as_ref());
    let found = match declared {
        Some(targets) => targets.get(&name).copied(),
        None if &*name == END => Some(None),
        None => graph.node_id(&name).filter(|&node| node != NodeId::START).map(Some),
    };
    match found {
        Some(target) if declared.is_some() => {
            Ok(ResolvedRoute::To(target, TargetName::Label(name)))
        }
        Some(target) => Ok(ResolvedRoute::To(target, TargetName::Own)),
        None if graph.semantics().lenient && declared.is_none() => Ok(ResolvedRoute::Lost(name)),
        None => Err(undeclared(graph, from, branch, &name)),
    }
}

fn undeclared<V>(
    graph: &Graph<V>,
    from: NodeId,
    branch: Option<&ConditionalEdge>,
    name: &str,
) -> Fault {
    let known: Vec<&str> = match branch.and_then(|branch| branch.targets.as_ref()) {
        Some(targets) => targets.keys().map(|label| &**label).collect(),
        None => graph.nodes().iter().skip(1).map(|node| &*node.name).chain([END]).collect(),
    };
    let source = graph.node_name(Some(from));
    let message = format!("`{source}` leads to a target that does not exist: {name}");
    let fault = Fault::new(FaultCode::TargetUnknown, message)
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
