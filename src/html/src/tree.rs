//! The nodes of a page in one list. Nothing here walks through siblings or recurses, so that no page
//! takes more than linear time or exhausts the stack.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};
use std::sync::LazyLock;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ParseOpts, QualName, local_name, ns, parse_document};

use crate::attribute_budget::AttributeBudget;
use crate::nesting::is_too_deep;

/// The position of a node in its tree.
pub type NodeIndex = usize;

/// What a node is.
#[derive(Debug)]
enum NodeContent {
    /// An element; of a `template`, the node that holds its content.
    Element {
        name: QualName,
        attributes: Vec<Attribute>,
        template: Option<NodeIndex>,
    },
    Text(StrTendril),
    /// The document, comments and instructions.
    Other,
}

/// A node and its neighbours.
#[derive(Debug)]
pub struct HtmlNode {
    content: NodeContent,
    parent: Option<NodeIndex>,
    previous: Option<NodeIndex>,
    next: Option<NodeIndex>,
    first: Option<NodeIndex>,
    last: Option<NodeIndex>,
}

impl HtmlNode {
    const fn new(content: NodeContent) -> Self {
        Self { content, parent: None, previous: None, next: None, first: None, last: None }
    }

    /// The local name; empty if it is no element.
    pub fn name(&self) -> &str {
        match &self.content {
            NodeContent::Element { name, .. } => &name.local,
            _ => "",
        }
    }

    /// The text; `None` if it is no text.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            NodeContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is an element, of HTML or of another language such as SVG.
    pub const fn is_element(&self) -> bool {
        matches!(self.content, NodeContent::Element { .. })
    }

    /// Whether it is an element of SVG or `MathML`.
    pub fn is_foreign(&self) -> bool {
        match &self.content {
            NodeContent::Element { name, .. } => name.ns != ns!(html),
            _ => false,
        }
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The names and values of its attributes, in order.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let attributes = match &self.content {
            NodeContent::Element { attributes, .. } => attributes.as_slice(),
            _ => &[],
        };
        attributes.iter().map(|attribute| (&*attribute.name.local, &*attribute.value))
    }

    /// The node that it is in.
    pub const fn parent(&self) -> Option<NodeIndex> {
        self.parent
    }
}

/// A parsed page.
///
/// ```
/// use antiphon_html::HtmlTree;
/// let tree = HtmlTree::parse("<p>Boil <b>water</b>.").unwrap();
/// let bold = tree.find(|node| node.name() == "b").and_then(|index| tree.get(index)).unwrap();
/// assert_eq!(bold.parent().and_then(|index| tree.get(index)).unwrap().name(), "p");
/// ```
#[derive(Debug)]
pub struct HtmlTree {
    nodes: Vec<HtmlNode>,
}

impl HtmlTree {
    /// The document itself.
    pub const ROOT: NodeIndex = 0;
    /// A page of some bytes may ask for many nodes: open elements are opened again in each
    /// paragraph. What comes after so many is left out.
    const MAX_NODES: usize = 500_000;
    /// Bytes that are parsed before the nodes are counted again.
    const PART: usize = 4096;

    /// The tree of a page, up to where it would take too many nodes or a tag too many attributes;
    /// `None` if it is nested deeper than browsers show.
    pub fn parse(html: &str) -> Option<Self> {
        if is_too_deep(html) {
            return None;
        }
        let mut parser = parse_document(NodeListBuilder::new(), ParseOpts::default());
        let mut budget = AttributeBudget::default();
        let mut rest = html;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.floor_char_boundary(Self::PART));
            parser.process(StrTendril::from_slice(part));
            let built = &parser.tokenizer.sink.sink;
            if !budget.allows_more_after(part, built.changed.take())
                || built.nodes.borrow().len() > Self::MAX_NODES
            {
                break;
            }
            rest = after;
        }
        Some(parser.finish())
    }

    /// How many nodes it has.
    pub const fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The node at a position.
    pub fn get(&self, index: NodeIndex) -> Option<&HtmlNode> {
        self.nodes.get(index)
    }

    /// The first node in document order for which `test` holds.
    pub fn find(&self, test: impl Fn(&HtmlNode) -> bool) -> Option<NodeIndex> {
        let mut pending = vec![Self::ROOT];
        while let Some(index) = pending.pop() {
            if self.get(index).is_some_and(&test) {
                return Some(index);
            }
            self.push_children(index, |child| pending.push(child));
        }
        None
    }

    /// What the page shows: its `body`, or the document if it has none.
    pub fn body(&self) -> NodeIndex {
        self.find(|node| node.name() == "body").unwrap_or(Self::ROOT)
    }

    /// Pushes the children of a node on a stack, the first one on top.
    pub fn push_children(&self, index: NodeIndex, mut push: impl FnMut(NodeIndex)) {
        let mut child = self.get(index).and_then(|node| node.last);
        while let Some(index) = child {
            push(index);
            child = self.get(index).and_then(|node| node.previous);
        }
    }

    /// The children of a node, in order.
    pub fn children(&self, index: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        let first = self.get(index).and_then(|node| node.first);
        std::iter::successors(first, |index| self.get(*index)?.next)
    }
}

/// Builds the list while the parser reads.
struct NodeListBuilder {
    nodes: RefCell<Vec<HtmlNode>>,
    changed: Cell<bool>,
}

impl NodeListBuilder {
    fn new() -> Self {
        let document = HtmlNode::new(NodeContent::Other);
        Self { nodes: RefCell::new(vec![document]), changed: Cell::new(false) }
    }

