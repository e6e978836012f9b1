//! The API that most providers speak: `POST …/chat/completions`, with one JSON object or a
//! stream of events as the reply.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@request`] | a request as JSON |
//! | `content` | texts, images and files of a message as JSON |
//! | [`body`] | the form of replies, parsed leniently |
//! | [`reply`], [`stream`] | a whole reply; a reply assembled from chunks |

mod content;

pub mod body;
pub mod reply;
pub mod request;
pub mod stream;

use antiphon_core::{Fault, ModelReply};
use serde_json::Value as Json;

use crate::http_model::HttpModel;
use crate::openai_chat::stream::DeltaAssembler;
use crate::wire::{Exchange, StreamAssembler, Wire};

/// A model behind this API.
pub type OpenAiChat = HttpModel<OpenAiChatWire>;

/// The OpenAI chat API.
#[derive(Clone, Copy, Debug)]
pub struct OpenAiChatWire;

impl Wire for OpenAiChatWire {
    fn encode(exchange: Exchange<'_>, streamed: bool) -> Json {
        request::encode(exchange, streamed)
    }

    fn decode(body: &[u8], exchange: Exchange<'_>) -> Result<ModelReply, Fault> {
        reply::decode(body, exchange.failure())
    }

    fn assembler(exchange: Exchange<'_>) -> Box<dyn StreamAssembler + Send + '_> {
        Box::new(DeltaAssembler::new(exchange.failure()))
    }
}
