//! Language models behind wires, and the layers around them. Every one of
//! them is an [`antiphon_runtime::Model`].
//!
//! | module | holds |
//! |---|---|
//! | [`mod@open`], [`name`], [`provider`], [`settings`], [`endpoint`] | from `openai:gpt-5-mini` to something that can be asked |
//! | [`openai_chat`] | the wire that most providers speak |
//! | [`failure`] | how a wire's troubles become faults |
//! | [`retrying`], [`fallback`] | layers: again, and somewhere else |
//! | [`scripted`] | a model that answers what a test told it to |

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
