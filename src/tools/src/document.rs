//! The text of documents: HTML, Markdown, office files and tables as one canonical text with positions.
//!
//! | module | holds |
//! |---|---|
//! | [`text`] | the canonical text, its headings and ranges |
//! | [`charset`] | bytes to text |
//! | [`format`](mod@format) | which format a file has |
//! | [`html`] | HTML to canonical text |
//! | [`markdown`] | Markdown and plain text |
//! | [`office`] | Word, `PowerPoint` and `OpenDocument` texts |
//! | [`pdf`] | PDF files |
//! | [`table`] | workbooks and CSV files |
//! | [`read`] | any of them, with limits |

mod archive;
pub mod charset;
pub mod format;
pub mod html;
pub mod markdown;
pub mod office;
pub mod pdf;
pub mod read;
pub mod table;
pub mod text;
mod writer;

pub use charset::{DecodedText, decode};
pub use format::DocumentFormat;
pub use html::{HtmlArticle, PageLink, html_article, html_text};
pub use read::{DocumentLimits, DocumentRefusal, read_document};
pub use text::{CharRange, DocumentHeading, DocumentText};
