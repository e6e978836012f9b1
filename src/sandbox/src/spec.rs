//! The settings of an engine, and the plan that its zygote receives.

use std::path::PathBuf;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::sandbox::SandboxLimits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The settings of an engine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// `process` or `subprocess`.
    pub engine: EngineName,
    /// The interpreter.
    pub python: PathBuf,
    /// The folder with the guest package and `boot.py`.
    pub guest: PathBuf,
    /// The native module that `boot.py` loads; without it there is no jail.
    pub native: PathBuf,
    /// Modules to import before the first job, where they exist.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The host files that guests can see.
    #[serde(default)]
    pub mounts: Mounts,
    /// The limits by name.
    #[serde(default)]
    pub limits: Map<String, Json>,
    /// The number of spare workers.
    #[serde(default = "two")]
    pub spares: usize,
    /// Layers to leave out, so that tests see what gets through without them. The engine then
    /// reports that nothing isolates the guest.
    #[serde(default)]
    pub without: Vec<JailLayer>,
    /// Whether Landlock suffices where a private root is impossible. Guests then see the names
    /// of host files, have no private folder, and files cannot be shown.
    #[serde(default)]
    pub landlock_only: bool,
    /// When to replace a zygote. Users cannot set it.
    #[serde(skip)]
    pub wear: ZygoteLifetime,
    /// How long a worker may take to become ready. Users cannot set it.
    #[serde(skip)]
    pub ready: ReadyTimeout,
}

/// When a zygote is replaced: its workers share one seed of string hashes, which many guests
/// have seen by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZygoteLifetime {
    /// The number of workers that it has forked.
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

/// How long a worker may take to become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyTimeout(pub Duration);

impl Default for ReadyTimeout {
    /// 30 seconds: the zygote has imported everything already.
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

/// An engine of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    /// Jailed forks of a zygote.
    Process,
    /// Forks without a jail: limits and a kill only.
    Subprocess,
}

impl EngineName {
    /// The name in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Subprocess => "subprocess",
        }
    }
}

/// The host files that guests can see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mounts {
    /// Files and folders that are readable at their own paths.
    pub read: Vec<PathBuf>,
    /// Files that are readable at other paths: host path, guest path.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Folders of the module search path, after the standard library. Site-packages folders
    /// within `read` are added by themselves.
    pub path: Vec<PathBuf>,
}

/// A layer of isolation, which a test can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JailLayer {
    /// User, process, mount, network, message and host name namespaces.
    Namespaces,
    /// A root file system with nothing but the granted files.
    PrivateRoot,
    /// Landlock: files, ports, signals and abstract sockets.
    Landlock,
    /// An allow-list of system calls.
    Seccomp,
    /// No capabilities, and no way to gain any.
    Privileges,
    /// Limits that the kernel enforces.
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

    /// The name in reports.
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

/// The plan that a zygote receives when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JailPlan {
    pub(crate) layers: Vec<JailLayer>,
    pub(crate) mounts: Mounts,
    /// The guest paths of shown files. The host paths follow in a list that the zygote itself
    /// does not read, because workers share its memory and must not learn them.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) guest: PathBuf,
    pub(crate) packages: Vec<String>,
    pub(crate) caps: WorkerLimits,
    /// A host file that no worker must be able to open.
    pub(crate) canary: Option<PathBuf>,
    /// Where to create the workers' folders if they have no private file systems.
    pub(crate) folder: Option<PathBuf>,
}

/// The limits that are enforced inside a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerLimits {
    pub(crate) memory: u64,
    /// Processor time in whole seconds.
    pub(crate) cpu: u64,
    pub(crate) files: u64,
    pub(crate) scratch: u64,
}

/// The isolation that a zygote reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JailReport {
    pub(crate) version: String,
    pub(crate) layers: Vec<JailLayer>,
    /// The ABI version of Landlock; 0 if there is none.
    pub(crate) landlock: u32,
    /// The layers that are missing, and why.
    pub(crate) missing: Vec<String>,
    /// Why the zygote cannot start.
    pub(crate) failed: Option<String>,
}

impl JailReport {
    /// Whether the isolation suffices for untrusted code.
    pub(crate) fn is_enough(&self, landlock_only: bool) -> bool {
        let holds = |layer| self.layers.contains(&layer);
        holds(JailLayer::Seccomp)
            && (holds(JailLayer::PrivateRoot) || (landlock_only && holds(JailLayer::Landlock)))
    }
}

impl EngineSettings {
    /// All limits, with defaults for those that are not set.
    ///
    /// # Errors
    /// `sandbox_limit_invalid`.
    pub fn limits(&self) -> Result<SandboxLimits, Fault> {
        SandboxLimits::complete(&self.limits, false)
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// `sandbox_setting_invalid` for a relative path, or a guest path that would hide files that
    /// the engine needs.
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
                    "a file cannot be placed where the sandbox has its own files: {}",
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
