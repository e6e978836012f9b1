//! The built-in tools. Each is native: agents in Python and ready systems call it without Python
//! on the way.
//!
//! | module | holds |
//! |---|---|
//! | [`browser`] | a headless Chromium behind the address policy |
//! | [`download`] | files of the web into a folder |
//! | [`page_reader`] | web pages and documents as text that can be quoted |
//! | [`document`] | the text of documents with positions: HTML, Markdown, office files, tables |
//! | [`document_search`] | search in a folder of documents |
//! | [`pdf_writer`] | PDF files from text and Markdown |
//! | [`http_api`] | calls of APIs that a catalogue describes |
//! | [`sql`] | read-only queries of SQLite and PostgreSQL |
//! | [`secret_text`] | settings whose values are secret |
//! | [`web_search`] | search on the web |
//! | [`typed_tool`] | a tool made of a Rust type for its arguments and one async function |
//! | [`calculator`] | arithmetic, units, dates, statistics |
//! | [`files`] | files below one folder, which no path leads out of |
//! | [`registry`](mod@registry) | all tools by name, with the schemas of their settings |

pub mod browser;
pub mod calculator;
pub mod document;
pub mod document_search;
pub mod download;
#[cfg(feature = "echo")]
pub mod echo;
pub mod files;
pub mod http_api;
pub mod page_reader;
pub mod pdf_writer;
pub mod registry;
pub mod secret_text;
pub mod sql;
pub mod typed_tool;
mod web;
pub mod web_search;

pub use registry::{ToolEntry, find, registry};
pub use secret_text::SecretText;
pub use typed_tool::{ToolFunction, TypedTool};
