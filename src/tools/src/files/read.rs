//! `read_file`.

use std::fmt::Write as _;
use std::sync::Arc;

use antiphon_core::{Content, ContentPart, Fault, FaultCode, Media, ToolOutcome};
use antiphon_runtime::CallContext;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::access::FolderAccess;
use super::blocking;
use super::relative_path::RelativePath;
use crate::document::decode;
use crate::typed_tool::ToolFunction;

/// The most characters of one answer; they end with a line.
const MAX_TEXT: usize = 18_000;
/// The largest image that a model is shown.
const MAX_IMAGE: usize = 5_000_000;

/// The arguments of `read_file`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadFileArguments {
    /// The path, relative to the root: notes/plan.md
    path: String,
    /// The first line to read, counted from 1.
    start_line: Option<usize>,
    /// How many lines to read; all by default, as far as an answer holds them.
    lines: Option<usize>,
}

#[derive(Debug)]
pub(super) struct ReadFile(pub(super) Arc<FolderAccess>);

#[async_trait]
impl ToolFunction for ReadFile {
    type Arguments = ReadFileArguments;

    async fn call(&self, arguments: ReadFileArguments, _: &CallContext) -> ToolOutcome {
        let access = self.0.clone();
        blocking(move || {
            let path = access.resolve_file(&arguments.path)?;
            let bytes = access.root.read(&path, access.max_file_size)?;
            if let Some(kind) = Media::image_type(&bytes) {
                return image(&path, &bytes, kind);
            }
            let text = text(&path, &bytes)?;
            Ok(json!(lines(&text, arguments.start_line.unwrap_or(1), arguments.lines)))
        })
        .await
    }
}

fn image(path: &RelativePath, bytes: &[u8], kind: &str) -> ToolOutcome {
    if bytes.len() > MAX_IMAGE {
        let message = format!("the image is larger than {MAX_IMAGE} bytes: {path}");
        return Err(Fault::new(FaultCode::FileTooLarge, message));
    }
    let caption = ContentPart::text(format!("{path}, {kind}, {} bytes", bytes.len()));
    let image = ContentPart::Image(Media::base64(kind, STANDARD.encode(bytes)));
    Ok(json!({"content": Content::from(vec![caption, image])}))
}

/// The text of a file in whatever charset it is.
pub(super) fn text(path: &RelativePath, bytes: &[u8]) -> Result<String, Fault> {
    if let Some(kind) = binary_kind(bytes) {
        let message = format!("not a text file ({kind}, {} bytes): {path}", bytes.len());
        return Err(Fault::new(FaultCode::FileNotText, message)
            .hint("read text files and images; other files need a tool of their own"));
    }
    Ok(decode(bytes, None).text)
}

/// What a file is that is no text.
fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    let kind = match bytes {
        [b'%', b'P', b'D', b'F', b'-', ..] => "PDF document",
        [b'P', b'K', 3, 4, ..] => "ZIP archive or office document",
        [0x1f, 0x8b, ..] => "gzip archive",
        [0x7f, b'E', b'L', b'F', ..] | [b'M', b'Z', _, 0, ..] => "program",
        [b'S', b'Q', b'L', b'i', b't', b'e', b' ', ..] => "SQLite database",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return None,
        _ => {
            let sample = bytes.get(..bytes.len().min(8192)).unwrap_or_default();
            return sample.contains(&0).then_some("binary data");
        }
    };
    Some(kind)
}

/// The lines from `start` on, as far as an answer holds them, and where to read on.
fn lines(text: &str, start: usize, count: Option<usize>) -> String {
    let total = text.lines().count();
    let start = start.max(1);
    let mut shown = String::new();
    let mut last = start - 1;
    let mut size = 0;
    for line in text.lines().skip(start - 1).take(count.unwrap_or(usize::MAX)) {
        let length = line.chars().count() + 1;
        if size + length > MAX_TEXT {
            if size == 0 {
                shown.extend(line.chars().take(MAX_TEXT));
                let _ = write!(
                    shown,
                    "\n[line {start} has {} characters; the rest is not shown]",
                    length - 1
                );
                last += 1;
            }
            break;
        }
        size += length;
        last += 1;
        shown.push_str(line);
        shown.push('\n');
    }
    if start == 1 && last == total {
        if !text.ends_with('\n') {
            shown.pop();
        }
        return shown;
    }
    if last < start {
        let _ = write!(shown, "[the file has {total} lines]");
    } else if last < total {
        let _ = write!(
            shown,
            "[lines {start} to {last} of {total}; read on with start_line {}]",
            last + 1
        );
    } else {
        let _ = write!(shown, "[lines {start} to {last}, the last]");
    }
    shown
}
