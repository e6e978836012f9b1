//! HTML that models write.

use antiphon_html::{escape, first_blocks, has_element, sanitize, to_markdown, to_text};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

#[test]
fn only_known_tags_and_attributes_are_left() {
    for (html, safe) in [
        ("<p>a</p>", "<p>a</p>"),
        ("<P CLASS=x STYLE='color: red; position: fixed'>a", "<p style=\"color:red\">a</p>"),
        ("<script>alert(1)</script>a", "a"),
        ("<scr<script>ipt>alert(1)</script>", "ipt&gt;alert(1)"),
        ("<script>'\"<</script>a &copysr; &frac13;", "a ℗ ⅓"),
        (
            "<svg><p title='</svg><script>x</script>'>a",
            "<p title=\"&lt;/svg&gt;&lt;script&gt;x&lt;/script&gt;\">a</p>",
        ),
        ("<math><mtext><table><mglyph><style><img src=x onerror=y>", ""),
        ("<pre>\n\na</pre>", "<pre>\n\na</pre>"),
        ("<style>p{}</style><svg><script>x</script></svg>b", "b"),
        ("<img src=x onerror=alert(1)>", ""),
        ("<a href=\"javascript:alert(1)\">a</a>", "<a rel=\"noopener noreferrer\">a</a>"),
        ("<a href='jav&#x09;ascript&colon;x'>a</a>", "<a rel=\"noopener noreferrer\">a</a>"),
        (
            "<a href=https://a.example/?a=1&b=2>a</a>",
            "<a href=\"https://a.example/?a=1&amp;b=2\" rel=\"noopener noreferrer\">a</a>",
        ),
        ("<div style=\"background-color:url(x)\">a</div>", "<div>a</div>"),
        (
            "<div style=\"color:expression(alert(1));x\">a</div>",
            "<div style=\"color:expression(alert(1))\">a</div>",
        ),
        ("a < b & c &lt;d&gt; &eacute;&nope;", "a &lt; b &amp; c &lt;d&gt; é&amp;nope;"),
        ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"),
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        (
            "<table><tr><td colspan=2 onclick=x>a<td>b</table>",
            "<table><tbody><tr><td colspan=\"2\">a</td><td>b</td></tr></tbody></table>",
        ),
        ("</div><b>a</i></b>", "<b>a</b>"),
        ("<!-- <b> --><form><input></form><iframe src=x>a</iframe>b<br/>c", "b<br>c"),
        ("<p title='\"><script>'>a</p>", "<p title=\"&quot;&gt;&lt;script&gt;\">a</p>"),
    ] {
        assert_eq!(sanitize(html), safe, "{html}");
    }
}

#[test]
fn blocks_are_found_without_the_words_around_them() {
    for (text, blocks) in [
        ("a <b>c</b>", None),
        ("x <p>a</p> y", Some("<p>a</p>")),
        ("<p>a</p>\n\n<ul><li>b</li></ul> y", Some("<p>a</p>\n\n<ul><li>b</li></ul>")),
        ("<div>a", Some("<div>a</div>")),
        ("<div title=\"</div>\">a</div>b", Some("<div title=\"&lt;/div&gt;\">a</div>")),
        ("Sure!<html><body><p>a</p></body></html>", Some("<p>a</p>")),
        ("<p><script>x</script></p>", Some("<p></p>")),
    ] {
        assert_eq!(first_blocks(text).as_deref(), blocks, "{text}");
    }
    assert!(has_element("a <code>b</code>"));
    assert!(!has_element("a < b and Vec<T>"));
}

