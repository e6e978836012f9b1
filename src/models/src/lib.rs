//! Language models behind wires, and the layers around them. All of them implement
//! [`antiphon_runtime::Model`].
//!
//! | module | holds |
//! |---|---|
//! | [`mod@open`], [`name`], [`provider`], [`settings`], [`endpoint`] | from `openai:gpt-5-mini`
//! to a model that can be called |
//! | [`openai_chat`] | the wire that most providers speak |
//! | [`failure`] | failures of a wire as faults |
//! | [`retrying`], [`fallback`] | layers: retries, and other models |
//! | [`scripted`] | a model with prepared replies, for tests |

pub mod endpoint;
pub mod failure;
pub mod fallback;
pub mod name;
pub mod open;
pub mod openai_chat;
pub mod provider;
pub mod retrying;
pub mod scripted;
pub mod settings;

pub use antiphon_net::Secret;
pub use fallback::Fallback;
pub use name::ModelName;
pub use open::open;
pub use openai_chat::OpenAiChat;
pub use provider::{PROVIDERS, Provider};
pub use retrying::Retrying;
pub use scripted::{ScriptBranch, ScriptedModel, ScriptedReply};
pub use settings::ModelSettings;
