//! Each layer keeps something out that gets through when that layer alone is
//! left out; and without enough of them nothing runs.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::fs;

use antiphon_runtime::sandbox::{GuestFaultKind, Isolation, Sandbox};
use antiphon_sandbox::{EngineName, EngineSettings, JailLayer, ProcessEngine, ZygoteLifetime};
use serde_json::json;
use support::{
    Clean, descendants, engine, job, named_pipe, own_guest, run, settings, value, without,
};

/// Whether code that ends in `True` or `False`, or raises, says `True`.
fn gets_through(engine: &dyn Sandbox, code: &str) -> bool {
    run(engine, code).value == Some(json!(true))
}

/// What gets through without a layer, and through no jail that is whole.
fn only_without(layer: JailLayer, code: &str) {
    let whole = engine(EngineName::Process, &json!({}));
    assert!(!gets_through(&whole, code), "the whole jail lets it through: {code}");
    let part = without(&[layer]);
    assert!(gets_through(&part, code), "without {}: {:?}", layer.as_str(), run(&part, code).error);
}

#[test]
fn the_probe_says_what_holds() {
    let _clean = Clean::start();
    let probe = engine(EngineName::Process, &json!({})).probe();
    assert!(probe.ok, "{probe:?}");
    assert_eq!(probe.isolation, Isolation::OsJail);
    for layer in JailLayer::ALL {
        assert_ne!(probe.layers.get(layer.as_str()).map(String::as_str), Some("no"), "{probe:?}");
    }
    // Only where the host may make one.
    assert!(probe.layers.contains_key("cgroup"));
    let weak = engine(EngineName::Subprocess, &json!({})).probe();
    assert!(weak.ok);
    assert_eq!(weak.isolation, Isolation::None);
    assert_eq!(weak.layers.get("seccomp").map(String::as_str), Some("no"));
}

#[test]
fn the_probe_refuses_less_than_the_minimum() {
    let _clean = Clean::start();
    for layers in [
        &[JailLayer::Seccomp][..],
        &[JailLayer::PrivateRoot],
        // A private root is made in new namespaces.
        &[JailLayer::Namespaces],
    ] {
        let probe = without(layers).probe();
        assert!(!probe.ok, "{layers:?}");
        assert!(!probe.missing.is_empty());
    }
    assert!(without(&[JailLayer::Landlock]).probe().ok);
}

#[test]
fn landlock_stands_for_a_private_root_if_that_is_accepted() {
    let _clean = Clean::start();
    let accepted = |layers: &[JailLayer]| {
        let settings = settings(EngineName::Process, &json!({}));
        let settings = EngineSettings { without: layers.to_vec(), landlock_only: true, ..settings };
        ProcessEngine::new(settings).unwrap().probe()
    };
    for layers in [&[JailLayer::PrivateRoot][..], &[JailLayer::Namespaces]] {
        assert!(accepted(layers).ok, "{layers:?}");
    }
    for layers in [&[JailLayer::PrivateRoot, JailLayer::Landlock][..], &[JailLayer::Seccomp]] {
        assert!(!accepted(layers).ok, "{layers:?}");
    }
    assert_eq!(accepted(&[]).isolation, Isolation::OsJail);
}

