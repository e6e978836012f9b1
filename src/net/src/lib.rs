//! Access to the network: HTTP and secrets, without knowledge of models or tools.
//!
//! | module | holds |
//! |---|---|
//! | [`client`], [`request`], [`reply`] | one HTTP exchange: no redirects, bounded bodies |
//! | [`guarded_client`], [`address_policy`], [`address`] | exchanges with addresses that a model or
//! a page chooses: only permitted ones |
//! | [`resolver`], [`redirect`] | names to permitted addresses; what goes where a redirect leads |
//! | [`error`], [`fault`], [`status`], [`retry_after`](mod@retry_after) | failures of an exchange, and when
//! to retry |
//! | [`sse`] | the framing of server-sent events |
//! | [`secret`], [`redact`] | values that are never printed, and their removal from texts |
//! | [`time_limit`] | a time limit for any work, by the caller's clock |

pub mod address;
pub mod address_policy;
mod address_rule;
pub mod client;
pub mod error;
pub mod fault;
pub mod guarded_client;
pub mod redact;
pub mod redirect;
pub mod reply;
pub mod request;
pub mod resolver;
pub mod retry_after;
pub mod secret;
pub mod sse;
pub mod status;
pub mod time_limit;

pub use address::AddressKind;
pub use address_policy::{AddressPolicy, AddressRefusal};
pub use client::{HttpClient, HttpOptions, is_this_machine, without_secrets};
pub use error::HttpError;
pub use guarded_client::{GuardedClient, GuardedOptions};
pub use redact::Redactor;
pub use redirect::RedirectRefusal;
pub use reply::HttpReply;
pub use request::HttpRequest;
pub use reqwest::{Method, Url};
pub use resolver::{HostResolver, ResolveFuture, SystemResolver};
pub use retry_after::retry_after;
pub use secret::Secret;
pub use sse::{SseError, SseEvent, SseParser};
pub use status::StatusKind;
pub use time_limit::within;
