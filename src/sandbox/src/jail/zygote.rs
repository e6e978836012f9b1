//! The zygote: the process that workers are forked from. It has one thread, imports everything
//! once, and never sees a job.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use super::interpreter_files::{granted, sites};
use super::seal::{CHANNEL, JailSettings, PendingLock, WorkerStreams, lock, seal};
use super::{JailFault, SCRATCH, Step, canary, root};
use crate::spec::{JailLayer, JailPlan, JailReport};
use crate::sys::descriptors::{self, PolledDescriptor};
use crate::sys::process::{self, ProcessEnd};
use crate::sys::{heap, mounts, privileges, sockets};
use crate::wire::{LONGEST, WorkerBirth, WorkerRequest};

/// A request to a zygote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZygoteRequest {
    /// Fork; the child then calls [`Zygote::seal`], and the parent [`Zygote::forked`].
    Fork,
    /// Exit: there will be no more requests.
    Leave,
}

/// The parts of a fork that is being prepared.
struct PendingFork {
    request: WorkerRequest,
    streams: WorkerStreams,
    status: OwnedFd,
    /// Its private folder, if it has no private file system.
    folder: Option<PathBuf>,
}

/// A worker after [`Zygote::seal`].
#[derive(Debug)]
pub struct SealedWorker {
    /// The descriptor of the channel to its host.
    pub channel: RawFd,
    /// Its private folder.
    pub folder: Option<PathBuf>,
    /// Whether it is a spare, and so has time to prepare before its job arrives.
    pub waits: bool,
}

/// A worker as the zygote knows it.
struct ForkedWorker {
    status: OwnedFd,
    folder: Option<PathBuf>,
}

/// The zygote's side of the protocol with its host.
pub struct Zygote {
    control: ManuallyDrop<OwnedFd>,
    plan: JailPlan,
    report: JailReport,
    read: Vec<PathBuf>,
    /// The folder `/proc`, opened before the root was changed.
    about: Option<fs::File>,
    ends: Option<OwnedFd>,
    asked: Option<PendingFork>,
    unlocked: Option<PendingLock>,
    born: BTreeMap<i32, ForkedWorker>,
    jobs: u64,
}

impl Zygote {
    /// Takes over the control descriptor and waits for the plan.
    ///
    /// # Errors
    /// If the descriptor is not valid, or the message is not a plan.
    pub fn connect(control: RawFd) -> Result<Self, JailFault> {
        let control = descriptors::adopt(control).step("take the control socket")?;
        let mut buffer = vec![0; LONGEST];
        let (length, _) =
            sockets::receive(control.as_fd(), &mut buffer).step("receive the plan")?;
        let text = buffer.get(..length).unwrap_or_default();
        let plan = serde_json::from_slice(text).step("read the plan")?;
        Ok(Self {
            control: ManuallyDrop::new(control),
            plan,
            report: JailReport::default(),
            read: Vec::new(),
            about: None,
            ends: None,
            asked: None,
            unlocked: None,
            born: BTreeMap::new(),
            jobs: 0,
        })
    }

    /// The folder of the guest package.
    pub fn guest(&self) -> &Path {
        &self.plan.guest
    }

    /// The modules to import.
    pub fn packages(&self) -> &[String] {
        &self.plan.packages
    }

    /// The folders to add to the module search path, after the standard library.
    pub fn path(&self) -> Vec<PathBuf> {
        let mut path = self.plan.mounts.path.clone();
        for shown in &self.plan.mounts.read {
            let Some(parent) = shown.parent() else { continue };
            let is_site = parent
                .file_name()
                .is_some_and(|name| name == "site-packages" || name == "dist-packages");
            if is_site && !path.iter().any(|known| known == parent) {
                path.push(parent.to_owned());
            }
        }
        path
    }