#[test]
fn an_engine_that_becomes_weaker_in_the_middle_of_its_life_runs_nothing() {
    let _clean = Clean::start();
    let guest = own_guest();
    let boot = guest.path().join("boot.py");
    let text = fs::read_to_string(&boot).unwrap();
    let weaker = text.replace("if zygote.leave():", "if not weaker and zygote.leave():");
    assert_ne!(weaker, text, "the guest asks at this place");
    let begin = "weaker = os.path.exists(os.path.join(os.path.dirname(__file__), 'weaker'))";
    fs::write(&boot, weaker.replace("import gc\n", &format!("import gc, os\n{begin}\n"))).unwrap();
    let mut settings = settings(EngineName::Process, &json!({}));
    guest.path().clone_into(&mut settings.guest);
    settings.wear = ZygoteLifetime { workers: 3, ..ZygoteLifetime::default() };
    settings.landlock_only = true;
    let engine = ProcessEngine::new(settings).unwrap();
    assert_eq!(value(&engine, "1"), json!(1));
    assert_eq!(engine.probe().isolation, Isolation::OsJail);
    fs::write(guest.path().join("weaker"), "").unwrap();
    // What is left would do, had there never been more.
    let fault = loop {
        let outcome = run(&engine, "1");
        if let Some(fault) = outcome.error {
            break fault;
        }
    };
    assert_eq!(fault.kind, GuestFaultKind::Unavailable);
    assert_eq!(fault.message, "a layer of the jail is no longer available: namespaces");
    fs::remove_file(guest.path().join("weaker")).unwrap();
    assert_eq!(value(&engine, "1"), json!(1));
}

#[test]
fn an_engine_without_a_layer_never_claims_to_isolate() {
    for layer in JailLayer::ALL {
        assert_eq!(without(&[layer]).isolation(), Isolation::None);
    }
    assert_eq!(engine(EngineName::Process, &json!({})).isolation(), Isolation::OsJail);
    assert_eq!(engine(EngineName::Subprocess, &json!({})).isolation(), Isolation::None);
}

#[test]
fn system_calls_are_kept_back_by_seccomp_alone() {
    let _clean = Clean::start();
    only_without(
        JailLayer::Seccomp,
        "import os\npid = os.fork()\nif pid == 0: os._exit(0)\npid > 0",
    );
    only_without(
        JailLayer::Seccomp,
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\nTrue",
    );
    only_without(JailLayer::Seccomp, "import os\nos.memfd_create('x') > 0");
    only_without(JailLayer::Seccomp, "import os\nopen('f', 'w')\nos.utime('f')\nTrue");
}

#[test]
fn what_is_granted_cannot_be_listed_because_of_landlock_alone() {
    let _clean = Clean::start();
    only_without(JailLayer::Landlock, "import os\nlen(os.listdir('/')) > 0");
}

#[test]
fn what_exists_on_the_host_is_hidden_by_the_private_root_alone() {
    let _clean = Clean::start();
    only_without(JailLayer::PrivateRoot, "import os\nos.path.exists('/etc/passwd')");
}

#[test]
fn who_and_where_it_is_are_hidden_by_namespaces_alone() {
    let _clean = Clean::start();
    only_without(JailLayer::Namespaces, "import os\nos.uname().nodename != 'sandbox'");
    // Linux gives no number below 300 a second time.
    let known = std::process::id().min(299);
    only_without(JailLayer::Namespaces, &format!("import os\nos.getppid() > {known}"));
}

#[test]
fn memory_is_kept_by_limits_alone() {
    let _clean = Clean::start();
    only_without(JailLayer::Limits, "len(bytearray(600 << 20)) > 0");
}

#[test]
fn capabilities_are_given_up_in_the_layer_of_privileges_alone() {
    let _clean = Clean::start();
    assert_eq!(capabilities(&engine(EngineName::Process, &json!({}))), 0);
    assert_ne!(capabilities(&without(&[JailLayer::Privileges])), 0);
}

#[test]
fn a_file_that_is_closed_by_its_mode_stays_so_because_of_privileges_alone() {
    let _clean = Clean::start();
    let code = "import os\nos.close(os.open('f', os.O_CREAT | os.O_WRONLY, 0))\n\
        open('f').close()\nTrue";
    only_without(JailLayer::Privileges, code);
}

#[test]
fn a_pipe_that_is_granted_is_not_written_because_of_landlock_alone() {
    let _clean = Clean::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let _reader = named_pipe(&path);
    let code = format!("open({path:?}, 'w').close()\nTrue");
    for (layers, through) in [(&[][..], None), (&[JailLayer::Landlock], Some(json!(true)))] {
        let mut settings = settings(EngineName::Process, &json!({}));
        settings.without = layers.to_vec();
        settings.mounts.read.push(folder.path().to_owned());
        assert_eq!(run(&ProcessEngine::new(settings).unwrap(), &code).value, through, "{layers:?}");
    }
}

