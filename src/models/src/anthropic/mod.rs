//! Anthropic's API: `POST …/v1/messages`, with one JSON object or a stream of events as the reply.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@request`] | a request as JSON |
//! | [`turns`] | the conversation as turns of the user and the assistant |
//! | [`reply`], [`stream`] | a whole reply; a reply assembled from events |

pub mod reply;
pub mod request;
pub mod stream;
pub mod turns;

use antiphon_core::{Fault, ModelReply};
use serde_json::Value as Json;

use crate::anthropic::stream::BlockAssembler;
use crate::http_model::HttpModel;
use crate::wire::{StreamAssembler, WireExchange, WireFormat};

/// A model behind this API.
pub type AnthropicMessages = HttpModel<AnthropicWire>;

/// Anthropic's API.
#[derive(Clone, Copy, Debug)]
pub struct AnthropicWire;

impl WireFormat for AnthropicWire {
    fn encode(exchange: WireExchange<'_>, streamed: bool) -> Json {
        request::encode(exchange, streamed)
    }

    fn decode(body: &[u8], exchange: WireExchange<'_>) -> Result<ModelReply, Fault> {
        reply::decode(body, exchange)
    }

    fn assembler(exchange: WireExchange<'_>) -> Box<dyn StreamAssembler + Send + '_> {
        Box::new(BlockAssembler::new(exchange))
    }
}
