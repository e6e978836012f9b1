//! HTML as Markdown and as plain text.

use std::fmt::Write as _;

use crate::nesting::without_tags;
use crate::sanitizer::sanitize;
use crate::tree::{HtmlNode, HtmlTree, NodeIndex};

/// The HTML as Markdown, without what [`sanitize`] leaves out. No renderer of Markdown takes its
/// texts for HTML, links or images.
///
/// ```
/// use antiphon_html::to_markdown;
/// let html = "<h3>Tea</h3><p>Steep <strong>2</strong> minutes.</p><ul><li>green</li></ul>";
/// assert_eq!(to_markdown(html), "### Tea\n\nSteep **2** minutes.\n\n- green");
/// ```
pub fn to_markdown(html: &str) -> String {
    render(html, true)
}

/// The HTML as plain text, without tags and what [`sanitize`] leaves out: a line for each block.
///
/// ```
/// use antiphon_html::to_text;
/// assert_eq!(to_text("<p>a &lt; <b>b</b></p><p>c</p>"), "a < b\nc");
/// ```
pub fn to_text(html: &str) -> String {
    render(html, false)
}

/// What is left to do of a walk.
enum RenderStep<'t> {
    Enter(NodeIndex),
    Leave(&'t str),
}

fn render(html: &str, is_markdown: bool) -> String {
    let mut renderer = HtmlRenderer { is_markdown, ..HtmlRenderer::default() };
    let Some(tree) = HtmlTree::parse(&sanitize(html)) else {
        renderer.text(&without_tags(html));
        return renderer.finish();
    };
    let mut steps = vec![RenderStep::Enter(tree.body())];
    while let Some(step) = steps.pop() {
        match step {
            RenderStep::Leave(name) => renderer.close(name),
            RenderStep::Enter(index) => {
                let Some(node) = tree.get(index) else { continue };
                if let Some(text) = node.text() {
                    renderer.text(text);
                    continue;
                }
                renderer.open(node);
                steps.push(RenderStep::Leave(node.name()));
                tree.push_children(index, |child| steps.push(RenderStep::Enter(child)));
            }
        }
    }
    renderer.finish()
}

/// A list that is open, with the number of its next item if it is ordered.
struct OpenList {
    next: Option<usize>,
}

#[derive(Default)]
struct HtmlRenderer {
    is_markdown: bool,
    out: String,
    /// New lines that the next text begins with: 0 to 2.
    lines: usize,
    lists: Vec<OpenList>,
    quotes: usize,
    preformatted: usize,
    /// Where the signs of the open code fence end, if there is one.
    fence: Option<usize>,
    links: Vec<String>,
    cells: usize,
    is_first_row: bool,
    /// What stands before the next text, such as the mark of an item.
    mark: String,
    needs_space: bool,
}

impl HtmlRenderer {
    fn open(&mut self, node: &HtmlNode) {
        match node.name() {
            "br" => self.break_line(1),
            "hr" => {
                self.break_line(2);
                self.sign("---");
                self.break_line(2);
            }
            name @ ("h1" | "h2" | "h3" | "h4" | "h5" | "h6") => {
                self.break_line(2);
                let level = name.trim_start_matches('h').parse().unwrap_or(3);
                self.mark_block(&format!("{} ", "#".repeat(level)));
            }
            "ul" => self.open_list(None),
            "ol" => self.open_list(Some(1)),
            "li" => self.open_item(),
            "blockquote" => {
                self.break_line(2);
                self.quotes += 1;
            }
            "pre" => self.open_preformatted(),
            "table" => {
                self.break_line(2);
                self.is_first_row = true;
            }
            "tr" => {
                self.break_line(1);
                self.cells = 0;
            }
            "td" | "th" => {
                if self.is_markdown {
                    self.sign(if self.cells == 0 { "| " } else { " | " });
                } else if self.cells > 0 {
                    self.needs_space = true;
                }
                self.cells += 1;
            }
            "a" => {
                self.links.push(node.attribute("href").unwrap_or_default().to_owned());
                if self.links.last().is_some_and(|link| !link.is_empty()) {
                    self.escape_image();
                    self.inline_mark("[");
                }
            }
            "strong" | "b" => self.inline_mark("**"),
            "em" | "i" => self.inline_mark("*"),
            "code" if self.preformatted == 0 => self.inline_mark("`"),
            name if is_block(name) => self.break_line(2),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "ul" | "ol" => {
                self.lists.pop();
                self.break_line(if self.lists.is_empty() { 2 } else { 1 });
            }
            "li" => {
                self.mark.clear();
                self.break_line(1);
            }
            "blockquote" => {
                self.break_line(2);
                self.quotes = self.quotes.saturating_sub(1);
            }
            "pre" => self.close_preformatted(),
            "table" => {
                self.cells = 0;
                self.break_line(2);
            }
            "tr" => {
                if self.is_markdown && self.cells > 0 {
                    self.sign(" |");
                    if std::mem::take(&mut self.is_first_row) {
                        self.break_line(1);
                        self.sign(&"| --- ".repeat(self.cells));
                        self.sign("|");
                    }
                }
                self.break_line(1);
            }
            "a" => {
                let link = self.links.pop().unwrap_or_default();
                if !link.is_empty() {
                    self.close_mark(&format!("]({})", address(&link)));
                }
            }
            "strong" | "b" => self.close_mark("**"),
            "em" | "i" => self.close_mark("*"),
            "code" if self.preformatted == 0 => self.close_mark("`"),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.break_line(2),
            name if is_block(name) => self.break_line(2),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.preformatted > 0 {
            for (number, line) in text.split('\n').enumerate() {
                if number > 0 {
                    self.lines = 0;
                    self.new_line();
                }
                if !line.is_empty() {
                    self.put_line(line);
                }
            }
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.needs_space = true;
        }
        for word in text.split_whitespace() {
            self.word(word);
            self.needs_space = true;
        }
        self.needs_space =
            text.ends_with(char::is_whitespace) || (self.needs_space && text.trim().is_empty());
    }

    /// Puts a line that keeps its spaces.
    fn put_line(&mut self, line: &str) {
        if !self.is_markdown || self.fence.is_some() {
            return self.put(line);
        }
        let escaped = self.escaped(line);
        self.put(&escaped);
    }

    fn word(&mut self, word: &str) {
        if !self.is_markdown {
            return self.put(word);
        }
        let escaped = self.escaped(word);
        self.put(&escaped);
    }

    /// A text whose signs mean themselves in Markdown.
    fn escaped(&self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len());
        for sign in text.chars() {
            let is_mark = matches!(sign, '\\' | '*' | '`' | '[' | ']' | '<');
            if is_mark || (sign == '|' && self.cells > 0) {
                escaped.push('\\');
            }
            escaped.push(sign);
        }
        escaped
    }

