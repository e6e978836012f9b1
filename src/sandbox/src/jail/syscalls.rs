//! The system calls of a worker: those that an interpreter and numerical libraries need, and
//! none that reaches another process or the network.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

use super::{JailFault, Step};

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Allowed with any arguments, on every architecture.
const ALLOWED: &[c_long] = &[
    // Open descriptors.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_lseek,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_flock,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    // Files, as far as Landlock and the root allow.
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_truncate,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_umask,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    // Time, waiting, random numbers.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_times,
    libc::SYS_getrandom,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_sched_yield,
    // Own signals, locks and exit.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    // Own identity and limits.
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrusage,
    libc::SYS_getcpu,
    libc::SYS_getpriority,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    // The first filter answers that it does not exist. It must pass here, because of two
    // refusals the most recently installed filter's wins.
    libc::SYS_clone3,
];

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_time,
    libc::SYS_alarm,
    libc::SYS_pause,
    libc::SYS_getpgrp,
    libc::SYS_getrlimit,
];
#[cfg(target_arch = "aarch64")]
const OLD: &[c_long] = &[libc::SYS_renameat];

/// The commands of `fcntl` on a descriptor. Asking for a lock sets none.
const DESCRIPTORS: &[i32] = &[
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
];
/// The commands with which `fcntl` sets locks.
const LOCKS: &[i32] = &[libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];
/// Advice about memory that affects no other process: not MERGEABLE, which shares equal pages,
/// and not COLD and PAGEOUT, which evict pages of files.
const ADVICE: [i32; 14] = [
    libc::MADV_NORMAL,
    libc::MADV_RANDOM,
    libc::MADV_SEQUENTIAL,
    libc::MADV_WILLNEED,
    libc::MADV_DONTNEED,
    libc::MADV_FREE,
    libc::MADV_DONTFORK,
    libc::MADV_DOFORK,
    libc::MADV_HUGEPAGE,
    libc::MADV_NOHUGEPAGE,
    libc::MADV_DONTDUMP,
    libc::MADV_DODUMP,
    libc::MADV_WIPEONFORK,
    libc::MADV_KEEPONFORK,
];
/// Flags of `send` and `recv`, without out-of-band data.
const FLAGS: i32 = libc::MSG_PEEK | libc::MSG_WAITALL | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

#[cfg(target_arch = "x86_64")]
const MACHINE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const MACHINE: TargetArch = TargetArch::aarch64;

/// Restricts every thread of this process permanently. A call that is not allowed fails with
/// EPERM, so that the code can report it.
pub(super) fn restrict() -> Result<(), JailFault> {
    // ENOSYS and not EPERM: the C library then falls back to `clone`, whose arguments a filter
    // can check.
    let absent = [(libc::SYS_clone3, Vec::new())].into_iter().collect();
    let not_there = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    install(absent, SeccompAction::Allow, not_there).step("hide system calls")?;
    let idle = without_effect().step("list system calls")?;
    install(idle, SeccompAction::Allow, SeccompAction::Errno(0)).step("answer system calls")?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = allowed().step("list system calls")?;
    install(rules, refused, SeccompAction::Allow).step("restrict system calls")
}

fn install(rules: SyscallRules, otherwise: SeccompAction, listed: SeccompAction) -> io::Result<()> {
    let filter = SeccompFilter::new(rules, otherwise, listed, MACHINE).map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    // A library may have started threads before; see `Zygote::seal`.
    apply_filter_all_threads(&program).map_err(io::Error::other)
}

/// Calls that succeed and do nothing. Like `clone3` they pass the second filter.
///
/// A lock would be visible to the host, which shares the granted files, and to everyone else who
/// has them open. A worker is alone with the files that it can write, and no process waits for
/// its own record locks, so SQLite works as usual. Advice about a file could evict the host's
/// pages.
fn without_effect() -> io::Result<SyscallRules> {
    let mut rules = SyscallRules::new();
    let locks = LOCKS.iter().map(|lock| SeccompRule::new(vec![equal(1, number(*lock))?]));
    let locks: Result<Vec<_>, _> = locks.collect();
    rules.insert(libc::SYS_fcntl, locks.map_err(io::Error::other)?);
    rules.insert(libc::SYS_flock, Vec::new());
    rules.insert(libc::SYS_fadvise64, Vec::new());
    Ok(rules)
}

fn allowed() -> io::Result<SyscallRules> {
    let mut rules: SyscallRules =
        ALLOWED.iter().chain(OLD).map(|call| (*call, Vec::new())).collect();
    by_argument(&mut rules).map_err(io::Error::other)?;
    Ok(rules)
}

/// Calls that are harmless with some arguments only.
fn by_argument(rules: &mut SyscallRules) -> Result<(), seccompiler::BackendError> {
    let mut first = |call: c_long, place: u8, values: &[u64]| {
        let any = values.iter().map(|value| SeccompRule::new(vec![equal(place, *value)?]));
        any.collect::<Result<Vec<_>, _>>().map(|any| drop(rules.insert(call, any)))
    };
    let own = u64::from(std::process::id());
    first(libc::SYS_kill, 0, &[own])?;
    first(libc::SYS_tgkill, 0, &[own])?;
    let of_descriptors: Vec<_> = DESCRIPTORS.iter().chain(LOCKS).copied().map(number).collect();
    first(libc::SYS_fcntl, 1, &of_descriptors)?;
    first(libc::SYS_madvise, 2, &ADVICE.map(number))?;
    let requests = [
        libc::FIOCLEX,
        libc::FIONCLEX,
        libc::FIONBIO,
        libc::FIONREAD,
        libc::TCGETS,
        libc::TIOCGWINSZ,
    ]
    .map(request);
    first(libc::SYS_ioctl, 1, &requests)?;
    first(
        libc::SYS_prctl,
        0,
        &[libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_GET_DUMPABLE].map(number),
    )?;
    // Reads its own limit, and sets none.
    let asks = SeccompRule::new(vec![equal(0, 0)?, null(2)?])?;
    rules.insert(libc::SYS_prlimit64, vec![asks]);
    // A socket pair, for event loops. Without addresses, and without the calls that pass
    // descriptors, it leads nowhere.
    let stream = SeccompCondition::new(
        1,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(0xf),
        number(libc::SOCK_STREAM),
    )?;
    let ends = SeccompRule::new(vec![equal(0, number(libc::AF_UNIX))?, stream])?;
    rules.insert(libc::SYS_socketpair, vec![ends]);
    for call in [libc::SYS_sendto, libc::SYS_recvfrom] {
        let flags = SeccompCondition::new(
            3,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(u64::from(!FLAGS.unsigned_abs())),
            0,
        )?;
        rules.insert(call, vec![SeccompRule::new(vec![null(4)?, flags])?]);
    }
    Ok(())
}

fn number(value: i32) -> u64 {
    u64::from(value.unsigned_abs())
}

/// A request of `ioctl`; its type depends on the C library. All of ours are positive, and a
/// negative one would match nothing.
fn request(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

fn equal(place: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn null(place: u8) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(place, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)
}
