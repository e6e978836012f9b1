//! HTML that pages have and models write: parsed as browsers parse it, made safe to show, and as
//! Markdown or plain text.
//!
//! The text is not trusted: it may repeat what a page or a tool says. Nothing here recurses, so
//! that no input exhausts the stack.

mod attribute_budget;
mod blocks;
mod nesting;
mod rendering;
mod sanitizer;
mod tree;

pub use blocks::{first_blocks, has_element};
pub use nesting::without_tags;
pub use rendering::{to_markdown, to_text};
pub use sanitizer::{escape, sanitize};
pub use tree::{HtmlNode, HtmlTree, NodeIndex};
