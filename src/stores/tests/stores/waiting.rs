//! Waits for what a store does by itself: its tests sleep nowhere else.

use std::time::{Duration, Instant};

/// Returns once something has happened; fails with `missed` if it has not within a minute.
pub(crate) async fn until(missed: &str, happens: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !happens().await {
        assert!(started.elapsed() < Duration::from_mins(1), "{missed}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
