//! Finds the part of a page that holds its article, where the page does not mark it.

use antiphon_html::{HtmlTree, NodeIndex};

use super::element::Role;
use super::page::HtmlPage;

/// Shorter paragraphs say nothing about where the article is.
const PARAGRAPH: usize = 40;

/// Characters that count for a node and those around it.
#[derive(Clone, Copy, Default)]
struct NodeWeight {
    /// The characters of its text.
    text: usize,
    /// Those of them that are in links.
    linked: usize,
    /// The score of its paragraphs: in full for those directly in it, less for those further down.
    score: f64,
}

/// The element with the most paragraphs of its own; none if the page has no paragraphs.
pub(super) fn densest(page: &HtmlPage) -> Option<NodeIndex> {
    let order = document_order(page);
    let mut weights = vec![NodeWeight::default(); page.tree.count()];
    // Children come after their parents, so that each is complete when it is added to its parent.
    for &index in order.iter().rev() {
        weigh(page, index, &mut weights);
    }
    let mut best: Option<(NodeIndex, f64)> = None;
    for &index in &order {
        let Some(weight) = weights.get(index).filter(|weight| weight.score > 0.0) else { continue };
        let score = weight.score * (1.0 - link_share(weight));
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((index, score));
        }
    }
    best.map(|(index, _)| index)
}

/// All nodes that are text of the page, parents before children.
fn document_order(page: &HtmlPage) -> Vec<NodeIndex> {
    let (mut order, mut pending) = (Vec::new(), vec![HtmlTree::ROOT]);
    while let Some(index) = pending.pop() {
        let Some(node) = page.tree.get(index) else { continue };
        if node.is_element() && page.role(index, node) == Role::Skip {
            continue;
        }
        order.push(index);
        page.tree.push_children(index, |child| pending.push(child));
    }
    order
}

fn weigh(page: &HtmlPage, index: NodeIndex, weights: &mut [NodeWeight]) {
    let Some(node) = page.tree.get(index) else { return };
    let mut own = weights.get(index).copied().unwrap_or_default();
    let role = page.role(index, node);
    if let Some(text) = node.text() {
        own.text = text.split_whitespace().map(|word| word.chars().count() + 1).sum();
    } else if role == Role::Link {
        own.linked = own.text;
    }
    let is_paragraph = matches!(node.name(), "p" | "pre" | "blockquote" | "td" | "li" | "dd");
    let paragraph = if is_paragraph && own.text >= PARAGRAPH {
        let share = 1.0 - link_share(&own);
        (1.0 + characters(own.text.min(900)) / 100.0) * share
    } else {
        0.0
    };
    if let Some(slot) = weights.get_mut(index) {
        *slot = own;
    }
    if let Some(parent) = node.parent().and_then(|parent| weights.get_mut(parent)) {
        parent.text += own.text;
        parent.linked += own.linked;
        // A list or a quotation is part of an article, which is around it.
        let passes = matches!(role, Role::List(_) | Role::Row | Role::Table | Role::Item)
            || matches!(node.name(), "tbody" | "blockquote" | "section");
        parent.score += paragraph + own.score * if passes { 0.9 } else { 0.5 };
    }
}

fn link_share(weight: &NodeWeight) -> f64 {
    if weight.text == 0 { 0.0 } else { characters(weight.linked) / characters(weight.text) }
}

/// Counts of characters are far below what a float holds exactly.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 52 bits")]
const fn characters(count: usize) -> f64 {
    count as f64
}
