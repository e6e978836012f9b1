//! The fence between forks and native threads. Among the locks that it keeps free are pyo3's, for
//! references dropped without the interpreter, and that of the interpreter for its list of threads.

use std::time::Duration;

use antiphon_runtime::fork_fence::ForkFence;

/// How long a fork waits for guards.
const FORK_TIMEOUT: Duration = Duration::from_millis(200);

/// How long a guard waits for a fork. To copy the page tables of a process of 100 GB takes about a
/// second.
const GUARD_TIMEOUT: Duration = Duration::from_secs(2);

/// The fence of this process.
pub(crate) static FENCE: ForkFence = ForkFence::new(FORK_TIMEOUT, GUARD_TIMEOUT);
