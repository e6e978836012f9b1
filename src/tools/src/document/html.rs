//! HTML to canonical text. The walk has no recursion, so that deeply nested elements cannot exhaust the stack.

use std::cell::Cell;

use antiphon_html::{HtmlNode, HtmlTree, NodeIndex, without_tags};

use super::text::{CharRange, DocumentHeading, DocumentText};
use super::writer::TextWriter;

mod article;
mod density;
mod element;
mod form;
mod metadata;
mod page;

pub use article::{HtmlArticle, PageLink, html_article};
use element::Role;
use page::HtmlPage;

/// Titles that only repeat how to link to their place.
const PERMALINKS: [&str; 4] = ["¶", "#", "§", "🔗"];

/// The text of an HTML page: its main part if it marks one, without navigation, scripts and fields of forms, at most
/// `limit` characters.
///
/// ```
/// use antiphon_tools::document::html_text;
/// let page = html_text("<h1 id=top>Tea</h1><p>Boil <b>water</b>.<script>x</script>", 1000);
/// assert_eq!(page.text, "# Tea\n\nBoil water.\n");
/// assert_eq!(page.headings[0].anchor.as_deref(), Some("top"));
/// ```
pub fn html_text(html: &str, limit: usize) -> DocumentText {
    let Some(page) = HtmlPage::parse(html) else { return flat_text(html, limit) };
    let tree = &page.tree;
    let title = tree.find(|node| node.name() == "title").map(|node| gather(&page, node));
    let mut found = DocumentText::default();
    if let Some(main) = main_part(tree) {
        found = HtmlWalk::new(&page, limit).run(main);
    }
    if found.text.trim().is_empty() {
        found = HtmlWalk::new(&page, limit).run(tree.body());
    }
    found.title = title.filter(|title| !title.is_empty()).or_else(|| {
        found
            .headings
            .iter()
            .find(|heading| heading.level == 1)
            .map(|heading| heading.title.clone())
    });
    found
}

/// The text of a page that is nested too deeply to be parsed.
fn flat_text(html: &str, limit: usize) -> DocumentText {
    let mut writer = TextWriter::new(limit);
    writer.text(&without_tags(html));
    writer.finish(None)
}

/// The element that holds what the page is about.
fn main_part(tree: &HtmlTree) -> Option<NodeIndex> {
    let is_main = |node: &HtmlNode| node.name() == "main" || node.attribute("role") == Some("main");
    tree.find(is_main).or_else(|| {
        let articles = Cell::new(0);
        let is_second = |node: &HtmlNode| {
            articles.set(articles.get() + usize::from(node.name() == "article"));
            articles.get() == 2
        };
        // A page of several articles is about all of them.
        if tree.find(is_second).is_none() {
            tree.find(|node| node.name() == "article")
        } else {
            None
        }
    })
}

/// What is left to do of a walk.
enum WalkStep {
    Enter(NodeIndex),
    /// The end of an element, and where its text began.
    Leave(Role, usize, NodeIndex),
}

/// A walk over the nodes of a page.
struct HtmlWalk<'p> {
    page: &'p HtmlPage,
    writer: TextWriter,
    /// How many `pre` elements are open.
    verbatim: usize,
    /// The open lists; the number of the next item in ordered ones.
    lists: Vec<Option<usize>>,
    /// How many cells the row has so far.
    cells: usize,
    /// An id, and the position at which it was seen.
    anchor: Option<(String, usize)>,
    /// The open lists of terms; the index of the heading of the last term of each.
    terms: Vec<Option<usize>>,
    /// How many remarks are open: their headings are no headings of the page.
    remarks: usize,
    /// The texts of links, and where these lead.
    targets: Vec<(CharRange, String)>,
}

impl<'p> HtmlWalk<'p> {
    fn new(page: &'p HtmlPage, limit: usize) -> Self {
        let writer = TextWriter::new(limit);
        Self {
            page,
            writer,
            verbatim: 0,
            lists: Vec::new(),
            cells: 0,
            anchor: None,
            terms: Vec::new(),
            remarks: 0,
            targets: Vec::new(),
        }
    }

    fn run(self, root: NodeIndex) -> DocumentText {
        self.run_with_links(root).0
    }

    fn run_with_links(mut self, root: NodeIndex) -> (DocumentText, Vec<(CharRange, String)>) {
        let mut steps = vec![WalkStep::Enter(root)];
        while let Some(step) = steps.pop() {
            if self.writer.is_full() {
                break;
            }
            match step {
                WalkStep::Enter(index) => self.enter(index, &mut steps),
                WalkStep::Leave(role, start, index) => self.leave(role, start, index),
            }
        }
        (self.writer.finish(None), self.targets)
    }

