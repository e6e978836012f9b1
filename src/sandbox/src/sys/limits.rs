//! Resource limits of a process.

use std::io;

use super::checked;

#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// A limited resource.
#[derive(Clone, Copy)]
pub(crate) enum LimitedResource {
    AddressSpace,
    CoreFile,
    FileSize,
    LockedMemory,
    MessageQueues,
    OpenFiles,
    Processor,
}

impl LimitedResource {
    fn resource(self) -> Resource {
        match self {
            Self::AddressSpace => libc::RLIMIT_AS,
            Self::CoreFile => libc::RLIMIT_CORE,
            Self::FileSize => libc::RLIMIT_FSIZE,
            Self::LockedMemory => libc::RLIMIT_MEMLOCK,
            Self::MessageQueues => libc::RLIMIT_MSGQUEUE,
            Self::OpenFiles => libc::RLIMIT_NOFILE,
            Self::Processor => libc::RLIMIT_CPU,
        }
    }
}

/// Sets the soft and the hard limit, neither above what the process already has.
pub(crate) fn set(what: LimitedResource, soft: u64, hard: u64) -> io::Result<()> {
    let mut known = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place outlives the call.
    checked(unsafe { libc::getrlimit(what.resource(), &raw mut known) })?;
    let hard = hard.min(known.rlim_max);
    let wanted = libc::rlimit { rlim_cur: soft.min(hard), rlim_max: hard };
    // SAFETY: as above.
    checked(unsafe { libc::setrlimit(what.resource(), &raw const wanted) }).map(drop)
}
