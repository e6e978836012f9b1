//! Encoding of what messages say.

use antiphon_core::{Content, ContentPart, Media, MediaSource, Message, Role};
use serde_json::{Value as Json, json};

/// The content of a message. Results of tools and replies are text only on this wire: their images
/// and files follow in a message of the user.
pub(crate) fn content(message: &Message) -> Json {
    match &message.content {
        Content::Text(text) => json!(text),
        Content::Parts(parts) if matches!(message.role, Role::Tool | Role::Assistant) => {
            let names = parts.iter().enumerate().map(|(index, part)| match part.as_text() {
                Some(text) => text.into_owned(),
                None => format!("[{}: see below]", label(message, index)),
            });
            json!(names.collect::<Vec<_>>().join("\n"))
        }
        Content::Parts(parts) => parts.iter().map(content_part).collect(),
    }
}

/// The images and files of a tool's result or of a reply, each with a line that says what it is.
pub(crate) fn media_of(message: &Message) -> Vec<Json> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    let media = parts.iter().enumerate().filter(|(_, part)| part.as_text().is_none());
    let labelled = media.flat_map(|(index, part)| {
        let line = format!("[{}]", label(message, index));
        [json!({"type": "text", "text": line}), content_part(part)]
    });
    labelled.collect()
}

fn label(message: &Message, index: usize) -> String {
    if message.role == Role::Assistant {
        return format!("part {} of your reply", index + 1);
    }
    let tool = message.name.as_deref().unwrap_or("tool");
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    format!("part {} of the result of {tool} {id}", index + 1)
}

fn content_part(part: &ContentPart) -> Json {
    match part {
        ContentPart::Image(image) => {
            json!({"type": "image_url", "image_url": {"url": image.as_url()}})
        }
        ContentPart::File {
            filename,
            media: media @ Media { source: MediaSource::Base64(_), .. },
        } => {
            let filename = filename.as_deref().unwrap_or("file");
            json!({"type": "file", "file": {"filename": filename, "file_data": media.as_url()}})
        }
        // The wire takes no address of a file.
        ContentPart::File { media: Media { source: MediaSource::Url(url), .. }, .. } => {
            json!({"type": "text", "text": url})
        }
        part => json!({"type": "text", "text": part.as_text().unwrap_or_default()}),
    }
}
