//! Making HTML safe to show. Only known elements with known attributes are written, and every text
//! is escaped. No element is written whose content a browser reads as anything but HTML, so that
//! what is safe stays safe when it is parsed again.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::nesting::without_tags;
use crate::tree::{HtmlNode, HtmlTree, NodeIndex};

/// Elements that stay.
const KEPT: [&str; 47] = [
    "a",
    "abbr",
    "article",
    "aside",
    "b",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "section",
    "small",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "u",
    "ul",
];
const TABLE: [&str; 7] = ["table", "tbody", "td", "tfoot", "th", "thead", "tr"];
const VOID: [&str; 2] = ["br", "hr"];
/// Elements whose content is no text of the page.
const DROPPED: [&str; 15] = [
    "applet", "audio", "frameset", "head", "iframe", "noscript", "object", "option", "script",
    "select", "style", "template", "textarea", "title", "video",
];
/// Properties of inline styles that stay. None of them loads anything or covers the page.
const STYLES: [&str; 20] = [
    "background-color",
    "border",
    "border-collapse",
    "border-left",
    "border-radius",
    "color",
    "font-size",
    "font-style",
    "font-weight",
    "line-height",
    "margin",
    "margin-bottom",
    "margin-left",
    "margin-top",
    "padding",
    "padding-left",
    "text-align",
    "text-decoration",
    "vertical-align",
    "white-space",
];
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];
/// How deep elements may be nested.
const DEEPEST: usize = 64;

/// The HTML without scripts, styles, forms, frames, images, handlers of events, and addresses other
/// than those of the web and of mail; what was open is closed.
///
/// ```
/// use antiphon_html::sanitize;
/// let html = "<p onclick=\"x()\" style=\"color:red;position:fixed\">a<script>x()</script><b>b";
/// assert_eq!(sanitize(html), "<p style=\"color:red\">a<b>b</b></p>");
/// ```
pub fn sanitize(html: &str) -> String {
    match HtmlTree::parse(html) {
        Some(tree) => sanitize_nodes(&tree, tree.children(tree.body())),
        None => escape(&without_tags(html)).into_owned(),
    }
}

/// Nodes of a page as safe HTML.
pub(crate) fn sanitize_nodes(tree: &HtmlTree, nodes: impl Iterator<Item = NodeIndex>) -> String {
    let mut out = String::new();
    for node in nodes {
        write_node(tree, node, &mut out);
    }
    out
}

/// What is left to do of a walk.
enum WriteStep<'t> {
    Enter(NodeIndex),
    Close(&'t str),
}

fn write_node(tree: &HtmlTree, root: NodeIndex, out: &mut String) {
    let (mut steps, mut depth) = (vec![WriteStep::Enter(root)], 0);
    while let Some(step) = steps.pop() {
        let index = match step {
            WriteStep::Close(name) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "</{name}>");
                depth -= 1;
                continue;
            }
            WriteStep::Enter(index) => index,
        };
        let Some(node) = tree.get(index) else { continue };
        if let Some(text) = node.text() {
            out.push_str(&escape(text));
        }
        let name = node.name();
        if !node.is_element() || node.is_foreign() || DROPPED.contains(&name) {
            continue;
        }
        if depth < DEEPEST && (KEPT.contains(&name) || TABLE.contains(&name)) {
            open(tree, index, node, out);
            if VOID.contains(&name) {
                continue;
            }
            depth += 1;
            steps.push(WriteStep::Close(name));
        }
        tree.push_children(index, |child| steps.push(WriteStep::Enter(child)));
    }
}

fn open(tree: &HtmlTree, index: NodeIndex, node: &HtmlNode, out: &mut String) {
    let name = node.name();
    out.push('<');
    out.push_str(name);
    for (key, value) in node.attributes() {
        if let Some(value) = kept_attribute(name, key, value) {
            let _ = write!(out, " {key}=\"{}\"", escape(&value));
        }
    }
    if name == "a" {
        out.push_str(" rel=\"noopener noreferrer\"");
    }
    out.push('>');
    let first = tree.children(index).next().and_then(|child| tree.get(child)?.text());
    if name == "pre" && first.is_some_and(|text| text.starts_with('\n')) {
        // Parsers leave out the first one.
        out.push('\n');
    }
}

/// The value of an attribute that stays.
fn kept_attribute(element: &str, key: &str, value: &str) -> Option<String> {
    match (element, key) {
        ("a", "href") => {
            let address: String =
                value.chars().filter(|sign| !sign.is_whitespace() && !sign.is_control()).collect();
            // Whatever follows, an address that begins like this runs no script.
            let is_safe = SCHEMES.iter().any(|scheme| {
                address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            });
            is_safe.then_some(address)
        }
        (_, "style") => Some(safe_style(value)).filter(|style| !style.is_empty()),
        ("td" | "th", "colspan" | "rowspan") | ("ol", "start") => {
            Some(value.to_owned()).filter(|value| value.parse::<u16>().is_ok())
        }
        (_, "title") => Some(value.to_owned()),
        _ => None,
    }
}

fn safe_style(style: &str) -> String {
    let declarations = style.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || " #.,%()-".contains(sign);
        let is_safe = STYLES.contains(&name.as_str())
            && value.chars().all(is_plain)
            && !value.to_ascii_lowercase().contains("url")
            && value.split([' ', ',', '(']).all(is_small);
        is_safe.then(|| format!("{name}:{value}"))
    });
    declarations.collect::<Vec<_>>().join(";")
}

/// Whether a part of a style cannot move or blow up an element so that it covers others.
fn is_small(part: &str) -> bool {
    let whole = part.split('.').next().unwrap_or_default();
    let digits = whole.chars().filter(char::is_ascii_digit).count();
    part.starts_with('#') || (digits <= 3 && !part.starts_with('-'))
}

/// A text as it stands in HTML, also in an attribute.
///
/// ```
/// use antiphon_html::escape;
/// assert_eq!(escape("a < \"b\""), "a &lt; &quot;b&quot;");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            sign => escaped.push(sign),
        }
    }
    Cow::Owned(escaped)
}
