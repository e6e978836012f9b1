//! Supervises one job from its start to its end. All waiting is in one `poll` with a deadline;
//! the last resort is SIGKILL.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use antiphon_runtime::sandbox::{
    GuestFaultKind, HostCalls, JobOutcome, JobUsage, SandboxBudget, SandboxJob, SandboxLimits,
    StopCheck,
};

use super::attachments::ReceivedAttachments;
use super::calls::{self, PendingHostCalls};
use super::classify::{StopReason, WorkerEnd, classify};
use super::job_message::job_frames;
use super::output_head::{OutputHead, is_temporary};
use super::worker::Worker;
use crate::frame::{self, FrameBounds};
use crate::outcome::{self, OutcomeBody};
use crate::spec::ReadyTimeout;
use crate::sys::descriptors::{self, PolledDescriptor};

/// How often the caller is asked whether it still wants the job.
const TICK: Duration = Duration::from_millis(20);
/// How long to wait for the exit status after the channel was closed.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The bytes of one read.
const CHUNK: usize = 256 << 10;

/// The terms of a job.
pub(super) struct JobTerms<'a> {
    pub(super) limits: &'a SandboxLimits,
    pub(super) ready: ReadyTimeout,
    pub(super) halt: StopCheck<'a>,
    /// The worker serves other jobs too.
    pub(super) lives_on: bool,
}

/// The phase of a job.
enum JobPhase {
    /// The worker is not yet ready.
    Waiting,
    /// The job runs.
    Running,
    /// The outcome has arrived, and its attachments have not.
    Collecting(Box<OutcomeBody>),
}

/// The supervisor of one job.
struct Supervisor<'a> {
    worker: &'a mut Worker,
    terms: &'a JobTerms<'a>,
    budget: SandboxBudget,
    calls: PendingHostCalls<'a>,
    stdout: OutputHead,
    stderr: OutputHead,
    outbox: Vec<u8>,
    sent: usize,
    phase: JobPhase,
    attached: ReceivedAttachments,
    started: Instant,
    used_before: Duration,
    /// How long the worker may take to become ready.
    ready_limit: Duration,
}

/// Runs a job in a worker, which is killed unless all went well; dropping the worker waits for
/// its end.
pub(super) fn run(
    worker: &mut Worker,
    job: &SandboxJob,
    host: Option<Arc<dyn HostCalls>>,
    terms: &JobTerms<'_>,
) -> JobOutcome {
    let budget = terms.limits.budget();
    let outbox = match job_frames(job, terms.limits, &budget) {
        Ok(outbox) => outbox,
        Err(fault) => return JobOutcome { error: Some(*fault), ..JobOutcome::default() },
    };
    let used_before = worker.cpu().unwrap_or_default();
    // A worker that was ready before can only be delayed by the last job's code, which has its
    // own limits.
    let ready = terms.ready.0;
    let ready_limit = if worker.has_started { ready.min(terms.limits.wall) } else { ready };
    let mut watch = Supervisor {
        calls: PendingHostCalls::new(host, &job.functions, terms.limits.host_calls, &budget),
        worker,
        terms,
        budget: outcome::granted(budget, &job.want),
        stdout: OutputHead::new(terms.limits.stdout),
        stderr: OutputHead::new(terms.limits.stderr),
        outbox,
        sent: 0,
        phase: JobPhase::Waiting,
        attached: ReceivedAttachments::default(),
        started: Instant::now(),
        used_before,
        ready_limit,
    };
    let ended = watch.follow();
    watch.conclude(ended)
}

