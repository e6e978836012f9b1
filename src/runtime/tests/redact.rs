//! Known secrets are removed from what models and tools say. The secrets are those of the process,
//! so each test has its own.

use std::collections::BTreeMap;

use antiphon_core::{Fault, FaultCode, FinishReason, ModelReply, ProviderContent, ToolCall, Usage};
use antiphon_runtime::redact::{
    PieceRedactor, clean_fault, clean_job, clean_json, clean_outcome, clean_reply, clean_text,
    mask_bytes, register,
};
use antiphon_runtime::sandbox::{GuestFault, GuestFaultKind, GuestFrame, JobOutcome, JobTable};
use serde_json::json;

fn reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        media: Vec::new(),
        tool_calls: Vec::new(),
        finish: FinishReason::Stop,
        usage: Usage::ZERO,
        model: "m".to_owned(),
        attempts: 1,
        latency: std::time::Duration::ZERO,
        provider_content: None,
    }
}

#[test]
fn a_known_secret_is_masked_whole_and_by_its_beginning() {
    register("sk-proj-A0123456789abcdef");
    assert_eq!(clean_text("(sk-proj-A0123456789abcdef)"), "(***)");
    assert_eq!(clean_text("sk-proj-A0123456789…"), "***…");
    assert_eq!(
        clean_text("twice sk-proj-A0123456789abcdefsk-proj-A0123456789abcdef"),
        "twice ******"
    );
    // What all keys of a provider begin with is no secret.
    assert_eq!(
        clean_text("keys begin with sk-proj-, as sk-proj-A01"),
        "keys begin with sk-proj-, as sk-proj-A01"
    );
}

#[test]
fn bytes_keep_their_length() {
    register("~k\u{e9}y-of-bytes-0123456789");
    let mut bytes = "\0~k\u{e9}y-of-bytes-0123456789\u{e9}~k\u{e9}y-of-bytes-0123 ~k\u{e9}y"
        .as_bytes()
        .to_vec();
    let length = bytes.len();
    assert!(mask_bytes(&mut bytes));
    assert_eq!(bytes.len(), length);
    let text = String::from_utf8(bytes).unwrap();
    let (whole, started) = ("*".repeat(25), "*".repeat(19));
    assert_eq!(text, format!("\0{whole}\u{e9}{started} ~k\u{e9}y"));
    assert!(!mask_bytes(&mut b"nothing of it".to_vec()));
    register("~0123456789abcde\u{e9}-and-more");
    let mut other = "~0123456789abcde\u{e8}".as_bytes().to_vec();
    assert!(mask_bytes(&mut other));
    assert_eq!(String::from_utf8(other).unwrap(), "*".repeat(18));
}

#[test]
fn the_longest_of_several_secrets_with_one_beginning_is_masked() {
    for secret in ["common-7", "common-7-longer", "common-7-longest-of-them"] {
        register(secret);
    }
    assert_eq!(clean_text("common-7-longer!"), "***!");
    assert_eq!(clean_text("common-7-lo"), "***-lo");
    assert_eq!(clean_text("common-7-longest-of-them"), "***");
}

#[test]
fn words_and_placeholders_stay() {
    for word in ["abc-123", "anything", "not-needed", "no-key-required", "  "] {
        register(word);
    }
    let text = "abc-123: anything is not-needed, no-key-required";
    assert_eq!(clean_text(text), text);
    register("a-long-passphrase-of-words-only");
    assert_eq!(clean_text("a-long-passphrase-of-words-only"), "***");
}

