//! What the port promises, of every engine of this crate.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use antiphon_runtime::sandbox::{
    CallError, GuestFaultKind, HostCalls, HostFunction, JobOutcome, Sandbox, SandboxJob,
    WorkerOrigin,
};
use antiphon_sandbox::EngineName;
use serde_json::{Map, Value as Json, json};
use support::{BOTH, Clean, engine, job, kind, run, value};

#[test]
fn the_last_expression_is_the_value_and_output_is_kept() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({}));
        let outcome =
            run(&engine, "import sys\nprint('hé')\nprint('no', file=sys.stderr)\nx = 3\nx + 1");
        assert_eq!(outcome.error, None);
        assert_eq!(outcome.value, Some(json!(4)));
        assert_eq!(outcome.locals.get("x"), Some(&json!(3)));
        assert_eq!(outcome.stdout, "hé\n".as_bytes());
        assert_eq!(outcome.stderr, b"no\n");
        assert_eq!(outcome.usage.start, WorkerOrigin::Cold);
        assert!(outcome.usage.memory > 1 << 20 && outcome.usage.cpu > Duration::ZERO);
        assert_eq!(run(&engine, "None").value, Some(Json::Null));
    }
}

#[test]
fn an_error_names_the_line_of_the_guest() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({}));
        let fault = run(&engine, "def f():\n    return 1 / 0\nf()").error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::PythonError);
        assert_eq!(fault.exception.as_deref(), Some("ZeroDivisionError"));
        assert_eq!(fault.line, Some(2));
        assert_eq!(kind(&engine, "x = ="), GuestFaultKind::SyntaxError);
        assert_eq!(kind(&engine, "raise SystemExit(0)"), GuestFaultKind::PythonError);
    }
}

#[test]
fn nothing_passes_from_job_to_job() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({}));
        let code = "import os, builtins\nbuiltins.left = 1\n\
            open(os.environ['HOME'] + '/note', 'w').write('x')\nos.environ['LEFT'] = '1'";
        assert_eq!(run(&engine, code).error, None);
        let code = "import os, builtins\n\
            [hasattr(builtins, 'left'), os.path.exists(os.environ['HOME'] + '/note'), 'LEFT' in os.environ]";
        assert_eq!(value(&engine, code), json!([false, false, false]));
    }
}

#[test]
fn the_environment_of_the_host_is_not_seen() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({}));
        let seen = value(&engine, "import os\nsorted(os.environ)");
        assert!(!seen.to_string().contains("CARGO"), "{seen}");
    }
}

#[test]
fn a_job_ends_at_its_deadline_whether_it_works_or_sleeps() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"wall": 0.5}));
        assert_eq!(value(&engine, "1"), json!(1));
        for code in [
            "while True: pass",
            "import time\ntime.sleep(60)",
            "print('x')\npow(7, 10 ** 9)",
            "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\nwhile True: pass",
        ] {
            let outcome = run(&engine, code);
            assert_eq!(outcome.error.unwrap().kind, GuestFaultKind::TimeLimit, "{code}");
            assert!(outcome.usage.wall >= Duration::from_millis(500), "{code}");
        }
        let outcome = run(&engine, "print('before')\nwhile True: pass");
        assert_eq!(outcome.stdout, b"before\n");
    }
}

#[test]
fn processor_time_has_its_own_limit() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"wall": 20, "cpu": 1}));
        let fault = run(&engine, "while True: pass").error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::TimeLimit);
        assert_eq!(fault.message, "it used more processor time than 1s");
        let mut session = engine.open().unwrap();
        let outcome = session.run(&job("while True: pass"), None, &|| None);
        assert_eq!(outcome.error.unwrap().kind, GuestFaultKind::TimeLimit);
    }
}

#[test]
fn memory_has_a_limit() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"memory": 64 << 20}));
        assert_eq!(kind(&engine, "bytes(10 ** 10)"), GuestFaultKind::MemoryLimit);
        assert_eq!(
            kind(&engine, "x = []\nwhile True: x.append(bytes(100_000))"),
            GuestFaultKind::MemoryLimit
        );
        assert_eq!(value(&engine, "len(bytes(30 << 20))"), json!(30 << 20));
        // The stack grows inside of the limit, too.
        assert_eq!(kind(&engine, "def f(): return f()\nf()"), GuestFaultKind::RecursionLimit);
    }
}

