//! Processes: pidfds, signals, exit status.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{checked, checked_long};

/// How a process ended, and its resource usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessEnd {
    /// Its exit code, unless a signal ended it.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Processor time.
    pub(crate) cpu: Duration,
    /// The peak of resident memory, in bytes.
    pub(crate) memory: u64,
}

/// A pidfd of a child, which stays valid when the process id is reused.
pub(crate) fn open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = checked_long(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: it was just made, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Kills a process; no error if it has ended.
pub(crate) fn kill(process: BorrowedFd<'_>) {
    send(process, libc::SIGKILL);
}

/// Stops a process with all its threads, until it is resumed or killed.
pub(crate) fn stop(process: BorrowedFd<'_>) {
    send(process, libc::SIGSTOP);
}

/// Resumes a stopped process.
pub(crate) fn resume(process: BorrowedFd<'_>) {
    send(process, libc::SIGCONT);
}

fn send(process: BorrowedFd<'_>, signal: libc::c_int) {
    let info = std::ptr::null::<libc::siginfo_t>();
    let fd = process.as_raw_fd();
    // SAFETY: the descriptor is open while it is borrowed. One that has ended already
    // is no error.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, info, 0) };
}

/// Kills a child that is not a worker; for a zygote that has adopted orphans.
pub(crate) fn kill_number(pid: libc::pid_t) {
    // SAFETY: the caller is its parent and has not waited for it, so that the
    // number is still its.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// The next child that has ended, or `None`; waits for one if `wait`.
pub(crate) fn ended(pid: libc::pid_t, wait: bool) -> io::Result<Option<(libc::pid_t, ProcessEnd)>> {
    let mut status = 0;
    // SAFETY: a usage of zeros is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let flags = if wait { 0 } else { libc::WNOHANG };
    let found = loop {
        // SAFETY: both places outlive the call.
        let found = unsafe { libc::wait4(pid, &raw mut status, flags, &raw mut usage) };
        match checked(found) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if found == 0 {
        return Ok(None);
    }
    let end = ProcessEnd {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        memory: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    };
    Ok(Some((found, end)))
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// Makes the kernel kill this process when its parent dies.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// Makes this process adopt the orphans of its children.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Enters a new session and process group.
pub(crate) fn own_session() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::setsid() }).map(drop)
}

/// Keeps the signal that a child has ended for [`ends`], in this thread and in those that it will
/// start. A thread without this could take the signal away. Must be undone in children.
pub(crate) fn keep_ends() -> io::Result<()> {
    let set = children();
    // SAFETY: the set outlives the call, and the thread's mask is what we mean to change.
    checked(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) })
        .map(drop)
}

/// A descriptor that becomes readable when a child has ended, after [`keep_ends`].
pub(crate) fn ends() -> io::Result<OwnedFd> {
    let set = children();
    // SAFETY: set and action outlive the calls, and an action of zeros is a valid one.
    unsafe {
        // A worker that is stopped between two jobs sends no signal.
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        action.sa_flags = libc::SA_NOCLDSTOP;
        checked(libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut()))?;
        let fd =
            checked(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Unblocks in a child what [`keep_ends`] has blocked.
pub(crate) fn let_signals_through() -> io::Result<()> {
    let set = children();
    // SAFETY: as above.
    checked(unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) })
        .map(drop)
}

fn children() -> libc::sigset_t {
    // SAFETY: a set of zeros is valid memory for `sigemptyset` to fill.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        set
    }
}

/// Exits at once, without exit handlers.
pub(crate) fn leave(code: libc::c_int) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

/// Forks; returns 0 in the child, which must [`leave`]. Only for a process with one thread.
pub(crate) fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: no other thread holds a lock that the child would wait for.
    checked(unsafe { libc::fork() })
}

/// Attempts a fork whose child exits at once; returns whether it succeeded.
pub(crate) fn can_fork() -> bool {
    // SAFETY: the child does nothing but leave.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if pid == 0 {
        leave(0);
    }
    pid > 0
}

/// Attempts to create a socket; returns whether it succeeded.
pub(crate) fn can_connect(family: libc::c_int) -> bool {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM, 0) };
    if fd >= 0 {
        // SAFETY: it was just made.
        unsafe { libc::close(fd) };
    }
    fd >= 0
}

/// Whether this process can send signals to `pid`.
pub(crate) fn can_signal(pid: libc::pid_t) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { libc::kill(pid, 0) == 0 }
}

/// The process id in this namespace, while the process exists.
pub(crate) fn number(process: BorrowedFd<'_>) -> Option<libc::pid_t> {
    let about = format!("/proc/self/fdinfo/{}", process.as_raw_fd());
    let about = std::fs::read_to_string(about).ok()?;
    let pid = about.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    pid.trim().parse().ok().filter(|pid| *pid > 0)
}

/// Pidfds of the children of a process, as far as known.
pub(crate) fn children_of(of: u32) -> Vec<OwnedFd> {
    let list = || std::fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
    let numbers = |text: &str| -> Vec<libc::pid_t> {
        text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    };
    let named = numbers(&list().unwrap_or_default()).into_iter();
    let named: Vec<_> = named.filter_map(|pid| Some((pid, open(pid).ok()?))).collect();
    // Still a child after its pidfd was opened: so the pidfd is that child's.
    let known = numbers(&list().unwrap_or_default());
    named.into_iter().filter(|(pid, _)| known.contains(pid)).map(|(_, name)| name).collect()
}

/// The processor time of a process.
pub(crate) fn cpu(pid: libc::pid_t) -> Option<Duration> {
    // The kernel's encoding of the processor clock of another process.
    const SCHEDULED: libc::clockid_t = 2;
    let clock = (!pid << 3) | SCHEDULED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place outlives the call.
    checked(unsafe { libc::clock_gettime(clock, &raw mut time) }).ok()?;
    let nanos = u32::try_from(time.tv_nsec).ok()?;
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, nanos))
}

/// Opens the `/proc` status file of a process; early, because opening takes longer than reading.
pub(crate) fn status(pid: libc::pid_t) -> Option<File> {
    File::open(format!("/proc/{pid}/status")).ok()
}

/// The peak of a process's resident memory, in bytes.
pub(crate) fn memory(status: &File) -> Option<u64> {
    let mut text = [0; 4_096];
    let length = status.read_at(&mut text, 0).ok()?;
    let mut lines = text.get(..length)?.split(|byte| *byte == b'\n');
    let peak = lines.find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    let kilobytes: u64 =
        std::str::from_utf8(peak).ok()?.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

/// The size of a page in bytes.
pub(crate) fn page() -> u64 {
    // SAFETY: no memory is involved.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4_096)
}
