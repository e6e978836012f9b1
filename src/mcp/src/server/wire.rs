//! Tools and their results, as clients read them.

use std::sync::Arc;

use antiphon_core::{
    Content, ContentPart, Fault, MediaSource, SideEffect, ToolOutcome, ToolSpec, tool,
};
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, ResourceContents, Tool, ToolAnnotations,
};
use serde_json::Value as Json;

/// A tool in the list.
pub(super) fn listed(spec: &ToolSpec) -> Tool {
    let schema: JsonObject = match &spec.parameters {
        Json::Object(fields) => fields.clone(),
        _ => JsonObject::new(),
    };
    let reads = matches!(spec.side_effect, SideEffect::None | SideEffect::Read);
    let hints = ToolAnnotations::new()
        .read_only(reads)
        .idempotent(spec.is_repeatable())
        .open_world(matches!(spec.side_effect, SideEffect::External));
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema)).with_annotations(hints)
}

/// The result of a call. A failed one is a result too: the client's model reads why.
pub(super) fn result(outcome: ToolOutcome) -> CallToolResult {
    let failed = !tool::succeeded(&outcome);
    let value = match outcome {
        Ok(value) => value,
        Err(fault) => return CallToolResult::error(vec![ContentBlock::text(explained(&fault))]),
    };
    if let Some(content) = Content::of_result(&value) {
        return CallToolResult::success(content.into_parts().into_iter().map(block).collect());
    }
    let mut result = match &value {
        Json::String(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Json::Object(_) => CallToolResult::structured(value),
        other => CallToolResult::success(vec![ContentBlock::text(other.to_string())]),
    };
    result.is_error = Some(failed);
    result
}

fn explained(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("{}\nhint: {hint}", fault.message),
        None => fault.message.clone(),
    }
}

fn block(part: ContentPart) -> ContentBlock {
    match part {
        ContentPart::Text { text } => ContentBlock::text(text),
        ContentPart::Data { value } => ContentBlock::text(value.to_string()),
        ContentPart::Image(media) => {
            let kind = media.mime_type.unwrap_or_else(|| "image/png".to_owned());
            match media.source {
                MediaSource::Base64(data) => ContentBlock::image(data, kind),
                MediaSource::Url(url) | MediaSource::Text(url) => ContentBlock::text(url),
            }
        }
        ContentPart::File { filename, media } => {
            let uri = address(filename.as_deref().unwrap_or("file"));
            let mime_type = media.mime_type;
            match media.source {
                MediaSource::Base64(blob) => match &mime_type {
                    Some(kind) if kind.starts_with("audio/") => ContentBlock::audio(blob, kind),
                    _ => {
                        let blob = ResourceContents::BlobResourceContents {
                            uri,
                            mime_type,
                            blob,
                            meta: None,
                        };
                        ContentBlock::resource(blob)
                    }
                },
                MediaSource::Text(text) => {
                    let text =
                        ResourceContents::TextResourceContents { uri, mime_type, text, meta: None };
                    ContentBlock::resource(text)
                }
                MediaSource::Url(url) => ContentBlock::text(url),
            }
        }
    }
}

/// A file's name as a URI; a name that is one stays as it is.
fn address(name: &str) -> String {
    if name.contains("://") {
        return name.to_owned();
    }
    name.bytes().fold("file:///".to_owned(), |uri, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            uri + &char::from(byte).to_string()
        }
        other => format!("{uri}%{other:02X}"),
    })
}