    fn create(&self, content: NodeContent) -> NodeIndex {
        self.changed.set(true);
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(HtmlNode::new(content));
        nodes.len() - 1
    }

    fn read<T>(&self, index: NodeIndex, read: impl FnOnce(&HtmlNode) -> T) -> Option<T> {
        self.nodes.borrow().get(index).map(read)
    }

    fn update(&self, index: Option<NodeIndex>, update: impl FnOnce(&mut HtmlNode)) {
        if let Some(index) = index
            && let Some(node) = self.nodes.borrow_mut().get_mut(index)
        {
            update(node);
        }
    }

    /// Adds text to a text node; returns whether it was one.
    fn extend(&self, index: Option<NodeIndex>, text: &StrTendril) -> bool {
        let mut extended = false;
        self.update(index, |node| {
            if let NodeContent::Text(before) = &mut node.content {
                before.push_tendril(text);
                extended = true;
            }
        });
        extended
    }

    /// Puts a node between `previous` and `next`, which are neighbours below `parent`.
    fn link(
        &self,
        index: NodeIndex,
        parent: NodeIndex,
        between: (Option<NodeIndex>, Option<NodeIndex>),
    ) {
        let (previous, next) = between;
        self.update(Some(index), |node| {
            (node.parent, node.previous, node.next) = (Some(parent), previous, next);
        });
        self.update(previous, |node| node.next = Some(index));
        self.update(next, |node| node.previous = Some(index));
        self.update(Some(parent), |node| {
            node.first = if previous.is_none() { Some(index) } else { node.first };
            node.last = if next.is_none() { Some(index) } else { node.last };
        });
    }

    fn unlink(&self, index: NodeIndex) {
        let Some((parent, previous, next)) =
            self.read(index, |node| (node.parent, node.previous, node.next))
        else {
            return;
        };
        self.update(previous, |node| node.next = next);
        self.update(next, |node| node.previous = previous);
        self.update(parent, |node| {
            node.first = if node.first == Some(index) { next } else { node.first };
            node.last = if node.last == Some(index) { previous } else { node.last };
        });
        self.update(Some(index), |node| {
            (node.parent, node.previous, node.next) = (None, None, None);
        });
    }

    /// Puts a node or a text between two neighbours; a text joins one before it.
    fn insert(
        &self,
        parent: NodeIndex,
        between: (Option<NodeIndex>, Option<NodeIndex>),
        child: NodeOrText<NodeIndex>,
    ) {
        self.changed.set(true);
        match child {
            NodeOrText::AppendText(text) => {
                if !self.extend(between.0, &text) {
                    let index = self.create(NodeContent::Text(text));
                    self.link(index, parent, between);
                }
            }
            NodeOrText::AppendNode(index) => {
                self.unlink(index);
                self.link(index, parent, between);
            }
        }
    }
}

impl TreeSink for NodeListBuilder {
    type Handle = NodeIndex;
    type Output = HtmlTree;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> HtmlTree {
        HtmlTree { nodes: self.nodes.into_inner() }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeIndex {
        HtmlTree::ROOT
    }

    fn elem_name<'a>(&'a self, target: &'a NodeIndex) -> Ref<'a, QualName> {
        static NO_ELEMENT: LazyLock<QualName> =
            LazyLock::new(|| QualName::new(None, ns!(), local_name!("")));
        Ref::map(self.nodes.borrow(), |nodes| match nodes.get(*target).map(|node| &node.content) {
            Some(NodeContent::Element { name, .. }) => name,
            _ => &NO_ELEMENT,
        })
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeIndex {
        let template = flags.template.then(|| self.create(NodeContent::Other));
        self.create(NodeContent::Element { name, attributes, template })
    }

    fn create_comment(&self, _: StrTendril) -> NodeIndex {
        self.create(NodeContent::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeIndex {
        self.create(NodeContent::Other)
    }

    fn append(&self, parent: &NodeIndex, child: NodeOrText<NodeIndex>) {
        let last = self.read(*parent, |node| node.last).flatten();
        self.insert(*parent, (last, None), child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeIndex,
        before: &NodeIndex,
        child: NodeOrText<NodeIndex>,
    ) {
        if self.read(*element, |node| node.parent).flatten().is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(before, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &NodeIndex) -> NodeIndex {
        let content = self.read(*target, |node| match node.content {
            NodeContent::Element { template, .. } => template,
            _ => None,
        });
        content.flatten().unwrap_or(*target)
    }

    fn same_node(&self, one: &NodeIndex, other: &NodeIndex) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeIndex, child: NodeOrText<NodeIndex>) {
        if let NodeOrText::AppendNode(index) = child {
            self.unlink(index);
        }
        let place = self.read(*sibling, |node| (node.parent, node.previous));
        if let Some((Some(parent), previous)) = place {
            self.insert(parent, (previous, Some(*sibling)), child);
        }
    }

    fn add_attrs_if_missing(&self, target: &NodeIndex, new: Vec<Attribute>) {
        self.update(Some(*target), |node| {
            let NodeContent::Element { attributes, .. } = &mut node.content else { return };
            for attribute in new {
                if attributes.iter().all(|known| known.name != attribute.name) {
                    attributes.push(attribute);
                }
            }
        });
    }

    fn remove_from_parent(&self, target: &NodeIndex) {
        self.unlink(*target);
    }

    fn reparent_children(&self, node: &NodeIndex, parent: &NodeIndex) {
        while let Some(child) = self.read(*node, |node| node.first).flatten() {
            self.unlink(child);
            let last = self.read(*parent, |node| node.last).flatten();
            self.link(child, *parent, (last, None));
        }
    }
}
