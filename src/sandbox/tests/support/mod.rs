//! Engines on the interpreter and the native module of this checkout, and a
//! look at what they leave behind.
#![expect(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each of the tests uses a part of it, and stops at the first surprise"
)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_runtime::sandbox::{GuestFaultKind, JobOutcome, JobOutput, Sandbox, SandboxJob};
use antiphon_sandbox::{
    EngineName, EngineSettings, JailLayer, Mounts, ProcessEngine, ReadyTimeout, ZygoteLifetime,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

pub(crate) const BOTH: [EngineName; 2] = [EngineName::Process, EngineName::Subprocess];

/// Settings with `limits` over the defaults.
pub(crate) fn settings(engine: EngineName, limits: &Json) -> EngineSettings {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let python = std::env::var_os("VIRTUAL_ENV").map_or_else(|| root.join(".venv"), PathBuf::from);
    EngineSettings {
        engine,
        python: python.join("bin/python"),
        guest: root.join("python/antiphon/sandbox/_guest"),
        native: native(&root.join("python/antiphon")),
        packages: Vec::new(),
        mounts: Mounts::default(),
        limits: limits.as_object().unwrap().clone(),
        spares: 1,
        without: Vec::new(),
        landlock_only: false,
        wear: ZygoteLifetime::default(),
        ready: ReadyTimeout::default(),
    }
}

pub(crate) fn engine(name: EngineName, limits: &Json) -> ProcessEngine {
    ProcessEngine::new(settings(name, limits)).unwrap()
}

pub(crate) fn without(layers: &[JailLayer]) -> ProcessEngine {
    let settings = settings(EngineName::Process, &json!({}));
    ProcessEngine::new(EngineSettings { without: layers.to_vec(), ..settings }).unwrap()
}

/// A copy of the guest's folder, for a test that changes it.
pub(crate) fn own_guest() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(settings(EngineName::Process, &json!({})).guest).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

/// A pipe with a name, kept open; what is read from it was taken by one alone.
pub(crate) fn named_pipe(path: &Path) -> File {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    File::options().read(true).write(true).open(path).unwrap()
}

/// What `make setup` has built.
fn native(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = files.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("_antiphon.") && path.extension().is_some_and(|it| it == "so")
    });
    found
        .next()
        .unwrap_or_else(|| panic!("`make setup` builds what is missing: {}", folder.display()))
}

pub(crate) fn job(code: &str) -> SandboxJob {
    SandboxJob {
        code: code.to_owned(),
        name: "<cell 1>".to_owned(),
        want: vec![JobOutput::Value, JobOutput::Locals],
        ..SandboxJob::default()
    }
}

pub(crate) fn run(engine: &dyn Sandbox, code: &str) -> JobOutcome {
    engine.run(&job(code), None, &|| None)
}

/// The value of code that must go well.
pub(crate) fn value(engine: &dyn Sandbox, code: &str) -> Json {
    let outcome = run(engine, code);
    assert_eq!(outcome.error, None, "{code}");
    outcome.value.unwrap_or_else(|| panic!("there is no value: {code}"))
}

/// The kind of fault that code must end in.
pub(crate) fn kind(engine: &dyn Sandbox, code: &str) -> GuestFaultKind {
    let outcome = run(engine, code);
    outcome.error.unwrap_or_else(|| panic!("it went well: {code}")).kind
}

/// One test at a time in this process, and nothing left when it ends: no
/// process, no descriptor, no file.
pub(crate) struct Clean {
    descriptors: Vec<PathBuf>,
    children: BTreeSet<u32>,
    files: BTreeSet<PathBuf>,
    _alone: MutexGuard<'static, ()>,
}

impl Clean {
    pub(crate) fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            descriptors: descriptors(),
            children: descendants(std::process::id()),
            files: files(),
            _alone: alone,
        }
    }
}

impl Drop for Clean {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        assert_eq!(descendants(std::process::id()), self.children, "processes are left");
        assert_eq!(descriptors(), self.descriptors, "descriptors are left");
        assert_eq!(files(), self.files, "files are left");
    }
}

/// What the descriptors of this process lead to.
fn descriptors() -> Vec<PathBuf> {
    let all = fs::read_dir("/proc/self/fd").unwrap();
    let mut all: Vec<_> = all.filter_map(|one| fs::read_link(one.unwrap().path()).ok()).collect();
    all.sort();
    all
}

fn files() -> BTreeSet<PathBuf> {
    let own = format!("-{}-", std::process::id());
    let all = fs::read_dir(std::env::temp_dir()).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_string_lossy().contains(&own)).collect()
}

/// All that descend from a process.
pub(crate) fn descendants(of: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (Ok(pid), Ok(stat)) = (name.parse(), fs::read_to_string(path.join("stat"))) else {
            continue;
        };
        let rest = stat.rsplit_once(')').unwrap().1;
        parents.push((pid, rest.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()));
    }
    let mut found = BTreeSet::new();
    let mut known = BTreeSet::from([of]);
    loop {
        let more: BTreeSet<u32> = parents
            .iter()
            .filter(|(pid, parent)| known.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(&more);
        known.extend(more);
    }
}

/// Sends a signal, by its option for `kill`, to those that are still there.
pub(crate) fn signal(what: &str, processes: &BTreeSet<u32>) {
    let processes = processes.iter().map(ToString::to_string);
    Command::new("kill").arg(what).args(processes).output().unwrap();
}

/// All processes that there are, none of which bears another: a worker that is missed dies
/// with its zygote a moment later, perhaps in the middle of a job.
pub(crate) fn stopped() -> BTreeSet<u32> {
    let mut all = BTreeSet::new();
    loop {
        let found = descendants(std::process::id());
        if found == all {
            return all;
        }
        signal("-STOP", &found);
        all = found;
    }
}
