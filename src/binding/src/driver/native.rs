//! Native work within a run that Python drives: it goes to tokio and wakes
//! the run when it is done.

use std::sync::Arc;

use antiphon_core::task::{Task, TaskId, TaskOutcome, TaskWork};
use antiphon_runtime::{CallContext, Clock, ReplyChunk};
use pyo3::prelude::*;
use tokio::sync::mpsc;

use crate::driver::core::Core;
use crate::driver::exit_gate;
use crate::driver::handle::Handle;
use crate::driver::mailbox::Answer;
use crate::driver::native_runtime::native_runtime;
use crate::driver::run::Run;
use crate::graph::model::Model;
use crate::value::object::Object;

/// Asks a model for an agent.
pub(crate) fn ask(core: &mut Core, run: &Bound<'_, Run>, task: Task<Object>, model: &Model) {
    let TaskWork::Model(request) = task.work else { return };
    let port = Arc::clone(&model.port);
    let clock: Arc<dyn Clock> = Arc::<antiphon_runtime::SystemClock>::clone(&core.clock);
    let (chunks, pieces) = mpsc::unbounded_channel();
    let watched = run.get().live;
    let cx = CallContext {
        deadline: task.deadline,
        chunks: watched.then_some(chunks),
        seed: core.machine.seed_of(task.id),
        idempotency_key: Some(core.machine.model_key(task.id, &request)),
        ..CallContext::new(clock)
    };
    let (id, owner) = (task.id, run.clone().unbind());
    let runtime = match native_runtime() {
        Ok(runtime) => runtime,
        Err(fault) => {
            core.machine.resolve(id, TaskOutcome::failed(fault), core.now);
            return;
        }
    };
    let forwarded = runtime.spawn(forward(owner.clone_ref(run.py()), id, pieces));
    let asked = runtime.spawn(async move {
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
            owner.get().mailbox.post(py, |mail| mail.answers.push((id, answer)));
        });
    });
    core.handles.insert(id, Handle::Native(asked.abort_handle()));
}

/// Passes pieces of a reply on to the run as they come.
async fn forward(run: Py<Run>, id: TaskId, mut pieces: mpsc::UnboundedReceiver<ReplyChunk>) {
    while let Some(piece) = pieces.recv().await {
        exit_gate::enter(|py| {
            run.get().mailbox.post(py, |mail| mail.chunks.push((id, piece)));
        });
    }
}

/// Puts a piece of a reply into the trace.
pub(crate) fn note(core: &mut Core, id: TaskId, chunk: ReplyChunk) {
    let (kind, name, data) = chunk.into_event();
    core.machine.note(id, kind, name, data);
}
