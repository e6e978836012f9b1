//! Downloads of steps from a server on loopback.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use antiphon_systems::plan_execute::StepErrorKind;
use serde_json::json;

use crate::fake_tools::step;
use crate::scene::{Scene, ScriptedRun};

/// The most bytes that the tool stores.
const MOST: usize = 50_000_000;
/// What the server says that it will send, and never sends.
const DECLARED: usize = 60_000_000;

/// A server that sends more than that, with and without saying so before, or sends elsewhere.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, port)));
    port
}

fn answer(mut stream: TcpStream, port: u16) {
    let reader = BufReader::new(stream.try_clone().unwrap());
    let lines = reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let request = lines.collect::<Vec<_>>().join(" ");
    let reply = if request.contains(" /small ") {
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntea".to_owned()
    } else if request.contains(" /declared ") {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {DECLARED}\r\n\r\n")
    } else if request.contains(" /stream ") {
        return send_without_end(stream);
    } else {
        format!(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:{port}/small\r\nContent-Length: 0\r\n\r\n"
        )
    };
    // The tool may have gone by now.
    let _ = stream.write_all(reply.as_bytes());
}

/// Sends until the tool has had enough.
fn send_without_end(mut stream: TcpStream) {
    let piece = vec![b't'; 1 << 16];
    let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    while sent.is_ok() {
        sent = stream.write_all(&piece);
    }
}

async fn download(root: &Path, url: &str) -> ScriptedRun {
    let tool = antiphon_tools::find("download").unwrap();
    let settings = json!({"root": root, "allow": ["127.0.0.1"], "max_bytes": MOST});
    let params = json!({"url": url, "filename": "tea.txt"});
    let input = json!({"operation": "download_file", "params": params});
    let plan = json!([[step("d", "Orchestrator", "FileDownloaderTool", &input)]]);
    let scene = Scene::new(&json!({"max_revisions": 0})).plans(&[plan]).answers("Refused.");
    let tools = tool.open(&settings).unwrap();
    let mut scene = tools.iter().fold(scene, Scene::native);
    // The network is not in the time of the scene.
    let (system, model) = scene.system();
    let result = system.ask("Fetch.", scene.session()).await.unwrap();
    ScriptedRun { result, model }
}

/// PE-22 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_download_has_a_limit_and_reaches_no_other_host() {
    let (folder, port) = (tempfile::tempdir().unwrap(), serve());
    let url = |path: &str| format!("http://127.0.0.1:{port}/{path}");
    for path in ["declared", "stream", "elsewhere"] {
        let run = download(folder.path(), &url(path)).await;
        assert_eq!(run.failure("d"), StepErrorKind::Policy, "{path}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{path}: {left:?}");
    }
    download(folder.path(), &url("small")).await;
    assert_eq!(std::fs::read_to_string(folder.path().join("tea.txt")).unwrap(), "tea");
}
