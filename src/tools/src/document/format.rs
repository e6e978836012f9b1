//! Which format a document has.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The formats of documents.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    /// HTML or XHTML.
    Html,
    /// Markdown.
    Markdown,
    /// Plain text, and texts whose marks are kept as they are: reStructuredText, `AsciiDoc`.
    Text,
    /// PDF.
    Pdf,
    /// A text of Word: `.docx`.
    Docx,
    /// A presentation of `PowerPoint`: `.pptx`.
    Pptx,
    /// A text, presentation or workbook of `OpenDocument`: `.odt`, `.odp`, `.ods`.
    OpenDocument,
    /// A workbook of Excel: `.xlsx`, `.xlsm`, `.xlsb`.
    Workbook,
    /// Comma- or tab-separated values.
    Csv,
}

/// Formats by the ending of a file's name.
const ENDINGS: &[(DocumentFormat, &[&str])] = &[
    (DocumentFormat::Html, &["html", "htm", "xhtml"]),
    (DocumentFormat::Markdown, &["md", "markdown", "mdx"]),
    (DocumentFormat::Text, &["txt", "text", "rst", "adoc", "asciidoc", "org", "log"]),
    (DocumentFormat::Pdf, &["pdf"]),
    (DocumentFormat::Docx, &["docx", "docm"]),
    (DocumentFormat::Pptx, &["pptx", "pptm"]),
    (DocumentFormat::OpenDocument, &["odt", "odp", "ods"]),
    (DocumentFormat::Workbook, &["xlsx", "xlsm", "xlsb"]),
    (DocumentFormat::Csv, &["csv", "tsv"]),
];

impl DocumentFormat {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Html,
        Self::Markdown,
        Self::Text,
        Self::Pdf,
        Self::Docx,
        Self::Pptx,
        Self::OpenDocument,
        Self::Workbook,
        Self::Csv,
    ];

    /// The format of a file by its name; `None` for a file that is no document.
    pub fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        ENDINGS
            .iter()
            .find(|(_, endings)| endings.contains(&ending.as_str()))
            .map(|(format, _)| *format)
    }

    /// Its name, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::OpenDocument => "open_document",
            Self::Workbook => "workbook",
            Self::Csv => "csv",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}
