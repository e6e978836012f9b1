//! A zygote as its host sees it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use antiphon_runtime::sandbox::SandboxLimits;

use super::cgroup::Cgroup;
use super::worker::Worker;
use crate::granted_files::GrantedFiles;
use crate::spec::{EngineName, EngineSettings, JailReport, ZygoteLifetime};
use crate::sys::descriptors::{self, PolledDescriptor};
use crate::sys::{process, sockets, spawn};
use crate::wire::{LONGEST, WorkerRequest};

/// How long a start may take: imports of large packages on a busy machine are slow.
const START: Duration = Duration::from_mins(1);
/// How long a zygote may take to exit before it is killed.
const LEAVE: Duration = Duration::from_secs(2);
/// How often to check whether a starting zygote is still wanted.
const TICK: Duration = Duration::from_millis(20);
/// The most bytes of an error message.
const COMPLAINT: usize = 2_000;

/// The environment of the interpreter.
const ENVIRONMENT: [(&str, &str); 14] = [
    ("HOME", "/scratch"),
    ("TMPDIR", "/scratch"),
    ("PATH", ""),
    ("LC_ALL", "C.UTF-8"),
    ("TZ", "UTC"),
    ("MPLCONFIGDIR", "/cache"),
    ("MPLBACKEND", "Agg"),
    // Threads that libraries start before a fork do not exist after it.
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    ("POLARS_MAX_THREADS", "1"),
    ("ARROW_DEFAULT_MEMORY_POOL", "system"),
    // The allocator of polars would start threads too.
    ("_RJEM_MALLOC_CONF", "background_thread:false"),
];

/// A running zygote. Dropping it ends it and all its workers.
pub(super) struct ZygoteProcess {
    process: u32,
    control: Option<OwnedFd>,
    child: Mutex<Option<Child>>,
    name: OwnedFd,
    folder: Option<PathBuf>,
    group: Cgroup,
    born: Instant,
    workers: AtomicU64,
    wear: ZygoteLifetime,
    /// It accepts requests, and exits when the channel is closed.
    is_ready: bool,
    pub(super) report: JailReport,
}

impl ZygoteProcess {
    /// Starts a zygote, and waits until it has imported everything or is no longer wanted. It
    /// dies with the calling thread.
    pub(super) fn start(
        settings: &EngineSettings,
        limits: &SandboxLimits,
        shown: &GrantedFiles,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<Self, String> {
        let mut plan = settings.plan(limits, shown.canary.clone());
        // Without a private root, the caches of libraries need a folder too.
        let is_open = settings.engine == EngineName::Subprocess || settings.landlock_only;
        let folder = is_open.then(own_folder).transpose();
        let folder = folder.map_err(|error| format!("no folder: {error}"))?;
        if settings.engine == EngineName::Subprocess {
            plan.folder.clone_from(&folder);
        }
        let text = serde_json::to_vec(&plan).map_err(|error| error.to_string())?;
        let files = serde_json::to_vec(&*shown.files).map_err(|error| error.to_string())?;
        if text.len().max(files.len()) > LONGEST {
            return Err(format!("too many mounts for one sandbox: {}", plan.mounts.read.len()));
        }
        let started = launch(settings, folder.as_deref())
            .map_err(|error| format!("`{}` does not start: {error}", settings.python.display()));
        let (child, name, control) = started.inspect_err(|_| discard(folder.as_deref()))?;
        // Before the zygote receives its plan it does nothing, so everything that it forks is in
        // the group.
        let mut group = Cgroup::make(limits, settings.spares);
        group.add_process(child.id());
        let mut parent = Self {
            process: std::process::id(),
            control: Some(control),
            child: Mutex::new(Some(child)),
            name,
            folder,
            group,
            born: Instant::now(),
            workers: AtomicU64::new(0),
            wear: settings.wear,
            is_ready: false,
            report: JailReport::default(),
        };
        let messages = [text, if plan.files.is_empty() { Vec::new() } else { files }];
        parent.report = parent.wait_until_ready(&messages, is_unwanted)?;
        parent.is_ready = true;
        Ok(parent)
    }

    /// Forks a worker.
    pub(super) fn fork(&self, request: WorkerRequest) -> io::Result<Worker> {
        self.workers.fetch_add(1, Ordering::Relaxed);
        let control = self.control.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        Worker::ask(control.as_fd(), request)
    }

    /// Whether a control group contains all its processes.
    pub(super) fn is_grouped(&self) -> bool {
        self.group.holds()
    }

    /// Whether the kernel has killed a worker for its memory since the last call.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.group.has_killed()
    }

    /// Whether it can fork further workers.
    pub(super) fn is_fit(&self) -> bool {
        !self.has_ended(Duration::ZERO)
    }

