//! HTML that models write.

use antiphon_systems::html::{escape, first_element, has_element, sanitize, to_markdown, to_text};
use proptest::prelude::*;

#[test]
fn only_known_tags_and_attributes_are_left() {
    for (html, safe) in [
        ("<p>a</p>", "<p>a</p>"),
        ("<P CLASS=x STYLE='color: red; position: fixed'>a", "<p style=\"color:red\">a</p>"),
        ("<script>alert(1)</script>a", "a"),
        ("<scr<script>ipt>alert(1)</script>", "ipt&gt;alert(1)"),
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
            "<table><tr><td colspan=\"2\">a</td><td>b</td></tr></table>",
        ),
        ("</div><b>a</i></b>", "<b>a</b>"),
        ("<!-- <b> --><form><input></form><iframe src=x>a</iframe>b<br/>c", "b<br>c"),
        ("<p title='\"><script>'>a</p>", "<p title=\"&quot;&gt;&lt;script&gt;\">a</p>"),
    ] {
        assert_eq!(sanitize(html), safe, "{html}");
    }
}

#[test]
fn an_element_is_found_with_what_follows_it() {
    for (text, element) in [
        ("a <b>c</b>", None),
        ("x <p>a</p> y", Some("<p>a</p>")),
        ("<p>a</p>\n\n<ul><li>b</li></ul> y", Some("<p>a</p>\n\n<ul><li>b</li></ul>")),
        ("<div><p>a</div> b", Some("<div><p>a</div>")),
        ("<div>a", Some("<div>a")),
        ("<div title=\"</div>\">a</div>b", Some("<div title=\"</div>\">a</div>")),
    ] {
        assert_eq!(first_element(text), element, "{text}");
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
        to_markdown(&safe);
        to_text(&safe);
        prop_assert_eq!(sanitize(&safe), safe, "it is stable");
        first_element(&parts.concat());
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
