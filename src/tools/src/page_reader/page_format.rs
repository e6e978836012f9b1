//! Which format a reply has, by what its server says and by its first bytes.

use crate::document::DocumentFormat;

/// The format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageFormat {
    Html,
    Json,
    Document(DocumentFormat),
}

impl PageFormat {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Json => "json",
            Self::Document(format) => format.as_str(),
        }
    }
}

/// Formats by media type.
const TYPES: [(&str, DocumentFormat); 11] = [
    ("application/pdf", DocumentFormat::Pdf),
    ("text/markdown", DocumentFormat::Markdown),
    ("text/x-markdown", DocumentFormat::Markdown),
    ("text/csv", DocumentFormat::Csv),
    ("text/tab-separated-values", DocumentFormat::Csv),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        DocumentFormat::Docx,
    ),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        DocumentFormat::Pptx,
    ),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", DocumentFormat::Workbook),
    ("application/vnd.oasis.opendocument.text", DocumentFormat::OpenDocument),
    ("application/vnd.oasis.opendocument.presentation", DocumentFormat::OpenDocument),
    ("application/vnd.oasis.opendocument.spreadsheet", DocumentFormat::OpenDocument),
];

/// The format of `body`; `None` if it is no text that can be read. `path` is that of the URL.
pub(super) fn page_format(media_type: &str, path: &str, body: &[u8]) -> Option<PageFormat> {
    if body.starts_with(b"%PDF-") {
        return Some(PageFormat::Document(DocumentFormat::Pdf));
    }
    let declared = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let by_name = DocumentFormat::of_path(std::path::Path::new(path));
    if let Some((_, format)) = TYPES.iter().find(|(name, _)| *name == declared) {
        return Some(PageFormat::Document(*format));
    }
    match &*declared {
        "text/html" | "application/xhtml+xml" => Some(PageFormat::Html),
        "application/json" | "text/json" => Some(PageFormat::Json),
        name if name.starts_with("application/") && name.ends_with("+json") => {
            Some(PageFormat::Json)
        }
        // Servers send files that they do not know as plain text.
        "text/plain" if by_name == Some(DocumentFormat::Markdown) => {
            Some(PageFormat::Document(DocumentFormat::Markdown))
        }
        "application/xml" | "application/javascript" | "application/x-ndjson" => Some(plain()),
        name if name.starts_with("text/") || name.ends_with("+xml") => Some(plain()),
        "" | "application/octet-stream" | "binary/octet-stream" | "application/download" => {
            undeclared(by_name, body)
        }
        _ => None,
    }
}

const fn plain() -> PageFormat {
    PageFormat::Document(DocumentFormat::Text)
}

fn undeclared(by_name: Option<DocumentFormat>, body: &[u8]) -> Option<PageFormat> {
    let head = body.get(..body.len().min(512)).unwrap_or_default().to_ascii_lowercase();
    let head = head.trim_ascii_start();
    if head.starts_with(b"<!doctype html") || head.starts_with(b"<html") {
        return Some(PageFormat::Html);
    }
    match by_name {
        Some(DocumentFormat::Html) => Some(PageFormat::Html),
        Some(DocumentFormat::Pdf) | None => {
            let is_text = !body.is_empty() && std::str::from_utf8(body).is_ok();
            (is_text && !body.contains(&0)).then(plain)
        }
        Some(format) => Some(PageFormat::Document(format)),
    }
}
