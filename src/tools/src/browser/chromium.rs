//! One Chromium process for one page.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use antiphon_net::{GuardedClient, Url};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::proxy::PolicyProxy;

/// Names of the program, as distributions install it.
const PROGRAMS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// How long the page's own clock runs, in milliseconds. It stands still while the page waits for the network, so that
/// its timers take no time of ours.
const VIRTUAL_TIME: u32 = 10_000;

/// How many times the size of the text may come back from the network: scripts, images, styles.
const TRAFFIC: usize = 10;

/// What each process is started with, beside its profile and its proxy.
const ARGUMENTS: [&str; 20] = [
    "--headless",
    "--dump-dom",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    // Protocols that no proxy carries.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // Without the second part, loopback would be reached past the proxy.
    "--proxy-bypass-list=<-loopback>",
];

/// A Chromium that is installed.
///
/// Each page gets a process with a profile of its own, which ends with the page and with the future that waits for it,
/// children included. All its connections go through a [`PolicyProxy`]; it resolves no names. Chromium's sandbox is on,
/// except for root, for whom Chromium does not start with it.
#[derive(Clone, Debug)]
pub struct ChromiumBrowser {
    program: PathBuf,
}

impl ChromiumBrowser {
    /// The browser at `program`, or the first one on `PATH` if it is empty; `None` if there is none.
    pub fn find(program: &str) -> Option<Self> {
        if !program.is_empty() {
            return Some(PathBuf::from(program)).filter(|path| path.is_file()).map(Self::at);
        }
        let path = std::env::var_os("PATH")?;
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let candidates = PROGRAMS.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
        candidates.into_iter().find(|path| path.is_file()).map(Self::at)
    }

    const fn at(program: PathBuf) -> Self {
        Self { program }
    }

    /// The HTML of a page after its scripts have run, at most `limit` bytes. The caller sets the time limit.
    ///
    /// # Errors
    /// [`BrowserError`].
    pub async fn render(
        &self,
        url: &Url,
        client: &GuardedClient,
        limit: usize,
    ) -> Result<Vec<u8>, BrowserError> {
        let proxy = PolicyProxy::start(client.clone(), limit.saturating_mul(TRAFFIC)).await?;
        let profile = tempfile::Builder::new().prefix("antiphon-browser-").tempdir()?;
        let mut process = self.start(url, profile.path(), &proxy)?;
        let mut html = Vec::new();
        if let Some(output) = process.child.stdout.take() {
            let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
            output.take(most).read_to_end(&mut html).await?;
        }
        if html.len() > limit {
            return Err(BrowserError::TooLarge { limit });
        }
        let status = process.child.wait().await?;
        if html.is_empty() {
            return Err(BrowserError::Ended(status.to_string()));
        }
        Ok(html)
    }

    fn start(
        &self,
        url: &Url,
        profile: &Path,
        proxy: &PolicyProxy,
    ) -> Result<ProcessGroup, BrowserError> {
        let mut command = Command::new(&self.program);
        command
            .args(ARGUMENTS)
            .arg(format!("--proxy-server=http://{}", proxy.address()))
            .arg("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
            .arg(format!("--virtual-time-budget={VIRTUAL_TIME}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(url.as_str())
            // Neither proxies nor keys of the environment.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", profile)
            .env("XDG_RUNTIME_DIR", profile)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        Ok(ProcessGroup { child: command.spawn()? })
    }
}

/// A process that takes its children with it.
#[derive(Debug)]
struct ProcessGroup {
    child: Child,
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The id is that of the child as long as it has not been waited for; afterwards the group may still have members,
        // but its number could belong to others.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // It may have ended just now.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

/// Why a page was not shown.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The program, its profile or its proxy could not be started.
    #[error("the browser could not be started: {0}")]
    Start(#[from] std::io::Error),
    /// It ended without a page.
    #[error("the browser ended without a page: {0}")]
    Ended(String),
    /// The page is larger than the limit.
    #[error("the page is larger than the limit in bytes: {limit}")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}
