//! How antiphon reaches the network. It knows HTTP and secrets, and nothing
//! of models or tools.
//!
//! | module | holds |
//! |---|---|
//! | [`client`], [`request`], [`reply`] | one HTTP exchange: no redirects, bounded bodies |
//! | [`error`], [`status`], [`retry_after`](mod@retry_after) | how an exchange fails, and when to come back |
//! | [`sse`] | the framing of server-sent events |
//! | [`secret`], [`redact`] | values that never print, and texts they are struck from |
//! | [`patience`] | a limit in time on any work, by the caller's clock |

pub mod client;
pub mod error;
pub mod patience;
pub mod redact;
pub mod reply;
pub mod request;
pub mod retry_after;
pub mod secret;
pub mod sse;
pub mod status;

pub use client::{HttpClient, HttpOptions, is_this_machine, shown};
pub use error::HttpError;
pub use patience::within;
pub use redact::Redactor;
pub use reply::HttpReply;
pub use request::HttpRequest;
pub use reqwest::Url;
pub use retry_after::retry_after;
pub use secret::Secret;
pub use sse::{SseError, SseEvent, SseParser};
pub use status::StatusKind;
