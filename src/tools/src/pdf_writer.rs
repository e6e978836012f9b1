//! Text and Markdown as PDF files.
//!
//! Four steps, each a module: Markdown becomes blocks (`blocks`), `parley` sets their text in lines
//! (`typesetter`), the lines flow over pages (`flow`, `table`), and `krilla` draws the pages
//! (`drawing`). No step reads a file; images come from a closure, so that the tool alone decides
//! what may be read.

mod blocks;
mod drawing;
mod flow;
mod fonts;
mod markdown;
mod page;
mod rich_text;
mod settings;
mod table;
mod tool;
mod typesetter;

pub use settings::{MarginSettings, PageSize, WritePdfSettings};
pub use tool::WritePdf;
