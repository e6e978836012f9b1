//! Engines that run code which must be able to do no harm, behind the port
//! [`antiphon_runtime::sandbox`].
//!
//! | module | holds |
//! |---|---|
//! | `check` | tables and figures that a worker sent along, before others read them |
//! | `frame` | frames between host and worker |
//! | `tagged` | the values in them, counted and checked |
//! | `spec` | how an engine is set up, and the layers it has |
//! | `shown` | files that are shown under other names |
//! | `host` | the outside: pools of workers, and who watches them |
//! | `jail` | the inside: what a zygote and its workers do to themselves |
//! | `sys` | the system calls for that |
//! | `absent` | the engines where there is nothing to build them on |

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod absent;
pub mod check;
pub mod frame;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod host;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod jail;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod shown;
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