#[test]
fn output_is_cut_and_a_flood_is_ended() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"stdout": 10, "stderr": 1_000}));
        let outcome = run(&engine, "print('0123456789abc')\n1");
        assert_eq!((outcome.error, outcome.stdout), (None, b"0123456789".to_vec()));
        assert_eq!(outcome.truncated, ["stdout"]);
        let flood = "import os\nwhile True: os.write(2, b'x' * 65536)";
        let outcome = run(&engine, flood);
        assert_eq!(outcome.error.unwrap().kind, GuestFaultKind::OutputLimit);
        assert_eq!(outcome.stderr.len(), 1_000);
    }
}

#[test]
fn files_have_a_limit() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"scratch": 1 << 20, "files": 16}));
        let code = "import os\nwith open(os.environ['HOME'] + '/big', 'wb') as f:\n    for _ in range(64): f.write(bytes(65536))\n";
        assert_eq!(kind(&engine, code), GuestFaultKind::DiskLimit);
        let code = "import os\nkept = [open(os.devnull) for _ in range(64)]";
        assert_eq!(run(&engine, code).error.unwrap().exception.as_deref(), Some("OSError"));
    }
}

#[test]
fn what_goes_in_has_a_limit() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"source": 10, "tables": 10}));
        assert_eq!(kind(&engine, "1 + 1 + 1 + 1 + 1"), GuestFaultKind::ResultTooLarge);
        let job = SandboxJob { tables: vec![("t".into(), vec![0; 11])], ..job("1") };
        let fault = engine.run(&job, None, &|| None).error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::ResultTooLarge);
        let expected = "the table `t` is larger than the limit `tables` of 10 bytes; pass fewer \
            rows or columns, or raise the limit with `Limits`: 11";
        assert_eq!(fault.message, expected);
    }
}

#[test]
fn a_session_goes_on_after_a_job_that_is_too_large() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"tables": 10}));
        let mut session = engine.open().unwrap();
        let large = SandboxJob { tables: vec![("t".into(), vec![0; 11])], ..job("1") };
        for _ in 0..2 {
            let fault = session.run(&large, None, &|| None).error.unwrap();
            assert_eq!(fault.kind, GuestFaultKind::ResultTooLarge);
            assert_eq!(session.run(&job("1"), None, &|| None).value, Some(json!(1)));
        }
    }
}

#[test]
fn a_value_that_is_too_large_does_not_lose_the_rest() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"value": 100}));
        let outcome = run(&engine, "print('out')\nx = 1\n'y' * 200");
        assert_eq!(outcome.value_error.unwrap().kind, GuestFaultKind::ResultTooLarge);
        assert_eq!((outcome.value, outcome.error), (None, None));
        assert_eq!(outcome.stdout, b"out\n");
        assert_eq!(outcome.locals.get("x"), Some(&json!(1)));
    }
}

#[test]
fn a_session_keeps_its_names_and_ends_with_a_job_that_breaks_a_limit() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"wall": 0.5}));
        let mut session = engine.open().unwrap();
        let mut ask = |code: &str| session.run(&job(code), None, &|| None);
        assert_eq!(ask("x = 20").usage.start, WorkerOrigin::Cold);
        let outcome = ask("x + 1");
        assert_eq!((outcome.value, outcome.usage.start), (Some(json!(21)), WorkerOrigin::Session));
        assert_eq!(ask("1 / 0").error.unwrap().kind, GuestFaultKind::PythonError);
        assert_eq!(ask("x").value, Some(json!(20)));
        assert_eq!(ask("while True: pass").error.unwrap().kind, GuestFaultKind::TimeLimit);
        assert_eq!(ask("x").error.unwrap().kind, GuestFaultKind::Crashed);
        assert_eq!(session.snapshot().unwrap(), None);
    }
}

