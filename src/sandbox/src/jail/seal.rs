//! What a worker does to itself before it meets its job.

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use super::{Failed, SCRATCH, Step, files, syscalls};
use crate::spec::{Caps, Layer};
use crate::sys::limits::{self, Counted};
use crate::sys::{descriptors, mounts, privileges, process};

/// The number under which a worker finds the way to its host.
pub(super) const CHANNEL: RawFd = 3;
/// Scratch files beyond which a worker cannot make any more.
const MOST_FILES: u64 = 4_096;

/// What the fork that becomes a worker knows.
pub(super) struct Cell<'a> {
    pub(super) layers: &'a [Layer],
    pub(super) read: &'a [PathBuf],
    pub(super) caps: Caps,
    /// Bytes of address space that were taken before the job.
    pub(super) baseline: u64,
    /// It will run more than one job.
    pub(super) lives_on: bool,
}

/// The four descriptors that a worker is given.
pub(super) struct Streams {
    pub(super) channel: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Locks the door from inside. There is no way back from any of these steps,
/// and no step is left out: whoever gets an error must leave.
pub(super) fn seal(cell: &Cell<'_>, streams: &Streams) -> Result<(), Failed> {
    let has = |layer| cell.layers.contains(&layer);
    move_streams(streams)?;
    process::let_signals_through().step("let signals through")?;
    process::own_session().step("start a session")?;
    let has_scratch = has(Layer::PrivateRoot);
    if has_scratch {
        mounts::own_mounts().step("get own mounts")?;
        let options = format!("mode=0700,size={},nr_inodes={MOST_FILES}", cell.caps.scratch);
        mounts::mount_memory(Path::new(SCRATCH), &options).step("mount scratch")?;
        std::env::set_current_dir(SCRATCH).step("enter scratch")?;
    }
    if has(Layer::Limits) {
        limit(cell)?;
    }
    if has(Layer::Privileges) {
        privileges::drop_capabilities().step("drop capabilities")?;
        privileges::no_new_privileges().step("refuse new privileges")?;
    }
    // After the change of rights, which undoes both.
    process::die_with_parent().step("die with the parent")?;
    privileges::hide_memory().step("hide memory")?;
    if has(Layer::Landlock) {
        files::restrict(cell.read, has_scratch)?;
    }
    if has(Layer::Seccomp) {
        syscalls::restrict()?;
    }
    Ok(())
}

fn move_streams(streams: &Streams) -> Result<(), Failed> {
    // None of these is below 4: a zygote keeps the low numbers taken.
    for (fd, to) in [(&streams.stdout, 1), (&streams.stderr, 2), (&streams.channel, CHANNEL)] {
        descriptors::put(fd.as_fd(), to).step("move streams")?;
    }
    descriptors::close_from(CHANNEL.unsigned_abs() + 1).step("close descriptors")
}

fn limit(cell: &Cell<'_>) -> Result<(), Failed> {
    let Caps { memory, cpu, files, scratch } = cell.caps;
    let space = cell.baseline.saturating_add(memory);
    limits::set(Counted::AddressSpace, space, space).step("limit memory")?;
    limits::set(Counted::FileSize, scratch, scratch).step("limit files")?;
    limits::set(Counted::OpenFiles, files, files).step("limit open files")?;
    for none in [Counted::CoreFile, Counted::LockedMemory, Counted::MessageQueues] {
        limits::set(none, 0, 0).step("limit resources")?;
    }
    if !cell.lives_on {
        // The second one is for code that goes on after the signal.
        limits::set(Counted::Processor, cpu, cpu + 1).step("limit processor time")?;
    }
    Ok(())
}
