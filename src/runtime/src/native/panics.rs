//! Panics of a host's code, contained so that the driver survives them.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use antiphon_core::command::Destinations;
use antiphon_core::rules::{ReducerSite, Rules};
use antiphon_core::state::View;
use antiphon_core::task::Failure;
use antiphon_core::{Fault, FaultCode};
use serde_json::Value as Json;

use crate::host::Host;

/// The message of a panic.
#[derive(Debug)]
pub(crate) struct CaughtPanic(String);

impl CaughtPanic {
    pub(super) fn of(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(text.unwrap_or_else(|| "a value that is no text".to_owned()))
    }

    /// The failure of the node whose code it was.
    pub(super) fn of_node(self, path: &[std::sync::Arc<str>]) -> Fault {
        let message = format!("the code of a node panicked: {}", path.join(" > "));
        Fault::new(FaultCode::NodePanicked, message).with("panic", self.0)
    }

    /// Its text.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn of_rule(self, what: &str, number: u32) -> Fault {
        let message = format!("the host's {what} panicked, number: {number}");
        Fault::new(FaultCode::RulePanicked, message).with("panic", self.0)
    }
}

/// Runs a future to its end or its panic.
pub(crate) async fn contained<T>(work: impl Future<Output = T>) -> Result<T, CaughtPanic> {
    let mut work = pin!(work);
    // After a panic the future is dropped and never polled again.
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => Poll::Ready(Err(CaughtPanic::of(&*payload))),
    })
    .await
}

/// A host's merge rules and routers.
pub(super) struct HostRules<'h, H: ?Sized>(pub(super) &'h H);

impl<H: Host + ?Sized> Rules<Json> for HostRules<'_, H> {
    fn reduce(
        &mut self,
        at: ReducerSite<'_, Json>,
        old: Option<Json>,
        new: Json,
    ) -> Result<Json, Fault> {
        let rule = at.rule;
        catch_unwind(AssertUnwindSafe(|| self.0.reduce(at, old, new)))
            .unwrap_or_else(|payload| Err(CaughtPanic::of(&*payload).of_rule("merge rule", rule)))
    }

    fn route(&mut self, router: u32, view: &View<'_, Json>) -> Result<Destinations<Json>, Failure> {
        let routed = catch_unwind(AssertUnwindSafe(|| self.0.route(router, view)))
            .unwrap_or_else(|payload| Err(CaughtPanic::of(&*payload).of_rule("router", router)));
        routed.map_err(Failure::from)
    }
}
