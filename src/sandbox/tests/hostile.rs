//! Workers in the hands of hostile code: what they send costs the host no more
//! than its bounds, and nothing that they do passes for the host's own word.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::panic, reason = "a test stops at the first surprise")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use antiphon_runtime::sandbox::{
    CallError, GuestFault, GuestFaultKind, HostCalls, HostFunction, JobOutcome, JobOutput, Sandbox,
    SandboxJob,
};
use antiphon_sandbox::ProcessEngine;
use serde_json::{Map, Value as Json, json};
use support::{BOTH, Clean, engine, job, run, value};

/// Sends frames past the guest's own code; what a test sends continues from here.
const SEND: &str = "import os, json, struct, time\n\
    def send(kind, body):\n\
    \x20   data = struct.pack('<IB', len(body) + 1, kind) + body\n\
    \x20   while data: data = data[os.write(3, data):]\n\
    def outcome(**body): send(0x4F, json.dumps(body).encode())\n";

/// Answers each call with a large text.
struct Large(usize);

impl HostCalls for Large {
    fn call(&self, _: &str, _: Vec<Json>, _: Map<String, Json>) -> Result<Json, CallError> {
        Ok(Json::String("x".repeat(self.0)))
    }
}

fn forged(engine: &ProcessEngine, want: &[JobOutput], code: &str) -> JobOutcome {
    let code = format!("{SEND}{code}\ntime.sleep(60)");
    engine.run(&SandboxJob { want: want.to_vec(), ..job(&code) }, None, &|| None)
}

fn crash(outcome: JobOutcome, code: &str) -> GuestFault {
    let fault = outcome.error.unwrap_or_else(|| panic!("it went well: {code}"));
    assert_eq!(fault.kind, GuestFaultKind::Crashed, "{code}: {}", fault.message);
    fault
}

#[test]
fn a_call_before_the_last_reply_was_read_ends_the_job() {
    let _clean = Clean::start();
    let code = "import select\n\
        call = json.dumps({'id': 1, 'name': 'ask', 'args': [], 'kwargs': {}}).encode()\n\
        for _ in range(1_000):\n    send(0x43, call)\n    select.select([3], [], [])";
    let functions = vec![HostFunction { name: "ask".to_owned(), doc: String::new() }];
    for name in BOTH {
        let engine = engine(name, &json!({}));
        let host: Arc<dyn HostCalls> = Arc::new(Large(1 << 20));
        let job = SandboxJob { functions: functions.clone(), ..job(&format!("{SEND}{code}")) };
        let outcome = engine.run(&job, Some(host), &|| None);
        assert!(outcome.usage.host_calls < 5, "{} calls", outcome.usage.host_calls);
        let fault = crash(outcome, code);
        assert!(fault.message.contains("before the"), "{}", fault.message);
    }
}

#[test]
fn what_was_not_asked_for_is_refused() {
    let _clean = Clean::start();
    let fault = "{'kind': 'python_error', 'message': ''}";
    for name in BOTH {
        let engine = engine(name, &json!({}));
        for code in [
            "outcome(value=1)".to_owned(),
            format!("outcome(value_error={fault})"),
            "outcome(locals={'x': 1})".to_owned(),
            format!("outcome(local_errors={{'x': {fault}}})"),
            "outcome(tables=[{'name': 't', 'rows': 0, 'columns': 0}])".to_owned(),
            format!("outcome(table_errors={{'x': {fault}}})"),
            "outcome(figures=1)".to_owned(),
        ] {
            crash(forged(&engine, &[], &code), &code);
        }
        let honest =
            engine.run(&SandboxJob { want: Vec::new(), ..job("x = 1\nx") }, None, &|| None);
        assert_eq!((honest.error, honest.value), (None, None));
    }
}

