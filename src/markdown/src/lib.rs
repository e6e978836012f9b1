//! Markdown that models write, as HTML that is safe to show.
//!
//! The text is not trusted: HTML in it is shown as text, nothing is loaded from a network, and
//! links lead to web and mail addresses only.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

/// Renders `CommonMark` with tables and strikethrough. Lines end where the text's lines end.
///
/// An image becomes its description and its address, because loading it would tell its host that
/// somebody reads the text.
///
/// ```
/// let html = antiphon_markdown::to_html("**42** <script>");
/// assert_eq!(html, "<p><strong>42</strong> &lt;script&gt;</p>\n");
/// ```
pub fn to_html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut links = Vec::new();
    let mut images = Vec::new();
    let events = Parser::new_ext(markdown, options).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::SoftBreak => Some(Event::HardBreak),
        Event::Start(Tag::Image { dest_url, .. }) => {
            images.push(dest_url);
            None
        }
        Event::End(TagEnd::Image) => Some(address(&images.pop()?)),
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let is_safe = is_web_address(dest_url);
            links.push(is_safe);
            is_safe.then_some(event)
        }
        Event::End(TagEnd::Link) => links.pop()?.then_some(event),
        other => Some(other),
    });
    let mut rendered = String::new();
    html::push_html(&mut rendered, events);
    rendered
}

fn is_web_address(address: &str) -> bool {
    SCHEMES.iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn address(image: &str) -> Event<'static> {
    Event::Text(CowStr::from(format!(" ({image})")))
}
