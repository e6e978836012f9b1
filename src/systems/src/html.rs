//! HTML that models write: made safe to show, found in a longer text, and as Markdown or plain text.
//!
//! The text is not trusted: it may repeat what a page or a tool says.

mod element;
mod entity;
mod rendering;
mod sanitizer;
mod token;

pub use element::{first_element, has_element};
pub use rendering::{to_markdown, to_text};
pub use sanitizer::{escape, sanitize};
