//! Calls that were given up while a thread is inside them, perhaps for ever.

use antiphon_core::event::EventKind;
use antiphon_core::task::TaskId;
use pyo3::intern;
use pyo3::prelude::*;
use serde_json::json;

use crate::driver::run::Run;
use crate::driver::run_state::RunState;
use crate::driver::worker_pool::CALLERS;

/// Gives a call up. If a thread of the pool is inside it, the thread does not count against the
/// limit of the pool any more, and the trace and the log tell of it.
pub(crate) fn give_up(state: &mut RunState, run: &Bound<'_, Run>, id: TaskId) {
    if !run.get().calls.abandon(id) {
        return;
    }
    let threads = CALLERS.here().abandon_thread();
    let path = state.machine.path(id).join(" > ");
    let data = json!({"threads": threads, "node": path});
    state.machine.note(id, EventKind::Custom, "thread_abandoned", data);
    let message = "a call of `%s` was cancelled, or its time is over, and still runs on a \
                   thread of its own, which nothing can stop; such threads: %s";
    // A log that cannot be written to is no reason to fail.
    let _ = run.py().import(intern!(run.py(), "logging")).and_then(|logging| {
        let logger = logging.call_method1("getLogger", ("antiphon.threads",))?;
        logger.call_method1("warning", (message, path, threads))
    });
}
