//! What a page says about itself: title, author, date.

use antiphon_html::{HtmlNode, HtmlTree};
use serde_json::Value as Json;

use super::gather;
use super::page::HtmlPage;

/// The most characters of a fact.
const LONGEST: usize = 300;

/// Facts about a page, in its own words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageMetadata {
    pub(super) title: Option<String>,
    pub(super) byline: Option<String>,
    pub(super) published: Option<String>,
}

impl PageMetadata {
    /// Reads `meta` elements, JSON-LD, and marks in the text, in this order.
    pub(super) fn read(page: &HtmlPage) -> Self {
        let linked = linked_data(page);
        let datum = |key| linked.iter().find_map(|object| text_of(object.get(key)?));
        let title = meta(&page.tree, &["og:title", "twitter:title", "dc.title"])
            .or_else(|| element(page, |node| node.name() == "title"));
        let byline = meta(&page.tree, &["author", "article:author", "dc.creator"])
            .filter(|author| !author.starts_with("http"))
            .or_else(|| datum("author"))
            .or_else(|| element(page, |node| node.attribute("rel") == Some("author")))
            .or_else(|| element(page, |node| node.attribute("itemprop") == Some("author")));
        let published = meta(&page.tree, &["article:published_time", "date", "dc.date", "pubdate"])
            .or_else(|| datum("datePublished"))
            .or_else(|| attribute(&page.tree, "time", "datetime"));
        Self { title, byline, published }
    }
}

/// The content of the first `meta` element with one of these names, the first name first.
fn meta(tree: &HtmlTree, names: &[&str]) -> Option<String> {
    names.iter().find_map(|wanted| {
        let named = |node: &HtmlNode| {
            let name = ["name", "property", "itemprop"].iter().find_map(|key| node.attribute(key));
            node.name() == "meta" && name.is_some_and(|name| name.eq_ignore_ascii_case(wanted))
        };
        one_line(tree.get(tree.find(named)?)?.attribute("content")?)
    })
}

fn element(page: &HtmlPage, test: impl Fn(&HtmlNode) -> bool) -> Option<String> {
    one_line(&gather(page, page.tree.find(test)?))
}

fn attribute(tree: &HtmlTree, name: &str, key: &str) -> Option<String> {
    let found = tree.find(|node| node.name() == name && node.attribute(key).is_some())?;
    one_line(tree.get(found)?.attribute(key)?)
}

/// The objects of the page's first JSON-LD block.
fn linked_data(page: &HtmlPage) -> Vec<Json> {
    let block = page.tree.find(|node| {
        node.name() == "script" && node.attribute("type") == Some("application/ld+json")
    });
    let text = block.map(|index| gather(page, index)).unwrap_or_default();
    // The parser refuses deep nesting.
    match serde_json::from_str(&text) {
        Ok(Json::Array(objects)) => objects,
        Ok(Json::Object(mut fields)) => match fields.remove("@graph") {
            Some(Json::Array(objects)) => objects,
            _ => vec![Json::Object(fields)],
        },
        _ => Vec::new(),
    }
}

/// A text, the name of an object, or those of a list.
fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => one_line(text),
        Json::Object(fields) => fields.get("name").and_then(Json::as_str).and_then(one_line),
        Json::Array(values) => {
            let one = |value: &Json| match value {
                Json::Array(_) => None,
                value => text_of(value),
            };
            one_line(&values.iter().filter_map(one).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    }
}

/// One line of bounded length; `None` if nothing is left.
fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    (!line.is_empty()).then_some(line)
}
