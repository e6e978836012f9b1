//! Asks a model for a server, if the caller allows it.
#![expect(deprecated, reason = "servers of all revisions but the newest use it")]

use std::sync::Arc;

use antiphon_core::{Content, ContentPart, FinishReason, Media, Message, ModelRequest};
use antiphon_runtime::{CallContext, Model, SystemClock};
use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role, SamplingContent, SamplingMessage,
    SamplingMessageContentBlock,
};

/// The most tokens that a server gets for one request.
const MOST_TOKENS: u32 = 4096;

/// The model's reply to the conversation that a server has sent.
pub(super) async fn answer(
    model: &dyn Model,
    params: CreateMessageRequestParams,
) -> Result<CreateMessageResult, ErrorData> {
    let request = request(params)?;
    let cx = CallContext::new(Arc::new(SystemClock::default()));
    let reply = model.call(&request, &cx).await.map_err(|fault| {
        tracing::warn!(model = model.name(), %fault, "the request of a server to a model failed");
        // Why it failed is not the server's business.
        ErrorData::internal_error("the model did not answer", None)
    })?;
    let reason = match reply.finish {
        FinishReason::Length => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        _ => CreateMessageResult::STOP_REASON_END_TURN,
    };
    let message = SamplingMessage::assistant_text(reply.text);
    Ok(CreateMessageResult::new(message, reply.model).with_stop_reason(reason))
}

fn request(params: CreateMessageRequestParams) -> Result<ModelRequest, ErrorData> {
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err(ErrorData::invalid_params("tools are not supported in sampling", None));
    }
    let mut messages: Vec<_> = params.system_prompt.into_iter().map(Message::system).collect();
    for message in params.messages {
        let content = content(message.content)?;
        messages.push(match message.role {
            Role::User => Message::user(content),
            Role::Assistant => Message::assistant(content),
        });
    }
    Ok(ModelRequest {
        messages,
        temperature: params.temperature.map(f64::from),
        max_output_tokens: Some(params.max_tokens.min(MOST_TOKENS)),
        ..ModelRequest::default()
    })
}

fn content(given: SamplingContent<SamplingMessageContentBlock>) -> Result<Content, ErrorData> {
    let blocks = match given {
        SamplingContent::Single(block) => vec![block],
        SamplingContent::Multiple(blocks) => blocks,
    };
    let parts = blocks.into_iter().map(|block| match block {
        SamplingMessageContentBlock::Text(text) => Ok(ContentPart::text(text.text)),
        SamplingMessageContentBlock::Image(image) => {
            Ok(ContentPart::Image(Media::base64(image.mime_type, image.data)))
        }
        _ => {
            Err(ErrorData::invalid_params("only texts and images are supported in sampling", None))
        }
    });
    let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
    match <[_; 1]>::try_from(parts) {
        Ok([ContentPart::Text { text }]) => Ok(text.into()),
        Ok([part]) => Ok(vec![part].into()),
        Err(parts) => Ok(parts.into()),
    }
}
