//! The API that most providers speak: `POST …/chat/completions`, with one JSON object or a
//! stream of events as the reply.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@request`] | a request as JSON |
//! | `content` | texts, images and files of a message as JSON |
//! | [`body`] | the form of replies, parsed leniently |
//! | `image` | images in replies |
//! | [`reply`], [`stream`] | a whole reply; a reply assembled from chunks |

mod content;
mod image;

pub mod body;
pub mod reply;
pub mod request;
pub mod stream;

use antiphon_core::{Fault, ModelReply};
use serde_json::Value as Json;

use crate::http_model::HttpModel;
use crate::openai_chat::stream::DeltaAssembler;
use crate::wire::{StreamAssembler, WireExchange, WireFormat};

/// A model behind this API.
pub type OpenAiChat = HttpModel<OpenAiChatWire>;

/// The OpenAI chat API.
#[derive(Clone, Copy, Debug)]
pub struct OpenAiChatWire;

impl WireFormat for OpenAiChatWire {
    fn encode(exchange: WireExchange<'_>, streamed: bool) -> Json {
        request::encode(exchange, streamed)
    }

    fn decode(body: &[u8], exchange: WireExchange<'_>) -> Result<ModelReply, Fault> {
        reply::decode(body, exchange.failure())
    }

    fn assembler(exchange: WireExchange<'_>) -> Box<dyn StreamAssembler + Send + '_> {
        Box::new(DeltaAssembler::new(exchange.failure()))
    }
}
