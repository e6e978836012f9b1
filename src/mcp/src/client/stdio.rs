//! A server as a child process that speaks over its standard input and output.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::stderr_tail::StderrTail;
use super::target::ProcessTarget;

/// Variables of the environment without which programs do not start or do not find their files.
const INHERITED: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TZ",
    "LD_LIBRARY_PATH",
];
/// The longest message, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;
/// How long a process may take to end once its input has ended, and once more when it is told to.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Looks whether a process has ended, and leaves its entry in the table of processes.
const LOOK: WaitIdOptions =
    WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG).union(WaitIdOptions::NOWAIT);
/// How often it is asked whether it has ended.
const TICK: Duration = Duration::from_millis(10);

/// What a connection knows of the process of its server; nothing for a server over HTTP.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerProcess {
    pub(super) stderr: StderrTail,
    /// The number of the process; 0 before it is started.
    leader: Arc<AtomicI32>,
}

impl ServerProcess {
    /// Whether it has been started and is gone. The end of its output is noticed a little later,
    /// and what is written to it until then is lost.
    pub(super) fn has_ended(&self) -> bool {
        let Some(leader) = Pid::from_raw(self.leader.load(Ordering::Acquire)) else { return false };
        !matches!(waitid(WaitId::Pid(leader), LOOK), Ok(None))
    }
}

/// The transport to a child process, which leads a process group of its own. The whole group is
/// killed when it is closed or dropped: launchers such as `npx` leave their children behind.
pub(super) struct StdioTransport {
    pipes: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
    group: ProcessGroup,
}

impl StdioTransport {
    /// Starts the process.
    pub(super) fn start(target: &ProcessTarget, process: &ServerProcess) -> Result<Self, Fault> {
        let mut command = Command::new(&target.program);
        command.args(&target.arguments).env_clear().process_group(0).kill_on_drop(true);
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(inherited).envs(&target.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &target.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn().map_err(|error| not_started(target, &error))?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let group = ProcessGroup { child };
        let Some(((stdin, stdout), errors)) = pipes else {
            return Err(not_started(target, &std::io::Error::other("it has no pipes")));
        };
        process.stderr.follow(errors);
        let leader = group.leader().map_or(0, Pid::as_raw_pid);
        process.leader.store(leader, Ordering::Release);
        let pipes = AsyncRwTransport::new(stdout, stdin).with_max_line_length(LONGEST);
        Ok(Self { pipes, group })
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.pipes.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.pipes.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A process that does not read has a full pipe, which cannot be flushed.
        let closing = tokio::time::timeout(EXIT_TIMEOUT, self.pipes.close());
        let closed = closing.await.unwrap_or(Ok(()));
        self.group.end().await;
        closed
    }
}

/// A child process and the processes that it has started.
#[derive(Debug)]
struct ProcessGroup {
    child: Child,
}

impl ProcessGroup {
    /// Waits until the leader ends by itself or by a signal, and kills what is left of the group.
    async fn end(&mut self) {
        if let Some(leader) = self.leader()
            && !has_ended(leader).await
        {
            // The group may be gone by now, which is what the signal is for.
            let _ = kill_process_group(leader, Signal::TERM);
            has_ended(leader).await;
        }
        self.kill();
        // Frees its entry in the table of processes; the number may be used again from now on.
        let _ = self.child.wait().await;
    }

    /// Kills all processes of the group.
    fn kill(&self) {
        if let Some(leader) = self.leader() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// The leader, unless it was waited for: until then its number belongs to nobody else.
    fn leader(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for the end of a process; false if it does not come. Its entry remains.
async fn has_ended(leader: Pid) -> bool {
    let ended = async {
        while let Ok(None) = waitid(WaitId::Pid(leader), LOOK) {
            tokio::time::sleep(TICK).await;
        }
    };
    tokio::time::timeout(EXIT_TIMEOUT, ended).await.is_ok()
}

fn not_started(target: &ProcessTarget, error: &std::io::Error) -> Fault {
    let program = &target.program;
    let fault = Fault::new(
        FaultCode::McpUnreachable,
        format!("the MCP server `{program}` cannot be started: {error}"),
    );
    let fault = fault.with("server", program.clone());
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            fault.hint("install the program, or give its path; a shell's aliases are not known")
        }
        _ => fault.hint("check that the file is a program and that the folder exists"),
    }
}
