//! The page reader: web pages and documents as text that can be quoted.
//!
//! | module | holds |
//! |---|---|
//! | [`reader`] | requests, checks of replies, and the pages read last |
//! | [`stored_page`] | the text of a page, with excerpts and quotations at positions |
//! | [`quote`] | finding quotations by what a reader sees |
//! | [`settings`] | limits, and what may be reached |

mod conversion;
mod page_cache;
mod page_format;
pub mod quote;
pub mod reader;
pub mod settings;
pub mod stored_page;
mod tool;

pub use quote::find_quote;
pub use reader::PageReader;
pub use settings::{PageReaderSettings, RenderKind};
pub(crate) use stored_page::hexadecimal;
pub use stored_page::{PageExcerpt, StoredPage, text_id};
pub use tool::PageReading;
