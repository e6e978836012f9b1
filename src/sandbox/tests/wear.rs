//! Zygotes do not serve for ever: another takes over from one that has forked
//! enough, is old, died, or bears no worker any more.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::time::Duration;

use antiphon_runtime::sandbox::{GuestFaultKind, Sandbox, WorkerOrigin};
use antiphon_sandbox::{EngineName, ProcessEngine, ZygoteLifetime};
use serde_json::json;
use support::{
    BOTH, Clean, descendants, job, named_pipe, own_guest, run, settings, signal, stopped, value,
};
use tempfile::TempDir;

/// What is the same for all workers of a zygote, and for those of no other.
const HASH: &str = "hash('which zygote') % 2 ** 50";
const NEVER: ZygoteLifetime = ZygoteLifetime { workers: u64::MAX, age: Duration::MAX };

fn worn(name: EngineName, spares: usize, wear: ZygoteLifetime) -> ProcessEngine {
    let mut settings = settings(name, &json!({}));
    settings.spares = spares;
    settings.wear = wear;
    ProcessEngine::new(settings).unwrap()
}

fn hash(engine: &ProcessEngine) -> i64 {
    value(engine, HASH).as_i64().unwrap()
}

/// Zygotes that there are: children of this process.
fn zygotes() -> usize {
    let own = descendants(std::process::id());
    let inner: BTreeSet<_> = own.iter().flat_map(|pid| descendants(*pid)).collect();
    own.difference(&inner).count()
}

/// Waits until there is something to find.
fn wait_for<T>(mut find: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = find() {
            return found;
        }
        std::thread::yield_now();
    }
}

/// Waits until so many are left. A worker that is given up ends when the last of its
/// workers does.
fn wait_for_zygotes(count: usize) {
    wait_for(|| (zygotes() == count).then_some(()));
}

/// Runs jobs until another zygote serves than the one that had `old`.
fn wait_for_another(engine: &ProcessEngine, old: i64) -> i64 {
    loop {
        let new = hash(engine);
        if new != old {
            return new;
        }
    }
}

#[test]
fn another_zygote_takes_over_from_one_that_has_forked_enough() {
    let _clean = Clean::start();
    for (name, spares) in
        [(EngineName::Process, 0), (EngineName::Process, 2), (EngineName::Subprocess, 1)]
    {
        let engine = worn(name, spares, ZygoteLifetime { workers: 5, ..NEVER });
        let mut seen = vec![hash(&engine)];
        while seen.len() < 4 {
            let next = wait_for_another(&engine, *seen.last().unwrap());
            assert!(!seen.contains(&next), "one was used again: {seen:?}");
            seen.push(next);
        }
        wait_for_zygotes(1);
    }
}

#[test]
fn another_zygote_takes_over_from_an_old_one() {
    let _clean = Clean::start();
    let age = Duration::from_secs(1);
    for name in BOTH {
        let engine = worn(name, 1, ZygoteLifetime { age, ..NEVER });
        let first = hash(&engine);
        wait_for_another(&engine, first);
    }
}

#[test]
fn a_zygote_serves_many_jobs_before_it_is_worn() {
    let _clean = Clean::start();
    let engine = worn(EngineName::Process, 2, ZygoteLifetime::default());
    let first = hash(&engine);
    for _ in 0..50 {
        assert_eq!(hash(&engine), first);
    }
}

/// Sends its outcome itself, and keeps running.
const RESTLESS: &str = r#"
import os
body = b'{"value": 1}'
os.write(3, (len(body) + 1).to_bytes(4, "little") + b"O" + body)
while True:
    pass
"#;

#[test]
fn a_worker_that_keeps_running_after_its_outcome_is_ended_and_another_waits() {
    let _clean = Clean::start();
    for (name, all) in [(EngineName::Process, 4), (EngineName::Subprocess, 3)] {
        let mut settings = settings(name, &json!({"cpu": 300, "wall": 300}));
        settings.spares = 2;
        let engine = ProcessEngine::new(settings).unwrap();
        // A zygote, that of its namespaces, and two spares.
        let whole = || {
            let found = descendants(std::process::id());
            (found.len() == all).then_some(found)
        };
        assert_eq!(value(&engine, "1"), json!(1));
        let before = wait_for(whole);
        assert_eq!(value(&engine, RESTLESS), json!(1));
        wait_for(|| whole().filter(|now| *now != before));
    }
}

