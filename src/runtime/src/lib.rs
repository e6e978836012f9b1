//! What waits: the ports through which antiphon reaches the world, and the
//! clock it lives by.
//!
//! | module | holds |
//! |---|---|
//! | [`port`] | the traits that adapters implement: [`Model`], [`Tool`], [`ToolRegistry`] |
//! | [`host`] | the code of a graph's builder, as the native driver calls it |
//! | [`native`] | the driver for runs whose code is Rust; [`cancellation`] cancels them |
//! | [`attachments`] | bytes that travel beside JSON |
//! | [`tool_call`] | calls of tools, with what holds for all of them |
//! | [`tool_gate`] | what the calls of one tool share: a limit of concurrency, a circuit breaker |
//! | [`watch`] | who watches a run |
//! | [`store`] | the port for what must outlive a process |
//! | [`queue`] | the port to queues of messages |
//! | [`thread_ref`] | the port to the threads that keep runs |
//! | [`start`] | starting and resuming runs in threads |
//! | [`committer`] | from the commits of a run to its thread |
//! | [`redact`] | removes known secrets from what models and tools say |
//! | [`sandbox`] | the port for code that nobody trusts |
//! | [`fork_fence`] | keeps forks of the process apart from native threads |
//! | [`clock`] | system time, and time that a test moves by hand |

pub mod attachments;
pub mod cancellation;
pub mod clock;
pub mod committer;
pub mod fork_fence;
pub mod host;
pub mod native;
pub mod port;
pub mod queue;
pub mod redact;
pub mod sandbox;
pub mod start;
pub mod store;
pub mod thread_ref;
pub mod tool_call;
pub mod tool_gate;
pub mod watch;

pub use attachments::Attachments;
pub use cancellation::CancellationToken;
pub use clock::{Clock, ManualClock, SystemClock};
pub use committer::RunCommitter;
pub use host::{Host, NodeCall, Snapshot, TaskReporter};
pub use native::{DriveOutcome, Driver};
pub use port::{CallContext, CallNotes, Model, ReplyChunk, Tool, ToolRegistry, UserContext};
pub use queue::Queue;
pub use start::{Answers, DurableRun, StartMode, StartedRun};
pub use store::Store;
pub use thread_ref::{OpenedThread, RunOrigin, ThreadContents, ThreadLease, ThreadRef};
pub use tool_call::{CheckedTool, call_tool, call_tool_within};
pub use tool_gate::{GateStatus, GatedCall, GatedTool, ToolGate};
pub use watch::{Recorder, Subscription, Watcher, subscribe};
