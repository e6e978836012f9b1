//! Handshakes, ends, and settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_core::FaultCode;
use antiphon_mcp::{McpClient, McpSettings};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Folder, call, client, is_running, scripted, until};

#[tokio::test]
async fn a_server_of_an_older_revision_is_spoken_to_in_its_own() {
    let client = client(scripted(&["--era", "2025"]));
    assert_eq!(call(&client, "echo").await.unwrap(), json!("hello"));
    assert_eq!(client.revision().await.as_deref(), Some("2025-11-25"));
    client.close().await;
}

#[tokio::test]
async fn a_server_of_the_current_revision_needs_no_handshake() {
    let folder = Folder::new("modern");
    let client = client(scripted(&["--era", "2026", "--log", &folder.path("log")]));
    assert_eq!(call(&client, "echo").await.unwrap(), json!("hello"));
    assert_eq!(client.revision().await.as_deref(), Some("2026-07-28"));
    client.close().await;
    let methods: Vec<_> = folder.messages("log").iter().map(|it| it["method"].clone()).collect();
    assert!(!methods.contains(&json!("initialize")), "{methods:?}");
}

#[tokio::test]
async fn closing_ends_the_process_and_its_children() {
    let folder = Folder::new("children");
    let child = folder.path("child");
    let client = client(scripted(&["--child", &child, "--log", &folder.path("log")]));
    client.connect().await.unwrap();
    let (pid, server) = (folder.read("child"), folder.read("log"));
    let server = server.lines().next().and_then(|it| it.split(' ').nth(1)).unwrap().to_owned();
    assert!(is_running(&pid) && is_running(&server));
    client.close().await;
    assert!(!is_running(&server));
    until(|| !is_running(&pid)).await;
}

#[tokio::test]
async fn a_dropped_client_leaves_no_process() {
    let folder = Folder::new("dropped");
    let client = client(scripted(&["--child", &folder.path("child")]));
    client.connect().await.unwrap();
    let pid = folder.read("child");
    drop(client);
    until(|| !is_running(&pid)).await;
}

#[tokio::test]
async fn a_closed_client_connects_again_when_a_tool_is_called() {
    let folder = Folder::new("again");
    let client = client(scripted(&["--log", &folder.path("log")]));
    call(&client, "echo").await.unwrap();
    client.close().await;
    assert_eq!(client.revision().await, None);
    call(&client, "echo").await.unwrap();
    client.close().await;
    assert_eq!(folder.starts("log"), 2);
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let client =
        client(McpSettings { server: "no-such-program --x".into(), ..McpSettings::default() });
    let fault = client.connect().await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpUnreachable);
    assert!(fault.message.contains("no-such-program"), "{fault}");
}

#[tokio::test]
async fn the_end_of_a_program_that_is_no_server_is_told_with_its_last_words() {
    let command =
        ["sh", "-c", "printf 'no key\\nno service\\n' >&2; exit 1"].map(String::from).to_vec();
    let client = client(McpSettings { command, ..McpSettings::default() });
    let fault = client.connect().await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpHandshakeFailed);
    assert!(fault.message.ends_with("; its stderr ends with: no service"), "{fault}");
    assert_eq!(fault.details["stderr"], "no key\nno service");
}

#[tokio::test]
async fn a_server_that_says_nothing_costs_the_time_out_of_connecting() {
    let settings = McpSettings { connect_timeout: 0.2, ..scripted(&["--deaf"]) };
    let fault = client(settings).connect().await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpHandshakeFailed);
    assert!(fault.message.ends_with("it took longer than 0.2 s"), "{fault}");
}