#[test]
fn a_session_outlives_the_wear_of_its_zygote() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = worn(name, 1, ZygoteLifetime { workers: 4, ..NEVER });
        let mut session = engine.open().unwrap();
        let mut ask = |code: &str| session.run(&job(code), None, &|| None).value.unwrap();
        let first = ask(&format!("first = {HASH}\nfirst")).as_i64().unwrap();
        let second = wait_for_another(&engine, first);
        wait_for_another(&engine, second);
        assert_eq!(ask(&format!("[first, {HASH}]")), json!([first, first]));
        // That of the session, and one for jobs.
        wait_for_zygotes(2);
        drop(session);
        wait_for_zygotes(1);
    }
}

#[test]
fn a_zygote_that_was_just_killed_loses_no_job() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = worn(name, 2, ZygoteLifetime::default());
        for _ in 0..5 {
            let first = hash(&engine);
            // Nobody waits until they have felt it.
            signal("-KILL", &stopped());
            assert_ne!(hash(&engine), first);
        }
    }
}

/// A zygote that can be made unable to fork, for good.
const BARREN: &str = "
_is_barren = False

def _fork():
    global _is_barren
    orders = os.open(os.path.join(os.path.dirname(__file__), 'orders'), os.O_RDONLY | os.O_NONBLOCK)
    try:
        _is_barren |= os.read(orders, 1) == b'b'
    except BlockingIOError:
        pass
    os.close(orders)
    return -1 if _is_barren else os.fork()

";

/// A zygote that forks once for each byte that it is sent.
const GATED: &str = "
def _fork():
    gate = os.open(os.path.join(os.path.dirname(__file__), 'gate'), os.O_RDONLY)
    os.read(gate, 1)
    os.close(gate)
    return os.fork()

";

/// A guest whose zygotes fork in another way.
fn guest_with(fork: &str) -> TempDir {
    let guest = own_guest();
    let boot = fs::read_to_string(guest.path().join("boot.py")).unwrap();
    let main = boot.find("if __name__").unwrap();
    let (boot, main) = boot.split_at(main);
    fs::write(guest.path().join("boot.py"), format!("{boot}{fork}{main}")).unwrap();
    guest
}

fn is_dead(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn a_worker_that_is_done_while_another_is_forked_is_ended_at_once() {
    let _clean = Clean::start();
    let guest = guest_with(GATED);
    let mut gate = named_pipe(&guest.path().join("gate"));
    let mut settings = settings(EngineName::Process, &json!({"cpu": 300, "wall": 300}));
    guest.path().clone_into(&mut settings.guest);
    settings.spares = 2;
    let engine = ProcessEngine::new(settings).unwrap();
    // For the probe, the first job and both spares.
    gate.write_all(b"1234").unwrap();
    assert_eq!(value(&engine, "1"), json!(1));
    wait_for(|| (descendants(std::process::id()).len() == 4).then_some(()));
    assert_eq!(value(&engine, "2"), json!(2));
    assert_eq!(value(&engine, RESTLESS), json!(1));
    // The zygote is busy, so that nobody takes note of the death.
    wait_for(|| descendants(std::process::id()).into_iter().find(|pid| is_dead(*pid)));
    gate.write_all(b"5678").unwrap();
    assert_eq!(value(&engine, "3"), json!(3));
}

#[test]
fn another_takes_over_from_a_zygote_that_can_bear_no_worker() {
    let _clean = Clean::start();
    let guest = guest_with(BARREN);
    let mut orders = named_pipe(&guest.path().join("orders"));
    for name in BOTH {
        let mut settings = settings(name, &json!({}));
        guest.path().clone_into(&mut settings.guest);
        settings.spares = 0;
        let engine = ProcessEngine::new(settings).unwrap();
        let first = hash(&engine);
        orders.write_all(b"b").unwrap();
        let outcome = run(&engine, HASH);
        assert_eq!(outcome.error, None);
        assert_ne!(outcome.value, Some(json!(first)));
        assert_eq!(outcome.usage.start, WorkerOrigin::Cold);
        // It is tried twice, and then reported.
        orders.write_all(b"bb").unwrap();
        let fault = run(&engine, HASH).error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::Unavailable);
        assert!(fault.message.starts_with("no worker could be forked"), "{}", fault.message);
        wait_for_zygotes(0);
        assert_eq!(value(&engine, "1"), json!(1));
    }
}
