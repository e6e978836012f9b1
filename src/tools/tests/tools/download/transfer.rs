//! Transfers over HTTP.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::find;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::web_server::{WebAnswer, WebRequest, WebServer};

const BODY: &str = "0123456789abcdefghij";

/// The SHA-256 of [`BODY`].
const HASH: &str = "4a9b8e3b8c3d6f8cf1e2a5f4c5a9b4a3";

fn tool(root: &Path, settings: Json) -> Arc<dyn Tool> {
    let mut all = json!({"allow": ["loopback"], "root": root});
    let Json::Object(settings) = settings else { panic!("settings are an object") };
    for (key, value) in settings {
        all[key] = value;
    }
    find("download").unwrap().open(&all).unwrap().remove(0)
}

async fn call(tool: &dyn Tool, arguments: Json) -> Result<Json, Fault> {
    tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await
}

/// What a server does once a transfer has broken; the second argument is the whole file.
type LaterPages = fn(&WebRequest, WebAnswer) -> WebAnswer;

/// All names in a folder, hidden ones too.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(folder: &TempDir, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap()
}

fn file(body: &str) -> WebAnswer {
    WebAnswer::new(200, "text/plain; charset=utf-8", body).header("etag", "\"v1\"")
}

/// A server that knows ranges: the first reply breaks after 10 bytes.
fn ranged(request: &WebRequest) -> WebAnswer {
    match request.header("range") {
        None => file(&BODY[..10]).announced(20),
        Some(range) => {
            let start: usize =
                range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
            WebAnswer::new(206, "text/plain", &BODY[start..])
                .header("etag", "\"v1\"")
                .header("content-range", &format!("bytes {start}-19/20"))
        }
    }
}

