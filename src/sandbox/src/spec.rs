//! What an engine is told, and what it tells its zygote of that.

use std::path::PathBuf;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::sandbox::SandboxLimits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// How an engine is set up.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// `process` or `subprocess`.
    pub engine: EngineName,
    /// The interpreter.
    pub python: PathBuf,
    /// The folder with the guest's own code, and with `boot.py`.
    pub guest: PathBuf,
    /// The native module that `boot.py` loads; without it the interpreter
    /// cannot be jailed.
    pub native: PathBuf,
    /// Names that are imported before the first job, where they can be.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What of the host's files can be seen.
    #[serde(default)]
    pub mounts: Mounts,
    /// The limits by name.
    #[serde(default)]
    pub limits: Map<String, Json>,
    /// Workers that wait for a job.
    #[serde(default = "two")]
    pub spares: usize,
    /// Layers that are left out, to see in tests what gets through without
    /// them. Whatever runs then says that nothing isolates it.
    #[serde(default)]
    pub without: Vec<JailLayer>,
    /// Whether Landlock may stand for a private root where there is none: the code then
    /// sees that the host's files exist, has no folder of its own, and no files are shown.
    #[serde(default)]
    pub landlock_only: bool,
    /// When a zygote has served enough. It is not for users to say.
    #[serde(skip)]
    pub wear: ZygoteLifetime,
    /// How long a worker may take until it waits for its job. It is not for
    /// users to say either.
    #[serde(skip)]
    pub ready: ReadyTimeout,
}

/// When another zygote takes over: the string hashes of one have been seen by
/// many by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZygoteLifetime {
    /// Workers that it has forked.
    pub workers: u64,
    /// Its age.
    pub age: Duration,
}

impl Default for ZygoteLifetime {
    /// 10,000 workers, or an hour.
    fn default() -> Self {
        Self { workers: 10_000, age: Duration::from_hours(1) }
    }
}

/// How long a worker may take until it waits for its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyTimeout(pub Duration);

impl Default for ReadyTimeout {
    /// 30 seconds: it was forked from a zygote that has imported everything.
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

/// An engine of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    /// Jailed children of a zygote.
    Process,
    /// The same without the jail: limits and a kill.
    Subprocess,
}

impl EngineName {
    /// Its name in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Subprocess => "subprocess",
        }
    }
}

/// What of the host's files can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mounts {
    /// Files and folders that can be read where they are.
    pub read: Vec<PathBuf>,
    /// Files that can be read somewhere else: on the host, in the guest.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Folders that modules are looked for in, after the standard library.
    /// The site-packages folders of what is in `read` need not be named.
    pub path: Vec<PathBuf>,
}

/// Something that keeps a guest in, and that a test can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JailLayer {
    /// User, process, mount, network, message and host name namespaces.
    Namespaces,
    /// A root that holds what is granted and nothing else.
    PrivateRoot,
    /// Landlock: files, ports, signals and abstract sockets.
    Landlock,
    /// An allow-list of system calls.
    Seccomp,
    /// No capabilities, and no way to new ones.
    Privileges,
    /// Limits that the kernel keeps.
    Limits,
}

impl JailLayer {
    /// All layers.
    pub const ALL: [Self; 6] = [
        Self::Namespaces,
        Self::PrivateRoot,
        Self::Landlock,
        Self::Seccomp,
        Self::Privileges,
        Self::Limits,
    ];

    /// Its name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::PrivateRoot => "private_root",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Privileges => "privileges",
            Self::Limits => "limits",
        }
    }
}

/// What a zygote is told when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JailPlan {
    pub(crate) layers: Vec<JailLayer>,
    pub(crate) mounts: Mounts,
    /// Where files are shown that a list names which follows. Nobody reads that who forks
    /// workers: where the files are on the host is not for those to know.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) guest: PathBuf,
    pub(crate) packages: Vec<String>,
    pub(crate) caps: WorkerLimits,
    /// A file of the host's that no worker must be able to open.
    pub(crate) canary: Option<PathBuf>,
    /// Where workers get folders, if they have no file system of their own.
    pub(crate) folder: Option<PathBuf>,
}

