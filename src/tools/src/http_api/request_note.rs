//! What the trace of a run is told of each request, also of one that is given up.

use antiphon_core::Time;
use antiphon_runtime::CallContext;
use serde_json::{Value as Json, json};

/// The event of a request.
const NAME: &str = "http_request";

/// A request on its way; the trace is told of it when it ends.
pub(super) struct RequestNote<'c> {
    cx: &'c CallContext,
    method: String,
    /// Without query and without secrets.
    url: String,
    started: Time,
    status: Option<u16>,
    error: Option<String>,
}

impl<'c> RequestNote<'c> {
    pub(super) fn begin(cx: &'c CallContext, method: String, url: String) -> Self {
        let started = cx.clock.now();
        let error = Some("it was given up without a reply".to_owned());
        Self { cx, method, url, started, status: None, error }
    }

    /// The head of the reply has come; its body may still break off.
    pub(super) fn status(&mut self, status: u16) {
        self.status = Some(status);
        self.error = Some("it was given up before the reply had ended".to_owned());
    }

    /// It was answered, and the reply was read.
    pub(super) fn answered(mut self, status: u16) {
        (self.status, self.error) = (Some(status), None);
    }

    /// It failed; the message has no secrets.
    pub(super) fn failed(mut self, message: String) {
        self.error = Some(message);
    }
}

impl Drop for RequestNote<'_> {
    fn drop(&mut self) {
        let Some(notes) = &self.cx.notes else { return };
        let elapsed = self.cx.clock.now().since(self.started).as_secs_f64() * 1e3;
        let mut data = json!({
            "method": self.method, "url": self.url, "status": self.status, "elapsed_ms": elapsed,
        });
        if let (Some(error), Some(fields)) = (self.error.take(), data.as_object_mut()) {
            fields.insert("error".to_owned(), Json::String(error));
        }
        notes(NAME, data);
    }
}
