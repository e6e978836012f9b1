//! HTTP APIs that are described by a catalogue of endpoints.
//!
//! A model chooses an endpoint of the catalogue and gives its parameters; it never writes a URL, a
//! host or a header that identifies somebody. Where a request may go is decided by the base URL
//! of the settings and by the address policy.
//!
//! | module | holds |
//! |---|---|
//! | [`catalogue`], [`openapi`] | the endpoints, read from YAML or from an OpenAPI document |
//! | [`scoring`] | the endpoints that fit a question best |
//! | [`call`] | a call of an endpoint: parameters checked, escaped and put in their places |
//! | [`auth`], [`token_profile`], [`token`] | who calls: keys, passwords, and tokens that are fetched and renewed |
//! | [`adjustment`] | parameters that are added after the server has asked for them |
//! | [`client`], [`options`], `request_note`, [`reply`] | the exchange, its limits, what a trace is told of it, and what comes back |
//! | [`settings`], [`family`] | the tools |

pub mod adjustment;
pub mod auth;
pub mod call;
pub mod catalogue;
pub mod client;
pub mod family;
mod fault;
pub mod openapi;
pub mod options;
pub mod reply;
mod request_note;
pub mod scoring;
pub mod settings;
pub mod token;
pub mod token_profile;

pub use adjustment::AdjustmentRule;
pub use auth::{ApiPrincipal, AuthProfile, KeyLocation};
pub use call::{ApiCall, PreparedCall};
pub use catalogue::{
    ApiCatalogue, ApiEndpoint, ApiParameter, ApiSection, ApiSnippet, ParameterLocation,
};
pub use client::{ApiExchange, HttpApi};
pub use family::HttpApiTools;
pub use options::ApiOptions;
pub use reply::{ApiReply, ReplyContent, ReplyLimits};
pub use scoring::ScoringMode;
pub use settings::HttpApiSettings;
pub use token_profile::{TokenBody, TokenGrant, TokenProfile};
