//! How a worker locks itself in before it receives its job.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{DEVICES, JailFault, SCRATCH, Step, files, syscalls};
use crate::spec::{JailLayer, WorkerLimits};
use crate::sys::limits::{self, LimitedResource};
use crate::sys::{descriptors, mounts, privileges, process};

/// The descriptor of a worker's channel to its host.
pub(super) const CHANNEL: RawFd = 3;
/// The most scratch files of a worker.
const MOST_FILES: u64 = 4_096;

/// The descriptor of `/proc/self/statm`, until the limits are set.
const SIZES: RawFd = 4;

/// The settings of a fork that becomes a worker.
pub(super) struct JailSettings<'a> {
    pub(super) layers: &'a [JailLayer],
    pub(super) read: &'a [PathBuf],
    /// The size of its scratch folder, in bytes.
    pub(super) scratch: u64,
}

/// The four descriptors that a worker receives.
pub(super) struct WorkerStreams {
    pub(super) channel: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The last step of a worker, after its libraries have started their threads.
pub(super) struct PendingLock {
    pub(super) layers: Vec<JailLayer>,
    pub(super) caps: WorkerLimits,
    /// The worker serves more than one job.
    pub(super) lives_on: bool,
}

/// Gives up access to files and privileges; `sizes` is `/proc/self/statm`. The steps
/// cannot be undone, and none may be skipped: after an error the process must exit. Everything
/// that it starts later has no more rights.
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
    // After the privileges were dropped, because that resets both.
    process::die_with_parent().step("die with the parent")?;
    privileges::hide_memory().step("hide memory")?;
    if has(JailLayer::Landlock) {
        files::restrict(cell.read, has_scratch)?;
    }
    Ok(())
}

/// The last step: limits, and a filter of system calls that denies threads and everything else
/// that a job does not need.
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
    // An inherited descriptor is shared: flags and locks that a job sets on it would affect
    // every other worker.
    let nothing = File::open(DEVICES[0]).step("open standard input")?;
    // None of these is below 5, because a zygote keeps the low numbers occupied.
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
    // It is closed together with all others.
    std::mem::forget(nothing);
    descriptors::close_from(SIZES.unsigned_abs() + 1).step("close descriptors")
}

/// The size of the address space of this process in bytes.
fn taken(sizes: &File) -> io::Result<u64> {
    let mut text = [0; 128];
    let length = sizes.read_at(&mut text, 0)?;
    let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
    let pages: Option<u64> = text.split(' ').next().and_then(|pages| pages.parse().ok());
    // With a size of 0 the limit would leave no room for the stack.
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
        // The second limit kills code that continues after the signal.
        limits::set(LimitedResource::Processor, cpu, cpu + 1).step("limit processor time")?;
    }
    Ok(())
}