impl Supervisor<'_> {
    /// Starts the clock of the job.
    fn begin(&mut self) {
        self.worker.has_started = true;
        self.phase = JobPhase::Running;
        self.started = Instant::now();
    }

    /// Follows the job until there is an outcome or a reason to stop.
    fn follow(&mut self) -> Result<JobOutcome, StopReason> {
        let mut asked = Instant::now();
        // Spares, and workers that had jobs before, have reported long ago that they are ready.
        if let Some(outcome) = self.listen()? {
            return Ok(outcome);
        }
        loop {
            self.send();
            let [channel, stdout, stderr, _] = self.wait()?;
            if stdout {
                self.stdout.take(self.worker.stdout.as_fd());
            }
            if stderr {
                self.stderr.take(self.worker.stderr.as_fd());
            }
            if channel && let Some(outcome) = self.listen()? {
                return Ok(outcome);
            }
            self.calls.answer(&mut self.outbox);
            if self.stdout.is_flood() || self.stderr.is_flood() {
                return Err(StopReason::Output);
            }
            let now = Instant::now();
            if now >= self.deadline() {
                return Err(match self.phase {
                    JobPhase::Waiting => StopReason::Late(self.ready_limit),
                    JobPhase::Running | JobPhase::Collecting(_) => StopReason::Time,
                });
            }
            if now.duration_since(asked) >= TICK {
                asked = now;
                self.check_limits()?;
            }
        }
    }

    /// Checks what cannot be polled.
    fn check_limits(&self) -> Result<(), StopReason> {
        if let Some(reason) = (self.terms.halt)() {
            return Err(StopReason::Halted(reason));
        }
        // The kernel enforces the limit for workers of one job; others have used processor time
        // on earlier jobs.
        if self.terms.lives_on
            && let Some(used) = self.worker.cpu()
            && used.saturating_sub(self.used_before) > self.terms.limits.cpu
        {
            return Err(StopReason::Time);
        }
        Ok(())
    }

    fn deadline(&self) -> Instant {
        let allowed = match self.phase {
            JobPhase::Waiting => self.ready_limit,
            JobPhase::Running | JobPhase::Collecting(_) => self.terms.limits.wall,
        };
        self.started + allowed
    }

    /// Polls the channel, standard output and error, and the answer of a call.
    fn wait(&self) -> Result<[bool; 4], StopReason> {
        let now = Instant::now();
        let first = [Some(self.deadline()), self.calls.deadline(), now.checked_add(TICK)];
        let until = first.into_iter().flatten().min().unwrap_or(now);
        let mut channel = PolledDescriptor::read(Some(self.worker.channel.as_fd()));
        if self.sent < self.outbox.len() && !matches!(self.phase, JobPhase::Waiting) {
            channel = channel.write_too();
        }
        let mut watched = [
            channel,
            PolledDescriptor::read(self.stdout.watch(self.worker.stdout.as_fd())),
            PolledDescriptor::read(self.stderr.watch(self.worker.stderr.as_fd())),
            PolledDescriptor::read(self.calls.watch()),
        ];
        descriptors::wait(&mut watched, Some(until.saturating_duration_since(now)))
            .map_err(|error| StopReason::Protocol(error.to_string()))?;
        Ok(watched.map(PolledDescriptor::is_readable))
    }

    /// Writes as much as fits.
    fn send(&mut self) {
        if matches!(self.phase, JobPhase::Waiting) {
            return;
        }
        while let Some(rest) = self.outbox.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.worker.channel.write(rest) {
                Ok(length) => self.sent += length,
                Err(error) if is_temporary(&error) => return,
                // Messages from before it closed the channel may still be readable.
                Err(_) => {
                    self.left_unread();
                    break;
                }
            }
        }
        self.outbox.clear();
        self.sent = 0;
    }

    /// The worker is gone, and has not read everything. Before the first call is answered, the
    /// rest can only be its job.
    fn left_unread(&mut self) {
        if self.calls.made == 0 {
            self.worker.has_started = false;
        }
    }

    /// Reads messages of the worker.
    fn listen(&mut self) -> Result<Option<JobOutcome>, StopReason> {
        // At most twice, or a worker that never stops sending would keep the supervisor from its
        // deadlines.
        for _ in 0..2 {
            let is_more = self.read()?;
            while let Some((kind, body)) = self.worker.parser.next(&self.bounds())? {
                if let Some(outcome) = self.hear(kind, body)? {
                    return Ok(Some(outcome));
                }
            }
            if !is_more {
                break;
            }
        }
        Ok(None)
    }

    /// Reads once; returns whether there may be more.
    fn read(&mut self) -> Result<bool, StopReason> {
        let wants = self.worker.parser.wants(&self.bounds())?;
        let mut small = [0; frame::AHEAD];
        let mut large = Vec::new();
        let chunk = if wants > small.len() {
            large.resize(wants.min(CHUNK), 0);
            large.as_mut_slice()
        } else {
            small.get_mut(..wants.max(1)).unwrap_or_default()
        };
        match self.worker.channel.read(chunk) {
            Ok(0) => Err(StopReason::Gone),
            Ok(length) => {
                self.worker.parser.push(chunk.get(..length).unwrap_or_default());
                Ok(length == chunk.len())
            }
            Err(error) if is_temporary(&error) => Ok(false),
            // The kernel reports that the worker closed the channel with unread bytes.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                self.left_unread();
                Err(StopReason::Gone)
            }
            Err(_) => Err(StopReason::Gone),
        }
    }

    /// The frames that are allowed now.
    fn bounds(&self) -> FrameBounds {
        let none = FrameBounds::default();
        match &self.phase {
            JobPhase::Waiting => FrameBounds { ready: 64, ..none },
            JobPhase::Running => FrameBounds {
                call: self.budget.argument_bytes + calls::AROUND,
                outcome: outcome::longest(&self.budget),
                ..none
            },
            JobPhase::Collecting(body) => {
                FrameBounds { attachment: self.attached.bound(&body.tables, &self.budget), ..none }
            }
        }
    }

    fn hear(
        &mut self,
        kind: frame::FrameKind,
        text: Vec<u8>,
    ) -> Result<Option<JobOutcome>, StopReason> {
        let protocol_fault = |why: &str| StopReason::Protocol(why.to_owned());
        match kind {
            frame::FrameKind::Ready => self.begin(),
            frame::FrameKind::Call => {
                let unread = self.outbox.len().saturating_sub(self.sent);
                self.calls.start(&text, unread).map_err(StopReason::Call)?;
            }
            frame::FrameKind::Outcome => {
                let body = OutcomeBody::read(&text, &self.budget).map_err(protocol_fault)?;
                self.phase = JobPhase::Collecting(Box::new(body));
            }
            _ => {
                let JobPhase::Collecting(body) = &self.phase else {
                    return Err(StopReason::Protocol(
                        "an attachment without an outcome".to_owned(),
                    ));
                };
                self.attached
                    .take(text, &body.tables, &self.budget)
                    .map_err(StopReason::Protocol)?;
            }
        }
        let JobPhase::Collecting(body) = &self.phase else { return Ok(None) };
        if !self.attached.is_complete(body) {
            return Ok(None);
        }
        let JobPhase::Collecting(body) = std::mem::replace(&mut self.phase, JobPhase::Waiting)
        else {
            return Ok(None);
        };
        let (tables, figures) = std::mem::take(&mut self.attached).into_parts();
        let outcome = body.check(&self.budget).map_err(protocol_fault)?;
        Ok(Some(JobOutcome { tables, figures, ..outcome }))
    }

    /// Ends the worker, unless all went well, and builds the outcome.
    fn conclude(mut self, ended: Result<JobOutcome, StopReason>) -> JobOutcome {
        let wall = self.started.elapsed();
        if matches!(ended, Err(StopReason::Gone)) {
            self.worker.wait_for_end(LAST_WORDS);
        }
        let (cpu, memory, end) = if ended.is_ok() {
            let took = (self.worker.cpu(), self.worker.memory());
            (took.0.unwrap_or_default(), took.1.unwrap_or_default(), None)
        } else {
            let end = self.worker.finish();
            let known = end.unwrap_or_default();
            (known.cpu, known.memory, end)
        };
        self.stdout.drain(self.worker.stdout.as_fd());
        self.stderr.drain(self.worker.stderr.as_fd());
        let starved = matches!(ended, Err(StopReason::Gone)) && self.worker.ran_out_of_memory();
        let manner = WorkerEnd { end, starved, has_started: self.worker.has_started };
        let mut outcome = ended.unwrap_or_else(|stop| JobOutcome {
            error: Some(classify(stop, &manner, self.terms.limits)),
            ..JobOutcome::default()
        });
        if self.calls.has_failed
            && let Some(error) = &mut outcome.error
            && error.kind == GuestFaultKind::PythonError
            && error.exception.as_deref() == Some("ToolError")
        {
            error.kind = GuestFaultKind::HostCallFailed;
        }
        outcome.truncated = [("stdout", &self.stdout), ("stderr", &self.stderr)]
            .into_iter()
            .filter_map(|(name, head)| head.is_cut().then_some(name))
            .collect();
        outcome.stdout = self.stdout.kept;
        outcome.stderr = self.stderr.kept;
        outcome.usage = JobUsage {
            wall,
            cpu: cpu.saturating_sub(self.used_before),
            memory,
            host_calls: self.calls.made,
            ..JobUsage::default()
        };
        outcome
    }
}

impl From<frame::ProtocolFault> for StopReason {
    fn from(protocol_fault: frame::ProtocolFault) -> Self {
        Self::Protocol(protocol_fault.to_string())
    }
}
