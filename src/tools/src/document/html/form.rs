//! Forms that hold the text of a page. Some servers put whole pages into one; others are fields with their labels.

use std::collections::HashSet;

use antiphon_html::{HtmlTree, NodeIndex};

use super::element::{Role, role_of};

/// From so many characters outside of fields, labels and links on, a form holds text of the page.
const TEXT: usize = 80;

/// The forms that hold text, whichever depth they have, found in one pass.
pub(super) fn text_forms(tree: &HtmlTree) -> HashSet<NodeIndex> {
    let mut found = HashSet::new();
    if tree.find(|node| node.name() == "form").is_none() {
        return found;
    }
    let (mut order, mut pending) = (Vec::new(), vec![HtmlTree::ROOT]);
    while let Some(index) = pending.pop() {
        order.push(index);
        tree.push_children(index, |child| pending.push(child));
    }
    let mut texts = vec![0_usize; tree.count()];
    // Children come after their parents, so that each is complete when it is added to its parent.
    for &index in order.iter().rev() {
        let own = texts.get(index).copied().unwrap_or_default() + characters(tree, index);
        let Some(node) = tree.get(index) else { continue };
        let is_form = node.name() == "form";
        if is_form && own >= TEXT {
            found.insert(index);
        }
        let counts = is_form || !is_beside_text(tree, index);
        if counts && let Some(sum) = node.parent().and_then(|parent| texts.get_mut(parent)) {
            *sum += own;
        }
    }
    found
}

/// The characters of a text without white space at its ends.
fn characters(tree: &HtmlTree, index: NodeIndex) -> usize {
    let text = tree.get(index).and_then(|node| node.text());
    text.map_or(0, |text| text.trim().chars().count())
}

/// Whether an element holds fields, their labels, or what leads elsewhere.
fn is_beside_text(tree: &HtmlTree, index: NodeIndex) -> bool {
    tree.get(index).is_some_and(|node| {
        matches!(node.name(), "label" | "legend")
            || matches!(role_of(node), Role::Skip | Role::Link)
    })
}
