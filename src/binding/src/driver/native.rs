//! Native work within a run that Python drives: it goes to tokio and wakes
//! the run when it is done.

use std::sync::Arc;

use antiphon_core::task::{Task, TaskId, TaskOutcome, TaskWork};
use antiphon_runtime::{CallContext, Clock, ReplyChunk};
use pyo3::prelude::*;
use tokio::sync::mpsc;

use crate::driver::exit_gate;
use crate::driver::mailbox::{Answer, Mailbox};
use crate::driver::native_runtime::NativeRuntime;
use crate::driver::run::Run;
use crate::driver::run_state::RunState;
use crate::driver::task_handle::TaskHandle;
use crate::graph::model::Model;
use crate::value::object::Object;

/// Asks a model for an agent.
pub(crate) fn ask(state: &mut RunState, run: &Bound<'_, Run>, task: Task<Object>, model: &Model) {
    let TaskWork::Model(request) = task.work else { return };
    let port = Arc::clone(&model.port);
    let clock: Arc<dyn Clock> = Arc::<antiphon_runtime::SystemClock>::clone(&state.clock);
    let (chunks, pieces) = mpsc::unbounded_channel();
    let watched = run.get().settings.is_live;
    let cx = CallContext {
        deadline: task.deadline,
        chunks: watched.then_some(chunks),
        seed: state.machine.seed_of(task.id),
        idempotency_key: Some(state.machine.model_key(task.id, &request)),
        ..CallContext::new(clock)
    };
    let (id, mailbox) = (task.id, Arc::clone(&run.get().mailbox));
    let runtime = match NativeRuntime::here() {
        Ok(runtime) => runtime,
        Err(fault) => {
            state.machine.resolve(id, TaskOutcome::failed(fault), state.now);
            return;
        }
    };
    let forwarded = runtime.start(forward(Arc::clone(&mailbox), id, pieces));
    let asked = runtime.start(async move {
        let outcome = match port.call(&request, &cx).await {
            Ok(reply) => TaskOutcome::Replied(Box::new(reply)),
            Err(fault) => TaskOutcome::failed(fault),
        };
        drop(cx);
        // Every piece is in the trace before the reply that it belongs to; a
        // forwarder that died leaves the reply all the same.
        let _ = forwarded.await;
        // The interpreter may be going down, and nobody waits any more.
        exit_gate::enter(|py| {
            let answer = Answer::Native(Box::new(outcome));
            mailbox.post(py, |mail| mail.answers.push((id, answer)));
        });
    });
    state.handles.insert(id, TaskHandle::Native(asked.abort_handle()));
}

/// Passes pieces of a reply on to the run as they come.
async fn forward(
    mailbox: Arc<Mailbox>,
    id: TaskId,
    mut pieces: mpsc::UnboundedReceiver<ReplyChunk>,
) {
    while let Some(piece) = pieces.recv().await {
        exit_gate::enter(|py| mailbox.post(py, |mail| mail.chunks.push((id, piece))));
    }
}

/// Puts a piece of a reply into the trace.
pub(crate) fn note(state: &mut RunState, id: TaskId, chunk: ReplyChunk) {
    let (kind, name, data) = chunk.into_event();
    state.machine.note(id, kind, name, data);
}