    fn enter(&mut self, index: NodeIndex, steps: &mut Vec<WalkStep>) {
        let Some(node) = self.page.tree.get(index) else { return };
        let role = match node.text() {
            Some(text) if self.verbatim > 0 => return self.writer.verbatim(text),
            Some(text) => return self.writer.text(text),
            None if node.is_element() => self.page.role(index, node),
            None if index == HtmlTree::ROOT => Role::Inline,
            None => return,
        };
        match role {
            Role::Skip => return,
            Role::Image => return self.writer.text(node.attribute("alt").unwrap_or_default()),
            Role::Heading(level) if self.remarks == 0 => {
                let anchor = self.anchor_for(id_of(node));
                let title = gather(self.page, index);
                return self.writer.heading(level, &title, anchor);
            }
            _ => {}
        }
        let start = self.begin(role, index, node);
        steps.push(WalkStep::Leave(role, start, index));
        self.page.tree.push_children(index, |child| steps.push(WalkStep::Enter(child)));
    }

    /// Opens an element; returns where its text begins.
    fn begin(&mut self, role: Role, index: NodeIndex, node: &HtmlNode) -> usize {
        match role {
            Role::Block | Role::Table | Role::Heading(_) => self.writer.block(),
            Role::Remark => {
                self.writer.block();
                self.remarks += 1;
            }
            Role::Terms => {
                self.writer.block();
                self.terms.push(None);
            }
            Role::Line => self.writer.line(),
            Role::Code => {
                self.writer.block();
                self.writer.text("```");
                self.writer.line();
                self.verbatim += 1;
            }
            Role::List(ordered) => {
                self.break_list();
                self.lists.push(ordered.then_some(1));
            }
            Role::Item => self.begin_item(),
            Role::Row => {
                self.writer.end_line();
                self.cells = 0;
            }
            Role::Cell => {
                self.writer.cell(self.cells == 0);
                self.cells += 1;
            }
            Role::Term => return self.begin_term(index, node),
            Role::Link | Role::Inline | Role::Image | Role::Form | Role::Skip => {}
        }
        let start = self.writer.position();
        if let Some(id) = id_of(node) {
            self.anchor = Some((id, start));
        }
        start
    }

    fn begin_term(&mut self, index: NodeIndex, node: &HtmlNode) -> usize {
        let anchor = self.anchor_for(id_of(node));
        let start = self.writer.position();
        self.end_term();
        if anchor.is_some() {
            if let Some(open) = self.terms.last_mut() {
                *open = Some(self.writer.headings());
            }
            self.writer.note_heading(
                DocumentHeading::TERM,
                &gather(self.page, index),
                start,
                anchor,
            );
        }
        start
    }

    /// What the last term of the innermost list stands for ends here.
    fn end_term(&mut self) {
        if let Some(index) = self.terms.last_mut().and_then(Option::take) {
            self.writer.end_heading(index);
        }
    }

    fn break_list(&mut self) {
        if self.lists.is_empty() {
            self.writer.block();
        } else {
            self.writer.line();
        }
    }

    fn begin_item(&mut self) {
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(8));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{indent}{number}. ");
                *number += 1;
                mark
            }
            _ => format!("{indent}- "),
        };
        self.writer.item(&mark);
    }

    fn leave(&mut self, role: Role, start: usize, index: NodeIndex) {
        match role {
            Role::Block | Role::Table | Role::Term | Role::Heading(_) => self.writer.block(),
            Role::Remark => {
                self.writer.block();
                self.remarks = self.remarks.saturating_sub(1);
            }
            Role::Terms => {
                self.writer.block();
                self.end_term();
                self.terms.pop();
            }
            Role::Code => {
                self.verbatim = self.verbatim.saturating_sub(1);
                self.writer.line();
                self.writer.text("```");
                self.writer.block();
            }
            Role::List(_) => {
                self.lists.pop();
                self.break_list();
            }
            Role::Item | Role::Row => self.writer.end_line(),
            Role::Link => {
                self.writer.link(start);
                let range = CharRange { start, end: self.writer.written() };
                let node = self.page.tree.get(index);
                if let Some(target) = node.and_then(|node| node.attribute("href"))
                    && !range.is_empty()
                {
                    self.targets.push((range, target.to_owned()));
                }
            }
            _ => {}
        }
    }

    /// The id of a heading: its own, or that of an element which begins with it.
    fn anchor_for(&mut self, own: Option<String>) -> Option<String> {
        self.writer.block();
        let here = self.writer.position();
        let around = self.anchor.take().filter(|(_, at)| at.abs_diff(here) <= 2);
        own.or_else(|| around.map(|(id, _)| id))
    }
}

/// The text below a node, on one line.
fn gather(page: &HtmlPage, root: NodeIndex) -> String {
    let mut text = String::new();
    let mut pending = vec![root];
    while let Some(index) = pending.pop() {
        let Some(node) = page.tree.get(index) else { continue };
        match node.text() {
            Some(found) if PERMALINKS.contains(&found.trim()) => {}
            Some(found) => text.push_str(found),
            None if index == root || page.role(index, node) != Role::Skip => {
                page.tree.push_children(index, |child| pending.push(child));
            }
            None => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn id_of(node: &HtmlNode) -> Option<String> {
    node.attribute("id").filter(|id| !id.is_empty()).map(str::to_owned)
}
