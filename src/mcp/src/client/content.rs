//! Results of tools, as agents read them.

use antiphon_core::{ContentPart, Fault, FaultCode, Media, MediaSource, ToolOutcome};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value as Json, json};

/// Characters of an error of a tool that a fault quotes.
const QUOTED: usize = 4000;

/// The outcome of a call. What the server calls an error is a failed call.
///
/// One text is a string, structured content is its value, and anything else is
/// `{"content": [parts]}`.
pub(super) fn outcome(tool: &str, result: CallToolResult) -> ToolOutcome {
    if result.is_error == Some(true) {
        return Err(failure(tool, &result));
    }
    let plain = result.content.iter().all(|block| matches!(block, ContentBlock::Text(_)));
    let mut parts: Vec<_> = result.content.into_iter().map(part).collect();
    match result.structured_content {
        // The texts only repeat it, for clients that know no structured content.
        Some(value) if plain => return Ok(unmistakable(value)),
        Some(value) if !parts.iter().any(|part| matches!(part, ContentPart::Text { .. })) => {
            parts.push(ContentPart::Data { value });
        }
        _ => {}
    }
    Ok(match parts.as_slice() {
        [] => Json::String(String::new()),
        [ContentPart::Text { text }] => Json::String(text.clone()),
        parts => json!({"content": parts}),
    })
}

/// A value of a server that cannot be taken for content parts: those may hold addresses, which
/// the provider of a model would visit.
fn unmistakable(value: Json) -> Json {
    let looks_like_parts =
        value.as_object().is_some_and(|it| it.len() == 1 && it.contains_key("content"));
    if looks_like_parts { json!({"content": [ContentPart::Data { value }]}) } else { value }
}

fn failure(tool: &str, result: &CallToolResult) -> Fault {
    let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str()));
    let mut text = texts.collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() {
        text = match &result.structured_content {
            Some(value) => value.to_string(),
            None => "the server gave no reason".to_owned(),
        };
    }
    if let Some((end, _)) = text.char_indices().nth(QUOTED) {
        text.truncate(end);
        text.push('…');
    }
    Fault::new(FaultCode::ToolFailed, format!("`{tool}` failed: {text}")).with("tool", tool)
}

fn part(block: ContentBlock) -> ContentPart {
    match block {
        ContentBlock::Text(text) => ContentPart::text(text.text),
        ContentBlock::Image(image) if image.mime_type.starts_with("image/") => {
            bytes(image.data, Some(image.mime_type), None)
        }
        ContentBlock::Image(image) => bytes(image.data, Some(image.mime_type), Some("image")),
        ContentBlock::Audio(audio) => bytes(audio.data, Some(audio.mime_type), Some("audio")),
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        // Only its address is known. It stays a text: nobody should visit it unasked.
        ContentBlock::ResourceLink(link) => ContentPart::Data {
            value: json!({"resource": link.uri, "name": link.name,
                "description": link.description, "mime_type": link.mime_type}),
        },
        other => ContentPart::Data { value: json!(other) },
    }
}

fn resource(contents: ResourceContents) -> ContentPart {
    match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => ContentPart::File {
            filename: Some(uri),
            media: Media { mime_type, source: MediaSource::Text(text) },
        },
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            bytes(blob, mime_type, Some(&uri))
        }
        other => ContentPart::Data { value: json!(other) },
    }
}

/// An image, or a file of that name; a note if the data is damaged, which no provider accepts.
fn bytes(data: String, mime_type: Option<String>, filename: Option<&str>) -> ContentPart {
    if !is_base64(&data) {
        return ContentPart::text("[the server sent data that is no base64]");
    }
    let media = Media { mime_type, source: MediaSource::Base64(data) };
    match filename {
        None => ContentPart::Image(media),
        Some(name) => ContentPart::File { filename: Some(name.to_owned()), media },
    }
}

fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let padding = data.len() - body.len();
    let plain = body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    !body.is_empty() && plain && padding <= 2 && data.len().is_multiple_of(4)
}
