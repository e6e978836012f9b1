//! Making HTML safe to show. Whatever is read, only known tags with known attributes are written,
//! and every text is escaped: what is misread becomes text, and never a tag.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::entity::decode;
use super::token::{HtmlToken, tokens};

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
const DROPPED: [&str; 13] = [
    "applet", "frameset", "head", "iframe", "math", "noscript", "object", "script", "select",
    "style", "svg", "template", "textarea",
];
/// Dropped elements whose content is text: it holds no tags.
const RAW: [&str; 5] = ["iframe", "noscript", "script", "style", "textarea"];
/// Attributes of a tag that are read.
const MOST_ATTRIBUTES: usize = 64;
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
/// Elements that a block ends if they are open.
const ENDED_BY_BLOCKS: [&str; 1] = ["p"];
const BLOCKS: [&str; 20] = [
    "article",
    "aside",
    "blockquote",
    "details",
    "div",
    "dl",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "ol",
    "p",
    "pre",
    "table",
    "ul",
];
/// How deep elements may be nested.
const DEEPEST: usize = 64;

/// The HTML without scripts, styles, forms, frames, images, handlers of events, and addresses other
/// than those of the web and of mail; what was open is closed.
///
/// ```
/// use antiphon_systems::html::sanitize;
/// let html = "<p onclick=\"x()\" style=\"color:red;position:fixed\">a<script>x()</script><b>b";
/// assert_eq!(sanitize(html), "<p style=\"color:red\">a<b>b</b></p>");
/// ```
pub fn sanitize(html: &str) -> String {
    let mut writer = HtmlWriter::default();
    // Within an element that is dropped: its name, and how often it is open.
    let mut dropping: Option<(String, usize)> = None;
    for placed in tokens(html) {
        if let Some((name, depth)) = &mut dropping {
            match placed.token {
                HtmlToken::Open { name: inner, is_closed: false, .. }
                    if inner.eq_ignore_ascii_case(name) && !RAW.contains(&name.as_str()) =>
                {
                    *depth += 1;
                }
                // The end tag of a head may be left out.
                HtmlToken::Open { name: inner, .. }
                    if name == "head" && inner.eq_ignore_ascii_case("body") =>
                {
                    *depth = 0;
                }
                HtmlToken::Close(inner) if inner.eq_ignore_ascii_case(name) => *depth -= 1,
                _ => {}
            }
            if *depth == 0 {
                dropping = None;
            }
            continue;
        }
        match placed.token {
            HtmlToken::Text(text) => writer.text(text),
            HtmlToken::Open { name, attributes, is_closed } => {
                let name = name.to_ascii_lowercase();
                if DROPPED.contains(&name.as_str()) {
                    dropping = (!is_closed).then_some((name, 1));
                } else {
                    writer.open(&name, attributes);
                }
            }
            HtmlToken::Close(name) => writer.close(&name.to_ascii_lowercase()),
            HtmlToken::Other => {}
        }
    }
    writer.finish()
}

#[derive(Default)]
struct HtmlWriter {
    out: String,
    open: Vec<String>,
}

impl HtmlWriter {
    fn text(&mut self, text: &str) {
        self.out.push_str(&escape(&decode(text)));
    }

    fn open(&mut self, name: &str, attributes: &str) {
        let is_kept = KEPT.contains(&name) || TABLE.contains(&name);
        if !is_kept || self.open.len() >= DEEPEST {
            return;
        }
        self.end_implied(name);
        self.out.push('<');
        self.out.push_str(name);
        for (key, value) in parse_attributes(attributes) {
            if let Some(value) = kept_attribute(name, &key, &decode(&value)) {
                // Writing to a string cannot fail.
                let _ = write!(self.out, " {key}=\"{}\"", escape(&value));
            }
        }
        if name == "a" {
            self.out.push_str(" rel=\"noopener noreferrer\"");
        }
        self.out.push('>');
        if !VOID.contains(&name) {
            self.open.push(name.to_owned());
        }
    }

    /// Ends the elements whose end tags may be left out before this one.
    fn end_implied(&mut self, name: &str) {
        let (ended, within): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tr" => (&["tr"], &["table"]),
            name if BLOCKS.contains(&name) => (&ENDED_BY_BLOCKS, &["div", "li", "td", "section"]),
            _ => return,
        };
        let place = self
            .open
            .iter()
            .rposition(|open| ended.contains(&open.as_str()) || within.contains(&open.as_str()));
        let found = place.and_then(|place| self.open.get(place)).cloned();
        if let Some(open) = found.filter(|open| ended.contains(&open.as_str())) {
            self.close(&open);
        }
    }

    fn close(&mut self, name: &str) {
        let Some(place) = self.open.iter().rposition(|open| open == name) else { return };
        while self.open.len() > place {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = write!(self.out, "</{name}>");
        }
    }

    fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close_last();
        }
        self.out
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

/// The attributes of a tag, with names in lower case and values as they were written.
fn parse_attributes(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && found.len() < MOST_ATTRIBUTES {
        let end = rest.find(|sign: char| sign == '=' || sign.is_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('=') {
            Some(value) => value_of(value.trim_start()),
            None => ("", after),
        };
        let name = name.to_ascii_lowercase();
        if !name.is_empty() && found.iter().all(|(known, _)| *known != name) {
            found.push((name, value.to_owned()));
        }
        // A sign that is no name, such as a lone `=`, must not hold the loop up.
        rest = if next.len() < rest.len() { next.trim_start() } else { "" };
    }
    found
}

fn value_of(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split_once(quote).unwrap_or((inside, ""));
        }
    }
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// A text as it stands in HTML, also in an attribute.
///
/// ```
/// use antiphon_systems::html::escape;
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