#[test]
fn html_reads_well_as_markdown_and_as_text() {
    for (html, markdown, text) in [
        (
            "<h3>Tea</h3><p>Two <b>minutes</b>.</p>",
            "### Tea\n\nTwo **minutes**.",
            "Tea\nTwo minutes.",
        ),
        (
            "<ol><li>a</li><li>b<ul><li>c</li></ul></li></ol>",
            "1. a\n2. b\n  - c",
            "1. a\n2. b\n  - c",
        ),
        ("<p>a<br>b</p><hr><p>c</p>", "a\nb\n\n---\n\nc", "a\nb\nc"),
        (
            "<p>See <a href=\"https://a.example/\">the page</a>!</p>",
            "See [the page](https://a.example/)!",
            "See the page!",
        ),
        ("<pre>x = 1\n  y</pre><p>b</p>", "```\nx = 1\n  y\n```\n\nb", "x = 1\n  y\nb"),
        ("<p>Use <code>a_b</code> * 2</p>", "Use `a_b` \\* 2", "Use a_b * 2"),
        ("<blockquote><p>a</p><p>b</p></blockquote><p>c</p>", "> a\n>\n> b\n\nc", "a\nb\nc"),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
            "a b\n1 2",
        ),
        ("<div><p>  a\n b </p></div>", "a b", "a b"),
    ] {
        assert_eq!(to_markdown(html), markdown, "{html}");
        assert_eq!(to_text(html), text, "{html}");
    }
}

/// What a renderer of Markdown makes of it: events of HTML, images, and addresses of links.
fn hazards(markdown: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES;
    let events = Parser::new_ext(markdown, options).filter_map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(html.to_string()),
        Event::Start(Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        Event::Start(Tag::Link { dest_url, .. }) if !dest_url.starts_with("http") => {
            Some(dest_url.to_string())
        }
        _ => None,
    });
    events.collect()
}

#[test]
fn markdown_holds_neither_html_nor_images() {
    for html in [
        "<p>!<a href=\"https://evil.example/p.png?q=secret\">x</a></p>",
        "<p>\\&lt;img src=x onerror=alert(1)&gt;</p>",
        "<p>\\[click](javascript:alert(1))</p>",
        "<a href=\"https://x)![i](https://evil.example\">t</a>",
        "<a href=\"https://x)<img/src=x/onerror=alert(1)>\">t</a>",
        "<pre>a\n```\n&lt;img src=x&gt;\n````\n&lt;b&gt;</pre>",
        "<ul><li><pre>a\n&lt;img src=x&gt;</pre></li></ul>",
        "<ul><li>a<pre>```\n&lt;img src=x&gt;</pre></li></ul>",
        "<table><tr><td><pre>a\n&lt;img src=x&gt;</pre></td></tr></table>",
        "<blockquote><pre>a\n&lt;img src=x&gt;</pre>&lt;b&gt;</blockquote>",
        "<code>`</code>&lt;img src=x&gt;<code>`</code>",
    ] {
        let markdown = to_markdown(&sanitize(html));
        assert!(hazards(&markdown).is_empty(), "{html} -> {markdown}");
    }
}

#[test]
fn what_is_left_out_takes_nothing_else_with_it() {
    for (html, safe) in [
        ("<html><head><title>T</title><body><p>a</p></body></html>", "<p>a</p>"),
        ("<p>one</p><embed src=\"a.swf\"><p>two</p>", "<p>one</p><p>two</p>"),
        ("<script>var a=\"<script>\";</script><p>a</p>", "<p>a</p>"),
        ("<p>x</p><form><p>a</p>", "<p>x</p><p>a</p>"),
    ] {
        assert_eq!(sanitize(html), safe, "{html}");
    }
}

#[test]
fn no_style_covers_the_page() {
    let html = "<p style=\"margin:-50px;padding:5000px;border:1px solid red;color:#112233\">a</p>";
    assert_eq!(sanitize(html), "<p style=\"border:1px solid red;color:#112233\">a</p>");
}

