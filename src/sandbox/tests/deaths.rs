//! Workers that die before they have read their job: it is given to another,
//! and never run twice. Their guest does what the test orders, byte by byte.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use antiphon_runtime::sandbox::{
    CallError, GuestFaultKind, HostCalls, HostFunction, JobOutcome, Sandbox, SandboxJob,
    WorkerOrigin,
};
use antiphon_sandbox::{EngineName, ProcessEngine, ReadyTimeout};
use serde_json::{Map, Value as Json, json};
use support::{BOTH, Clean, descendants, job, named_pipe, own_guest, run, settings};
use tempfile::TempDir;

/// A worker that takes an order before it does what others do. While it waits
/// for a job it is a reader of a pipe, which it loses with its life.
const OBEDIENT: &str = "
import os, signal
from pathlib import Path
from . import honest
from .frames import READY, Channel
from .honest import prepare

HERE = Path(__file__).parent

def serve(channel, *, waits, prepare):
    orders = os.open(HERE / 'orders', os.O_RDONLY)
    order = os.read(orders, 1)
    os.close(orders)
    if order == b'd':
        os.kill(os.getpid(), signal.SIGKILL)
    if order == b'r':
        Channel(channel).send(READY, b'{}')
        os.kill(os.getpid(), signal.SIGKILL)
    if order == b'h':
        signal.pause()
    while order == b'b':
        pass
    if order == b's':
        one_job = honest.Worker.one_job
        def once(self):
            one_job(self)
            signal.pause()
        honest.Worker.one_job = once
    if order == b'w':
        Channel(channel).send(READY, b'{}')
        os.open(HERE / 'idle', os.O_RDONLY | os.O_NONBLOCK)
        signal.pause()
    answer = honest.Worker._answer
    def begin(self, job, streams):
        os.close(idle)
        return answer(self, job, streams)
    honest.Worker._answer = begin
    idle = os.open(HERE / 'idle', os.O_RDONLY | os.O_NONBLOCK)
    honest.serve(channel)
";

/// A guest's folder whose workers wait for orders.
struct Obedient {
    folder: TempDir,
    orders: File,
    idle: PathBuf,
}

impl Obedient {
    fn new() -> Self {
        let folder = own_guest();
        fs::rename(folder.path().join("serve.py"), folder.path().join("honest.py")).unwrap();
        fs::write(folder.path().join("serve.py"), OBEDIENT).unwrap();
        let orders = named_pipe(&folder.path().join("orders"));
        let idle = folder.path().join("idle");
        assert!(Command::new("mkfifo").arg(&idle).status().unwrap().success());
        Self { folder, orders, idle }
    }

    fn engine(&self, name: EngineName, spares: usize) -> ProcessEngine {
        self.engine_with(name, spares, ReadyTimeout::default(), &json!({}))
    }

    fn engine_with(
        &self,
        name: EngineName,
        spares: usize,
        ready: ReadyTimeout,
        limits: &Json,
    ) -> ProcessEngine {
        let mut settings = settings(name, limits);
        self.folder.path().clone_into(&mut settings.guest);
        (settings.spares, settings.ready) = (spares, ready);
        ProcessEngine::new(settings).unwrap()
    }

    /// Each letter is for one worker: `l` live, `d` die before it is ready,
    /// `r` die after a report, `w` report and wait to be killed, `h` and
    /// `b` never be ready, asleep or busy, `s` be ready for one job only.
    fn order(&self, orders: &str) {
        (&self.orders).write_all(orders.as_bytes()).unwrap();
    }

    /// Waits until a worker waits for a job.
    fn wait_for_idle(&self) {
        while !self.is_idle() {
            std::thread::yield_now();
        }
    }

    /// Whether the pipe has a reader: nobody can write to it otherwise.
    fn is_idle(&self) -> bool {
        let mut options = File::options();
        options.write(true).custom_flags(libc::O_NONBLOCK).open(&self.idle).is_ok()
    }

    /// Kills the workers that there are, and waits until they have felt it.
    fn kill_idle(&self) {
        self.wait_for_idle();
        let all = descendants(std::process::id());
        let workers = all.iter().filter(|pid| descendants(**pid).is_empty());
        let workers: Vec<_> = workers.map(ToString::to_string).collect();
        // One that was asked to end before may be gone by now.
        Command::new("kill").arg("-9").args(workers).output().unwrap();
        while self.is_idle() {
            std::thread::yield_now();
        }
    }
}

/// Counts how often a job has come to run.
#[derive(Default)]
struct Count(AtomicU64);

impl HostCalls for Count {
    fn call(&self, _: &str, _: Vec<Json>, _: Map<String, Json>) -> Result<Json, CallError> {
        Ok(json!(self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

/// Runs code that may call `count`, and says how often it did.
fn counted(engine: &ProcessEngine, code: &str) -> (JobOutcome, u64) {
    let function = HostFunction { name: "count".to_owned(), doc: String::new() };
    let job = SandboxJob { functions: vec![function], ..job(code) };
    let count = Arc::new(Count::default());
    let host: Arc<dyn HostCalls> = Arc::<Count>::clone(&count);
    let outcome = engine.run(&job, Some(host), &|| None);
    (outcome, count.0.load(Ordering::Relaxed))
}

fn assert_ran_once(engine: &ProcessEngine) -> WorkerOrigin {
    let (outcome, count) = counted(engine, "count()");
    assert_eq!((outcome.error, outcome.value, count), (None, Some(json!(1)), 1));
    outcome.usage.start
}

#[test]
fn a_job_whose_worker_died_before_it_was_ready_is_given_to_another() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let engine = guest.engine(name, 0);
        guest.order("dl");
        assert_eq!(assert_ran_once(&engine), WorkerOrigin::Fork);
    }
}

#[test]
fn a_job_whose_worker_died_when_it_had_said_that_it_is_ready_is_given_to_another() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let engine = guest.engine(name, 0);
        guest.order("rl");
        assert_ran_once(&engine);
    }
}

