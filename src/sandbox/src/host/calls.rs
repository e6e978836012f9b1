//! Calls of the host's functions. They are made on a thread of their own, so
//! that whoever waits for the worker can go on watching the clock.

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

use crate::frame::{self, Kind};
use crate::tagged::{self, Refusal, Size};

/// How long a single call may take.
const LONGEST: Duration = Duration::from_secs(30);
/// Bytes of the longest reply.
const LARGEST: u64 = 64 << 20;
/// Bytes of a call that are not its arguments.
pub(super) const AROUND: u64 = 64 << 10;

/// A call, as a worker sends it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    id: u64,
    name: String,
    args: Vec<Json>,
    kwargs: Map<String, Json>,
}

/// Why a worker is ended because of a call.
pub(super) enum Refused {
    /// It was not granted.
    Denied(String),
    /// There have been enough.
    TooMany(u64),
    /// It was no call.
    Breach(&'static str),
}

type Answer = Result<Json, CallError>;

/// The calls of one job.
pub(super) struct Calls<'a> {
    host: Option<Arc<dyn HostCalls>>,
    functions: &'a [HostFunction],
    most: u64,
    size: Size,
    line: Option<Line>,
    /// Number and deadline of the call that is being made.
    open: Option<(u64, Instant)>,
    pub(super) made: u64,
    /// Whether one of them failed.
    pub(super) has_failed: bool,
}

/// The way to the thread and back.
struct Line {
    errands: Sender<Body>,
    answers: Receiver<Answer>,
    wake: PipeReader,
    thread: JoinHandle<()>,
}

impl<'a> Calls<'a> {
    /// The calls of a job that was granted `functions`.
    pub(super) fn new(
        host: Option<Arc<dyn HostCalls>>,
        functions: &'a [HostFunction],
        most: u64,
        budget: &SandboxBudget,
    ) -> Self {
        let size = Size {
            bytes: budget.argument_bytes + AROUND,
            nodes: budget.value_nodes,
            depth: budget.value_depth,
        };
        let (line, open) = (None, None);
        Self { host, functions, most, size, line, open, made: 0, has_failed: false }
    }

    /// What becomes readable when a call has been answered.
    pub(super) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.line.as_ref().map(|line| line.wake.as_fd())
    }

    /// When the call that is being made is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.map(|(_, until)| until)
    }

    /// Starts a call. Of the reply to the last one the worker has left `unread` bytes.
    pub(super) fn start(&mut self, text: &[u8], unread: usize) -> Result<(), Refused> {
        // The guest's own code reads each reply to its end. One that goes on calling
        // would fill the host with replies.
        if unread > 0 {
            return Err(Refused::Breach("a call before the reply to the last one was read"));
        }
        let breach = |_| Refused::Breach("a call that cannot be read");
        let value = tagged::parse(text, self.size).map_err(breach)?;
        let form = || Refused::Breach("a call of another form");
        let value = value.is_object().then_some(value).ok_or_else(form)?;
        let call: Body = serde_json::from_value(value).map_err(|_| form())?;
        let arguments = call.args.iter().chain(call.kwargs.values());
        let mut checked = arguments.map(|value| tagged::check(value, self.size.generous()));
        if let Some(refusal) = checked.find_map(Result::err) {
            return Err(match refusal {
                Refusal::TooLarge(_) => Refused::Breach("arguments that are too large"),
                Refusal::Malformed(why) => Refused::Breach(why),
            });
        }
        if self.open.is_some() {
            return Err(Refused::Breach("a call before the answer to the last one"));
        }
        if self.host.is_none() || self.functions.iter().all(|known| known.name != call.name) {
            return Err(Refused::Denied(call.name.chars().take(100).collect()));
        }
        if self.made >= self.most {
            return Err(Refused::TooMany(self.most));
        }
        self.made += 1;
        self.open = Some((call.id, Instant::now() + LONGEST));
        let sent = self.line().is_ok_and(|line| line.errands.send(call).is_ok());
        if sent { Ok(()) } else { Err(Refused::Breach("no thread for the call")) }
    }

    /// Appends the reply to `to`, if there is one by now.
    pub(super) fn answer(&mut self, to: &mut Vec<u8>) {
        let Some((open, until)) = self.open else { return };
        let answer = self.line.as_mut().and_then(Line::hear);
        let answer = match answer {
            Some(answer) => answer,
            None if Instant::now() >= until => {
                // The thread is left to it; the next call gets another.
                self.line = None;
                Err(CallError {
                    kind: "TimeoutError".to_owned(),
                    message: format!("it took longer than {} s", LONGEST.as_secs()),
                })
            }
            None => return,
        };
        self.open = None;
        // Arguments that do not fit are a mistake of the code, and stay one.
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

    fn line(&mut self) -> io::Result<&Line> {
        if self.line.is_none() {
            let host = self.host.clone().ok_or(io::ErrorKind::NotFound)?;
            let (errands, todo) = channel();
            let (done, answers) = channel();
            let (wake, bell) = io::pipe()?;
            let thread = thread::Builder::new()
                .name("antiphon-sandbox-call".to_owned())
                .spawn(move || work(&*host, &todo, &done, bell))?;
            self.line = Some(Line { errands, answers, wake, thread });
        }
        self.line.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Calls<'_> {
    /// Its thread has ended too, unless a call was given up.
    fn drop(&mut self) {
        if self.open.is_none()
            && let Some(Line { errands, thread, .. }) = self.line.take()
        {
            drop(errands);
            // It panics in calls alone, and one that did is still open.
            let _ = thread.join();
        }
    }
}

impl Line {
    fn hear(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        // The bell rings once for each answer, and after it.
        let _ = self.wake.read(&mut [0]);
        Some(answer)
    }
}

/// Makes calls until nobody wants any more.
fn work(host: &dyn HostCalls, todo: &Receiver<Body>, done: &Sender<Answer>, mut bell: PipeWriter) {
    while let Ok(Body { name, args, kwargs, .. }) = todo.recv() {
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
    serde_json::to_vec(reply).is_ok_and(|text| frame::write(to, Kind::Reply, &text))
}
