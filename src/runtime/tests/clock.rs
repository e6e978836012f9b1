//! The machine's own time.

use std::task::Poll;
use std::time::Duration;

use antiphon_runtime::{Clock, SystemClock};

/// Tokio's timer counts in milliseconds, and would let each wait for the next one.
#[tokio::test]
async fn a_sleep_of_no_time_is_over_at_once() {
    let mut sleep = SystemClock::new().sleep(Duration::ZERO);
    let polled = std::future::poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await;
    assert_eq!(polled, Poll::Ready(()));
}