#[test]
fn a_job_that_its_worker_never_read_is_given_to_another() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let engine = guest.engine(name, 0);
        guest.order("w");
        std::thread::scope(|scope| {
            let run = scope.spawn(|| assert_ran_once(&engine));
            guest.kill_idle();
            guest.order("l");
            run.join().unwrap();
        });
    }
}

#[test]
fn a_job_does_not_get_lost_with_a_spare_that_was_killed() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let engine = guest.engine(name, 1);
        guest.order("ll");
        assert_eq!(assert_ran_once(&engine), WorkerOrigin::Cold);
        guest.kill_idle();
        guest.order("ll");
        assert_ran_once(&engine);
        guest.wait_for_idle();
        assert_eq!(assert_ran_once(&engine), WorkerOrigin::Spare);
    }
}

#[test]
fn workers_that_die_one_after_the_other_are_reported_and_not_replaced_without_end() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let engine = guest.engine(name, 0);
        for deaths in ["dd", "rr"] {
            guest.order(deaths);
            let (outcome, count) = counted(&engine, "count()");
            let fault = outcome.error.unwrap();
            assert_eq!((fault.kind, count), (GuestFaultKind::Crashed, 0));
            assert!(fault.message.starts_with("2 workers in a row ended before they had read"));
        }
        // All orders were taken: it was tried twice, and not more.
        guest.order("l");
        assert_ran_once(&engine);
    }
}

#[test]
fn a_job_that_has_started_is_never_run_again() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let engine = guest.engine(name, 0);
        guest.order("l");
        let code = "import os, signal\ncount()\nos.kill(os.getpid(), signal.SIGKILL)";
        let (outcome, count) = counted(&engine, code);
        assert_eq!((outcome.error.unwrap().kind, count), (GuestFaultKind::Crashed, 1));
        guest.order("l");
        let (outcome, _) = counted(&engine, "import os\nos._exit(0)");
        assert_eq!(outcome.error.unwrap().kind, GuestFaultKind::Crashed);
    }
}

/// Otherwise a thread that a package has started could take the signal that a worker has ended.
#[test]
fn ends_of_workers_are_reported_although_a_package_has_a_thread() {
    let _clean = Clean::start();
    let folder = tempfile::tempdir().unwrap();
    // Not by `threading`, whose threads the guest waits for.
    let package = "import _thread\nlock = _thread.allocate_lock()\nlock.acquire()\n\
        _thread.start_new_thread(lock.acquire, ())\n";
    fs::write(folder.path().join("threaded.py"), package).unwrap();
    for name in BOTH {
        let mut settings = settings(name, &json!({}));
        settings.packages = vec!["threaded".to_owned()];
        settings.mounts.read = vec![folder.path().to_owned()];
        settings.mounts.path = vec![folder.path().to_owned()];
        let engine = ProcessEngine::new(settings).unwrap();
        for _ in 0..3 {
            let fault = run(&engine, "import os\nos._exit(3)").error.unwrap();
            let expected = "the worker exited without an outcome, with code: 3";
            assert_eq!(fault.message, expected);
        }
    }
}

#[test]
fn a_worker_that_is_never_ready_is_unavailable_and_no_time_of_the_job() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let ready = ReadyTimeout(Duration::from_millis(200));
        let engine = guest.engine_with(name, 0, ready, &json!({}));
        guest.order("h");
        let (outcome, count) = counted(&engine, "count()");
        let fault = outcome.error.unwrap();
        assert_eq!((fault.kind, count), (GuestFaultKind::Unavailable, 0));
        assert_eq!(fault.message, "the worker was not ready for a job within 200ms");
    }
}

#[test]
fn a_worker_that_uses_up_the_time_of_its_job_before_it_is_ready_is_unavailable() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        let engine = guest.engine_with(name, 0, ReadyTimeout::default(), &json!({"cpu": 1}));
        guest.order("b");
        let (outcome, count) = counted(&engine, "count()");
        let fault = outcome.error.unwrap();
        assert_eq!((fault.kind, count), (GuestFaultKind::Unavailable, 0), "{}", fault.message);
        guest.order("b");
        let mut session = engine.open().unwrap();
        let fault = session.run(&job("1"), None, &|| None).error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::Unavailable, "{}", fault.message);
    }
}

#[test]
fn a_session_whose_job_has_left_it_unready_is_over_its_time() {
    let _clean = Clean::start();
    for name in BOTH {
        let guest = Obedient::new();
        // The first job must be taken in this time, on a busy machine too.
        let ready = ReadyTimeout(Duration::from_secs(2));
        let engine = guest.engine_with(name, 0, ready, &json!({}));
        guest.order("s");
        let mut session = engine.open().unwrap();
        assert_eq!(session.run(&job("1"), None, &|| None).error, None);
        let fault = session.run(&job("1"), None, &|| None).error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::TimeLimit, "{}", fault.message);
    }
}