#[tokio::test]
async fn a_file_is_stored_under_its_name_with_its_hash() {
    let folder = TempDir::new().unwrap();
    let server = WebServer::with(file(BODY)).await;
    let tool = tool(folder.path(), json!({}));
    let report = call(&*tool, json!({"url": server.url("/a/data%20set.csv?x=1")})).await.unwrap();
    assert_eq!(report["path"], "data set.csv");
    assert_eq!((&report["bytes"], &report["media_type"]), (&json!(20), &json!("text/plain")));
    assert_eq!(report["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(report["resumed_from"], 0);
    assert_eq!(text(&folder, "data set.csv"), BODY);
    assert_eq!(names(&folder), ["data set.csv"]);
    let mode = std::fs::metadata(folder.path().join("data set.csv")).unwrap().mode();
    assert_eq!(mode & 0o111, 0, "no program");

    let hash = report["sha256"].clone();
    let arguments = json!({"url": server.url("/"), "name": "../b.txt", "sha256": hash});
    assert_eq!(call(&*tool, arguments).await.unwrap()["path"], "b.txt");
    assert_eq!(server.requests()[0].header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn names_of_servers_stay_in_the_folder() {
    for (disposition, name) in [
        ("attachment; filename=\"../../evil.sh\"", "evil.sh"),
        ("attachment; filename=plain.txt", "plain.txt"),
        ("attachment; filename=\"a.txt\"; filename*=UTF-8''%e2%82%ac%20x.txt", "€ x.txt"),
        ("attachment; filename*=UTF-8''..%2f..%2fetc%2fpasswd", "passwd"),
        ("attachment; filename=\"..\"", "download"),
        ("inline", "page"),
    ] {
        let folder = TempDir::new().unwrap();
        let server = WebServer::with(file("x").header("content-disposition", disposition)).await;
        let report =
            call(&*tool(folder.path(), json!({})), json!({"url": server.url("/page")})).await;
        assert_eq!(report.unwrap()["path"], name, "{disposition}");
        assert_eq!(names(&folder), [name]);
    }
}

#[tokio::test]
async fn a_file_is_not_replaced_unless_it_may_be_and_links_are_not_followed() {
    let folder = TempDir::new().unwrap();
    let outside = TempDir::new().unwrap();
    let target = outside.path().join("target");
    std::fs::write(&target, "outside").unwrap();
    symlink(&target, folder.path().join("a.txt")).unwrap();
    let server = WebServer::with(file(BODY)).await;
    let keeping = tool(folder.path(), json!({}));
    for expected in ["a-1.txt", "a-2.txt"] {
        let report = call(&*keeping, json!({"url": server.url("/a.txt")})).await.unwrap();
        assert_eq!(report["path"], expected);
    }
    let replacing = tool(folder.path(), json!({"overwrite": true}));
    let report = call(&*replacing, json!({"url": server.url("/a.txt")})).await.unwrap();
    assert_eq!(report["path"], "a.txt");
    assert_eq!(text(&folder, "a.txt"), BODY);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "outside");
}

#[tokio::test]
async fn a_transfer_that_breaks_is_continued_within_the_call() {
    let folder = TempDir::new().unwrap();
    let server = WebServer::start(ranged).await;
    let report = call(&*tool(folder.path(), json!({})), json!({"url": server.url("/a")})).await;
    let report = report.unwrap();
    assert_eq!(report["bytes"], 20);
    assert_eq!(text(&folder, "a"), BODY);
    let second = &server.requests()[1];
    assert_eq!(
        (second.header("range"), second.header("if-range")),
        (Some("bytes=10-"), Some("\"v1\""))
    );
}

/// Leaves a part of 10 bytes by a server that always breaks.
async fn broken(folder: &TempDir, url: &str) {
    let fault = call(&*tool(folder.path(), json!({})), json!({"url": url})).await.unwrap_err();
    assert_eq!(fault.code, "server_unreachable");
    assert_eq!(names(folder).len(), 2, "the part and its version");
}

#[tokio::test]
async fn a_later_call_continues_a_part_if_the_file_is_the_same() {
    let folder = TempDir::new().unwrap();
    let mended = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = Arc::clone(&mended);
    let server = WebServer::start(move |request| {
        let mended = flag.load(std::sync::atomic::Ordering::SeqCst);
        match request.header("range") {
            Some(_) if !mended => WebAnswer::new(206, "text/plain", "")
                .header("content-range", "bytes 10-19/20")
                .announced(10),
            _ => ranged(request),
        }
    })
    .await;
    broken(&folder, &server.url("/a")).await;
    mended.store(true, std::sync::atomic::Ordering::SeqCst);
    let report = call(&*tool(folder.path(), json!({})), json!({"url": server.url("/a")})).await;
    assert_eq!(report.unwrap()["resumed_from"], 10);
    assert_eq!(text(&folder, "a"), BODY);
    assert_eq!(names(&folder), ["a"]);
}

#[tokio::test]
async fn a_server_that_ignores_or_misreads_ranges_gets_the_file_from_the_beginning() {
    let whole = || file("another file of more bytes");
    let servers: [LaterPages; 4] = [
        // The file has changed, or ranges are not known.
        |_, whole| whole,
        // Another range than was asked for.
        |request, whole| match request.header("range") {
            Some(_) => {
                WebAnswer::new(206, "text/plain", "x").header("content-range", "bytes 3-3/20")
            }
            None => whole,
        },
        |request, whole| match request.header("range") {
            Some(_) => WebAnswer::new(206, "text/plain", "no range"),
            None => whole,
        },
        |request, whole| match request.header("range") {
            Some(_) => WebAnswer::new(416, "text/plain", "").header("content-range", "bytes */26"),
            None => whole,
        },
    ];
    for pages in servers {
        let folder = TempDir::new().unwrap();
        let first = std::sync::atomic::AtomicBool::new(true);
        let server = WebServer::start(move |request| {
            if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
                return file(&BODY[..10]).announced(20);
            }
            pages(request, whole())
        })
        .await;
        let report = call(&*tool(folder.path(), json!({})), json!({"url": server.url("/a")})).await;
        assert_eq!(report.unwrap()["resumed_from"], 0);
        assert_eq!(text(&folder, "a"), "another file of more bytes");
    }
}

#[tokio::test]
async fn without_a_version_nothing_is_continued() {
    let folder = TempDir::new().unwrap();
    let server = WebServer::start(|request| {
        assert!(request.header("range").is_none());
        WebAnswer::new(200, "text/plain", &BODY[..10]).header("etag", "W/\"weak\"").announced(20)
    })
    .await;
    let tool = tool(folder.path(), json!({}));
    let fault = call(&*tool, json!({"url": server.url("/a")})).await.unwrap_err();
    assert_eq!(fault.code, "server_unreachable");
}

#[tokio::test]
async fn what_is_too_large_of_another_type_or_hash_is_not_stored() {
    let endless = || WebAnswer::new(200, "text/plain", "word ").endless();
    for (answer, settings, arguments, code) in [
        (file(BODY), json!({"max_bytes": 19}), json!({}), "reply_too_large"),
        (endless(), json!({"max_bytes": 100_000}), json!({}), "reply_too_large"),
        (
            file(BODY),
            json!({"types": ["image/*", "application/pdf"]}),
            json!({}),
            "download_type_refused",
        ),
        (file(BODY), json!({}), json!({"sha256": "0".repeat(64)}), "download_hash_mismatch"),
        (file(BODY), json!({}), json!({"sha256": HASH}), "invalid_value"),
        (WebAnswer::new(404, "text/plain", ""), json!({}), json!({}), "page_refused"),
    ] {
        let folder = TempDir::new().unwrap();
        let server = WebServer::with(answer).await;
        let mut arguments = arguments;
        arguments["url"] = json!(server.url("/a"));
        let fault = call(&*tool(folder.path(), settings), arguments).await.unwrap_err();
        assert_eq!(fault.code, code);
        let left: Vec<_> =
            names(&folder).into_iter().filter(|name| !name.starts_with('.')).collect();
        assert_eq!(left, [""; 0], "{code}");
    }
    let folder = TempDir::new().unwrap();
    let server = WebServer::with(file(BODY)).await;
    let images = tool(folder.path(), json!({"types": ["text/*"]}));
    assert!(call(&*images, json!({"url": server.url("/a")})).await.is_ok());
}

#[tokio::test]
async fn time_is_bounded_and_a_second_transfer_of_the_same_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let server = WebServer::with(WebAnswer::silent()).await;
    let clock = Arc::new(ManualClock::default());
    let cx = CallContext::new(clock.clone());
    let tool = tool(folder.path(), json!({"timeout": 5}));
    let first = tool.call(json!({"url": server.url("/a")}), &cx);
    let (first, second) = tokio::join!(first, async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        let second = call(&*tool, json!({"url": server.url("/a")})).await;
        clock.advance(std::time::Duration::from_secs(5));
        second
    });
    assert_eq!(first.unwrap_err().code, "download_timeout");
    assert_eq!(second.unwrap_err().code, "download_busy");
}

