//! Forms that hold the text of a page. Some servers put whole pages into one; others are fields with their labels.

use super::element::{Role, role_of};
use super::tree::{HtmlTree, NodeContent, NodeIndex, ROOT};

/// From so many characters outside of fields, labels and links on, a form holds text of the page.
const TEXT: usize = 80;

/// Marks the forms that hold text, whichever depth they have, in one pass.
pub(super) fn mark_forms(tree: &mut HtmlTree) {
    if tree.find(|node| node.name() == "form").is_none() {
        return;
    }
    let (mut order, mut pending) = (Vec::new(), vec![ROOT]);
    while let Some(index) = pending.pop() {
        order.push(index);
        tree.push_children(index, |child| pending.push(child));
    }
    let mut texts = vec![0_usize; tree.len()];
    // Children come after their parents, so that each is complete when it is added to its parent.
    for &index in order.iter().rev() {
        let own = texts.get(index).copied().unwrap_or_default() + characters(tree, index);
        let Some(node) = tree.get(index) else { continue };
        let is_form = node.name() == "form";
        let parent = node.parent;
        let counts = is_form || !is_beside_text(tree, index);
        if is_form && own >= TEXT {
            tree.mark_form(index);
        }
        if counts && let Some(sum) = parent.and_then(|parent| texts.get_mut(parent)) {
            *sum += own;
        }
    }
}

/// The characters of a text without white space at its ends.
fn characters(tree: &HtmlTree, index: NodeIndex) -> usize {
    match tree.get(index).map(|node| &node.content) {
        Some(NodeContent::Text(text)) => text.trim().chars().count(),
        _ => 0,
    }
}

/// Whether an element holds fields, their labels, or what leads elsewhere.
fn is_beside_text(tree: &HtmlTree, index: NodeIndex) -> bool {
    tree.get(index).is_some_and(|node| {
        matches!(node.name(), "label" | "legend")
            || matches!(role_of(node), Role::Skip | Role::Link)
    })
}
