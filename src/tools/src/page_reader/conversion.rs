//! From the bytes of a reply to the text of a page. What is read may be hostile: the work is done on another thread,
//! where a panic harms nobody, and is bounded in size.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::Url;
use serde_json::Value as Json;
use tokio::sync::Semaphore;

use super::page_format::PageFormat;
use super::stored_page::StoredPage;
use crate::document::{
    DocumentFormat, DocumentLimits, DocumentRefusal, decode, html_article, read_document,
};

/// Text that hardly says anything: a page with so few characters and scripts is filled by these.
pub(super) const ALMOST_EMPTY: usize = 200;

/// A page with a password field and fewer characters than this is a login form.
const LOGIN_FORM: usize = 800;

/// A reply to convert.
pub(super) struct PageSource {
    pub(super) url: Url,
    pub(super) format: PageFormat,
    /// The charset that the server names.
    pub(super) charset: Option<String>,
    pub(super) body: Vec<u8>,
}

/// A page, and whether its scripts would add to it.
#[derive(Debug)]
pub(super) struct ConvertedPage {
    pub(super) page: StoredPage,
    pub(super) wants_scripts: bool,
    pub(super) is_login: bool,
}

/// Converts pages, a few at a time: a page that takes forever keeps one place.
#[derive(Debug)]
pub(super) struct PageConverter {
    places: Arc<Semaphore>,
    limits: DocumentLimits,
}

impl PageConverter {
    pub(super) fn new(characters: usize) -> Self {
        let limits = DocumentLimits { characters, ..DocumentLimits::default() };
        Self { places: Arc::new(Semaphore::new(4)), limits }
    }

    /// The text of a reply; it may be empty.
    ///
    /// # Errors
    /// `page_unreadable`.
    pub(super) async fn convert(&self, source: PageSource) -> Result<ConvertedPage, Fault> {
        let limits = self.limits;
        let url = source.url.clone();
        let place = Arc::clone(&self.places).acquire_owned().await;
        let work = tokio::task::spawn_blocking(move || {
            let _place = place;
            convert(source, &limits)
        });
        match work.await {
            Ok(converted) => converted.map_err(|refusal| unreadable(&url, &refusal.to_string())),
            Err(_) => Err(unreadable(&url, "its reader gave up")),
        }
    }
}

fn unreadable(url: &Url, cause: &str) -> Fault {
    let place = antiphon_net::without_secrets(url);
    Fault::new(FaultCode::PageUnreadable, format!("the page {place} cannot be read: {cause}"))
        .hint("use another source")
}

fn convert(source: PageSource, limits: &DocumentLimits) -> Result<ConvertedPage, DocumentRefusal> {
    let PageSource { url, format, charset, body } = source;
    let declared = charset.as_deref();
    let plain = |page| ConvertedPage { page, wants_scripts: false, is_login: false };
    let document = match format {
        PageFormat::Html => {
            let html = decode(&body, declared).text;
            return Ok(article(&html, &url, limits));
        }
        PageFormat::Json => pretty(decode(&body, declared).text).into_bytes(),
        // Only texts have a charset.
        PageFormat::Document(
            DocumentFormat::Markdown | DocumentFormat::Text | DocumentFormat::Csv,
        ) if declared.is_some() => decode(&body, declared).text.into_bytes(),
        PageFormat::Document(_) => body,
    };
    let reader = match format {
        PageFormat::Document(format) => format,
        PageFormat::Html | PageFormat::Json => DocumentFormat::Text,
    };
    let text = match read_document(&document, reader, limits) {
        Err(DocumentRefusal::Empty) => crate::document::DocumentText::default(),
        other => other?,
    };
    Ok(plain(StoredPage::new(url.into(), format.as_str(), text)))
}

fn article(html: &str, url: &Url, limits: &DocumentLimits) -> ConvertedPage {
    let article = html_article(html, url, limits.characters);
    let mut page = StoredPage::new(url.to_string(), PageFormat::Html.as_str(), article.document);
    (page.byline, page.published) = (article.byline, article.published);
    page.links = article.links;
    let text = page.characters;
    ConvertedPage {
        page,
        wants_scripts: article.has_scripts && text < ALMOST_EMPTY,
        is_login: article.asks_for_password && text < LOGIN_FORM,
    }
}

/// JSON with one value a line, so that parts of it can be read and quoted.
fn pretty(text: String) -> String {
    let value: Result<Json, _> = serde_json::from_str(&text);
    value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or(text)
}
