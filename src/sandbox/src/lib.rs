//! Engines that isolate untrusted code, behind the port [`antiphon_runtime::sandbox`].
//!
//! | module | holds |
//! |---|---|
//! | `check` | checks of the tables and figures that a worker sends |
//! | `frame` | frames between host and worker |
//! | `outcome` | the outcome that a worker reports, checked |
//! | `tagged` | the values in frames, counted and checked |
//! | `spec` | settings of an engine, and its layers |
//! | `granted_files` | host files that workers see under other names |
//! | `host` | the outside: pools of workers, and their supervision |
//! | `jail` | the inside: the steps by which a zygote and its workers lock themselves in |
//! | `sys` | system calls |
//! | `absent` | engines on systems where they cannot be built |

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod absent;
pub mod check;
pub mod frame;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod granted_files;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod host;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod jail;
pub mod outcome;
pub mod spec;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod sys;
pub mod tagged;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod wire;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub use absent::AbsentEngine;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use host::ProcessEngine;
pub use spec::{EngineName, EngineSettings, JailLayer, Mounts, ReadyTimeout, ZygoteLifetime};
