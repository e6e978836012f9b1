//! Waits for what a server does by itself: its tests sleep nowhere else.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// What the first attempt that succeeds returns; fails with the fault of the last if none has
/// within a minute.
pub(crate) async fn until_ok<T, E: Debug>(attempt: impl AsyncFn() -> Result<T, E>) -> T {
    let started = Instant::now();
    loop {
        match attempt().await {
            Ok(found) => return found,
            Err(fault) => assert!(started.elapsed() < Duration::from_mins(1), "{fault:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
