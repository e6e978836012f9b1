//! Reads a page: request, checks of the reply, conversion, and a browser where scripts make the page.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::{
    GuardedClient, GuardedOptions, HttpError, HttpRequest, Url, within, without_secrets,
};
use antiphon_runtime::Clock;

use super::conversion::{ConvertedPage, PageConverter, PageSource};
use super::page_cache::PageCache;
use super::page_format::{PageFormat, page_format};
use super::settings::{PageReaderSettings, RenderKind};
use super::stored_page::StoredPage;
use crate::browser::{BrowserError, ChromiumBrowser};
use crate::web::{above_zero, address_policy, check_status, login_required, parse_url, time_limit};

/// What pages are asked for in.
const ACCEPT: &str = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,\
    application/pdf;q=0.8,application/json;q=0.8,*/*;q=0.5";

/// Reads pages under an address policy and keeps the last ones.
///
/// ```no_run
/// # async fn example() -> Result<(), antiphon_core::Fault> {
/// use antiphon_tools::page_reader::{PageReader, PageReaderSettings};
/// let reader = PageReader::new(&PageReaderSettings::default())?;
/// let clock = antiphon_runtime::SystemClock::default();
/// let page = reader.read("https://example.com/", &clock).await?;
/// println!("{}", page.excerpt_from(0, 1000).text);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PageReader {
    client: GuardedClient,
    converter: PageConverter,
    cache: PageCache,
    timeout: Duration,
    max_bytes: usize,
    excerpt: usize,
    render: RenderKind,
    browser: Option<ChromiumBrowser>,
}

impl PageReader {
    /// A reader that has read nothing.
    ///
    /// # Errors
    /// `tool_setting_invalid`.
    pub fn new(settings: &PageReaderSettings) -> Result<Self, Fault> {
        let policy = address_policy(&settings.allow, &settings.ports)?;
        Ok(Self {
            client: GuardedClient::new(policy, GuardedOptions::default()),
            converter: PageConverter::new(above_zero("max_characters", settings.max_characters)?),
            cache: PageCache::default(),
            timeout: time_limit(settings.timeout)?,
            max_bytes: above_zero("max_bytes", settings.max_bytes)?,
            excerpt: above_zero("excerpt", settings.excerpt)?,
            render: settings.render,
            browser: find_browser(settings)?,
        })
    }

    /// The most characters that one call of the tool returns.
    pub const fn excerpt(&self) -> usize {
        self.excerpt
    }

    /// The longest that reading a page may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Reads a page.
    ///
    /// # Errors
    /// `url_invalid`, `address_refused`, `redirect_refused`, `server_unreachable`, `reply_too_large`, `page_timeout`,
    /// `page_refused`, `page_unavailable`, `page_login_required`, `page_type_unsupported`,
    /// `page_unreadable`, `page_empty`.
    pub async fn read(&self, url: &str, clock: &dyn Clock) -> Result<Arc<StoredPage>, Fault> {
        let address = parse_url(url)?;
        let reading = self.read_now(&address, clock);
        let page = within(clock, Some(self.timeout), reading).await.ok_or_else(|| {
            let seconds = self.timeout.as_secs_f64();
            let place = without_secrets(&address);
            let message =
                format!("the page {place} took longer than its limit in seconds: {seconds}");
            Fault::new(FaultCode::PageTimeout, message).hint("use another source, or try later")
        })??;
        let page = Arc::new(page);
        self.cache.put(url, &page);
        Ok(page)
    }

    /// The page as it was last read at that URL, so that positions in it stay valid; it is read if it was not, or is
    /// no longer kept.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub async fn read_again(&self, url: &str, clock: &dyn Clock) -> Result<Arc<StoredPage>, Fault> {
        match self.cache.get(url) {
            Some(page) => Ok(page),
            None => self.read(url, clock).await,
        }
    }

    async fn read_now(&self, url: &Url, clock: &dyn Clock) -> Result<StoredPage, Fault> {
        let request = HttpRequest::get(url.clone()).header("accept", ACCEPT)?;
        let reply = self.client.send(&request).await?;
        check_status(&reply, clock.now())?;
        let media_type = reply.header("content-type").unwrap_or_default().to_owned();
        let url = reply.url().clone();
        let body = reply.body(self.max_bytes).await?;
        let format = page_format(&media_type, url.path(), &body)
            .ok_or_else(|| unsupported(&url, &media_type))?;
        let charset = charset_of(&media_type);
        let source = PageSource { url: url.clone(), format, charset, body };
        let converted = self.converter.convert(source).await?;
        let renders = match self.render {
            RenderKind::Auto => converted.wants_scripts,
            RenderKind::Always => format == PageFormat::Html,
            RenderKind::Never => false,
        };
        let converted = match &self.browser {
            Some(browser) if renders => self.rendered(&url, browser).await?,
            _ => converted,
        };
        if converted.is_login {
            return Err(login_required(&url));
        }
        if converted.page.document.text.trim().is_empty() {
            return Err(empty(&url, &converted, self.render));
        }
        Ok(converted.page)
    }

    /// The page after its scripts have run.
    async fn rendered(&self, url: &Url, browser: &ChromiumBrowser) -> Result<ConvertedPage, Fault> {
        let html = browser.render(url, &self.client, self.max_bytes).await;
        let body = html.map_err(|error| match error {
            BrowserError::TooLarge { limit } => HttpError::TooLarge { limit }.into(),
            error => Fault::new(
                FaultCode::PageRenderFailed,
                format!("the page {} could not be shown: {error}", without_secrets(url)),
            )
            .hint("use another source"),
        })?;
        let charset = Some("utf-8".to_owned());
        let source = PageSource { url: url.clone(), format: PageFormat::Html, charset, body };
        self.converter.convert(source).await
    }
}

/// The browser that the settings ask for.
fn find_browser(settings: &PageReaderSettings) -> Result<Option<ChromiumBrowser>, Fault> {
    if settings.render == RenderKind::Never {
        return Ok(None);
    }
    let found = ChromiumBrowser::find(&settings.browser);
    if found.is_some() || (settings.render == RenderKind::Auto && settings.browser.is_empty()) {
        return Ok(found);
    }
    let place = if settings.browser.is_empty() { "PATH" } else { &settings.browser };
    Err(Fault::new(FaultCode::BrowserMissing, format!("no Chromium was found at: {place}"))
        .hint("install Chromium, or name its program with `browser`"))
}

/// The charset of `text/html; charset=latin1`.
fn charset_of(media_type: &str) -> Option<String> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

fn unsupported(url: &Url, media_type: &str) -> Fault {
    let kind: String = media_type.chars().filter(|c| !c.is_control()).take(100).collect();
    let kind = if kind.is_empty() { "unknown".to_owned() } else { kind };
    let place = without_secrets(url);
    let message = format!("the page {place} is of a type that cannot be read as text: {kind}");
    Fault::new(FaultCode::PageTypeUnsupported, message).hint("download it, or use another source")
}

fn empty(url: &Url, converted: &ConvertedPage, render: RenderKind) -> Fault {
    let message = format!("the page has no text: {}", without_secrets(url));
    let fault = Fault::new(FaultCode::PageEmpty, message);
    match (converted.wants_scripts, render) {
        (true, RenderKind::Never) => {
            fault.hint("its text is made by scripts, which `render` allows to run")
        }
        (true, _) => fault.hint("its text is made by scripts, which need an installed Chromium"),
        (false, _) => fault.hint("use another source"),
    }
}
