//! What all calls of one tool share, of all agents and runs of a process: how many may be under way
//! at once, and the circuit breaker.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::approval::HostVerdict;
use antiphon_core::breaker::{
    AdmittedCall, BreakerChange, BreakerPhase, BreakerPolicy, BreakerRefusal, CircuitBreaker,
};
use antiphon_core::{Fault, Time, ToolOutcome, ToolSpec};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;
use crate::port::{CallContext, CallNotes, Tool, UserContext};

/// Lets the calls of one tool through: so many at once, and none while the tool keeps failing.
///
/// A call that is still under way after its time-out counts as a failure when the next call asks,
/// so that a tool that hangs opens its circuit although nobody hears of it again.
pub struct ToolGate {
    name: String,
    timeout: Option<Duration>,
    slots: Option<Arc<Semaphore>>,
    state: Mutex<GateState>,
}

struct GateState {
    breaker: Option<CircuitBreaker>,
    calls: BTreeMap<u64, OpenCall>,
    next: u64,
    /// Calls that were given up after their time-out and have not returned.
    overdue: BTreeMap<u64, Time>,
    /// A change that no call could report.
    unreported: Option<BreakerChange>,
}

struct OpenCall {
    began: Time,
    timeout: Option<Duration>,
    admitted: Option<AdmittedCall>,
}

impl OpenCall {
    /// Whether it is under way for longer than it may.
    fn is_overdue(&self, now: Time) -> bool {
        self.timeout.is_some_and(|timeout| self.began + timeout <= now)
    }

    /// Whether it was given up because of its time-out, which began a little earlier, when the call
    /// was handed out: hence the tolerance of a twentieth.
    fn is_timed_out(&self, now: Time) -> bool {
        let spent = now.since(self.began).saturating_mul(20);
        self.timeout.is_some_and(|timeout| spent >= timeout.saturating_mul(19))
    }
}

/// What a gate knows, for its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateStatus {
    /// The breaker, if there is one.
    pub breaker: Option<BreakerChange>,
    /// Calls under way.
    pub running: usize,
    /// Calls that have exceeded their time-out and have not returned.
    pub overdue: usize,
}

