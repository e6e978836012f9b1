//! The host: the code of a graph's builder, as the native driver calls it.

use std::sync::Arc;

use antiphon_core::agent::AgentResult;
use antiphon_core::command::{Destinations, Update};
use antiphon_core::rules::{NoRules, ReducerSite, Rules};
use antiphon_core::state::View;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, Message};
use async_trait::async_trait;
use serde_json::Value as Json;

use crate::port::{Model, Tool};

mod call;
mod call_request;
mod reporter;
mod snapshot;

pub use call::NodeCall;
pub use reporter::TaskReporter;
pub(crate) use reporter::{CallAdmission, TaskSignal, cancelled};
pub use snapshot::Snapshot;

/// Answers what a graph asks of its builder. One host serves all runs of its
/// graphs at once, so it keeps no state of a run.
///
/// Futures must stop what they do when they are dropped: that is how time-outs
/// and cancellation reach them. They may be moved between threads, and begin
/// on the thread of the driver: long computation belongs on
/// [`tokio::task::spawn_blocking`]. A panic becomes a fault of the node.
///
/// Only what a graph has is asked for: a host whose graphs have no agents
/// needs nothing but [`Host::node`].
#[async_trait]
pub trait Host: Send + Sync {
    /// Runs a node that is the host's own code: `Done`, `Ask`, `Escalate` or
    /// a failure. A node that asks is called again with the answer in
    /// [`NodeCall::answers`].
    async fn node(&self, call: NodeCall) -> TaskOutcome<Json>;

    /// Says how an agent's conversation begins.
    ///
    /// # Errors
    /// The agent cannot begin; its node fails with this fault.
    async fn open(&self, call: NodeCall) -> Result<Vec<Message>, Fault> {
        Err(missing("opening of an agent", &call))
    }

    /// Turns what an agent concluded into an update of the state.
    ///
    /// # Errors
    /// The conclusion is invalid; the agent's node fails with this fault.
    async fn close(&self, call: NodeCall, conclusion: AgentResult) -> Result<Update<Json>, Fault> {
        drop(conclusion);
        Err(missing("closing of an agent", &call))
    }

    /// The model of an agent's node.
    ///
    /// # Errors
    /// If there is none; the agent's node fails with it.
    fn model(&self, call: &NodeCall) -> Result<Arc<dyn Model>, Fault> {
        Err(missing("model", call))
    }

    /// The tool of that name of an agent's node.
    ///
    /// # Errors
    /// If there is none; the agent's model gets to read it.
    fn tool(&self, call: &NodeCall, name: &str) -> Result<Arc<dyn Tool>, Fault> {
        Err(missing("tool", call).with("tool", name))
    }

    /// Where to go from here, by the number the router was given in the
    /// graph. Synchronous and without side effects.
    ///
    /// # Errors
    /// The failure of the task whose branch it is.
    fn route(&self, router: u32, view: &View<'_, Json>) -> Result<Destinations<Json>, Fault> {
        NoRules.route(router, view).map_err(|failure| failure.fault)
    }

    /// Merges `new` into `old` by a rule of the host's own. Synchronous and
    /// without side effects.
    ///
    /// # Errors
    /// The fault of the update `new`.
    fn reduce(
        &self,
        at: ReducerSite<'_, Json>,
        old: Option<Json>,
        new: Json,
    ) -> Result<Json, Fault> {
        NoRules.reduce(at, old, new)
    }
}

fn missing(what: &str, call: &NodeCall) -> Fault {
    let message = format!("the host has no {what} for the node: {}", call.node);
    Fault::new(antiphon_core::FaultCode::HostIncomplete, message)
}