#[tokio::test]
async fn links_in_the_place_of_a_part_lead_nowhere() {
    let outside = TempDir::new().unwrap();
    let target = outside.path().join("target");
    for is_symbolic in [true, false] {
        let folder = TempDir::new().unwrap();
        let server = WebServer::start(ranged).await;
        let url = server.url("/a");
        std::fs::write(&target, "outside").unwrap();
        let known = antiphon_tools::page_reader::text_id(&url);
        for name in [
            format!(".antiphon-{}.part", &known[..32]),
            format!(".antiphon-{}.part-of", &known[..32]),
        ] {
            let path = folder.path().join(name);
            if is_symbolic { symlink(&target, path) } else { std::fs::hard_link(&target, path) }
                .unwrap();
        }
        let report = call(&*tool(folder.path(), json!({})), json!({"url": url})).await.unwrap();
        assert_eq!((&report["bytes"], &report["resumed_from"]), (&json!(20), &json!(0)));
        assert_eq!(text(&folder, "a"), BODY);
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "outside");
    }
}

#[test]
fn a_folder_that_is_none_is_refused() {
    for root in ["", "/no/such/folder", "/dev/null"] {
        let fault = find("download").unwrap().open(&json!({"root": root})).err().unwrap();
        assert_eq!(fault.code, "tool_setting_invalid", "{root}");
    }
}
