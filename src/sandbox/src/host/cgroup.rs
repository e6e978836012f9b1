//! A control group around a zygote and its workers, where this process may create one. It bounds
//! their total, and tells whether the kernel killed a worker for its memory.
//!
//! One group per worker would be more precise, but to move a process into a group makes the
//! kernel wait for all processors: 15 to 30 ms were measured, several times the cost of a fork.
//! Each worker is bounded by its own limits.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use antiphon_runtime::sandbox::SandboxLimits;

const ROOT: &str = "/sys/fs/cgroup";
/// The most processes of a zygote: itself, its guard, and more workers than anyone runs.
const PROCESSES: u64 = 512;
/// The number of workers per processor that may use all their memory at once.
const WORKERS: u64 = 4;
/// The memory of the zygote itself.
const OWN: u64 = 2 << 30;

/// The folders of a group; empty if there is no group.
#[derive(Default)]
pub(super) struct Cgroup {
    folders: Vec<PathBuf>,
    kills: AtomicU64,
}

impl Cgroup {
    /// Creates a group for the workers of a sandbox with `limits`. If that fails, the group is
    /// empty: no layer depends on it.
    pub(super) fn make(limits: &SandboxLimits, spares: usize) -> Self {
        let name = format!("antiphon-{}-{}", std::process::id(), crate::wire::count());
        let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let workers = processors * WORKERS + spares as u64;
        let memory = OWN + workers * (limits.memory + limits.scratch);
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut group = Self::default();
        for (controller, limit) in [("memory", memory), ("pids", PROCESSES)] {
            for (parent, file) in places(&own, controller) {
                remove_leftovers(&parent);
                group.add(&parent.join(&name), file, limit);
            }
        }
        group
    }

    /// Whether there is a group.
    pub(super) fn holds(&self) -> bool {
        !self.folders.is_empty()
    }

    /// Moves a process into the group, before it has forked.
    pub(super) fn add_process(&mut self, pid: u32) {
        let enters = |folder: &PathBuf| {
            let entered = fs::write(folder.join("cgroup.procs"), pid.to_string()).is_ok();
            if !entered {
                let _ = fs::remove_dir(folder);
            }
            entered
        };
        self.folders.retain(enters);
    }

    /// Whether the kernel has killed a member for its memory since the last call.
    pub(super) fn has_killed(&self) -> bool {
        let count = self.folders.iter().filter_map(|folder| kills(folder)).sum();
        self.kills.swap(count, Ordering::Relaxed) < count
    }

    fn add(&mut self, folder: &Path, file: &str, limit: u64) {
        // In cgroup v2 both limits are files of one folder.
        let made = match fs::create_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            other => other.map(|()| true),
        };
        let Ok(is_new) = made else { return };
        let is_set =
            folder.join(file).exists() && fs::write(folder.join(file), limit.to_string()).is_ok();
        match (is_new, is_set) {
            (true, true) => self.folders.push(folder.to_owned()),
            (true, false) => drop(fs::remove_dir(folder)),
            (false, _) => {}
        }
    }
}

impl Cgroup {
    /// Removes the group, once its members are gone.
    pub(super) fn remove(&self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the groups of hosts that were killed. A group with members cannot be removed.
fn remove_leftovers(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix("antiphon-")) else {
            continue;
        };
        let host = rest.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(host).exists() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The folders of this process in the hierarchies of a controller, with the file of its limit.
fn places(own: &str, controller: &str) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            let file = if controller == "memory" { "memory.max" } else { "pids.max" };
            found.push((Path::new(ROOT).join(path), file));
        } else if controllers.split(',').any(|one| one == controller) {
            let file = if controller == "memory" { "memory.limit_in_bytes" } else { "pids.max" };
            found.push((Path::new(ROOT).join(controllers).join(path), file));
        }
    }
    found
}

fn kills(folder: &Path) -> Option<u64> {
    let events = ["memory.events", "memory.oom_control"]
        .iter()
        .find_map(|file| fs::read_to_string(folder.join(file)).ok())?;
    events.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}
