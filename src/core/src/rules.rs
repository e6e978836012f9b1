//! The only call-outs of the engine: reducers, routers and retry policies of the host.

use crate::channel::ChannelId;
use crate::command::Destinations;
use crate::fault::Fault;
use crate::graph::{Graph, NodeId};
use crate::state::View;
use crate::task::{Failure, RetryVerdict};

/// Reducers and routers of the host: synchronous and without side effects. No lock or borrow of the
/// run is held across a call.
pub trait Rules<V> {
    /// Merges `new` into `old` by the host's reducer `at.rule`.
    ///
    /// # Errors
    /// The failure of the task that wrote `new`.
    fn reduce(&mut self, at: ReducerSite<'_, V>, old: Option<V>, new: V) -> Result<V, Fault>;

    /// The targets that the host's router chooses.
    ///
    /// # Errors
    /// The failure of the task that is routed, as if its node had failed.
    fn route(&mut self, router: u32, view: &View<'_, V>) -> Result<Destinations<V>, Failure>;

    /// Whether a nested graph or an agent loop that has failed works again: `node` of `graph` is
    /// the one that it works for. By default, the category of the fault decides.
    fn retry_verdict(&mut self, _graph: &Graph<V>, _node: NodeId, _fault: &Fault) -> RetryVerdict {
        RetryVerdict::ByCategory
    }
}

/// Where a reducer of the host is applied.
#[derive(Debug)]
pub struct ReducerSite<'a, V> {
    /// The graph that owns the channel.
    pub graph: &'a Graph<V>,
    /// The channel.
    pub channel: ChannelId,
    /// The host's number of the reducer.
    pub rule: u32,
}

/// A host without reducers and routers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRules;

impl<V> Rules<V> for NoRules {
    fn reduce(&mut self, at: ReducerSite<'_, V>, _: Option<V>, _: V) -> Result<V, Fault> {
        Err(missing("merge rule", at.rule))
    }

    fn route(&mut self, router: u32, _: &View<'_, V>) -> Result<Destinations<V>, Failure> {
        Err(missing("router", router).into())
    }
}

fn missing(what: &str, number: u32) -> Fault {
    let message = format!("the host has no {what} with the number: {number}");
    Fault::new(crate::fault::FaultCode::RuleMissing, message)
}
