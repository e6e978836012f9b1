//! The engines of this crate: `process` with a jail, `subprocess` without one.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, io};

use antiphon_core::Fault;
use antiphon_runtime::sandbox::{
    GuestFault, GuestFaultKind, HostCalls, Isolation, JobOutcome, Sandbox, SandboxJob,
    SandboxLimits, SandboxProbe, Session, StopCheck, WorkerOrigin,
};

use super::lineage::Lineage;
use super::pool::{ReportCheck, WorkerPool};
use super::supervise::{JobTerms, run};
use super::worker::Worker;
use super::zygote_process::ZygoteProcess;
use crate::granted_files::{GrantedFile, GrantedFiles};
use crate::spec::{
    EngineName, EngineSettings, JailLayer, JailReport, Mounts, ReadyTimeout, ZygoteLifetime,
};
use crate::wire::WorkerRequest;

/// How long a worker may take to prove that it is harmless.
const PROOF: Duration = Duration::from_secs(10);

/// The probes of this process, by the settings that they depend on.
type ProbeCache = Mutex<Vec<(EngineSettings, SandboxProbe)>>;

/// An engine. Dropping it ends everything that it has started.
pub struct ProcessEngine {
    settings: EngineSettings,
    limits: SandboxLimits,
    /// Held open, so that the files that are shown later are those that were granted.
    files: Arc<Vec<GrantedFile>>,
    pool: Lineage<WorkerPool>,
    probe: OnceLock<SandboxProbe>,
    closed: Arc<AtomicBool>,
}

/// The message for an engine with too few layers.
const TOO_LITTLE: &str = "it needs seccomp and a private root, which needs user namespaces; with \
    Landlock alone, which a caller has to accept, the code has no folder to write to, and sees \
    names and sizes of the host's files";

/// The message for jobs that wait when the engine is closed.
const CLOSED: &str = "the sandbox was closed";

impl ProcessEngine {
    /// Creates an engine; nothing is started before the first request.
    ///
    /// # Errors
    /// `sandbox_setting_invalid`, `sandbox_limit_invalid`.
    pub fn new(settings: EngineSettings) -> Result<Self, Fault> {
        settings.check()?;
        let limits = settings.limits()?;
        let files = settings.mounts.files.iter().map(|(from, at)| GrantedFile::open(from, at));
        let files = Arc::new(files.collect::<Result<_, _>>()?);
        Ok(Self {
            settings,
            limits,
            files,
            pool: Lineage::new(),
            probe: OnceLock::new(),
            closed: Arc::default(),
        })
    }

