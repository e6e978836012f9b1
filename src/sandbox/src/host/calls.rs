//! Calls of host functions. They run on their own thread, so that the supervisor can watch
//! the deadlines.

use std::io;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use antiphon_runtime::sandbox::{CallError, HostCalls, HostFunction, SandboxBudget};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::frame::{self, FrameKind};
use crate::tagged::{self, ValueFault, ValueSize};

/// The time limit of a call.
const LONGEST: Duration = Duration::from_secs(30);
/// The largest reply in bytes.
const LARGEST: u64 = 64 << 20;
/// The bytes of a call beside its arguments.
pub(super) const AROUND: u64 = 64 << 10;

/// A call, as a worker sends it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallBody {
    id: u64,
    name: String,
    args: Vec<Json>,
    kwargs: Map<String, Json>,
}

/// Why a call ends its worker.
pub(super) enum CallFault {
    /// The function was not granted.
    Denied(String),
    /// The limit of calls was reached.
    TooMany(u64),
    /// It violates the protocol.
    Protocol(&'static str),
}

type CallAnswer = Result<Json, CallError>;

/// The calls of one job.
pub(super) struct PendingHostCalls<'a> {
    host: Option<Arc<dyn HostCalls>>,
    functions: &'a [HostFunction],
    most: u64,
    size: ValueSize,
    line: Option<CallThread>,
    /// Number and deadline of the current call.
    open: Option<(u64, Instant)>,
    pub(super) made: u64,
    /// Whether a call has failed.
    pub(super) has_failed: bool,
}

/// The thread that runs the calls, and its channels.
struct CallThread {
    requests: Sender<CallBody>,
    answers: Receiver<CallAnswer>,
    wake: PipeReader,
    thread: JoinHandle<()>,
}

impl<'a> PendingHostCalls<'a> {
    /// The calls of a job that was granted `functions`.
    pub(super) fn new(
        host: Option<Arc<dyn HostCalls>>,
        functions: &'a [HostFunction],
        most: u64,
        budget: &SandboxBudget,
    ) -> Self {
        let size = ValueSize {
            bytes: budget.argument_bytes + AROUND,
            nodes: budget.value_nodes,
            depth: budget.value_depth,
        };
        let (line, open) = (None, None);
        Self { host, functions, most, size, line, open, made: 0, has_failed: false }
    }

    /// The descriptor that becomes readable when a call is answered.
    pub(super) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.line.as_ref().map(|line| line.wake.as_fd())
    }

    /// The deadline of the current call.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.map(|(_, until)| until)
    }

    /// Starts a call. The worker has not yet read `unread` bytes of the last reply.
    pub(super) fn start(&mut self, text: &[u8], unread: usize) -> Result<(), CallFault> {
        // The guest package reads each reply to its end. A worker that does not could fill the
        // host's memory with replies.
        if unread > 0 {
            return Err(CallFault::Protocol("a call before the reply to the last one was read"));
        }
        let protocol_fault = |_| CallFault::Protocol("a call that cannot be parsed");
        let value = tagged::parse(text, self.size).map_err(protocol_fault)?;
        let form = || CallFault::Protocol("a call with unexpected fields");
        let value = value.is_object().then_some(value).ok_or_else(form)?;
        let call: CallBody = serde_json::from_value(value).map_err(|_| form())?;
        let arguments = call.args.iter().chain(call.kwargs.values());
        let mut checked = arguments.map(|value| tagged::check(value, self.size.generous()));
        if let Some(refusal) = checked.find_map(Result::err) {
            return Err(match refusal {
                ValueFault::TooLarge(_) => CallFault::Protocol("arguments that are too large"),
                ValueFault::Malformed(why) => CallFault::Protocol(why),
            });
        }
        if self.open.is_some() {
            return Err(CallFault::Protocol("a call before the answer to the last one"));
        }
        if self.host.is_none() || self.functions.iter().all(|known| known.name != call.name) {
            return Err(CallFault::Denied(call.name.chars().take(100).collect()));
        }
        if self.made >= self.most {
            return Err(CallFault::TooMany(self.most));
        }
        self.made += 1;
        self.open = Some((call.id, Instant::now() + LONGEST));
        let sent = self.line().is_ok_and(|line| line.requests.send(call).is_ok());
        if sent { Ok(()) } else { Err(CallFault::Protocol("no thread for the call")) }
    }

    /// Appends the reply to `to`, if there is one.
    pub(super) fn answer(&mut self, to: &mut Vec<u8>) {
        let Some((open, until)) = self.open else { return };
        let answer = self.line.as_mut().and_then(CallThread::hear);
        let answer = match answer {
            Some(answer) => answer,
            None if Instant::now() >= until => {
                // The thread is abandoned to this call; the next one gets a new thread.
                self.line = None;
                Err(CallError {
                    kind: "TimeoutError".to_owned(),
                    message: format!("it took longer than {} s", LONGEST.as_secs()),
                })
            }
            None => return,
        };
        self.open = None;
        // Arguments that do not fit the signature are a mistake of the guest's code, and not a
        // failure.
        self.has_failed |= answer.as_ref().is_err_and(|error| error.kind != "TypeError");
        let reply = match answer {
            Ok(value) => json!({"id": open, "value": value}),
            Err(error) => failure(open, &error.kind, &error.message),
        };
        if tagged::bytes(&reply) > LARGEST || !put(to, &reply) {
            self.has_failed = true;
            put(to, &failure(open, "ValueError", "its result is too large"));
        }
    }

    fn line(&mut self) -> io::Result<&CallThread> {
        if self.line.is_none() {
            let host = self.host.clone().ok_or(io::ErrorKind::NotFound)?;
            let (requests, todo) = channel();
            let (done, answers) = channel();
            let (wake, bell) = io::pipe()?;
            let thread = thread::Builder::new()
                .name("antiphon-sandbox-call".to_owned())
                .spawn(move || work(&*host, &todo, &done, bell))?;
            self.line = Some(CallThread { requests, answers, wake, thread });
        }
        self.line.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for PendingHostCalls<'_> {
    /// Joins the thread, unless a call was abandoned.
    fn drop(&mut self) {
        if self.open.is_none()
            && let Some(CallThread { requests, thread, .. }) = self.line.take()
        {
            drop(requests);
            // The thread panics only in calls, and such a call is still open.
            let _ = thread.join();
        }
    }
}

impl CallThread {
    fn hear(&mut self) -> Option<CallAnswer> {
        let answer = self.answers.try_recv().ok()?;
        // One byte was written for each answer, after it.
        let _ = self.wake.read(&mut [0]);
        Some(answer)
    }
}

/// Runs calls until the channel is closed.
fn work(
    host: &dyn HostCalls,
    todo: &Receiver<CallBody>,
    done: &Sender<CallAnswer>,
    mut bell: PipeWriter,
) {
    while let Ok(CallBody { name, args, kwargs, .. }) = todo.recv() {
        let answer = host.call(&name, args, kwargs);
        if done.send(answer).is_err() || bell.write_all(b"!").is_err() {
            return;
        }
    }
}

fn failure(id: u64, kind: &str, message: &str) -> Json {
    json!({"id": id, "error": {"type": kind, "message": message}})
}

fn put(to: &mut Vec<u8>, reply: &Json) -> bool {
    serde_json::to_vec(reply).is_ok_and(|text| frame::write(to, FrameKind::Reply, &text))
}