    /// Leaves the host's namespaces. If it returns true, the caller forks: the parent calls
    /// [`Zygote::guard`], and the child continues with [`Zygote::furnish`].
    ///
    /// # Errors
    /// If only some of the namespaces could be left.
    pub fn leave(&mut self) -> Result<bool, JailFault> {
        if !self.wants(JailLayer::Namespaces) {
            return Ok(false);
        }
        let (user, group) = privileges::identity();
        if let Err(error) = mounts::leave_namespaces() {
            self.report.missing.push(format!("namespaces: {error}"));
            return Ok(false);
        }
        fs::write("/proc/self/setgroups", "deny").step("deny groups")?;
        fs::write("/proc/self/uid_map", format!("65534 {user} 1")).step("map the user")?;
        fs::write("/proc/self/gid_map", format!("65534 {group} 1")).step("map the group")?;
        mounts::name_host("sandbox").step("name the host")?;
        self.report.layers.push(JailLayer::Namespaces);
        Ok(true)
    }

    /// Waits for the first process of the new namespace, and exits as it did.
    pub fn guard(self, first: i32) -> ! {
        // Otherwise the host would never see the channel close.
        drop(ManuallyDrop::into_inner(self.control));
        let end = process::ended(first, true);
        process::leave(end.ok().flatten().and_then(|(_, end)| end.code).unwrap_or(1))
    }

    /// Changes to the private root, and determines which layers hold. `library` is the folder of
    /// the standard library.
    ///
    /// # Errors
    /// If workers could not be isolated afterwards.
    pub fn furnish(&mut self, library: &[PathBuf]) -> Result<(), JailFault> {
        process::die_with_parent().step("die with the parent")?;
        // Packages that are imported later may start threads.
        process::keep_ends().step("watch children")?;
        let own_processes = self.holds(JailLayer::Namespaces);
        if !own_processes {
            process::adopt_orphans().step("adopt orphans")?;
        }
        self.about = fs::File::open("/proc").ok();
        self.read = granted(&self.plan, library).step("find what is granted")?;
        if self.wants(JailLayer::PrivateRoot) {
            let hidden = sites(library);
            match own_processes.then(|| root::furnish(&self.read, &hidden)) {
                Some(Ok(())) => self.report.layers.push(JailLayer::PrivateRoot),
                Some(Err(error)) => self.report.missing.push(format!("private root: {error}")),
                None => self.report.missing.push("private root: it needs namespaces".to_owned()),
            }
        }
        if self.holds(JailLayer::PrivateRoot) {
            if !self.plan.files.is_empty() {
                root::show_files(self.control.as_fd())?;
                self.read.extend(self.plan.files.iter().cloned());
            }
            root::enter()?;
        } else if !self.plan.files.is_empty() {
            let missing = io::Error::other("it needs a private root");
            return Err(missing).step("show files");
        }
        self.report.landlock = privileges::landlock_version();
        if self.wants(JailLayer::Landlock) {
            if self.report.landlock > 0 {
                self.report.layers.push(JailLayer::Landlock);
            } else {
                self.report.missing.push("Landlock: the kernel does not have it".to_owned());
            }
        }
        for layer in [JailLayer::Seccomp, JailLayer::Privileges, JailLayer::Limits] {
            if self.wants(layer) {
                self.report.layers.push(layer);
            }
        }
        Ok(())
    }

    /// Tells the host that everything is imported. A zygote with a jail that does not suffice
    /// does not get here.
    ///
    /// # Errors
    /// If the host is gone.
    pub fn ready(&mut self, version: &str) -> Result<(), JailFault> {
        if self.holds(JailLayer::PrivateRoot) {
            root::freeze()?;
        }
        self.ends = Some(process::ends().step("watch children")?);
        heap::fill_holes();
        version.clone_into(&mut self.report.version);
        self.send_report()
    }

    /// Tells the host why there will be no workers.
    pub fn fail(&mut self, why: &str) {
        self.report.failed = Some(why.chars().take(2_000).collect());
        // Nobody is left to tell if the host is gone.
        let _ = self.send_report();
    }

