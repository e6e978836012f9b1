//! The inside of the jail: what a zygote does to itself before it imports
//! anything, and what each worker does before it meets its job.
//!
//! `boot.py` calls these steps in order, and forks in between, so that the
//! interpreter's own hooks run at each fork.

mod canary;
mod files;
mod granted;
mod root;
mod seal;
mod syscalls;
mod zygote;

pub use zygote::{SealedWorker, Zygote, ZygoteRequest};

use std::fmt;
use std::io;

/// A step that did not succeed.
#[derive(Debug)]
pub struct JailFault {
    step: String,
    error: io::Error,
}

impl fmt::Display for JailFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.error)
    }
}

impl std::error::Error for JailFault {}

/// Says which step failed.
trait Step<T> {
    fn step(self, name: &str) -> Result<T, JailFault>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, name: &str) -> Result<T, JailFault> {
        self.map_err(|error| JailFault { step: name.to_owned(), error: error.into() })
    }
}

/// A worker's own folder.
const SCRATCH: &str = "/scratch";
/// Where libraries keep what they prepare at import; read-only for workers.
const CACHE: &str = "/cache";
/// The devices that a worker has.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/urandom"];
