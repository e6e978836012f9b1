//! The sandbox.

pub(crate) mod attachments;
pub(crate) mod limits;
pub(crate) mod native_sandbox;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod zygote;