#[tokio::test]
async fn a_process_gets_its_variables_and_no_others() {
    // Cargo sets it for tests; a key in the caller's environment is no business of the server's.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let env = BTreeMap::from([("CITY".to_owned(), "Lyon".to_owned())]);
    let client = client(McpSettings { env, ..scripted(&[]) });
    let seen = call(&client, "env").await.unwrap();
    client.close().await;
    let seen: BTreeMap<String, Json> = serde_json::from_str(seen.as_str().unwrap()).unwrap();
    assert_eq!(seen["CITY"], "Lyon");
    assert!(seen.contains_key("PATH") && !seen.contains_key("CARGO_MANIFEST_DIR"));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let base = McpSettings::default;
    let header = || BTreeMap::from([("X-Key".to_owned(), "abc".to_owned())]);
    let cases = [
        (base(), "`server` must be a URL or a command line"),
        (McpSettings { server: "run 'open".into(), ..base() }, "quotation mark"),
        (McpSettings { server: "http://".into(), ..base() }, "no usable URL"),
        (McpSettings { server: "run".into(), headers: header(), ..base() }, "`headers` are for"),
        (McpSettings { server: "http://x".into(), env: header(), ..base() }, "`env` and `folder`"),
        (McpSettings { server: "run".into(), command: vec!["x".into()], ..base() }, "exclude"),
        (McpSettings { server: "run".into(), timeout: 0.0, ..base() }, "`timeout` must be"),
        (McpSettings { command: vec!["a\0b".into()], ..base() }, "null characters"),
        (McpSettings { command: vec![String::new()], ..base() }, "no program"),
    ];
    for (settings, expected) in cases {
        let fault = McpClient::new(settings).unwrap_err();
        assert_eq!(fault.code, FaultCode::ToolSettingInvalid);
        assert!(fault.message.contains(expected), "{fault}");
    }
}

#[test]
fn no_secret_is_printed() {
    let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer sk-1234567890".to_owned())]);
    let server = "http://user:pass@localhost/mcp?key=sk-1234567890".to_owned();
    let settings = McpSettings { server, headers, ..McpSettings::default() };
    let shown = format!("{settings:?} {:?}", McpClient::new(settings.clone()).unwrap());
    assert!(!shown.contains("sk-123") && !shown.contains("pass"), "{shown}");
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_unreachable_and_its_key_is_not_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let server = format!("http://127.0.0.1:{port}/mcp?k=a-b");
    let fault =
        client(McpSettings { server, ..McpSettings::default() }).connect().await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpUnreachable);
    assert!(fault.message.contains("refused") && !fault.message.contains("a-b"), "{fault}");
}

/// A server that gives every request the same answer; counts them.
async fn answering(head: &'static str, body: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            count.fetch_add(1, Ordering::SeqCst);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, asked)
}

#[tokio::test]
async fn a_server_that_wants_other_credentials_is_asked_once_also_if_it_does_not_say_which() {
    for head in ["401 Unauthorized", "403 Forbidden"] {
        let (server, asked) = answering(head, "").await;
        let settings = McpSettings { server, ..McpSettings::default() };
        let fault = client(settings).connect().await.unwrap_err();
        assert_eq!(fault.code, FaultCode::McpUnauthorized, "{fault}");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_page_is_no_server() {
    let (server, _) = answering("200 OK\r\ncontent-type: text/html", "<p>welcome</p>").await;
    let settings = McpSettings { server, ..McpSettings::default() };
    let fault = client(settings).connect().await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpHandshakeFailed);
    assert!(
        fault.message.ends_with("it answered with text/html, not with JSON or events"),
        "{fault}"
    );
}

#[tokio::test]
async fn a_server_that_has_died_between_calls_is_started_again() {
    let folder = Folder::new("died-between");
    let client = client(scripted(&["--log", &folder.path("log")]));
    call(&client, "write").await.unwrap();
    let pid =
        folder.read("log").lines().next().and_then(|it| it.split(' ').nth(1)).unwrap().to_owned();
    std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    until(|| !is_running(&pid)).await;
    // Not a repeated call: it was never sent to the dead one.
    assert_eq!(call(&client, "write").await.unwrap(), json!("hello"));
    client.close().await;
    assert_eq!(folder.starts("log"), 2);
}
