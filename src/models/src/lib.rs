//! Language models behind wires, and the layers around them. All of them implement
//! [`antiphon_runtime::Model`].
//!
//! | module | holds |
//! |---|---|
//! | [`mod@open`], [`name`], [`provider`], [`settings`], [`endpoint`] | from `openai:gpt-5-mini`
//! to a model that can be called |
//! | [`capabilities`], [`family`] | what a model accepts: by provider, by family, by setting |
//! | [`http_model`], [`wire`] | a model behind an address; what differs between the APIs |
//! | [`openai_chat`], [`anthropic`] | the API that most providers speak; Anthropic's |
//! | [`strict_schema`] | schemas in the subsets that servers guarantee |
//! | [`failure`] | failures of a wire as faults |
//! | [`retrying`], [`fallback`] | layers: retries, and other models |
//! | [`recording`] | requests and replies in a file, and a model that repeats them |
//! | [`scripted`] | a model with prepared replies, for tests |

pub mod anthropic;
pub mod capabilities;
pub mod endpoint;
pub mod failure;
pub mod fallback;
pub mod family;
pub mod http_model;
pub mod name;
pub mod open;
pub mod openai_chat;
pub mod provider;
pub mod recording;
pub mod retrying;
pub mod scripted;
pub mod settings;
pub mod strict_schema;
pub mod wire;

pub use anthropic::AnthropicMessages;
pub use antiphon_net::Secret;
pub use fallback::Fallback;
pub use http_model::HttpModel;
pub use name::ModelName;
pub use open::open;
pub use openai_chat::OpenAiChat;
pub use provider::{PROVIDERS, Provider};
pub use recording::{RecordingModel, ReplayModel};
pub use retrying::Retrying;
pub use scripted::{ScriptBranch, ScriptedModel, ScriptedReply};
pub use settings::ModelSettings;
