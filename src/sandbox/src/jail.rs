//! The inside of the jail: the steps that a zygote takes before it imports anything, and those
//! of each worker before it receives its job.
//!
//! `boot.py` calls these steps in order and forks between them, so that the interpreter's own
//! fork hooks run.

mod canary;
mod files;
mod interpreter_files;
mod root;
mod seal;
mod syscalls;
mod zygote;

pub use zygote::{SealedWorker, Zygote, ZygoteRequest};

use std::fmt;
use std::io;

/// A step that failed.
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

/// Names the step that failed.
trait Step<T> {
    fn step(self, name: &str) -> Result<T, JailFault>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, name: &str) -> Result<T, JailFault> {
        self.map_err(|error| JailFault { step: name.to_owned(), error: error.into() })
    }
}

/// A worker's private folder.
const SCRATCH: &str = "/scratch";
/// The folder where libraries prepare caches at import; read-only for workers.
const CACHE: &str = "/cache";
/// The devices in a worker's root.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/urandom"];