    /// Waits for the next request, and meanwhile reports to the host how workers ended.
    ///
    /// # Errors
    /// If waiting fails.
    pub fn wait(&mut self) -> Result<ZygoteRequest, JailFault> {
        loop {
            let mut watched = [
                PolledDescriptor::read(Some(self.control.as_fd())),
                PolledDescriptor::read(self.ends.as_ref().map(AsFd::as_fd)),
            ];
            descriptors::wait(&mut watched, None).step("wait")?;
            let [control, ends] = watched.map(PolledDescriptor::is_readable);
            if ends {
                self.reap().step("reap")?;
            }
            if control && let Some(next) = self.read_request()? {
                return Ok(next);
            }
        }
    }

    /// In the parent after a fork: closes the child's descriptors, and sends its pidfd to the
    /// host. A negative `pid` means that the fork failed.
    pub fn forked(&mut self, pid: i32) {
        let Some(PendingFork { status, folder, .. }) = self.asked.take() else { return };
        let opened = if pid > 0 {
            process::open(pid)
        } else {
            Err(io::Error::from_raw_os_error(libc::EAGAIN))
        };
        let (birth, name) = match &opened {
            Ok(name) => (WorkerBirth { failed: None }, vec![name.as_fd()]),
            Err(error) => (WorkerBirth { failed: Some(error.to_string()) }, Vec::new()),
        };
        let text = serde_json::to_vec(&birth).unwrap_or_default();
        // If the caller is gone, the worker will notice.
        let _ = sockets::send(status.as_fd(), &text, &name);
        if pid > 0 {
            self.born.insert(pid, ForkedWorker { status, folder });
        }
    }

    /// In the child after a fork: becomes a worker, up to [`Zygote::lock`].
    ///
    /// # Errors
    /// If a layer that the zygote reported cannot be applied. The child must exit.
    pub fn seal(&mut self) -> Result<SealedWorker, JailFault> {
        let asked =
            self.asked.take().ok_or(io::ErrorKind::InvalidInput).step("find the request")?;
        // The descriptors in it are closed by number below.
        let asked = ManuallyDrop::new(asked);
        std::mem::forget(self.ends.take());
        std::mem::forget(std::mem::take(&mut self.born));
        let about = ManuallyDrop::new(self.about.take());
        let about = about.as_ref().ok_or(io::ErrorKind::NotFound).step("find its size")?;
        let sizes = descriptors::open_at(about.as_fd(), c"self/statm").step("find its size")?;
        let sizes = ManuallyDrop::new(sizes);
        let cell = JailSettings {
            layers: &self.report.layers,
            read: &self.read,
            scratch: self.plan.caps.scratch,
        };
        seal(&cell, &asked.streams, sizes.as_fd())?;
        self.unlocked = Some(PendingLock {
            layers: self.report.layers.clone(),
            caps: self.plan.caps,
            lives_on: asked.request == WorkerRequest::Session,
        });
        if asked.request == WorkerRequest::Probe {
            self.lock()?;
            canary::tell(self.plan.canary.as_deref(), CHANNEL);
        }
        let own = self.holds(JailLayer::PrivateRoot).then(|| PathBuf::from(SCRATCH));
        if let Some(folder) = &asked.folder {
            std::env::set_current_dir(folder).step("enter its folder")?;
        }
        Ok(SealedWorker {
            channel: CHANNEL,
            folder: own.or_else(|| asked.folder.clone()),
            waits: asked.request == WorkerRequest::Spare,
        })
    }

    /// The last step of becoming a worker: from here on it cannot start threads, and its memory
    /// is limited to some more than it has now. Libraries that need threads start them before,
    /// with the rights of a worker.
    /// # Errors
    /// As [`Zygote::seal`], or if that was not called.
    pub fn lock(&mut self) -> Result<(), JailFault> {
        let unlocked = self.unlocked.take();
        lock(&unlocked.ok_or(io::ErrorKind::InvalidInput).step("lock a worker twice")?)
    }

