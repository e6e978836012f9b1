//! What each kind of work means to a host.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::Poll;

use antiphon_core::event::EventKind;
use antiphon_core::run::Run;
use antiphon_core::task::{Task, TaskId, TaskInput, TaskOutcome, TaskWork, ToolInvocation};
use antiphon_core::{Fault, ModelRequest, Time};
use serde_json::Value as Json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::panics::contained;
use super::task_set::TaskFuture;
use crate::clock::Clock;
use crate::host::{Host, NodeCall, Snapshot, TaskReporter, TaskSignal};
use crate::port::{CallContext, ReplyChunk};
use crate::tool_call::call_tool;

/// What all calls of a session have in common.
pub(super) struct CallServices {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) signals: UnboundedSender<TaskSignal>,
    /// Whether somebody wants to see replies piece by piece.
    pub(super) streams: bool,
}

impl CallServices {
    /// The work of a task, not started; none if its run is gone.
    pub(super) fn job<H>(
        &self,
        host: &Arc<H>,
        run: &Run<Json>,
        task: Task<Json>,
    ) -> Option<TaskFuture>
    where
        H: Host + ?Sized + 'static,
    {
        let mut call = self.call(run, &task)?;
        let host = Arc::clone(host);
        if !self.streams {
            return Some(Box::pin(contained(perform(host, call, task.work))));
        }
        let (sender, chunks) = unbounded_channel();
        call.cx.chunks = Some(sender);
        let relay = ChunkRelay { id: task.id, chunks, signals: self.signals.clone() };
        Some(Box::pin(contained(relay.around(perform(host, call, task.work)))))
    }

    fn call(&self, run: &Run<Json>, task: &Task<Json>) -> Option<NodeCall> {
        let id = task.id;
        let origin = run.origin(id);
        let graph = run.graph(origin.scope)?;
        let state = run.scope_state(origin.scope)?;
        let handled = run.handled(origin.scope, origin.slot);
        let mut cx = CallContext::new(Arc::clone(&self.clock));
        cx.deadline = task.deadline;
        cx.seed = run.seed_of(id);
        let reporter = TaskReporter::new(id, self.signals.clone());
        let notes = reporter.clone();
        cx.notes = Some(Arc::new(move |name, data| notes.note(EventKind::Custom, name, data)));
        match &task.work {
            TaskWork::Tool(invocation) | TaskWork::Approve(invocation) => {
                cx.call_id = Some(invocation.call.id.clone());
                cx.idempotency_key = Some(invocation.idempotency_key.clone());
                cx.answers = Some(run.answers(id.scope, id.slot));
            }
            TaskWork::Model(_) => cx.idempotency_key = Some(run.model_key(id)),
            TaskWork::Node(_) | TaskWork::Open(_) | TaskWork::Close(_) => {}
        }
        Some(NodeCall {
            node: graph.node_name(Some(task.node)),
            path: run.path(id),
            attempt: task.attempt,
            id,
            deadline: task.deadline,
            input: run.input_of(id).cloned().unwrap_or(TaskInput::State),
            state: Snapshot::of(graph, state),
            answers: run.answers(origin.scope, origin.slot),
            handles: handled.map(|(node, fault)| (node, fault.clone())),
            cx,
            reporter,
            calls: AtomicU64::new(0),
        })
    }
}

/// Whether a task may hang before it first waits, so that it must not begin
/// on the thread of the driver: a tool, or work with its own time-out.
pub(super) fn may_hang(run: &Run<Json>, task: &Task<Json>, now: Time) -> bool {
    let of_run = run.remaining(now).map(|left| now + left);
    match &task.work {
        TaskWork::Tool(_) | TaskWork::Approve(_) => true,
        TaskWork::Node(_) => {
            task.deadline.is_some_and(|own| of_run.is_none_or(|deadline| own < deadline))
        }
        TaskWork::Open(_) | TaskWork::Model(_) | TaskWork::Close(_) => false,
    }
}

async fn perform<H>(host: Arc<H>, call: NodeCall, work: TaskWork<Json>) -> TaskOutcome<Json>
where
    H: Host + ?Sized,
{
    let outcome = match work {
        TaskWork::Node(_) => return host.node(call).await,
        TaskWork::Open(_) => host.open(call).await.map(TaskOutcome::Opened),
        TaskWork::Model(request) => ask(&*host, &call, &request).await,
        TaskWork::Approve(invocation) => approve(&*host, &call, &invocation).await,
        TaskWork::Tool(invocation) => {
            return TaskOutcome::of_tool(act(&*host, &call, *invocation).await);
        }
        TaskWork::Close(conclusion) => host.close(call, *conclusion).await.map(TaskOutcome::Done),
    };
    outcome.unwrap_or_else(TaskOutcome::failed)
}

async fn ask<H>(
    host: &H,
    call: &NodeCall,
    request: &ModelRequest,
) -> Result<TaskOutcome<Json>, Fault>
where
    H: Host + ?Sized,
{
    let reply = host.model(call)?.call(request, &call.cx).await?;
    Ok(TaskOutcome::Replied(Box::new(reply)))
}

async fn approve<H>(
    host: &H,
    call: &NodeCall,
    invocation: &ToolInvocation,
) -> Result<TaskOutcome<Json>, Fault>
where
    H: Host + ?Sized,
{
    let tool = host.tool(call, &invocation.call.name)?;
    tool.approve(&invocation.arguments, &call.cx).await.map(TaskOutcome::Decided)
}

async fn act<H>(host: &H, call: &NodeCall, invocation: ToolInvocation) -> Result<Json, Fault>
where
    H: Host + ?Sized,
{
    let tool = host.tool(call, &invocation.call.name)?;
    call_tool(&*tool, invocation.arguments, &call.cx).await
}

/// Passes pieces of replies from a call on to the run.
struct ChunkRelay {
    id: TaskId,
    chunks: UnboundedReceiver<ReplyChunk>,
    signals: UnboundedSender<TaskSignal>,
}

impl ChunkRelay {
    /// Polls `work`, and passes on its messages after each poll.
    async fn around<T>(mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(move |cx| {
            let poll = work.as_mut().poll(cx);
            // Pieces may also come from a task that the work has spawned.
            while let Poll::Ready(Some(chunk)) = self.chunks.poll_recv(cx) {
                self.pass_on(chunk);
            }
            // Tokio may have made the poll above yield to others first, but
            // the end of the work is the last chance.
            while poll.is_ready()
                && let Ok(chunk) = self.chunks.try_recv()
            {
                self.pass_on(chunk);
            }
            poll
        })
        .await
    }

    fn pass_on(&self, chunk: ReplyChunk) {
        let (kind, name, data) = chunk.into_event();
        // A run that has ended takes no more notes.
        let _ = self.signals.send(TaskSignal::Note(self.id, kind, name.to_owned(), data));
    }
}
