//! The end of what a process writes to its standard error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// Bytes that are kept.
const KEPT: usize = 4096;
/// How long the end of the stream is waited for.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The last bytes of a stream, for faults.
#[derive(Clone, Debug)]
pub(super) struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    /// Streams that have not ended.
    open: watch::Sender<usize>,
}

impl Default for StderrTail {
    fn default() -> Self {
        Self { bytes: Arc::default(), open: watch::Sender::new(0) }
    }
}

impl StderrTail {
    /// Reads a stream to its end in the background: a full pipe would stop the process.
    pub(super) fn follow(&self, stream: impl AsyncRead + Unpin + Send + 'static) {
        self.open.send_modify(|open| *open += 1);
        tokio::spawn(self.clone().read(stream));
    }

    async fn read(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = [0_u8; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend(buffer.iter().take(count));
            let excess = bytes.len().saturating_sub(KEPT);
            bytes.drain(..excess);
        }
        self.open.send_modify(|open| *open = open.saturating_sub(1));
    }

    /// Waits until all of it is here, or for half a second: a process that is about to end says
    /// why on its way out.
    pub(super) async fn settle(&self) {
        let mut open = self.open.subscribe();
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, open.wait_for(|open| *open == 0)).await;
    }

    /// The text so far; empty if there is none.
    pub(super) fn text(&self) -> String {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(bytes.make_contiguous()).trim().to_owned()
    }
}
