//! What an element of HTML means for the text.

use antiphon_html::HtmlNode;

/// What to do with an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Neither it nor what it holds is text of the page.
    Skip,
    Inline,
    Link,
    Image,
    Line,
    Block,
    /// A form, which may hold text of the page.
    Form,
    /// A block beside the text, such as a note or a quotation.
    Remark,
    Heading(u8),
    /// A list of terms with what they stand for: `dl`.
    Terms,
    /// A term that is defined: `dt`.
    Term,
    Code,
    /// A list; whether it is ordered.
    List(bool),
    Item,
    Table,
    Row,
    Cell,
}

/// Elements that show nothing, or that a reader operates.
const SKIPPED: [&str; 23] = [
    "script", "style", "noscript", "template", "head", "title", "nav", "footer", "svg", "math",
    "canvas", "iframe", "object", "embed", "audio", "video", "button", "select", "input",
    "textarea", "dialog", "datalist", "link",
];

const BLOCKS: [&str; 18] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "body",
    "html",
    "header",
    "figcaption",
    "details",
    "summary",
    "address",
    "dd",
    "hr",
    "fieldset",
    "center",
    "caption",
    "hgroup",
];

/// Classes and ids of navigation that documentation tools write as plain `div`s.
const NAVIGATION: [&str; 12] = [
    "navheader",
    "navfooter",
    "sphinxsidebar",
    "sidebar",
    "related",
    "breadcrumbs",
    "breadcrumb",
    "navbar",
    "headerlink",
    "toctree-wrapper",
    "toc",
    "skip-link",
];

/// Classes of remarks that documentation tools write as plain `div`s.
const REMARKS: [&str; 6] = ["admonition", "note", "tip", "warning", "caution", "important"];

const ROLES: [&str; 5] = ["navigation", "banner", "contentinfo", "search", "dialog"];

/// What to do with an element.
pub(super) fn role_of(node: &HtmlNode) -> Role {
    let name = node.name();
    if SKIPPED.contains(&name) || is_hidden(node) || is_navigation(node) {
        return Role::Skip;
    }
    match name {
        "form" => Role::Form,
        "a" if node.attribute("href").is_some() => Role::Link,
        "br" => Role::Line,
        "img" => Role::Image,
        "h1" => Role::Heading(1),
        "h2" => Role::Heading(2),
        "h3" => Role::Heading(3),
        "h4" => Role::Heading(4),
        "h5" => Role::Heading(5),
        "h6" => Role::Heading(6),
        "aside" | "blockquote" | "figure" => Role::Remark,
        "div" if has_class(node, &REMARKS) => Role::Remark,
        "dl" => Role::Terms,
        "dt" => Role::Term,
        "pre" | "listing" | "xmp" => Role::Code,
        "ul" | "menu" | "dir" => Role::List(false),
        "ol" => Role::List(true),
        "li" => Role::Item,
        "table" => Role::Table,
        "tr" => Role::Row,
        "td" | "th" => Role::Cell,
        name if BLOCKS.contains(&name) => Role::Block,
        _ => Role::Inline,
    }
}

fn is_hidden(node: &HtmlNode) -> bool {
    node.attribute("hidden").is_some()
        || node.attribute("aria-hidden") == Some("true")
        || node.attribute("style").is_some_and(|style| {
            let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
            style.contains("display:none") || style.contains("visibility:hidden")
        })
}

fn is_navigation(node: &HtmlNode) -> bool {
    if node.attribute("role").is_some_and(|role| ROLES.contains(&role)) {
        return true;
    }
    let container = matches!(node.name(), "div" | "ul" | "ol" | "a" | "aside" | "span" | "p");
    container && has_class(node, &NAVIGATION)
}

fn has_class(node: &HtmlNode, known: &[&str]) -> bool {
    let classes = node.attribute("class").unwrap_or_default();
    classes.split_ascii_whitespace().any(|class| known.contains(&class))
}
