//! The tool `read_page`.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::reader::PageReader;
use super::settings::PageReaderSettings;
use super::stored_page::StoredPage;
use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

/// The most links that one call returns.
const LINKS: usize = 50;

const DESCRIPTION: &str = "Reads a web page, PDF or text file and returns its text from `offset` on, with its title, \
    author, date and links. If `next_offset` is not null, call again with it as `offset` to read on.";

/// The family of one tool, `read_page`.
#[derive(Debug)]
pub struct PageReading;

impl ToolFamily for PageReading {
    const NAME: &'static str = "read_page";
    const DESCRIPTION: &'static str = "The text of web pages and documents, with positions.";
    type Settings = PageReaderSettings;

    fn open(settings: PageReaderSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let reader = PageReader::new(&settings)?;
        // Escapes of JSON and the facts around the text.
        let characters = reader.excerpt() * 2 + 20_000;
        let timeout = reader.timeout();
        let tool = TypedTool::new("read_page", DESCRIPTION, SideEffect::Read, ReadPage { reader });
        Ok(vec![Arc::new(tool.timeout(timeout).max_result(characters))])
    }
}

/// The arguments of `read_page`.
#[derive(Deserialize, JsonSchema)]
struct ReadPageArguments {
    /// The whole address, beginning with `https://` or `http://`.
    url: String,
    /// The position of the first character to return; 0 reads the page anew.
    #[serde(default)]
    offset: usize,
}

#[derive(Debug)]
struct ReadPage {
    reader: PageReader,
}

#[async_trait]
impl ToolFunction for ReadPage {
    type Arguments = ReadPageArguments;

    async fn call(&self, arguments: ReadPageArguments, cx: &CallContext) -> ToolOutcome {
        let ReadPageArguments { url, offset } = arguments;
        let page = if offset == 0 {
            self.reader.read(&url, &*cx.clock).await?
        } else {
            self.reader.read_again(&url, &*cx.clock).await?
        };
        if offset >= page.characters {
            let message = format!(
                "`offset` must be below the length of the page, {}: {offset}",
                page.characters
            );
            return Err(Fault::new(FaultCode::InvalidValue, message));
        }
        Ok(page_view(&page, offset, self.reader.excerpt()))
    }
}

/// What the model reads: facts first, then the text.
fn page_view(page: &StoredPage, offset: usize, limit: usize) -> Json {
    let excerpt = page.excerpt_from(offset, limit);
    let links: Vec<Json> = page
        .links_in(excerpt.range)
        .take(LINKS)
        .map(|link| {
            let text = page.document.slice(link.range);
            json!({"number": link.number, "text": text, "url": link.url})
        })
        .collect();
    let next = (excerpt.range.end < page.characters).then_some(excerpt.range.end);
    json!({
        "url": page.url,
        "title": page.document.title,
        "byline": page.byline,
        "published": page.published,
        "format": page.format,
        "page_id": excerpt.page,
        "start": excerpt.range.start,
        "end": excerpt.range.end,
        "characters": page.characters,
        "next_offset": next,
        "truncated": page.document.truncated,
        "text": excerpt.text,
        "links": links,
    })
}