    /// Whether another zygote should replace it.
    pub(super) fn is_worn(&self) -> bool {
        let workers = self.workers.load(Ordering::Relaxed);
        workers >= self.wear.workers || self.born.elapsed() >= self.wear.age
    }

    /// Ends it with all its workers, and waits for them.
    pub(super) fn end(&self) {
        if self.process != std::process::id() {
            // After a fork it belongs to the parent.
            return;
        }
        // The zygote exits once no process can send it requests, after it has waited for its
        // last worker.
        if let Some(control) = &self.control {
            sockets::shut(control.as_fd());
        }
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut process) = child.take() else { return };
        if !(self.is_ready && self.has_ended(LEAVE)) {
            self.kill(process.id());
        }
        let _ = process.wait();
        self.group.remove();
        discard(self.folder.as_deref());
    }

    /// Kills it and its children: its guard would otherwise end before the processes that it
    /// guards.
    fn kill(&self, pid: u32) {
        let children = process::children_of(pid);
        for child in &children {
            process::kill(child.as_fd());
        }
        process::kill(self.name.as_fd());
        for child in &children {
            let mut ended = [PolledDescriptor::read(Some(child.as_fd()))];
            let _ = descriptors::wait(&mut ended, Some(LEAVE));
        }
    }

    fn has_ended(&self, limit: Duration) -> bool {
        let mut ended = [PolledDescriptor::read(Some(self.name.as_fd()))];
        let waited = descriptors::wait(&mut ended, Some(limit));
        waited.is_ok() && ended.iter().any(|one| one.is_readable())
    }

    fn wait_until_ready(
        &mut self,
        messages: &[Vec<u8>],
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<JailReport, String> {
        let control = self.control.as_ref().map(AsFd::as_fd).ok_or("no control socket")?;
        let mut said = vec![0; LONGEST];
        let sent = messages.iter().filter(|text| !text.is_empty());
        let mut sent = sent.map(|text| sockets::send(control, text, &[]));
        let heard = sent.find(Result::is_err).unwrap_or(Ok(())).and_then(|()| {
            let until = Instant::now() + START;
            let mut watched = [PolledDescriptor::read(Some(control))];
            while !watched.iter().any(|one| one.is_readable()) {
                if is_unwanted() {
                    return Err(io::Error::other("the sandbox is closed"));
                }
                if Instant::now() >= until {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                descriptors::wait(&mut watched, Some(TICK))?;
            }
            sockets::receive(control, &mut said)
        });
        let length = match heard {
            Ok((0, _)) => return Err(self.complaint("the interpreter ended before it was ready")),
            Ok((length, _)) => length,
            Err(error) => return Err(self.complaint(&error.to_string())),
        };
        let report: JailReport = serde_json::from_slice(said.get(..length).unwrap_or_default())
            .map_err(|error| error.to_string())?;
        match report.failed {
            Some(why) => Err(why),
            None => Ok(report),
        }
    }

    /// Why it did not start, in its own words if there are any.
    fn complaint(&mut self, otherwise: &str) -> String {
        self.control = None;
        let mut text = vec![0; COMPLAINT];
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let stderr = child.as_mut().and_then(|child| child.stderr.take());
        let length = stderr.map_or(0, |stderr| {
            let _ = descriptors::set_nonblocking(stderr.as_fd());
            descriptors::read(stderr.as_fd(), &mut text).unwrap_or(0)
        });
        let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
        let last = text.trim().lines().last().unwrap_or_default();
        if last.is_empty() { otherwise.to_owned() } else { format!("{otherwise}: {last}") }
    }
}

impl Drop for ZygoteProcess {
    fn drop(&mut self) {
        self.end();
    }
}

fn launch(
    settings: &EngineSettings,
    folder: Option<&Path>,
) -> io::Result<(Child, OwnedFd, OwnedFd)> {
    let (control, theirs) = sockets::pair()?;
    let mut command = Command::new(&settings.python);
    command
        .args(["-I", "-S", "-B", "-X", "utf8"])
        .arg(settings.guest.join("boot.py"))
        .arg(theirs.as_fd().as_raw_fd().to_string())
        .arg(&settings.native)
        .env_clear()
        .envs(ENVIRONMENT)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(folder) = folder {
        command.env("MPLCONFIGDIR", folder.join("cache"));
    }
    let mut child = spawn::start(&mut command, theirs.as_fd())?;
    let id = child.id().try_into().map_err(io::Error::other);
    match id.and_then(process::open) {
        Ok(name) => Ok((child, name, control)),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Creates a folder that only this user can access.
fn own_folder() -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    for _ in 0..1_000 {
        let name = format!("antiphon-sandbox-{}-{}", std::process::id(), crate::wire::count());
        let path = std::env::temp_dir().join(name);
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn discard(folder: Option<&Path>) {
    if let Some(folder) = folder {
        // The system removes temporary folders that are left.
        let _ = fs::remove_dir_all(folder);
    }
}
