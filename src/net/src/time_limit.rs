//! A time limit for any work.

use std::future::Future;
use std::time::Duration;

use antiphon_runtime::Clock;

/// The result of `work`, or `None` if `limit` is over first by `clock`; the work is then
/// dropped. Without a limit it waits until the work is done.
pub async fn within<F: Future>(
    clock: &dyn Clock,
    limit: Option<Duration>,
    work: F,
) -> Option<F::Output> {
    let Some(limit) = limit else { return Some(work.await) };
    tokio::select! {
        biased;
        output = work => Some(output),
        () = clock.sleep(limit) => None,
    }
}