/// The capabilities of the workers, as their host sees them.
fn capabilities(engine: &ProcessEngine) -> u64 {
    let before = descendants(std::process::id());
    let mut session = engine.open().unwrap();
    assert_eq!(session.run(&job("1"), None, &|| None).error, None);
    let after = descendants(std::process::id());
    // Workers have no children, unlike zygotes. The greatest number need not be the
    // youngest process: numbers are used again.
    let workers = after.difference(&before).filter(|pid| descendants(**pid).is_empty());
    let statuses = workers.filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/status")).ok());
    let of_each: Vec<u64> = statuses
        .filter_map(|status| {
            let found = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
            Some(u64::from_str_radix(found.trim(), 16).unwrap())
        })
        .collect();
    assert!(!of_each.is_empty(), "no worker is seen");
    of_each.into_iter().fold(0, |all, one| all | one)
}

#[test]
fn files_are_seen_where_they_are_granted_and_cannot_be_written() {
    let _clean = Clean::start();
    let folder = tempfile::tempdir().unwrap();
    let (shown, hidden) = (folder.path().join("shown"), folder.path().join("hidden"));
    fs::write(&shown, "seen").unwrap();
    fs::write(&hidden, "secret").unwrap();
    for layers in [&[][..], &[JailLayer::PrivateRoot], &[JailLayer::Landlock]] {
        let mut settings = settings(EngineName::Process, &json!({}));
        settings.without = layers.to_vec();
        settings.mounts.read.push(shown.clone());
        settings.mounts.files.push((shown.clone(), "/files/data".into()));
        let engine = ProcessEngine::new(settings).unwrap();
        let here = shown.display();
        assert_eq!(value(&engine, &format!("open('{here}').read()")), json!("seen"));
        if !layers.contains(&JailLayer::PrivateRoot) {
            assert_eq!(value(&engine, "open('/files/data').read()"), json!("seen"));
        }
        let hidden = hidden.display();
        for code in [
            format!("open('{here}', 'a')"),
            format!("open('{hidden}')"),
            "open('/etc/passwd')".to_owned(),
            "open('/new', 'w')".to_owned(),
            "open('/cache/new', 'w')".to_owned(),
            "open('/proc/self/status')".to_owned(),
        ] {
            assert!(run(&engine, &code).error.is_some(), "{layers:?}: {code}");
        }
    }
    assert_eq!(fs::read_to_string(&shown).unwrap(), "seen");
}

#[test]
fn a_grant_that_leads_nowhere_is_reported() {
    let _clean = Clean::start();
    let mut settings = settings(EngineName::Process, &json!({}));
    settings.mounts.read.push("/nowhere/at/all".into());
    let fault = run(&ProcessEngine::new(settings).unwrap(), "1").error.unwrap();
    assert!(fault.message.contains("/nowhere/at/all"), "{}", fault.message);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |change: fn(&mut EngineSettings)| {
        let mut settings = settings(EngineName::Process, &json!({}));
        change(&mut settings);
        let fault = ProcessEngine::new(settings).err().unwrap_or_else(|| panic!("it was taken"));
        fault.code.clone()
    };
    let setting = "sandbox_setting_invalid";
    assert_eq!(refused(|it| it.mounts.read.push("relative".into())), setting);
    assert_eq!(refused(|it| it.mounts.read.push("/a/../b".into())), setting);
    assert_eq!(refused(|it| it.mounts.files.push(("/a".into(), "/dev/null".into()))), setting);
    assert_eq!(refused(|it| it.spares = 1_000), setting);
    let limit = refused(|it| drop(it.limits.insert("wall".into(), json!(0))));
    assert_eq!(limit, "sandbox_limit_invalid");
}
