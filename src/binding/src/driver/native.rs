//! Native work within a run that Python drives: it goes to tokio and wakes
//! the run when it is done.

use std::sync::Arc;

use antiphon_core::task::{Task, TaskId, TaskOutcome, TaskWork};
use antiphon_core::value::Value as _;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{
    CallContext, CallNotes, Clock, Model, ReplyChunk, SystemClock, Tool, call_tool,
};
use pyo3::prelude::*;
use serde_json::Value as Json;
use tokio::sync::mpsc;

use crate::driver::exit_gate;
use crate::driver::mailbox::{Answer, Emission, EmittedItem, Mailbox};
use crate::driver::native_runtime::NativeRuntime;
use crate::driver::run::Run;
use crate::driver::run_state::RunState;
use crate::driver::task_handle::TaskHandle;
use crate::graph::engine::Engine;
use crate::value::object::Object;

/// What a task of an agent calls, if it is native.
enum NativeCallee {
    Model(Arc<dyn Model>),
    Tool(Arc<dyn Tool>),
}

impl NativeCallee {
    fn of(engine: &Engine, task: &Task<Object>) -> Option<Self> {
        match &task.work {
            TaskWork::Model(_) => {
                let model = engine.native_model(task.node)?;
                Some(Self::Model(Arc::clone(&model.get().port)))
            }
            TaskWork::Tool(invocation) => {
                let tool = engine.native_tool(task.node, &invocation.call.name)?;
                Some(Self::Tool(Arc::clone(tool.get().tool())))
            }
            _ => None,
        }
    }

    async fn call(self, work: TaskWork<Object>, cx: &CallContext) -> TaskOutcome<Object> {
        match (self, work) {
            (Self::Model(model), TaskWork::Model(request)) => {
                match model.call(&request, cx).await {
                    Ok(reply) => TaskOutcome::Replied(Box::new(reply)),
                    Err(fault) => TaskOutcome::failed(fault),
                }
            }
            (Self::Tool(tool), TaskWork::Tool(invocation)) => {
                TaskOutcome::of_tool(call_tool(&*tool, invocation.arguments, cx).await)
            }
            _ => TaskOutcome::failed(Fault::new(FaultCode::OutcomeMisplaced, "no native call")),
        }
    }
}

/// Starts the call of a native model or tool; gives back any other task.
pub(crate) fn start(
    state: &mut RunState,
    run: &Bound<'_, Run>,
    task: Task<Object>,
) -> Option<Task<Object>> {
    let callee = state.engine(run.py(), task.id.scope);
    let callee = callee.and_then(|engine| NativeCallee::of(engine.get(), &task));
    let Some(callee) = callee else { return Some(task) };
    let (chunks, pieces) = mpsc::unbounded_channel();
    let chunks = run.get().settings.is_live.then_some(chunks);
    let (id, mailbox) = (task.id, Arc::clone(&run.get().mailbox));
    let notes = Some(notes(Arc::clone(&mailbox), id));
    let cx = CallContext { chunks, notes, ..context(state, &task) };
    let runtime = match NativeRuntime::here() {
        Ok(runtime) => runtime,
        Err(fault) => {
            state.machine.resolve(id, TaskOutcome::failed(fault), state.now);
            return None;
        }
    };
    let forwarded = runtime.start(forward(Arc::clone(&mailbox), id, pieces));
    let called = runtime.start(async move {
        let outcome = callee.call(task.work, &cx).await;
        drop(cx);
        // Every piece is in the trace before the outcome that it belongs to; a
        // forwarder that died leaves the outcome all the same.
        let _ = forwarded.await;
        // The interpreter may be going down, and nobody waits any more.
        exit_gate::enter(|py| {
            let answer = Answer::Native(Box::new(outcome));
            mailbox.post(py, |mail| mail.answers.push((id, answer)));
        });
    });
    state.handles.insert(id, TaskHandle::Native(called.abort_handle()));
    None
}

/// The context of a call, which nobody watches yet.
fn context(state: &RunState, task: &Task<Object>) -> CallContext {
    let clock: Arc<dyn Clock> = Arc::<SystemClock>::clone(&state.clock);
    let cx = CallContext {
        deadline: task.deadline,
        seed: state.machine.seed_of(task.id),
        ..CallContext::new(clock)
    };
    match &task.work {
        TaskWork::Model(_) => {
            let idempotency_key = Some(state.machine.model_key(task.id));
            CallContext { idempotency_key, ..cx }
        }
        TaskWork::Tool(invocation) => CallContext {
            call_id: Some(invocation.call.id.clone()),
            idempotency_key: Some(invocation.idempotency_key.clone()),
            answers: Some(answers(state, task.id)),
            ..cx
        },
        _ => cx,
    }
}

/// What a person has answered so far. What has no form as JSON is no answer to a native tool.
fn answers(state: &RunState, id: TaskId) -> Vec<Json> {
    let given = state.machine.answers(id.scope, id.slot);
    given.iter().map(|answer| answer.to_json().unwrap_or_default()).collect()
}

/// Passes events of a call on to its run.
fn notes(mailbox: Arc<Mailbox>, id: TaskId) -> CallNotes {
    Arc::new(move |name, data| {
        let emitted = Emission { id, item: EmittedItem::Event(name, data) };
        exit_gate::enter(|py| mailbox.post(py, |mail| mail.emitted.push(emitted)));
    })
}

/// Passes pieces of a reply on to the run as they come.
async fn forward(
    mailbox: Arc<Mailbox>,
    id: TaskId,
    mut pieces: mpsc::UnboundedReceiver<ReplyChunk>,
) {
    while let Some(piece) = pieces.recv().await {
        let emitted = Emission { id, item: EmittedItem::Chunk(piece) };
        exit_gate::enter(|py| mailbox.post(py, |mail| mail.emitted.push(emitted)));
    }
}
