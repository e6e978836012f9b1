//! A real NATS server on loopback, with its data in a folder of its own.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use antiphon_queue::NatsQueue;
use antiphon_runtime::SystemClock;
use antiphon_runtime::queue::QueueSettings;
use tempfile::TempDir;

use crate::waiting::until_ok;

/// The server that tests share which do not stop it.
static SHARED: LazyLock<NatsServer> = LazyLock::new(NatsServer::start);
/// It ends on a line, and with its data where the process dies that has the other end of its input.
const BESIDE: &str = r#"data=$1; shift; "$@" & server=$!; gone=; read -r _ || gone=$data
kill -KILL $server; wait $server; [ -z "$gone" ] || rm -rf "$gone""#;

pub(crate) const PASSWORD: &str = "hunter2-of-the-queue";

/// A server that answers without `JetStream`.
pub(crate) fn without_jetstream() -> NatsServer {
    NatsServer::with(&[])
}

pub(crate) struct NatsServer {
    folder: TempDir,
    port: u16,
    process: Mutex<Option<Child>>,
    queues: AtomicU32,
    options: &'static [&'static str],
}

impl NatsServer {
    pub(crate) fn start() -> Self {
        Self::with(&["-js"])
    }

    /// One whose disk has what it answers.
    pub(crate) fn writing_at_once() -> Self {
        let server = Self::with(&["-js"]);
        server.kill();
        let settings = server.folder.path().join("server.conf");
        std::fs::write(settings, "jetstream { sync_interval: always }").unwrap();
        server.come_back();
        server
    }

    fn with(options: &'static [&'static str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self {
            folder: TempDir::new().unwrap(),
            port,
            process: Mutex::default(),
            queues: AtomicU32::new(0),
            options,
        };
        server.come_back();
        server
    }

    pub(crate) fn shared() -> &'static Self {
        &SHARED
    }

    /// Starts it on the data that it has.
    pub(crate) fn come_back(&self) {
        let named = std::env::var_os("ANTIPHON_NATS_SERVER");
        let program = named.unwrap_or_else(|| "nats-server".into());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", BESIDE, "sh"]).arg(self.folder.path()).arg(program).args(self.options);
        command.args([
            "-a",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "--user",
            "worker",
            "--pass",
            PASSWORD,
        ]);
        command.arg("-sd").arg(self.folder.path());
        let settings = self.folder.path().join("server.conf");
        if settings.exists() {
            command.arg("-c").arg(settings);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        *self.process.lock().unwrap() = Some(command.spawn().unwrap());
    }

    /// Kills it; returns once it is gone.
    pub(crate) fn kill(&self) {
        let process = self.process.lock().unwrap().take();
        if let Some(mut process) = process {
            process.stdin.take().unwrap().write_all(b"\n").unwrap();
            process.wait().unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://worker:{PASSWORD}@127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A new queue.
    pub(crate) async fn queue(&self, settings: QueueSettings) -> NatsQueue {
        let number = self.queues.fetch_add(1, Ordering::Relaxed);
        self.open(&format!("queue {number}"), settings).await
    }

    /// A queue of that name, as another process would open it.
    pub(crate) async fn open(&self, name: &str, settings: QueueSettings) -> NatsQueue {
        let clock = Arc::new(SystemClock::new());
        until_ok(async || {
            NatsQueue::connect(self.url().as_str(), name, settings, clock.clone()).await
        })
        .await
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
