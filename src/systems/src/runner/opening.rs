//! Waiting for a thread that another question holds.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{OpenedThread, ThreadRef};
use serde_json::Value as Json;

use crate::session::Session;

/// The first pause before a thread is tried again; it doubles.
const FIRST: Duration = Duration::from_millis(10);
/// The longest pause.
const LONGEST: Duration = Duration::from_millis(500);

/// Opens a thread; one that is busy is tried again until the time-out is over, or somebody cancels. The
/// holder may be another process, which tells nobody that it has ended.
pub(super) async fn open_thread(
    thread: &dyn ThreadRef,
    graph: &Arc<Graph<Json>>,
    (busy_timeout, session): (Option<Duration>, &Session),
) -> Result<OpenedThread, Fault> {
    let until = busy_timeout.map(|busy_timeout| session.clock.now() + busy_timeout);
    let mut pause = FIRST;
    loop {
        let busy = match thread.open(Arc::clone(graph)).await {
            Err(fault) if fault.code == FaultCode::ThreadBusy => fault,
            opened => return opened,
        };
        let is_over = until.is_none_or(|until| session.clock.now() >= until);
        let is_cancelled = session.cancel.as_ref().is_some_and(|token| token.reason().is_some());
        if is_over || is_cancelled {
            return Err(busy);
        }
        session.clock.sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}
