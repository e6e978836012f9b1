//! Markdown that models write, as HTML that is safe to show.
//!
//! The text is not trusted: HTML in it is shown as text, nothing is loaded from a network, and
//! links lead to web and mail addresses only.

use std::collections::BTreeMap;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

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
    to_html_with_places(markdown, &BTreeMap::new())
}

/// As [`to_html`], in a page that has places to link to: `places` has the id of the place for each
/// label of a reference that the text does not define.
///
/// ```
/// let places = [("tea".to_owned(), "source-1".to_owned())].into();
/// let html = antiphon_markdown::to_html_with_places("Two minutes [tea], [x](#y).", &places);
/// assert_eq!(html, "<p>Two minutes <a href=\"#source-1\">tea</a>, x.</p>\n");
/// ```
pub fn to_html_with_places(markdown: &str, places: &BTreeMap<String, String>) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let find = |link: BrokenLink<'_>| {
        let place = places.get(link.reference.as_ref())?;
        Some((CowStr::from(format!("#{place}")), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(markdown, options, Some(find));
    let mut links = Vec::new();
    let mut images = Vec::new();
    let events = parser.filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::SoftBreak => Some(Event::HardBreak),
        Event::Start(Tag::Image { dest_url, .. }) => {
            images.push(dest_url);
            None
        }
        Event::End(TagEnd::Image) => Some(address(&images.pop()?)),
        Event::Start(Tag::Link { link_type, ref dest_url, .. }) => {
            let is_safe = is_place(link_type) || is_web_address(dest_url);
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

/// Whether a link is one of ours: the text itself does not say where it leads.
const fn is_place(link: LinkType) -> bool {
    matches!(
        link,
        LinkType::ReferenceUnknown | LinkType::CollapsedUnknown | LinkType::ShortcutUnknown
    )
}

fn is_web_address(address: &str) -> bool {
    SCHEMES.iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn address(image: &str) -> Event<'static> {
    Event::Text(CowStr::from(format!(" ({image})")))
}