#[test]
fn a_worker_that_dies_has_crashed_and_the_next_job_goes_well() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({}));
        for code in [
            "import os\nos._exit(0)",
            "import os\nos.abort()",
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            "import faulthandler\nfaulthandler._sigsegv()",
            "import os\nos.closerange(0, 64)",
        ] {
            assert_eq!(kind(&engine, code), GuestFaultKind::Crashed, "{code}");
            assert_eq!(value(&engine, "1"), json!(1));
        }
    }
}

#[test]
fn processes_that_a_job_starts_end_with_it() {
    let _clean = Clean::start();
    let engine = engine(EngineName::Subprocess, &json!({}));
    let code = "import os, time\nread, write = os.pipe()\n\
        if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        \
        os.write(write, str(os.getpid()).encode())\n        time.sleep(1_000)\n    os._exit(0)\n\
        int(os.read(read, 20))";
    let pid = value(&engine, code);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
}

#[test]
fn a_worker_that_breaks_the_protocol_has_crashed() {
    let _clean = Clean::start();
    let send = "import os, json, struct\n\
        def send(kind, body):\n    os.write(3, struct.pack('<IB', len(body) + 1, kind) + body)\n";
    for name in BOTH {
        let engine = engine(name, &json!({}));
        for code in [
            "os.write(3, b'\\xff' * 64)",
            "send(0x4A, b'{}')",
            "send(0x53, b'{}')",
            "os.write(3, struct.pack('<IB', 2 ** 32 - 1, 0x4F))",
            "send(0x4F, b'{')",
            "send(0x4F, b'[' * 100_000)",
            "send(0x4F, b'[1]')",
            "send(0x4F, json.dumps({'value': {'$': 'pickle', 'v': ''}}).encode())",
            "send(0x4F, json.dumps({'error': {'kind': 'time_limit', 'message': ''}}).encode())",
            "send(0x4F, json.dumps({'error': {'kind': 'unheard_of', 'message': ''}}).encode())",
            "send(0x4F, json.dumps({'figures': 1_000}).encode())",
            "send(0x4F, b'{\"figures\": 1}'); os._exit(0)",
        ] {
            let outcome = run(&engine, &format!("{send}{code}\nimport time\ntime.sleep(60)"));
            let fault = outcome.error.unwrap_or_else(|| panic!("it went well: {code}"));
            assert_eq!(fault.kind, GuestFaultKind::Crashed, "{code}");
        }
    }
}

/// Functions of the host for guests to call.
#[derive(Default)]
struct Functions {
    calls: AtomicU64,
    gate: Mutex<bool>,
    opened: Condvar,
}

impl HostCalls for Functions {
    fn call(&self, name: &str, args: Vec<Json>, _: Map<String, Json>) -> Result<Json, CallError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match name {
            "add" => Ok(json!(args.iter().map(|number| number.as_i64().unwrap_or(0)).sum::<i64>())),
            "wait" => {
                let gate = self.gate.lock().unwrap();
                drop(self.opened.wait_while(gate, |open| !*open).unwrap());
                Ok(Json::Null)
            }
            "misfit" => Err(CallError {
                kind: "TypeError".to_owned(),
                message: "it takes no argument".to_owned(),
            }),
            _ => Err(CallError { kind: "KeyError".to_owned(), message: "no such row".to_owned() }),
        }
    }
}

fn ask(engine: &dyn Sandbox, host: &Arc<Functions>, code: &str) -> JobOutcome {
    let granted = ["add", "wait", "fail", "misfit"];
    let functions = granted.map(|name| HostFunction { name: name.to_owned(), doc: String::new() });
    let job = SandboxJob { functions: functions.to_vec(), ..job(code) };
    let host: Arc<dyn HostCalls> = Arc::<Functions>::clone(host);
    engine.run(&job, Some(host), &|| None)
}