#[test]
fn attachments_are_checked_one_by_one_as_they_arrive() {
    let _clean = Clean::start();
    let all = [JobOutput::Value, JobOutput::Locals, JobOutput::Tables, JobOutput::Figures];
    let two = "outcome(tables=[{'name': n, 'rows': 0, 'columns': 0} for n in 'ab'], figures=1)\n";
    let engine = engine(antiphon_sandbox::EngineName::Process, &json!({"tables": 1 << 20}));
    // The second never comes: what is wrong with the first is seen before.
    let code = format!("{two}send(0x41, b'no table' * 1000)");
    let fault = crash(forged(&engine, &all, &code), &code);
    assert!(fault.message.contains("not a valid table"), "{}", fault.message);
    let code = "outcome(figures=2)\nsend(0x41, b'no picture')";
    let fault = crash(forged(&engine, &all, code), code);
    assert!(fault.message.contains("not a valid figure"), "{}", fault.message);
}

#[test]
fn all_tables_together_have_a_bound() {
    let _clean = Clean::start();
    let all = [JobOutput::Value, JobOutput::Locals, JobOutput::Tables, JobOutput::Figures];
    let plain = "open(FILE, 'rb').read()";
    let engine = engine(antiphon_sandbox::EngineName::Subprocess, &json!({"tables": 3_000}));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sent/plain.arrows");
    let send = |count: u32| {
        format!(
            "FILE = {file:?}\ntable = {plain}\n\
             outcome(tables=[{{'name': str(n), 'rows': 0, 'columns': 0}} for n in range({count})])\n\
             for _ in range({count}): send(0x41, table)"
        )
    };
    let outcome = forged(&engine, &all, &send(2));
    assert_eq!(outcome.error, None);
    // What it has is counted here, and not taken from what is said of it.
    assert_eq!(outcome.tables.iter().map(|table| table.rows).collect::<Vec<_>>(), [3, 3]);
    let code = send(8);
    let fault = crash(forged(&engine, &all, &code), &code);
    assert!(fault.message.contains("too long"), "{}", fault.message);
}

#[test]
fn names_that_a_terminal_would_obey_and_names_without_end_are_refused() {
    let _clean = Clean::start();
    let fault = "{'kind': 'python_error', 'message': ''}";
    let all = [JobOutput::Value, JobOutput::Locals, JobOutput::Tables, JobOutput::Figures];
    let engine = engine(antiphon_sandbox::EngineName::Process, &json!({}));
    for code in [
        "outcome(locals={'\\x1b[2J': 1})".to_owned(),
        "outcome(locals={'\\u202eevil': 1})".to_owned(),
        "outcome(locals={'x' * 5_000: 1})".to_owned(),
        format!("outcome(local_errors={{'a\\nb': {fault}}})"),
        format!("outcome(local_errors={{str(n): {fault} for n in range(1_000)}})"),
        format!("outcome(table_errors={{str(n): {fault} for n in range(1_000)}})"),
        "outcome(tables=[{'name': '\\x07', 'rows': 0, 'columns': 0}])".to_owned(),
        "outcome(tables=[{'name': 't', 'rows': 0, 'columns': 0}] * 2)".to_owned(),
    ] {
        crash(forged(&engine, &all, &code), &code);
    }
    // Honest code may have such names; they are left out.
    let honest = run(&engine, "globals()['\\x1b'] = 1\nglobals()['x' * 5_000] = 2\ny = 3");
    assert_eq!(honest.error, None);
    assert_eq!(honest.locals.keys().collect::<Vec<_>>(), ["y"]);
}

#[test]
fn a_worker_cannot_pass_its_end_off_for_the_host_s() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({}));
        for code in [
            "import os\nos._exit(97)",
            "import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)\nsignal.pause()",
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nsignal.pause()",
        ] {
            crash(run(&engine, code), code);
        }
        assert_eq!(value(&engine, "1"), json!(1));
    }
}

#[test]
fn processor_time_that_was_used_is_still_reported() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"wall": 20, "cpu": 1}));
        let outcome = run(&engine, "while True: pass");
        assert_eq!(outcome.error.map(|fault| fault.kind), Some(GuestFaultKind::TimeLimit));
        assert!(outcome.usage.cpu >= Duration::from_millis(500));
    }
}