#[test]
fn many_attributes_cost_little() {
    let tag = |count: usize| {
        let names: Vec<_> = (0..count).map(|number| number.to_string()).collect();
        format!("<p>a<p {}>b", names.join(" "))
    };
    assert_eq!(sanitize(&tag(20_000)), "<p>a</p><p>b</p>");
    assert_eq!(sanitize(&tag(400_000)), "<p>a</p>", "what comes after too many is left out");
    let words = "word ".repeat(20_000);
    assert_eq!(sanitize(&format!("<p title=\"{words}\">a")), format!("<p title=\"{words}\">a</p>"));
}

/// A page that has a browser open hundreds of elements anew in each paragraph.
#[test]
fn no_page_takes_more_nodes_than_there_are_to_have() {
    let open: Vec<_> = (0..500).map(|number| format!("<b id={number}>")).collect();
    let page = format!("{}{}", open.concat(), "<p>x".repeat(50_000));
    let safe = sanitize(&page);
    assert!(safe.starts_with("<b><b>"), "{safe:.40}");
    let deep = format!("{}a", "<b>".repeat(100_000));
    assert_eq!(sanitize(&deep).trim(), "a");
}

/// Pages are parsed in parts, which may end within a character of several bytes or a tag.
#[test]
fn a_long_page_is_parsed_as_a_whole() {
    let text = "aé€😀".repeat(5_000);
    assert_eq!(to_text(&format!("<p>{text}</p>")), text);
    let items = "<li title=\"é\">x</li>".repeat(2_000);
    assert_eq!(sanitize(&format!("<ul>{items}</ul>")), format!("<ul>{items}</ul>"));
}

fn fragment() -> impl Strategy<Value = String> {
    let parts = vec![
        "<script>",
        "</script>",
        "<p",
        " onclick=x",
        ">",
        "</p>",
        "<a href=",
        "javascript:x",
        "\"",
        "'",
        "<!--",
        "-->",
        "<svg/onload=x>",
        "<b>",
        "&lt;script&gt;",
        "<style>",
        "<iframe",
        "=",
        "/",
        "<math><mi>",
        "<table><td>",
        "\u{0}",
        "<plaintext>",
        "<textarea>",
        "<pre>",
        "</pre>",
        "<ul><li>",
        "<code>",
        "```\n",
        "\\",
        "!<a href=\"https://x",
        "&lt;img src=x&gt;",
        "](",
    ];
    prop_oneof![prop::sample::select(parts).prop_map(str::to_owned), "[ a-z<>\"'=&/;]{0,6}"]
}

proptest! {
    #[test]
    fn no_input_leaves_a_tag_or_an_attribute_that_is_not_known(
        parts in prop::collection::vec(fragment(), 0..24),
    ) {
        let safe = sanitize(&parts.concat());
        let lower = safe.to_lowercase();
        for evil in ["<script", "<svg", "<style", "<iframe", "<math", "<plaintext", "<textarea", "<!--", "href=\"javascript"] {
            prop_assert!(!lower.contains(evil), "{}", safe);
        }
        for tag in safe.split('<').skip(1) {
            let inside = tag.split('>').next().unwrap_or_default();
            prop_assert!(!inside.to_lowercase().contains(" on"), "{}", safe);
        }
        prop_assert_eq!(safe.matches('<').count(), safe.matches('>').count());
        let markdown = to_markdown(&safe);
        prop_assert!(hazards(&markdown).is_empty(), "{safe} -> {markdown}");
        to_text(&safe);
        let again = sanitize(&safe);
        prop_assert_eq!(to_text(&again), to_text(&safe), "it means the same when it is read again");
        first_blocks(&parts.concat());
    }

    #[test]
    fn escaped_text_is_shown_as_it_is(text in any::<String>()) {
        let clean: String = text.chars().filter(|sign| !sign.is_control()).collect();
        let shown = to_text(&sanitize(&escape(&clean)));
        prop_assert_eq!(
            shown.split_whitespace().collect::<Vec<_>>(),
            clean.split_whitespace().collect::<Vec<_>>()
        );
    }
}