#[test]
fn a_guest_calls_what_it_was_granted_and_nothing_else() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"host_calls": 5}));
        let host = Arc::new(Functions::default());
        let outcome = ask(&engine, &host, "add(add(1, 2), 3)");
        assert_eq!((outcome.value, outcome.usage.host_calls), (Some(json!(6)), 2));
        let fault = ask(&engine, &host, "fail()").error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::HostCallFailed);
        assert!(fault.message.contains("KeyError: no such row"), "{}", fault.message);
        let outcome = ask(
            &engine,
            &host,
            "try:\n    fail()\nexcept ToolError as e:\n    kind = e.type\nkind",
        );
        assert_eq!(outcome.value, Some(json!("KeyError")));
        // Arguments that do not fit are a mistake of the code.
        let fault = ask(&engine, &host, "misfit(1)").error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::PythonError);
        let outcome = ask(&engine, &host, "while True: add(1)");
        assert_eq!(outcome.error.unwrap().kind, GuestFaultKind::HostCallLimit);
        let forged = "import os, json, struct\nbody = json.dumps({'id': 1, 'name': 'rm', 'args': [], 'kwargs': {}}).encode()\n\
            os.write(3, struct.pack('<IB', len(body) + 1, 0x43) + body)\nimport time\ntime.sleep(60)";
        assert_eq!(ask(&engine, &host, forged).error.unwrap().kind, GuestFaultKind::HostCallDenied);
        assert_eq!(host.calls.load(Ordering::Relaxed), 2 + 1 + 1 + 1 + 5);
    }
}

#[test]
fn time_in_the_host_counts_and_a_call_that_hangs_is_left_behind() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"wall": 0.5}));
        let host = Arc::new(Functions::default());
        assert_eq!(ask(&engine, &host, "wait()").error.unwrap().kind, GuestFaultKind::TimeLimit);
        assert_eq!(ask(&engine, &host, "add(1, 1)").value, Some(json!(2)));
        *host.gate.lock().unwrap() = true;
        host.opened.notify_all();
        // Its thread ends as soon as it hears that nobody waits.
        while Arc::strong_count(&host) > 1 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_job_that_is_not_wanted_any_more_ends_at_once() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"wall": 60, "host_calls": 1}));
        let asked = AtomicU64::new(0);
        let halt =
            || (asked.fetch_add(1, Ordering::Relaxed) == 5).then(|| "the user left".to_owned());
        let outcome = engine.run(&job("while True: pass"), None, &halt);
        let fault = outcome.error.unwrap();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (GuestFaultKind::Cancelled, "the user left")
        );
        assert_eq!(asked.into_inner(), 6, "it was asked again");
        let outcome = engine.run(&job("1"), None, &|| Some("before it began".to_owned()));
        assert_eq!(outcome.error.unwrap().kind, GuestFaultKind::Cancelled);
    }
}

#[test]
fn a_zygote_that_dies_is_replaced() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({}));
        assert_eq!(value(&engine, "1"), json!(1));
        let all = support::stopped();
        support::signal("-KILL", &all);
        // A signal is sent sooner than it has its effect.
        let lives = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while all.iter().any(lives) {
            std::thread::yield_now();
        }
        let outcome = run(&engine, "2");
        assert_eq!((outcome.value, outcome.error), (Some(json!(2)), None));
        assert_eq!(outcome.usage.start, WorkerOrigin::Cold);
    }
}

#[test]
fn hundreds_of_jobs_leave_nothing_behind() {
    let _clean = Clean::start();
    let engine = engine(EngineName::Process, &json!({}));
    for number in 0..200 {
        assert_eq!(value(&engine, &format!("{number}")), json!(number));
    }
}

#[test]
fn many_threads_share_an_engine() {
    let _clean = Clean::start();
    for name in BOTH {
        let engine = engine(name, &json!({"wall": 30}));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let engine = &engine;
                let code = format!("{number} * 2");
                let check = move |_| assert_eq!(value(engine, &code), json!(number * 2));
                scope.spawn(move || (0..3).for_each(check));
            }
        });
    }
}

#[test]
fn an_interpreter_that_does_not_start_is_unavailable_and_says_why() {
    let _clean = Clean::start();
    for name in BOTH {
        let mut settings = support::settings(name, &json!({}));
        settings.python = "/nowhere/python".into();
        let engine = antiphon_sandbox::ProcessEngine::new(settings).unwrap();
        let fault = run(&engine, "1").error.unwrap();
        assert_eq!(fault.kind, GuestFaultKind::Unavailable);
        assert!(fault.message.contains("/nowhere/python"), "{}", fault.message);
    }
}
