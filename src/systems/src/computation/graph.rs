//! The graph: look at the inputs, plan, run, plan again if need be, summarise.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::agent::AgentSpec;
use antiphon_core::graph::{END, Graph, Node, NodePolicy, NodeWork, START};
use antiphon_core::{Fault, Schema};
use antiphon_reply::CompiledSchema;
use serde_json::Value as Json;

use super::config::Config;
use super::reply;
use super::state::State;
use crate::state::declare;

pub(super) const LOOK: &str = "look";
pub(super) const PLAN: &str = "plan";
pub(super) const RUN: &str = "run";
pub(super) const SUMMARISE: &str = "summarise";

/// The router after code has run.
pub(super) const VERDICT: u32 = 0;
/// Labels of that router.
pub(super) const COMPUTED: &str = "computed";
pub(super) const AGAIN: &str = "again";
pub(super) const OVER: &str = "over";

/// Builds the graph.
pub(super) fn build(config: &Config) -> Result<Arc<Graph<Json>>, Fault> {
    let mut graph = Graph::builder("computation");
    let error = declare::<State>(&mut graph);
    graph.node(LOOK);
    graph.add_node(agent(PLAN, &reply::plan(config), config)?);
    graph.node(RUN);
    graph.add_node(agent(SUMMARISE, &reply::summary(config), config)?);
    graph.edge(START, LOOK).edge(LOOK, PLAN).edge(PLAN, RUN);
    let after = if config.summarise { SUMMARISE } else { END };
    graph.branch(RUN, "verdict", VERDICT, Some(&[(COMPUTED, after), (AGAIN, PLAN), (OVER, END)]));
    graph.edge(SUMMARISE, END);
    if let Some(error) = error {
        // The number is there: a model that cannot word it takes nothing away.
        graph.on_error_record(SUMMARISE, error);
    }
    graph.build().map_err(|error| Fault::new(error.code(), error.to_string()))
}

/// A node where the model speaks.
fn agent(name: &str, schema: &Schema, config: &Config) -> Result<Node<Json>, Fault> {
    let spec = AgentSpec {
        output: Some(Arc::new(CompiledSchema::compile(schema)?)),
        temperature: config.temperature,
        max_reasks: config.max_reasks,
        max_tool_calls: 0,
        max_turns: config.max_reasks.saturating_add(2),
        tags: BTreeMap::from([("role".to_owned(), name.to_owned())]),
        ..AgentSpec::default()
    };
    let work = NodeWork::Agent(Arc::new(spec));
    Ok(Node { name: name.into(), work, policy: NodePolicy::default() })
}
