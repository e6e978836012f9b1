//! What a worker does to itself before it meets its job.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{DEVICES, JailFault, SCRATCH, Step, files, syscalls};
use crate::spec::{JailLayer, WorkerLimits};
use crate::sys::limits::{self, LimitedResource};
use crate::sys::{descriptors, mounts, privileges, process};

/// The number under which a worker finds the way to its host.
pub(super) const CHANNEL: RawFd = 3;
/// Scratch files beyond which a worker cannot make any more.
const MOST_FILES: u64 = 4_096;

/// The number of what says how large a worker is, until its limits are set.
const SIZES: RawFd = 4;

/// What the fork that becomes a worker knows.
pub(super) struct JailSettings<'a> {
    pub(super) layers: &'a [JailLayer],
    pub(super) read: &'a [PathBuf],
    /// Bytes of its own files.
    pub(super) scratch: u64,
}

/// The four descriptors that a worker is given.
pub(super) struct WorkerStreams {
    pub(super) channel: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// What is left to do once the libraries have the threads that they need.
pub(super) struct PendingLock {
    pub(super) layers: Vec<JailLayer>,
    pub(super) caps: WorkerLimits,
    /// It will run more than one job.
    pub(super) lives_on: bool,
}

/// Gives up what the worker has of files and rights; `sizes` is where the system
/// says how large it is. There is no way back from any of these steps, and no step
/// is left out: whoever gets an error must leave. What is started from here on has
/// no more than that.
pub(super) fn seal(
    cell: &JailSettings<'_>,
    streams: &WorkerStreams,
    sizes: BorrowedFd<'_>,
) -> Result<(), JailFault> {
    let has = |layer| cell.layers.contains(&layer);
    move_streams(streams, sizes)?;
    process::let_signals_through().step("let signals through")?;
    process::own_session().step("start a session")?;
    let has_scratch = has(JailLayer::PrivateRoot);
    if has_scratch {
        mounts::own_mounts().step("get own mounts")?;
        let options = format!("mode=0700,size={},nr_inodes={MOST_FILES}", cell.scratch);
        mounts::mount_memory(Path::new(SCRATCH), &options).step("mount scratch")?;
        std::env::set_current_dir(SCRATCH).step("enter scratch")?;
    }
    if has(JailLayer::Privileges) {
        privileges::drop_capabilities().step("drop capabilities")?;
        privileges::no_new_privileges().step("refuse new privileges")?;
    }
    // After the change of rights, which undoes both.
    process::die_with_parent().step("die with the parent")?;
    privileges::hide_memory().step("hide memory")?;
    if has(JailLayer::Landlock) {
        files::restrict(cell.read, has_scratch)?;
    }
    Ok(())
}

/// Locks the door: limits, and no thread or any other call of the system that a
/// job does not need.
pub(super) fn lock(unlocked: &PendingLock) -> Result<(), JailFault> {
    let sizes = descriptors::adopt(SIZES).step("take its size")?;
    if unlocked.layers.contains(&JailLayer::Limits) {
        limit(unlocked, taken(&File::from(sizes)).step("read the size")?)?;
    } else {
        drop(sizes);
    }
    if unlocked.layers.contains(&JailLayer::Seccomp) {
        syscalls::restrict()?;
    }
    Ok(())
}

fn move_streams(streams: &WorkerStreams, sizes: BorrowedFd<'_>) -> Result<(), JailFault> {
    // One that was inherited is shared: flags and locks that a job gives it would
    // be there for every other.
    let nothing = File::open(DEVICES[0]).step("open standard input")?;
    // None of these is below 5: a zygote keeps the low numbers taken.
    let all = [
        (nothing.as_fd(), 0),
        (streams.stdout.as_fd(), 1),
        (streams.stderr.as_fd(), 2),
        (streams.channel.as_fd(), CHANNEL),
        (sizes, SIZES),
    ];
    for (fd, to) in all {
        descriptors::put(fd, to).step("move streams")?;
    }
    // It is closed with all others.
    std::mem::forget(nothing);
    descriptors::close_from(SIZES.unsigned_abs() + 1).step("close descriptors")
}

/// Bytes of address space that this process has.
fn taken(sizes: &File) -> io::Result<u64> {
    let mut text = [0; 128];
    let length = sizes.read_at(&mut text, 0)?;
    let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
    let pages: Option<u64> = text.split(' ').next().and_then(|pages| pages.parse().ok());
    // A baseline of 0 would take the stack's room away from a worker.
    pages
        .filter(|pages| *pages > 0)
        .map(|pages| pages * process::page())
        .ok_or_else(|| io::Error::other("it is not said"))
}

fn limit(unlocked: &PendingLock, baseline: u64) -> Result<(), JailFault> {
    let WorkerLimits { memory, cpu, files, scratch } = unlocked.caps;
    let space = baseline.saturating_add(memory);
    limits::set(LimitedResource::AddressSpace, space, space).step("limit memory")?;
    limits::set(LimitedResource::FileSize, scratch, scratch).step("limit files")?;
    limits::set(LimitedResource::OpenFiles, files, files).step("limit open files")?;
    for none in
        [LimitedResource::CoreFile, LimitedResource::LockedMemory, LimitedResource::MessageQueues]
    {
        limits::set(none, 0, 0).step("limit resources")?;
    }
    if !unlocked.lives_on {
        // The second one is for code that goes on after the signal.
        limits::set(LimitedResource::Processor, cpu, cpu + 1).step("limit processor time")?;
    }
    Ok(())
}
