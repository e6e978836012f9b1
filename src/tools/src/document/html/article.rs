//! The article of a web page: its text, who wrote it and when, and where it links to.

use antiphon_html::{HtmlNode, HtmlTree, NodeIndex};
use antiphon_net::Url;

use super::density::densest;
use super::metadata::PageMetadata;
use super::page::HtmlPage;
use super::{HtmlWalk, flat_text, main_part};
use crate::document::text::{CharRange, DocumentText};

/// The most links of a page that are kept.
const LINKS: usize = 2000;

/// A part that holds fewer characters than this is no article if the page has more.
const SHORT: usize = 250;

/// What a page says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlArticle {
    /// The text of the article.
    pub document: DocumentText,
    /// The author, in the page's words.
    pub byline: Option<String>,
    /// The date of publication, in the page's words.
    pub published: Option<String>,
    /// The links of the text, in order.
    pub links: Vec<PageLink>,
    /// Whether the page runs scripts, which may add to its text.
    pub has_scripts: bool,
    /// Whether the page asks for a password.
    pub asks_for_password: bool,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLink {
    /// Its number, from 1.
    pub number: usize,
    /// The absolute URL.
    pub url: String,
    /// Where its text stands.
    pub range: CharRange,
}

/// The article of an HTML page that was read at `base`, at most `limit` characters: the part that the page marks as its
/// main one, or else the one with the most text that is not in links.
///
/// ```
/// use antiphon_tools::document::html_article;
/// let base = antiphon_net::Url::parse("https://example.com/tea/").unwrap();
/// let page = html_article("<p>Boil <a href=water>water</a>.", &base, 1000);
/// assert_eq!(page.document.text, "Boil water.\n");
/// assert_eq!(page.links[0].url, "https://example.com/tea/water");
/// ```
pub fn html_article(html: &str, base: &Url, limit: usize) -> HtmlArticle {
    let Some(page) = HtmlPage::parse(html) else {
        return HtmlArticle { document: flat_text(html, limit), ..HtmlArticle::default() };
    };
    let tree = &page.tree;
    let body = tree.body();
    let mut found = walk(&page, main_part(tree).or_else(|| densest(&page)).unwrap_or(body), limit);
    if found.0.text.chars().take(SHORT).count() < SHORT {
        let whole = walk(&page, body, limit);
        if whole.0.text.len() > 2 * found.0.text.len() {
            found = whole;
        }
    }
    let (mut document, targets) = found;
    let metadata = PageMetadata::read(&page);
    let first = document.headings.iter().find(|heading| heading.level == 1);
    document.title = metadata.title.or_else(|| first.map(|heading| heading.title.clone()));
    let base = base_of(tree, base);
    let has = |test: &dyn Fn(&HtmlNode) -> bool| tree.find(test).is_some();
    HtmlArticle {
        links: links(&base, targets),
        document,
        byline: metadata.byline,
        published: metadata.published,
        has_scripts: has(&|node| node.name() == "script"),
        asks_for_password: has(&|node| node.attribute("type") == Some("password")),
    }
}

fn walk(
    page: &HtmlPage,
    root: NodeIndex,
    limit: usize,
) -> (DocumentText, Vec<(CharRange, String)>) {
    HtmlWalk::new(page, limit).run_with_links(root)
}

/// The base of relative links, which a page may set.
fn base_of(tree: &HtmlTree, page: &Url) -> Url {
    let element = tree.find(|node| node.name() == "base" && node.attribute("href").is_some());
    let href = element.and_then(|index| tree.get(index)).and_then(|node| node.attribute("href"));
    href.and_then(|href| page.join(href.trim()).ok()).unwrap_or_else(|| page.clone())
}

/// Links that can be opened, each text once.
fn links(base: &Url, targets: Vec<(CharRange, String)>) -> Vec<PageLink> {
    let absolute = |(range, href): (CharRange, String)| {
        let url = base.join(href.trim()).ok()?;
        let opens = matches!(url.scheme(), "http" | "https") && !href.trim().starts_with('#');
        opens.then(|| (range, String::from(url)))
    };
    let found = targets.into_iter().filter_map(absolute).take(LINKS).enumerate();
    found.map(|(index, (range, url))| PageLink { number: index + 1, url, range }).collect()
}
