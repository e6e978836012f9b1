//! What is rendered, and what never is.

use antiphon_markdown::to_html;
use proptest::prelude::*;

#[test]
fn text_keeps_its_lines_lists_tables_and_code() {
    assert_eq!(to_html("one\ntwo"), "<p>one<br />\ntwo</p>\n");
    assert!(to_html("- a\n- b").contains("<li>a</li>"));
    assert!(to_html("|x|\n|-|\n|1|").contains("<td>1</td>"));
    assert!(to_html("```python\nprint(1)\n```").contains("<pre><code"));
    assert!(to_html("~~no~~").contains("<del>no</del>"));
}

#[test]
fn html_in_the_text_is_shown_as_text() {
    assert_eq!(to_html("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert!(to_html("a <img src=x onerror=alert(1)> b").contains("a &lt;img src=x"));
    assert!(to_html("`<b>`").contains("<code>&lt;b&gt;</code>"));
}

#[test]
fn links_lead_to_web_and_mail_addresses_only() {
    assert!(
        to_html("[a](https://example.com/?q=\"x\")")
            .contains("<a href=\"https://example.com/?q=%22x%22\">a</a>")
    );
    assert!(to_html("<https://example.com>").contains("<a href="));
    for address in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "//host/x",
        "file:///etc/passwd",
        "vbscript:x",
        "\u{1}javascript:x",
    ] {
        let html = to_html(&format!("[a]({address}) <{address}>"));
        assert!(!html.contains("<a"), "{html}");
    }
}

#[test]
fn an_image_becomes_its_description_and_address() {
    let html = to_html("![a plot](https://example.com/p.png)");
    assert_eq!(html, "<p>a plot (https://example.com/p.png)</p>\n");
    let within = to_html("[![x](https://a.b/i.png)](javascript:y)");
    assert_eq!(within, "<p>x (https://a.b/i.png)</p>\n");
}

const TAGS: [&str; 24] = [
    "p",
    "strong",
    "em",
    "del",
    "a",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "br",
    "table",
    "thead",
    "tbody",
    "tr",
    "td",
];

proptest! {
    #[test]
    fn no_text_makes_another_element_or_attribute(
        text in "([<>!\\[\\]()`*_~#|\"'&;:=/\\\\a-c\n -]|<script|onload=|javascript:|https://){0,60}"
    ) {
        let html = to_html(&text);
        for element in html.split('<').skip(1) {
            let name: String = element.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
            prop_assert!(TAGS.contains(&name.as_str()) || name == "th", "{html}");
            let attributes = element.split('>').next().unwrap_or("");
            let names = attributes.split_once(' ').map_or("", |(_, rest)| rest);
            let is_known = names.is_empty() || names == "/" || ["href=\"", "class=\"", "start=\"", "style=\"text-align", "title=\""].iter().any(|known| names.starts_with(known));
            prop_assert!(is_known, "{html}");
        }
    }
}