    /// Ends everything that the engine has started, and returns when it is gone. Running jobs
    /// are cancelled; there will be no others.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(pool) = self.pool.known() {
            pool.close();
        }
    }

    /// Whether the engine was closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The isolation of its guests.
    pub fn isolation(&self) -> Isolation {
        let whole = self.settings.engine == EngineName::Process && self.settings.without.is_empty();
        match self.probe.get() {
            _ if !whole => Isolation::None,
            Some(probe) if probe.ok => probe.isolation,
            _ => Isolation::OsJail,
        }
    }

    /// The name of the engine.
    pub fn name(&self) -> EngineName {
        self.settings.engine
    }

    fn take(&self, request: WorkerRequest) -> Result<(Worker, WorkerOrigin), Box<GuestFault>> {
        let unavailable = |why: String| Box::new(GuestFault::new(GuestFaultKind::Unavailable, why));
        if self.isolation() != Isolation::None {
            // A zygote with fewer layers than the probe found is refused later on.
            let probe = self.probe.get_or_init(|| self.cached_probe());
            if !probe.ok {
                return Err(unavailable(probe.missing.join("; ")));
            }
        }
        self.pool().take(request).map_err(unavailable)
    }

    fn pool(&self) -> &WorkerPool {
        let shown = || GrantedFiles { files: Arc::clone(&self.files), canary: None };
        self.pool
            .own(|| WorkerPool::new(self.settings.clone(), self.limits, shown(), self.verdict()))
    }

    /// Refuses a zygote with fewer layers than the probe has found: an engine must not get
    /// weaker during its life.
    fn verdict(&self) -> ReportCheck {
        if self.isolation() == Isolation::None {
            return Box::new(|_| Ok(()));
        }
        let (seen, landlock_only) = (self.probe(), self.settings.landlock_only);
        Box::new(move |report| {
            if !report.is_enough(landlock_only) {
                return Err(report.missing.join("; "));
            }
            let held =
                |layer: &&JailLayer| seen.layers.get(layer.as_str()).is_some_and(|it| it != "no");
            let lost =
                JailLayer::ALL.iter().filter(held).find(|layer| !report.layers.contains(layer));
            lost.map_or(Ok(()), |layer| {
                Err(format!("a layer of the jail is no longer available: {}", layer.as_str()))
            })
        })
    }

    /// The probe of this process with the same settings, made at most once.
    fn cached_probe(&self) -> SandboxProbe {
        static SEEN: OnceLock<Lineage<ProbeCache>> = OnceLock::new();
        let own = SEEN.get_or_init(Lineage::new).own(Mutex::default);
        let mut seen = own.lock().unwrap_or_else(PoisonError::into_inner);
        let bare = self.bare();
        if let Some((_, probe)) = seen.iter().find(|(settings, _)| *settings == bare) {
            return probe.clone();
        }
        let probe = self.look();
        seen.push((bare, probe.clone()));
        probe
    }

    /// The settings without those that the layers do not depend on.
    fn bare(&self) -> EngineSettings {
        EngineSettings {
            packages: Vec::new(),
            spares: 0,
            mounts: Mounts::default(),
            limits: serde_json::Map::new(),
            wear: ZygoteLifetime::default(),
            ready: ReadyTimeout::default(),
            ..self.settings.clone()
        }
    }

    fn look(&self) -> SandboxProbe {
        let name = self.settings.engine.as_str();
        let canary = match CanaryFile::create() {
            Ok(canary) => canary,
            Err(error) => {
                return SandboxProbe::refused(
                    name,
                    format!("the canary file could not be created: {error}"),
                );
            }
        };
        let shown = GrantedFiles { files: Arc::default(), canary: Some(canary.0.clone()) };
        let is_closed = || self.is_closed();
        let started =
            ZygoteProcess::start(&self.bare(), &SandboxLimits::default(), &shown, &is_closed);
        let parent = match started {
            Ok(parent) => parent,
            Err(why) => return SandboxProbe::refused(name, why),
        };
        let mut probe = probe_of(name, &parent.report);
        let grouped = if parent.is_grouped() { "yes" } else { "no" };
        probe.layers.insert("cgroup", grouped.to_owned());
        probe.isolation = match self.isolation() {
            Isolation::OsJail if !parent.report.layers.contains(&JailLayer::PrivateRoot) => {
                Isolation::Landlock
            }
            isolation => isolation,
        };
        if self.settings.engine == EngineName::Subprocess {
            probe.ok = true;
            return probe;
        }
        match run_probe(&parent) {
            Ok(through) if through.is_empty() => {
                probe.ok = parent.report.is_enough(self.settings.landlock_only);
            }
            Ok(through) => {
                let what = through.join(", ");
                probe.missing.push(format!("a worker in the jail could still: {what}"));
            }
            Err(why) => probe.missing.push(why),
        }
        if !probe.ok {
            probe.isolation = Isolation::None;
            probe.missing.push(TOO_LITTLE.to_owned());
        }
        probe
    }
}

impl Sandbox for ProcessEngine {
    fn probe(&self) -> SandboxProbe {
        self.probe.get_or_init(|| self.cached_probe()).clone()
    }

    fn run(
        &self,
        job: &SandboxJob,
        host: Option<Arc<dyn HostCalls>>,
        halt: StopCheck<'_>,
    ) -> JobOutcome {
        if let Some(reason) = halt() {
            return JobOutcome::failed(GuestFaultKind::Cancelled, reason);
        }
        let mut deaths = 0;
        loop {
            if self.is_closed() {
                return JobOutcome::failed(GuestFaultKind::Cancelled, CLOSED);
            }
            let (mut worker, start) = match self.take(WorkerRequest::Job) {
                Ok(taken) => taken,
                Err(_) if self.is_closed() => continue,
                Err(fault) => {
                    return JobOutcome { error: Some(*fault), ..JobOutcome::default() };
                }
            };
            let ready = self.settings.ready;
            let terms = JobTerms { limits: &self.limits, ready, halt, lives_on: false };
            let mut outcome = run(&mut worker, job, host.clone(), &terms);
            blame_closing(&self.closed, &mut outcome);
            if let Some(fault) = &mut outcome.error
                && fault.kind == GuestFaultKind::Crashed
                && !worker.has_started
            {
                // All spares may have died with their zygote.
                deaths += 1;
                if deaths <= self.settings.spares + 1 {
                    continue;
                }
                fault.message = format!(
                    "{deaths} workers in a row ended before they had read the job; the last: {}",
                    fault.message
                );
            }
            outcome.usage.start = start;
            match self.settings.engine {
                EngineName::Process => self.pool().retire(worker),
                // Processes that the job has started end before its outcome is returned.
                EngineName::Subprocess => self.pool().end(worker),
            }
            return outcome;
        }
    }

