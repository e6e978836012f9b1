//! A parsed page, and what its elements mean for the text.

use std::collections::HashSet;

use antiphon_html::{HtmlNode, HtmlTree, NodeIndex};

use super::element::{Role, role_of};
use super::form::text_forms;

/// A page whose text is read.
#[derive(Debug)]
pub(super) struct HtmlPage {
    pub(super) tree: HtmlTree,
    /// The forms that hold text of the page.
    text_forms: HashSet<NodeIndex>,
}

impl HtmlPage {
    /// `None` if it is nested too deeply to be parsed.
    pub(super) fn parse(html: &str) -> Option<Self> {
        let tree = HtmlTree::parse(html)?;
        Some(Self { text_forms: text_forms(&tree), tree })
    }

    /// What to do with an element.
    pub(super) fn role(&self, index: NodeIndex, node: &HtmlNode) -> Role {
        match role_of(node) {
            Role::Form if self.text_forms.contains(&index) => Role::Block,
            Role::Form => Role::Skip,
            role => role,
        }
    }
}
