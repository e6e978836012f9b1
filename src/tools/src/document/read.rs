//! Reads documents of any format, which may be hostile.

use super::format::DocumentFormat;
use super::text::DocumentText;
use super::{charset, html, markdown, office, pdf, table};

/// What one document may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLimits {
    /// The most characters of its text; the rest is cut, visibly.
    pub characters: usize,
    /// The most bytes that a packed document unpacks to.
    pub unpacked: u64,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self { characters: 2_000_000, unpacked: 200_000_000 }
    }
}

/// Why a document has no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentRefusal {
    /// It is not what its name says.
    #[error("the file is damaged or has another format: {0}")]
    Malformed(String),
    /// It unpacks to more than the limit.
    #[error("the file unpacks to more than the limit")]
    UnpacksTooLarge,
    /// It has no text, or it is encrypted.
    #[error("the file holds no text")]
    Empty,
    /// The format cannot be read.
    #[error("the format cannot be read: {0}")]
    Unsupported(&'static str),
}

impl DocumentRefusal {
    /// A short name for counts.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "damaged",
            Self::UnpacksTooLarge => "unpacks too large",
            Self::Empty => "no text",
            Self::Unsupported(_) => "format not supported",
        }
    }
}

/// The text of a document.
///
/// # Errors
/// The reason why it has none.
pub fn read_document(
    bytes: &[u8],
    format: DocumentFormat,
    limits: &DocumentLimits,
) -> Result<DocumentText, DocumentRefusal> {
    let limit = limits.characters;
    let document = match format {
        DocumentFormat::Html => html::html_text(&text_of(bytes)?, limit),
        DocumentFormat::Markdown => markdown::markdown_text(&text_of(bytes)?, limit),
        DocumentFormat::Text => markdown::plain_text(&text_of(bytes)?, limit),
        DocumentFormat::Csv => table::csv_text(&text_of(bytes)?, limit)?,
        DocumentFormat::Docx => office::docx_text(bytes, limits)?,
        DocumentFormat::Pptx => office::pptx_text(bytes, limits)?,
        DocumentFormat::OpenDocument => office::open_document_text(bytes, limits)?,
        DocumentFormat::Workbook => table::workbook_text(bytes, limits)?,
        DocumentFormat::Pdf => pdf::pdf_text(bytes, limits)?,
    };
    if document.text.trim().is_empty() { Err(DocumentRefusal::Empty) } else { Ok(document) }
}

/// Decodes text; a file of binary data is no text.
fn text_of(bytes: &[u8]) -> Result<String, DocumentRefusal> {
    let decoded = charset::decode(bytes, None);
    let sample = decoded.text.chars().take(4096);
    if decoded.charset.starts_with("UTF-16") || !sample.clone().any(|c| c == '\0') {
        return Ok(decoded.text);
    }
    Err(DocumentRefusal::Malformed("binary data".to_owned()))
}