    fn open(&self) -> Result<Box<dyn Session>, Box<GuestFault>> {
        let (worker, start) = self.take(WorkerRequest::Session)?;
        Ok(Box::new(WorkerSession {
            worker: Some(worker),
            limits: self.limits,
            ready: self.settings.ready,
            start,
            closed: Arc::clone(&self.closed),
        }))
    }
}

/// A worker that died with its zygote because the engine was closed did not crash.
fn blame_closing(closed: &AtomicBool, outcome: &mut JobOutcome) {
    if let Some(fault) = &mut outcome.error
        && matches!(fault.kind, GuestFaultKind::Crashed | GuestFaultKind::Unavailable)
        && closed.load(Ordering::Acquire)
    {
        *fault = GuestFault::new(GuestFaultKind::Cancelled, CLOSED);
    }
}

/// A worker that serves several jobs.
struct WorkerSession {
    worker: Option<Worker>,
    limits: SandboxLimits,
    ready: ReadyTimeout,
    start: WorkerOrigin,
    closed: Arc<AtomicBool>,
}

impl Session for WorkerSession {
    fn run(
        &mut self,
        job: &SandboxJob,
        host: Option<Arc<dyn HostCalls>>,
        halt: StopCheck<'_>,
    ) -> JobOutcome {
        if let Some(reason) = halt() {
            return JobOutcome::failed(GuestFaultKind::Cancelled, reason);
        }
        if self.closed.load(Ordering::Acquire) {
            self.worker = None;
            return JobOutcome::failed(GuestFaultKind::Cancelled, CLOSED);
        }
        let Some(worker) = &mut self.worker else {
            return JobOutcome::failed(
                GuestFaultKind::Crashed,
                "the session ended with an earlier job",
            );
        };
        let terms = JobTerms { limits: &self.limits, ready: self.ready, halt, lives_on: true };
        // Stopped after an earlier job, even one that was refused before the worker had it.
        worker.resume();
        let mut outcome = run(worker, job, host, &terms);
        // Work between jobs would belong to no run, and no limit would apply.
        worker.stop();
        blame_closing(&self.closed, &mut outcome);
        outcome.usage.start = std::mem::replace(&mut self.start, WorkerOrigin::Session);
        if !worker.is_alive() {
            self.worker = None;
        }
        outcome
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, Box<GuestFault>> {
        Ok(None)
    }
}

/// A file that a worker must not be able to open, though every other process can.
struct CanaryFile(std::path::PathBuf);

impl CanaryFile {
    fn create() -> io::Result<Self> {
        // A random name: with a predictable one, others could keep the engine from being used.
        let mut chance = [0; 16];
        fs::File::open("/dev/urandom")?.read_exact(&mut chance)?;
        let name = format!("antiphon-canary-{:032x}", u128::from_ne_bytes(chance));
        let path = std::env::temp_dir().join(name);
        // `create_new` follows no link.
        fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Self(path))
    }
}

impl Drop for CanaryFile {
    fn drop(&mut self) {
        // The file is empty; the system may remove it later.
        let _ = fs::remove_file(&self.0);
    }
}

/// The forbidden operations that a sealed worker can still perform; there should be none.
fn run_probe(parent: &ZygoteProcess) -> Result<Vec<String>, String> {
    let mut worker = parent.fork(WorkerRequest::Probe).map_err(|error| error.to_string())?;
    worker.wait_for_end(PROOF);
    let mut text = vec![0; 4_096];
    let length = worker.channel.read(&mut text).unwrap_or(0);
    let said = serde_json::from_slice(text.get(..length).unwrap_or_default());
    said.map_err(|_| {
        let mut text = vec![0; 1_000];
        let stderr = std::os::fd::AsFd::as_fd(&worker.stderr);
        let length = crate::sys::descriptors::read(stderr, &mut text).unwrap_or(0);
        let why = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
        format!("a worker cannot be sealed: {} {:?}", why.trim(), worker.finish())
    })
}

fn probe_of(engine: &'static str, report: &JailReport) -> SandboxProbe {
    let mut probe = SandboxProbe {
        engine,
        ok: false,
        isolation: Isolation::None,
        version: report.version.clone(),
        layers: std::collections::BTreeMap::new(),
        missing: report.missing.clone(),
    };
    for layer in JailLayer::ALL {
        let holds = report.layers.contains(&layer);
        let said = match layer {
            JailLayer::Landlock if holds => format!("ABI {}", report.landlock),
            _ if holds => "yes".to_owned(),
            _ => "no".to_owned(),
        };
        probe.layers.insert(layer.as_str(), said);
    }
    probe
}
