//! Owners of threads: names that tell whether their process still exists.

use std::sync::OnceLock;
use std::{fs, io};

use antiphon_core::Seed;
use twox_hash::XxHash3_64;

use crate::process;

/// A name for one run of this process. On Linux it identifies the process.
pub fn new(seed: Seed) -> String {
    static OWN: OnceLock<(u32, Option<String>)> = OnceLock::new();
    let random = seed.stable_uuid();
    let process = process::id();
    let (of, known) = OWN.get_or_init(|| (process, name(process)));
    // A fork gets its own name.
    let process = if *of == process { known.clone() } else { name(process) };
    process.map_or_else(|| random.clone(), |process| format!("{process}/{random}"))
}

fn name(process: u32) -> Option<String> {
    Some(format!("{}/{process}/{}", process_namespace()?, started(process).ok()??))
}

/// Whether the process of an owner ran on this machine and has ended. For owners on other
/// machines this is unknown, and false.
pub fn is_gone(owner: &str) -> bool {
    let mut parts = owner.split('/');
    let (Some(there), Some(process), Some(began)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Ok(process) = process.parse() else { return false };
    // A process id is reused later, but not with the same start time.
    process_namespace().as_deref() == Some(there)
        && started(process).is_ok_and(|text| text.as_deref() != Some(began))
}

/// A boot of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootId {
    /// The current boot of this machine, as far as is known.
    This,
    /// An earlier boot of this machine: its processes are gone.
    Earlier,
    /// A boot of another machine: the state of its processes is unknown.
    Elsewhere,
}

/// The boot that an owner's name is from.
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

/// The current boot of this machine.
pub fn start() -> Option<String> {
    static MACHINE: OnceLock<String> = OnceLock::new();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}.{}", MACHINE.get_or_init(machine), boot.trim()))
}

/// An id of this machine that survives a reboot; empty if there is none. It is hashed before it
/// is stored.
fn machine() -> String {
    let text = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let text = text.trim();
    if text.len() != 32 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return String::new();
    }
    format!("{:016x}", XxHash3_64::oneshot(format!("antiphon owner {text}").as_bytes()))
}

/// The namespace of process ids: the current boot, and the container within it.
fn process_namespace() -> Option<String> {
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    let number: String = space.to_str()?.chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{number}", start()?))
}

/// When a process started, in clock ticks since boot; `None` if it has ended. Fails if that is
/// unknown, for example because too many files are open.
fn started(process: u32) -> io::Result<Option<String>> {
    /// `ESRCH`: the process ended between `open` and `read`.
    const NO_SUCH_PROCESS: i32 = 3;
    let text = match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(began(&text))
}

fn began(text: &str) -> Option<String> {
    // The name, in parentheses, may contain anything; the fields follow it.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let is_alive = !matches!(state, "Z" | "X" | "x");
    fields.nth(18).filter(|_| is_alive).map(str::to_owned)
}
