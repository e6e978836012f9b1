//! Who writes to a thread: a name that tells whether its process is still there.

use std::sync::OnceLock;
use std::{fs, io};

use antiphon_core::Seed;
use twox_hash::XxHash3_64;

use crate::process;

/// A name for one run of this process. On Linux it says which process that is.
pub fn new(seed: Seed) -> String {
    static OWN: OnceLock<(u32, Option<String>)> = OnceLock::new();
    let random = seed.stable_uuid();
    let process = process::id();
    let (of, known) = OWN.get_or_init(|| (process, name(process)));
    // A fork has a name of its own.
    let process = if *of == process { known.clone() } else { name(process) };
    process.map_or_else(|| random.clone(), |process| format!("{process}/{random}"))
}

fn name(process: u32) -> Option<String> {
    Some(format!("{}/{process}/{}", place()?, started(process).ok()??))
}

/// Whether a name is that of a process of this machine that has ended. Of
/// others nobody can tell.
pub fn is_gone(owner: &str) -> bool {
    let mut parts = owner.split('/');
    let (Some(there), Some(process), Some(began)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Ok(process) = process.parse() else { return false };
    // A number is given to other processes later on, but not at the same instant.
    place().as_deref() == Some(there)
        && started(process).is_ok_and(|told| told.as_deref() != Some(began))
}

/// A start of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootId {
    /// The one that this process is part of, as far as can be told.
    This,
    /// An earlier one of this machine: what was begun in it is gone.
    Earlier,
    /// One of another machine: nobody here can tell what became of it.
    Elsewhere,
}

/// The start of a machine that a name is from.
pub fn start_of(owner: &str) -> BootId {
    let there = owner.split_once('/').and_then(|(place, _)| place.rsplit_once('-'));
    let Some(((there, _), here)) = there.zip(start()) else { return BootId::This };
    if there == here {
        return BootId::This;
    }
    let machine = |start: &str| start.split_once('.').map(|(machine, _)| machine.to_owned());
    match (machine(there), machine(&here)) {
        (Some(there), Some(here)) if there == here && !here.is_empty() => BootId::Earlier,
        _ => BootId::Elsewhere,
    }
}

/// This start of this machine.
pub fn start() -> Option<String> {
    static MACHINE: OnceLock<String> = OnceLock::new();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}.{}", MACHINE.get_or_init(machine), boot.trim()))
}

/// What tells this machine from others, and is the same when it is started again;
/// nothing if that is not known. It is not shown to anybody as it is.
fn machine() -> String {
    let told = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let told = told.trim();
    if told.len() != 32 || !told.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return String::new();
    }
    format!("{:016x}", XxHash3_64::oneshot(format!("antiphon owner {told}").as_bytes()))
}

/// Where the numbers of processes are told apart: this start of this machine, and
/// the container within it.
fn place() -> Option<String> {
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    let number: String = space.to_str()?.chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{number}", start()?))
}

/// When a process began, in ticks since the machine did; none if it has ended.
/// Fails if that cannot be told, as when too many files are open.
fn started(process: u32) -> io::Result<Option<String>> {
    /// It ended between opening and reading.
    const NO_SUCH_PROCESS: i32 = 3;
    let told = match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(told) => told,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(began(&told))
}

fn began(told: &str) -> Option<String> {
    // The name, in brackets, may hold anything; what follows it is fields.
    let (_, fields) = told.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let is_alive = !matches!(state, "Z" | "X" | "x");
    fields.nth(18).filter(|_| is_alive).map(str::to_owned)
}