    /// Keeps an exclamation mark from making an image of the link that follows.
    fn escape_image(&mut self) {
        let is_next = self.lines == 0 && !self.needs_space && self.mark.is_empty();
        if self.is_markdown && is_next && self.out.ends_with('!') {
            self.out.pop();
            self.out.push_str("\\!");
        }
    }

    /// In a list or a table the lines after the first would stand outside of a fence.
    fn open_preformatted(&mut self) {
        self.break_line(2);
        let is_fenced = self.lists.is_empty() && self.cells == 0 && self.mark.is_empty();
        if self.preformatted == 0 && is_fenced && self.is_markdown {
            self.sign("```");
            self.fence = Some(self.out.len());
        }
        self.preformatted += 1;
        self.break_line(1);
    }

    fn close_preformatted(&mut self) {
        self.preformatted = self.preformatted.saturating_sub(1);
        if !self.out.ends_with('\n') {
            self.break_line(1);
        }
        if let Some(opened) = self.fence.filter(|_| self.preformatted == 0) {
            // A fence is longer than what looks like one in it.
            let inner = self.out.get(opened..).map_or(0, longest_fence);
            let more = "`".repeat((inner + 1).saturating_sub(3));
            self.out.insert_str(opened, &more);
            self.sign(&format!("```{more}"));
            self.fence = None;
        }
        self.break_line(2);
    }

    fn open_list(&mut self, next: Option<usize>) {
        self.break_line(if self.lists.is_empty() { 2 } else { 1 });
        self.lists.push(OpenList { next });
    }

    fn open_item(&mut self) {
        self.break_line(1);
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(OpenList { next: Some(number) }) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.mark = format!("{}{mark}", "  ".repeat(depth));
    }

    /// A mark at the beginning of a block.
    fn mark_block(&mut self, mark: &str) {
        if self.is_markdown {
            mark.clone_into(&mut self.mark);
        }
    }

    /// A mark before words; the space before the words stands before it.
    fn inline_mark(&mut self, mark: &str) {
        if self.is_markdown {
            self.put(mark);
            self.needs_space = false;
        }
    }

    /// A mark after words; the space after the words stands behind it.
    fn close_mark(&mut self, mark: &str) {
        if self.is_markdown {
            let spaced = std::mem::take(&mut self.needs_space);
            self.put(mark);
            self.needs_space = spaced;
        }
    }

    /// A sign that only Markdown has.
    fn sign(&mut self, sign: &str) {
        if self.is_markdown {
            self.needs_space = false;
            self.put(sign);
        }
    }

    fn break_line(&mut self, lines: usize) {
        let lines = if self.is_markdown { lines } else { 1 };
        self.lines = self.lines.max(lines);
        self.needs_space = false;
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        if self.is_markdown {
            self.out.push_str(&"> ".repeat(self.quotes));
        }
    }

    fn put(&mut self, text: &str) {
        let lines = std::mem::take(&mut self.lines);
        if self.out.is_empty() {
            if self.is_markdown {
                self.out.push_str(&"> ".repeat(self.quotes));
            }
        } else if lines > 0 {
            for _ in 0..lines {
                self.new_line();
            }
        } else if std::mem::take(&mut self.needs_space) && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        self.needs_space = false;
        self.out.push_str(&std::mem::take(&mut self.mark));
        self.out.push_str(text);
    }

    fn finish(self) -> String {
        let lines: Vec<&str> = self.out.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

/// The most backticks in a row.
fn longest_fence(text: &str) -> usize {
    text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0)
}

/// An address between the parentheses of a link.
fn address(link: &str) -> String {
    let mut address = String::with_capacity(link.len());
    for sign in link.chars() {
        if sign.is_whitespace() || sign.is_control() || "()<>[]\\`\"".contains(sign) {
            let mut bytes = [0; 4];
            for byte in sign.encode_utf8(&mut bytes).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(address, "%{byte:02X}");
            }
        } else {
            address.push(sign);
        }
    }
    address
}

fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 17] = [
        "address",
        "article",
        "aside",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "footer",
        "header",
        "p",
        "section",
        "summary",
    ];
    BLOCKS.contains(&name)
}