#[test]
fn a_secret_is_masked_in_json_in_a_url_and_in_characters_of_many_bytes() {
    register("pä/ss \"wörd\" 42");
    assert_eq!(clean_text("ü pä/ss \"wörd\" 42 ü"), "ü *** ü");
    assert_eq!(clean_text(r#"{"a": "pä\/ss \"wörd\" 42"}"#), r#"{"a": "***"}"#);
    assert_eq!(clean_text("?k=p%C3%A4%2Fss%20%22w%C3%B6rd%22%2042&x"), "?k=***&x");
    register("schlüssel-größe-9-länger");
    // The beginning ends within a character.
    assert_eq!(clean_text("schlüssel-größe-9-lé"), "***");
}

#[test]
fn every_text_of_a_value_is_cleaned_names_of_fields_included() {
    register("tool-key-0001");
    let mut value = json!({"tool-key-0001": 1, "list": [{"a": "is tool-key-0001"}, 2, null]});
    assert!(clean_json(&mut value));
    assert_eq!(value, json!({"***": 1, "list": [{"a": "is ***"}, 2, null]}));
    assert!(!clean_json(&mut json!({"a": ["b", 1]})));
}

#[test]
fn a_reply_is_cleaned_in_all_its_parts() {
    register("reply-key-0001");
    let call = |name: &str, arguments: &str| ToolCall {
        id: "reply-key-0001".into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let mut said = ModelReply {
        tool_calls: vec![
            call("reply-key-0001", r#"{"a": "reply-key-0001"}"#),
            // The same, once it is parsed.
            call("t", r#"{"a": "\u0072eply-key-0001"}"#),
            call("t", r#"{"a": "a\nb"}"#),
        ],
        model: "reply-key-0001".into(),
        provider_content: Some(ProviderContent {
            model: "m".into(),
            content: json!([{"thinking": "reply-key-0001", "signature": "s"}]),
        }),
        ..reply("it is reply-key-0001")
    };
    clean_reply(&mut said);
    assert!(!json!(said).to_string().contains("reply-key"));
    assert_eq!(said.text, "it is ***");
    assert_eq!(said.provider_content, None);
    assert_eq!(said.tool_calls[1].arguments, r#"{"a":"***"}"#);
    assert_eq!(said.tool_calls[2].arguments, r#"{"a": "a\nb"}"#);
}

#[test]
fn content_of_a_provider_without_a_secret_stays_as_it_is() {
    register("reply-key-0002");
    let content = ProviderContent { model: "m".into(), content: json!([{"signature": "s"}]) };
    let mut said = ModelReply { provider_content: Some(content.clone()), ..reply("fine") };
    clean_reply(&mut said);
    assert_eq!(said.provider_content, Some(content));
}

#[test]
fn results_and_faults_of_tools_are_cleaned() {
    register("fault-key-0001");
    assert_eq!(clean_outcome(Ok(json!("fault-key-0001"))), Ok(json!("***")));
    let fault = Fault::new(FaultCode::ToolFailed, "KeyError: fault-key-0001")
        .hint("not fault-key-0001")
        .with("seen", json!(["fault-key-0001"]));
    let cleaned = clean_fault(fault.clone());
    assert_eq!((&*cleaned.message, cleaned.hint.as_deref()), ("KeyError: ***", Some("not ***")));
    assert_eq!(cleaned.details["seen"], json!(["***"]));
    assert_eq!(clean_outcome(Err(fault)), Err(cleaned));
}

#[test]
fn what_code_in_a_sandbox_says_is_cleaned_in_all_its_parts() {
    const KEY: &str = "~job-0123456789abcdef";
    register(KEY);
    let fault = || GuestFault {
        exception: Some(KEY.to_owned()),
        source: Some(KEY.to_owned()),
        frames: Some(vec![GuestFrame {
            line: 1,
            function: format!("f_{KEY}"),
            source: KEY.to_owned(),
        }]),
        ..GuestFault::new(GuestFaultKind::PythonError, KEY)
    };
    let faults = || BTreeMap::from([(KEY.to_owned(), fault())]);
    let mut outcome = JobOutcome {
        value: Some(json!({KEY: KEY})),
        value_error: Some(fault()),
        locals: serde_json::Map::from_iter([(KEY.to_owned(), json!(KEY))]),
        local_errors: faults(),
        tables: vec![JobTable { name: KEY.to_owned(), rows: 0, columns: 0, bytes: Vec::new() }],
        table_errors: faults(),
        stdout: KEY.as_bytes().to_vec(),
        stderr: KEY.as_bytes().to_vec(),
        error: Some(fault()),
        ..JobOutcome::default()
    };
    clean_job(&mut outcome);
    let told = format!("{outcome:?}") + &String::from_utf8_lossy(&outcome.stdout);
    assert!(!told.contains(KEY), "{told}");
    assert_ne!(outcome.stderr, KEY.as_bytes());
}

#[test]
fn a_secret_in_pieces_never_gets_out() {
    let secret = "sk-stream-0123456789abcdef";
    register(secret);
    let text = format!("ssk-s the key: {secret}, sk-stream-0123456789 and sk-str");
    let whole = clean_text(&text).into_owned();
    assert_eq!(whole, "ssk-s the key: ***, *** and sk-str");
    for size in 1..text.len() {
        let mut redactor = PieceRedactor::default();
        let mut shown = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            shown.push(redactor.push(String::from_utf8(piece.to_vec()).unwrap()));
        }
        assert!(redactor.push(String::new()).is_empty());
        shown.push(redactor.finish());
        assert_eq!(shown.concat(), whole, "pieces of {size}");
        assert!(shown.iter().all(|piece| !piece.contains("0123")));
    }
}

#[test]
fn text_that_begins_no_secret_is_not_held_back() {
    register("zz-live-0123456789");
    let mut redactor = PieceRedactor::default();
    assert_eq!(redactor.push("hello z".into()), "hello ");
    assert_eq!(redactor.push("ebra".into()), "zebra");
    assert_eq!(redactor.push("zz-live-".into()), "");
    assert_eq!(redactor.finish(), "zz-live-");
    assert_eq!(redactor.finish(), "");
}