    /// Reads a request; `None` if the message is not one.
    fn read_request(&mut self) -> Result<Option<ZygoteRequest>, JailFault> {
        let mut buffer = [0; 16];
        let (length, mut fds) =
            sockets::receive(self.control.as_fd(), &mut buffer).step("receive a request")?;
        if length == 0 {
            self.end_all();
            return Ok(Some(ZygoteRequest::Leave));
        }
        let request = buffer.first().and_then(|byte| WorkerRequest::of(*byte));
        let (Some(request), 4) = (request, fds.len()) else { return Ok(None) };
        let mut next = || fds.pop().ok_or(io::ErrorKind::InvalidData).step("take descriptors");
        let (status, stderr, stdout, channel) = (next()?, next()?, next()?, next()?);
        self.jobs += 1;
        let folder = self.plan.folder.as_ref().map(|base| base.join(self.jobs.to_string()));
        if let Some(folder) = &folder {
            fs::create_dir(folder).step("make a folder")?;
        }
        let streams = WorkerStreams { channel, stdout, stderr };
        self.asked = Some(PendingFork { request, streams, status, folder });
        Ok(Some(ZygoteRequest::Fork))
    }

    /// Reports each worker that has ended to the host.
    fn reap(&mut self) -> io::Result<()> {
        if let Some(ends) = &self.ends {
            let mut news = [0; 1024];
            // The descriptor only wakes; `wait4` tells which workers ended.
            let _ = descriptors::read(ends.as_fd(), &mut news);
        }
        let mut gone = Vec::new();
        loop {
            match process::ended(-1, false) {
                Ok(Some(one)) => gone.push(one),
                Ok(None) => break,
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => break,
                Err(error) => return Err(error),
            }
        }
        if !self.holds(JailLayer::Namespaces) {
            self.kill_orphans();
        }
        for (pid, end) in gone {
            self.report_end(pid, end);
        }
        Ok(())
    }

    fn report_end(&mut self, pid: i32, end: ProcessEnd) {
        let Some(ForkedWorker { status, folder }) = self.born.remove(&pid) else { return };
        if let Some(folder) = folder {
            // The host removes the parent folder.
            let _ = fs::remove_dir_all(folder);
        }
        let text = serde_json::to_vec(&end).unwrap_or_default();
        // A host that has closed the channel does not need the report.
        let _ = sockets::send(status.as_fd(), &text, &[]);
    }

    /// Kills the processes that workers left behind, which the zygote has adopted, and waits for
    /// them.
    fn kill_orphans(&self) {
        const ROUNDS: u32 = 1_000;
        for _ in 0..ROUNDS {
            let orphans = self.orphans();
            if orphans.is_empty() {
                return;
            }
            // The death of one may orphan others, which the zygote adopts in turn.
            for pid in orphans {
                process::kill_number(pid);
                let _ = process::ended(pid, true);
            }
        }
    }

    /// Children that are not workers.
    fn orphans(&self) -> Vec<i32> {
        let own = std::process::id();
        let list = fs::read_to_string(format!("/proc/self/task/{own}/children"));
        let list = list.unwrap_or_default();
        let all = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        all.filter(|pid| !self.born.contains_key(pid)).collect()
    }

    /// Kills all workers where there is no process namespace that would.
    fn end_all(&mut self) {
        if self.holds(JailLayer::Namespaces) {
            return;
        }
        for pid in self.born.keys() {
            process::kill_number(*pid);
        }
        while let Ok(Some((pid, end))) = process::ended(-1, true) {
            self.report_end(pid, end);
            self.kill_orphans();
        }
    }

    fn send_report(&self) -> Result<(), JailFault> {
        let text = serde_json::to_vec(&self.report).step("write the report")?;
        sockets::send(self.control.as_fd(), &text, &[]).step("send the report")
    }

    fn wants(&self, layer: JailLayer) -> bool {
        self.plan.layers.contains(&layer)
    }

    fn holds(&self, layer: JailLayer) -> bool {
        self.report.layers.contains(&layer)
    }
}