impl ToolGate {
    /// The gate of the tool of that name, whose calls may take so long.
    pub fn new(
        name: &str,
        timeout: Option<Duration>,
        breaker: Option<BreakerPolicy>,
        max_concurrency: Option<u32>,
    ) -> Arc<Self> {
        let slots = max_concurrency.map(|most| {
            let most = usize::try_from(most.max(1)).unwrap_or(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
        });
        let state = GateState {
            breaker: breaker.map(CircuitBreaker::new),
            calls: BTreeMap::new(),
            next: 0,
            overdue: BTreeMap::new(),
            unreported: None,
        };
        Arc::new(Self { name: name.to_owned(), timeout, slots, state: Mutex::new(state) })
    }

    /// Waits until fewer calls than allowed are under way, and asks the breaker. The tool's
    /// time-out counts from now on; the time that the call waited here is none of it.
    ///
    /// # Errors
    /// `tool_circuit_open`.
    pub async fn enter(
        self: &Arc<Self>,
        clock: &Arc<dyn Clock>,
        notes: Option<CallNotes>,
    ) -> Result<GatedCall, Fault> {
        let slot = match &self.slots {
            Some(slots) => Arc::clone(slots).acquire_owned().await.ok(),
            None => None,
        };
        let now = clock.now();
        let (change, admitted) = self.lock().admit(now, self.timeout);
        // Not under the lock: what takes the note may have to wait for other threads.
        report(&self.name, change, notes.as_ref());
        let id = admitted.map_err(|refusal| refusal.into_fault(&self.name, now))?;
        let (gate, clock) = (Arc::clone(self), Arc::clone(clock));
        Ok(GatedCall { gate, clock, notes, id, _slot: slot })
    }

    /// What it knows at this moment.
    pub fn status(&self, now: Time) -> GateStatus {
        let mut state = self.lock();
        let change = state.sweep(now);
        state.unreported = change.or(state.unreported);
        GateStatus {
            breaker: state.breaker.as_ref().map(CircuitBreaker::status),
            running: state.calls.len(),
            overdue: state.overdue.len(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateState {
    /// Asks the breaker, and counts the call that it admits. Returns the change to report as well.
    fn admit(
        &mut self,
        now: Time,
        timeout: Option<Duration>,
    ) -> (Option<BreakerChange>, Result<u64, BreakerRefusal>) {
        let change = self.sweep(now).or(self.unreported);
        self.unreported = None;
        let was_open = self.is_open();
        let admitted = match self.breaker.as_mut().map(|breaker| breaker.admit(now)).transpose() {
            Ok(admitted) => admitted,
            Err(refusal) => return (change, Err(refusal)),
        };
        let tries = was_open && !self.is_open();
        let status = self.breaker.as_ref().map(CircuitBreaker::status);
        let id = self.next;
        self.next += 1;
        self.calls.insert(id, OpenCall { began: now, timeout, admitted });
        (if tries { status } else { change }, Ok(id))
    }

    fn is_open(&self) -> bool {
        self.breaker.as_ref().is_some_and(|breaker| breaker.phase() == BreakerPhase::Open)
    }

    /// Counts the calls that have taken too long.
    fn sweep(&mut self, now: Time) -> Option<BreakerChange> {
        let late = self.calls.iter().filter(|(_, call)| call.is_overdue(now));
        let late: Vec<u64> = late.map(|(id, _)| *id).collect();
        let mut change = None;
        for id in late {
            let Some(call) = self.calls.remove(&id) else { continue };
            self.overdue.insert(id, now);
            change = self.fail(call.admitted, now).or(change);
        }
        change
    }

    fn fail(&mut self, admitted: Option<AdmittedCall>, now: Time) -> Option<BreakerChange> {
        self.breaker.as_mut()?.record_failure(admitted?, now)
    }
}

/// A call that a gate has let through. Dropped without an outcome it was cancelled, or took too
/// long, which its time-out tells.
pub struct GatedCall {
    gate: Arc<ToolGate>,
    clock: Arc<dyn Clock>,
    notes: Option<CallNotes>,
    id: u64,
    _slot: Option<OwnedSemaphorePermit>,
}

impl GatedCall {
    /// The tool has answered. A failure to reach it counts for the breaker, as does a time-out of
    /// its own; what it refuses does not. Returns the new phase of the circuit, if that changed.
    pub fn finish(self, outcome: &ToolOutcome) -> Option<BreakerChange> {
        let failed = outcome.as_ref().is_err_and(|fault| fault.category.is_transient());
        self.record(failed)
    }

    /// The same, for a call whose failure the host has judged.
    pub fn record(self, failed: bool) -> Option<BreakerChange> {
        let mut state = self.gate.lock();
        let now = self.clock.now();
        // A call that has taken too long was counted already.
        let open = state.calls.remove(&self.id)?;
        let change = if failed {
            state.fail(open.admitted, now)
        } else {
            let breaker = state.breaker.as_mut().zip(open.admitted);
            breaker.and_then(|(breaker, admitted)| breaker.record_success(admitted))
        };
        drop(state);
        report(&self.gate.name, change, self.notes.as_ref());
        change
    }
}

impl Drop for GatedCall {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.overdue.remove(&self.id);
        let Some(open) = state.calls.remove(&self.id) else { return };
        let now = self.clock.now();
        if open.is_timed_out(now) {
            let change = state.fail(open.admitted, now);
            // The run has given the call up and may take no note of it any more.
            state.unreported = change.or(state.unreported);
        } else if let Some((breaker, admitted)) = state.breaker.as_mut().zip(open.admitted) {
            breaker.record_cancellation(admitted);
        }
    }
}

/// Puts a new phase into the trace of the run whose call has brought it about.
fn report(tool: &str, change: Option<BreakerChange>, notes: Option<&CallNotes>) {
    let (Some(change), Some(notes)) = (change, notes) else { return };
    notes("tool_circuit", describe(tool, change));
}

/// A phase of a circuit as its event shows it: `tool`, `phase`, `failures` and `until`.
pub fn describe(tool: &str, change: BreakerChange) -> Json {
    let BreakerChange { phase, failures, until } = change;
    let until = until.map(|until| until.to_string());
    json!({"tool": tool, "phase": phase, "failures": failures, "until": until})
}

impl fmt::Debug for ToolGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolGate").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for GatedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatedCall").field("tool", &self.gate.name).finish_non_exhaustive()
    }
}

/// A tool whose calls pass a gate.
pub struct GatedTool {
    tool: Arc<dyn Tool>,
    gate: Arc<ToolGate>,
}

impl GatedTool {
    /// The tool behind that gate.
    pub fn new(tool: Arc<dyn Tool>, gate: Arc<ToolGate>) -> Self {
        Self { tool, gate }
    }
}

#[async_trait]
impl Tool for GatedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        self.tool.approve(arguments, cx).await
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let tool = self.tool.bind(user_context)?;
        Some(Arc::new(Self { tool, gate: Arc::clone(&self.gate) }))
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let call = self.gate.enter(&cx.clock, cx.notes.clone()).await?;
        let outcome = self.tool.call(arguments, cx).await;
        call.finish(&outcome);
        outcome
    }
}