/// The limits that are kept inside of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerLimits {
    pub(crate) memory: u64,
    /// Whole seconds of processor time.
    pub(crate) cpu: u64,
    pub(crate) files: u64,
    pub(crate) scratch: u64,
}

/// What holds in a zygote, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JailReport {
    pub(crate) version: String,
    pub(crate) layers: Vec<JailLayer>,
    /// The version of Landlock; 0 if there is none.
    pub(crate) landlock: u32,
    /// What is not there, and why.
    pub(crate) missing: Vec<String>,
    /// Set by a zygote that cannot start.
    pub(crate) failed: Option<String>,
}

impl JailReport {
    /// Whether enough holds for code that nobody trusts.
    pub(crate) fn is_enough(&self, landlock_only: bool) -> bool {
        let holds = |layer| self.layers.contains(&layer);
        holds(JailLayer::Seccomp)
            && (holds(JailLayer::PrivateRoot) || (landlock_only && holds(JailLayer::Landlock)))
    }
}

impl EngineSettings {
    /// The limits, complete.
    ///
    /// # Errors
    /// `sandbox_limit_invalid`.
    pub fn limits(&self) -> Result<SandboxLimits, Fault> {
        SandboxLimits::complete(&self.limits, false)
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// `sandbox_setting_invalid` for a path that is not absolute, or one in
    /// the guest that would hide what the engine needs.
    pub fn check(&self) -> Result<(), Fault> {
        const MOST_SPARES: usize = 64;
        let hosts = self.mounts.read.iter().chain(self.mounts.files.iter().map(|file| &file.0));
        let guests = self.mounts.files.iter().map(|file| &file.1);
        let others = [&self.python, &self.guest, &self.native];
        for path in hosts.chain(guests.clone()).chain(&self.mounts.path).chain(others) {
            if !path.is_absolute() || path.components().any(|part| part.as_os_str() == "..") {
                return Err(invalid(format!(
                    "a sandbox needs absolute paths without `..`, found: {}",
                    path.display()
                )));
            }
        }
        for path in guests {
            let own = ["/scratch", "/cache", "/proc", "/dev"];
            if own.iter().any(|own| path.starts_with(own)) || path.parent().is_none() {
                return Err(invalid(format!(
                    "a file cannot be shown at a place of the sandbox's own: {}",
                    path.display()
                )));
            }
        }
        if self.spares > MOST_SPARES {
            return Err(invalid(format!(
                "a sandbox keeps at most {MOST_SPARES} spare workers, found: {}",
                self.spares
            )));
        }
        Ok(())
    }

    pub(crate) fn wanted(&self) -> Vec<JailLayer> {
        let every: &[JailLayer] = match self.engine {
            EngineName::Process => &JailLayer::ALL,
            EngineName::Subprocess => &[JailLayer::Limits],
        };
        every.iter().copied().filter(|layer| !self.without.contains(layer)).collect()
    }

    pub(crate) fn plan(&self, limits: &SandboxLimits, canary: Option<PathBuf>) -> JailPlan {
        let layers = self.wanted();
        let is_rooted = layers.contains(&JailLayer::PrivateRoot);
        let files = self.mounts.files.iter().filter(|_| is_rooted);
        JailPlan {
            files: files.map(|file| file.1.clone()).collect(),
            layers,
            mounts: Mounts { files: Vec::new(), ..self.mounts.clone() },
            guest: self.guest.clone(),
            packages: self.packages.clone(),
            caps: WorkerLimits {
                memory: limits.memory,
                cpu: whole_seconds(limits.cpu),
                files: limits.files,
                scratch: limits.scratch,
            },
            canary,
            folder: None,
        }
    }
}

fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

fn two() -> usize {
    2
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::SandboxSettingInvalid, message)
}
