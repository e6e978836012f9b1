//! A host made of closures, a model that follows a script, and virtual time.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::agent::{AgentResult, AgentSpec};
use antiphon_core::channel::Reducer;
use antiphon_core::command::{Destination, Destinations, Update};
use antiphon_core::graph::{Graph, GraphBuilder, Node, NodePolicy, NodeWork};
use antiphon_core::run::{Options, Run};
use antiphon_core::state::View;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Fault, Message, Time};
use antiphon_runtime::{Clock, Host, ManualClock, Model, NodeCall, Tool};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

pub(crate) mod guard;
pub(crate) mod script;
pub(crate) mod tools;

type Answering = Pin<Box<dyn Future<Output = TaskOutcome<Json>> + Send>>;
type NodeCode = Box<dyn Fn(NodeCall) -> Answering + Send + Sync>;
type RouterCode = Box<dyn Fn(&View<'_, Json>) -> &'static str + Send + Sync>;

/// A host whose parts are given one by one.
#[derive(Default)]
pub(crate) struct TestHost {
    nodes: BTreeMap<&'static str, NodeCode>,
    routers: Vec<RouterCode>,
    model: Option<Arc<dyn Model>>,
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
}

impl TestHost {
    pub(crate) fn node<F>(
        mut self,
        name: &'static str,
        code: impl Fn(NodeCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = TaskOutcome<Json>> + Send + 'static,
    {
        self.nodes.insert(name, Box::new(move |call| Box::pin(code(call))));
        self
    }

    pub(crate) fn router(
        mut self,
        code: impl Fn(&View<'_, Json>) -> &'static str + Send + Sync + 'static,
    ) -> Self {
        self.routers.push(Box::new(code));
        self
    }

    pub(crate) fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    pub(crate) fn tool(mut self, name: &'static str, tool: Arc<dyn Tool>) -> Self {
        self.tools.insert(name, tool);
        self
    }
}

#[async_trait]
impl Host for TestHost {
    async fn node(&self, call: NodeCall) -> TaskOutcome<Json> {
        let name = call.node.to_string();
        self.nodes[name.as_str()](call).await
    }

    async fn open(&self, call: NodeCall) -> Result<Vec<Message>, Fault> {
        Ok(vec![Message::user(call.state.text("question"))])
    }

    async fn close(&self, call: NodeCall, conclusion: AgentResult) -> Result<Update<Json>, Fault> {
        call.update([("answer", json!(conclusion.text))])
    }

    fn model(&self, call: &NodeCall) -> Result<Arc<dyn Model>, Fault> {
        let known = self.model.as_ref().map(Arc::clone);
        known.ok_or_else(|| {
            Fault::foreign(Category::Internal, "test", format!("no model: {}", call.node))
        })
    }

    fn tool(&self, _: &NodeCall, name: &str) -> Result<Arc<dyn Tool>, Fault> {
        Ok(Arc::clone(&self.tools[name]))
    }

    fn route(&self, router: u32, view: &View<'_, Json>) -> Result<Destinations<Json>, Fault> {
        let target = self.routers[router as usize](view);
        Ok(Destinations::from_iter([Destination::Name(target.into())]))
    }
}

/// A graph with the channels that the tests use.
pub(crate) fn graph() -> GraphBuilder<Json> {
    let mut graph = Graph::builder("test");
    for key in ["question", "answer"] {
        graph.channel(key, Reducer::Set);
    }
    graph.channel("log", Reducer::Append);
    graph
}

/// A node with its own policy.
pub(crate) fn node(graph: &mut GraphBuilder<Json>, name: &str, policy: NodePolicy) {
    graph.add_node(Node { name: name.into(), work: NodeWork::Call, policy });
}

/// An agent's node.
pub(crate) fn agent(
    graph: &mut GraphBuilder<Json>,
    name: &str,
    spec: AgentSpec,
    policy: NodePolicy,
) {
    graph.add_node(Node { name: name.into(), work: NodeWork::Agent(Arc::new(spec)), policy });
}

/// A run that records, with nothing in its state.
pub(crate) fn run(graph: &Arc<Graph<Json>>, clock: &ManualClock) -> Run<Json> {
    run_with(graph, clock, Options::default())
}

/// A run that records.
pub(crate) fn run_with(
    graph: &Arc<Graph<Json>>,
    clock: &ManualClock,
    options: Options,
) -> Run<Json> {
    Run::new(Arc::clone(graph), vec![], Options { events: true, ..options }, clock.now())
}

/// What a channel holds when a run is at rest.
pub(crate) fn held(run: &Run<Json>, key: &str) -> Json {
    let channel = run.graph(0).unwrap().channel_id(key).unwrap();
    run.state().get(channel).cloned().unwrap_or(Json::Null)
}

/// An outcome that writes one value.
pub(crate) fn wrote(call: &NodeCall, key: &str, value: Json) -> TaskOutcome<Json> {
    match call.update([(key, value)]) {
        Ok(update) => TaskOutcome::Done(update),
        Err(fault) => TaskOutcome::failed(fault),
    }
}

/// An outcome that writes nothing.
pub(crate) fn nothing() -> TaskOutcome<Json> {
    TaskOutcome::Done(Update::default())
}

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Time::from_micros(1_000_000)))
}

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Runs `work` on a single thread and moves time on whenever all of it waits.
pub(crate) async fn in_virtual_time<T>(clock: &ManualClock, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        // Each round lets every task that can continue do so once.
        for _ in 0..64 {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = tokio::task::yield_now() => {}
            }
        }
        if let Some(at) = clock.next_wake() {
            clock.advance(at.since(clock.now()));
        }
    }
}
