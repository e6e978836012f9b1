//! The only call-outs of the engine: merge rules and routers that are the
//! host's own.

use crate::channel::ChannelId;
use crate::command::Destinations;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::state::View;
use crate::task::Failure;

/// Answered by the host: synchronous, at once, without side effects. No lock
/// or borrow of the run is held across a call.
pub trait Rules<V> {
    /// Merges `new` into `old` by the host's rule number `rule`.
    ///
    /// # Errors
    /// The failure of whoever wrote `new`.
    fn reduce(&mut self, at: ReducerSite<'_, V>, old: Option<V>, new: V) -> Result<V, Fault>;

    /// Where to go from here, by the host's router number `router`.
    ///
    /// # Errors
    /// The failure of the task whose branch it is: as if its node had failed.
    fn route(&mut self, router: u32, view: &View<'_, V>) -> Result<Destinations<V>, Failure>;
}

/// Where a merge rule is applied.
#[derive(Debug)]
pub struct ReducerSite<'a, V> {
    /// The graph that owns the channel.
    pub graph: &'a Graph<V>,
    /// The channel.
    pub channel: ChannelId,
    /// The number under which the host keeps the rule.
    pub rule: u32,
}

/// A host with no rules of its own.
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
    let message = format!("the host has no {what} of that number: {number}");
    Fault::new(crate::fault::FaultCode::RuleMissing, message)
}
