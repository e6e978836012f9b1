//! Limits of a sandbox: complete, bounded, never off.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::time::Duration;

use antiphon_runtime::sandbox::{GuestFaultKind, SandboxLimits};
use serde_json::{Map, Value as Json, json};

fn given(value: Json) -> Map<String, Json> {
    serde_json::from_value(value).unwrap()
}

fn refusal(value: Json) -> String {
    let fault = SandboxLimits::complete(&given(value), false).unwrap_err();
    assert_eq!(fault.code, "sandbox_limit_invalid");
    fault.message.clone()
}

#[test]
fn nothing_given_is_the_defaults() {
    assert_eq!(SandboxLimits::complete(&Map::new(), false).unwrap(), SandboxLimits::default());
    assert_eq!(SandboxLimits::default().memory, 256 << 20);
    assert_eq!(SandboxLimits::complete(&Map::new(), true).unwrap().memory, 512 << 20);
}

#[test]
fn the_processor_time_follows_the_wall_time() {
    let limits = SandboxLimits::complete(&given(json!({"wall": 2.5})), false).unwrap();
    assert_eq!(limits.cpu, Duration::from_millis(3_500));
    let limits = SandboxLimits::complete(&given(json!({"wall": 2, "cpu": 1})), false).unwrap();
    assert_eq!(limits.cpu, Duration::from_secs(1));
}

#[test]
fn null_is_the_ceiling() {
    let every = SandboxLimits::default().to_json();
    let nulls = every.keys().map(|name| (name.clone(), Json::Null)).collect();
    let most = SandboxLimits::complete(&nulls, false).unwrap();
    assert_eq!(most.wall, Duration::from_mins(5));
    assert_eq!(most.memory, 8 << 30);
    assert_eq!(most.files, 1_024);
    for (name, ceiling) in most.to_json() {
        let over = json!({name.clone(): ceiling.as_f64().unwrap() + 1.0});
        assert!(refusal(over).contains("at most"), "{name}");
    }
}

#[test]
fn no_limit_can_be_turned_off() {
    for name in SandboxLimits::default().to_json().keys() {
        assert!(refusal(json!({name.clone(): 0})).contains("above zero"), "{name}");
        assert!(refusal(json!({name.clone(): -1})).contains("above zero"), "{name}");
        assert!(refusal(json!({name.clone(): "1"})).contains("must be a number"), "{name}");
    }
    assert!(refusal(json!({"files": 3})).contains("at least 8"));
    assert!(refusal(json!({"memory": 1.5})).contains("must be an integer"));
    assert!(refusal(json!({"threads": 4})).contains("unknown limit"));
}

#[test]
fn a_table_reads_back_as_itself() {
    let limits =
        SandboxLimits::complete(&given(json!({"wall": 0.25, "source": 100})), true).unwrap();
    assert_eq!(SandboxLimits::complete(&limits.to_json(), false).unwrap(), limits);
}

#[test]
fn a_kind_has_the_name_it_is_written_with() {
    for kind in GuestFaultKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
    assert!(!GuestFaultKind::TimeLimit.may_be_claimed());
    assert!(!GuestFaultKind::HostCallDenied.may_be_claimed());
    assert!(GuestFaultKind::PythonError.may_be_claimed());
}
