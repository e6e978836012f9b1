//! The article of a page.

use antiphon_net::Url;
use antiphon_tools::document::{HtmlArticle, html_article};
use proptest::prelude::*;

fn article(html: &str) -> HtmlArticle {
    html_article(html, &Url::parse("https://news.example/2026/tea.html").unwrap(), 100_000)
}

const PARAGRAPH: &str = "Tea is an aromatic drink that is prepared by pouring hot water over leaves, \
    which have been cured, and it is drunk in many countries, in the morning and in the evening.";

#[test]
fn the_part_with_the_text_is_the_article_where_none_is_marked() {
    let menu = "<a href=/a>First thing of the menu that is long</a> ".repeat(20);
    let html = format!(
        "<body><div class=menu>{menu}</div><div id=content><h1>Tea</h1><p>{PARAGRAPH}</p>\
         <p>{PARAGRAPH}</p><ul><li>green</ul></div><div class=ads><p>Buy now!</p></div></body>"
    );
    let text = article(&html).document.text;
    assert!(text.starts_with("# Tea\n\nTea is an aromatic"), "{text}");
    assert!(text.contains("- green"), "{text}");
    assert!(!text.contains("menu") && !text.contains("Buy now"), "{text}");
}

#[test]
fn a_page_that_is_mostly_short_is_shown_whole() {
    let text = article("<div><p>One.</p></div><div><p>Two.</p></div>").document.text;
    assert_eq!(text, "One.\n\nTwo.\n");
}

#[test]
fn title_author_and_date_come_from_the_page() {
    let page = article(
        "<head><title>Tea | News</title><meta property='og:title' content='On  tea'>\
         <meta name=author content='Ada L.'>\
         <meta property='article:published_time' content='2026-02-03T10:00:00Z'></head><p>x",
    );
    let facts = (page.document.title.as_deref(), page.byline.as_deref(), page.published.as_deref());
    assert_eq!(facts, (Some("On tea"), Some("Ada L."), Some("2026-02-03T10:00:00Z")));

    let linked = "<script type='application/ld+json'>{\"@graph\": [{\"@type\": \"WebPage\"}, \
        {\"author\": [{\"name\": \"A\"}, \"B\"], \"datePublished\": \"2025-01-01\"}]}</script>\
        <h1>Heading</h1>";
    let page = article(linked);
    let facts = (page.document.title.as_deref(), page.byline.as_deref(), page.published.as_deref());
    assert_eq!(facts, (Some("Heading"), Some("A, B"), Some("2025-01-01")));

    let marked =
        "<p>By <a rel=author href=/ada>Ada</a>, <time datetime=2024-12-31>yesterday</time>";
    let page = article(marked);
    assert_eq!(
        (page.byline.as_deref(), page.published.as_deref()),
        (Some("Ada"), Some("2024-12-31"))
    );
}

#[test]
fn links_are_numbered_absolute_and_stand_where_they_are_in_the_text() {
    let page = article(
        "<base href=/base/><p>See <a href='a?x=1#y'>the first</a>, <a href='//other.example/'>second</a>, \
         <a href='mailto:a@b'>mail</a>, <a href='javascript:x()'>run</a>, <a href='#top'>up</a>, \
         <a href=''></a>.",
    );
    let links: Vec<_> = page
        .links
        .iter()
        .map(|link| (link.number, page.document.slice(link.range), link.url.as_str()))
        .collect();
    assert_eq!(
        links,
        [
            (1, "the first", "https://news.example/base/a?x=1#y"),
            (2, "second", "https://other.example/"),
        ]
    );
}

#[test]
fn a_page_nested_without_end_and_one_with_a_hostile_script_are_read() {
    let deep = format!("{}text{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
    assert_eq!(article(&deep).document.text.trim(), "text");
    let nested = format!("<script type='application/ld+json'>{}</script>x", "[".repeat(100_000));
    assert_eq!(article(&nested).document.text, "x\n");
}

proptest! {
    #[test]
    fn no_page_breaks_the_reader_and_links_lie_in_the_text(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "<p>", "</p>", "<a href=x>", "</a>", "<table>", "<tr>", "<td>", "text ", "é", "<div>",
                "</div>", "<li>", "<base href=", "<time datetime=1>", "<script>", "</script>", "<main>",
                "<template>", "<h1>", "<svg>", "<form>", "<meta name=author content=", "\u{0}", "<!--",
            ]),
            0..60,
        ),
    ) {
        let page = article(&parts.concat());
        let length = page.document.text.chars().count();
        prop_assert!(page.links.iter().all(|link| link.range.end <= length));
    }
}
