//! Finding HTML in a longer text.

use crate::sanitizer::sanitize_nodes;
use crate::tree::HtmlTree;

/// Elements that an answer can begin with.
const BLOCKS: [&str; 24] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "div",
    "dl",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
    "hgroup",
];
/// Elements within a sentence.
const INLINE: [&str; 10] = ["a", "b", "br", "code", "em", "i", "li", "span", "strong", "td"];

/// Whether a text has an element that people write in answers.
///
/// ```
/// use antiphon_html::has_element;
/// assert!(has_element("Use <code>a</code>."));
/// assert!(!has_element("a < b, and Vec<T>"));
/// ```
pub fn has_element(text: &str) -> bool {
    let is_known = |name: &str| BLOCKS.contains(&name) || INLINE.contains(&name);
    let found = |tree: HtmlTree| tree.find(|node| is_known(node.name())).is_some();
    text.contains('<') && HtmlTree::parse(text).is_none_or(found)
}

/// The first block of a text and the blocks that follow it, as safe HTML, without the words around
/// them. `None` without a block.
///
/// ```
/// use antiphon_html::first_blocks;
/// let reply = "Sure: <div><div>a</div>b</div> Done.";
/// assert_eq!(first_blocks(reply).as_deref(), Some("<div><div>a</div>b</div>"));
/// ```
pub fn first_blocks(text: &str) -> Option<String> {
    let tree = HtmlTree::parse(text)?;
    let is_block =
        |index: &usize| tree.get(*index).is_some_and(|node| BLOCKS.contains(&node.name()));
    let is_blank = |index: &usize| {
        tree.get(*index).and_then(|node| node.text()).is_some_and(|text| text.trim().is_empty())
    };
    let children = tree.children(tree.body()).skip_while(|index| !is_block(index));
    let blocks = children.take_while(|index| is_block(index) || is_blank(index));
    let html = sanitize_nodes(&tree, blocks);
    Some(html.trim_end().to_owned()).filter(|html| !html.is_empty())
}
