//! Markdown as blocks.

use antiphon_core::{Fault, FaultCode};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::blocks::{Block, ColumnAlignment, ListItem, Table};
use super::rich_text::{Emphasis, RichText};

/// How deep lists and quotes nest.
const MAX_DEPTH: usize = 20;

/// Reads `CommonMark` with tables, task lists and strikethrough. HTML is shown as text.
///
/// # Errors
/// A fault `pdf_unwritable`: lists and quotes nest too deep.
pub(super) fn read(text: &str) -> Result<Vec<Block>, Fault> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = MarkdownReader::default();
    for event in Parser::new_ext(text, options) {
        reader.read(event)?;
    }
    reader.end_paragraph();
    Ok(reader.blocks)
}

/// What blocks are in.
#[derive(Debug)]
enum BlockContainer {
    Quote,
    List { next: Option<u64>, items: Vec<ListItem> },
    Item { marker: String },
}

#[derive(Debug, Default)]
struct MarkdownReader {
    /// The blocks of the innermost container.
    blocks: Vec<Block>,
    /// The containers, with the blocks before them.
    open: Vec<(BlockContainer, Vec<Block>)>,
    text: RichText,
    /// Where emphases that have not ended began.
    emphases: Vec<(usize, Emphasis)>,
    code: Option<String>,
    table: Table,
    in_table: bool,
    /// The path of an image whose description is being read, and where that began.
    image: Option<(String, usize)>,
}

impl MarkdownReader {
    fn read(&mut self, event: Event<'_>) -> Result<(), Fault> {
        match event {
            Event::Start(tag) => self.start(tag)?,
            Event::End(end) => self.end(end),
            Event::Text(text) => match self.code.as_mut() {
                Some(code) => code.push_str(&text),
                None => self.text.push(&text),
            },
            Event::Code(code) => self.text.push_as(&code, Emphasis::Code),
            Event::Html(html) | Event::InlineHtml(html) if is_line_break(&html) => {
                self.text.push("\n");
            }
            Event::Html(html) | Event::InlineHtml(html) => self.text.push(&html),
            Event::SoftBreak => self.text.push(" "),
            Event::HardBreak => self.text.push("\n"),
            Event::Rule => {
                self.end_paragraph();
                self.blocks.push(Block::Rule);
            }
            Event::TaskListMarker(done) => self.mark_task(done),
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: Tag<'_>) -> Result<(), Fault> {
        match tag {
            Tag::Emphasis => self.emphasise(Emphasis::Italic),
            Tag::Strong => self.emphasise(Emphasis::Strong),
            Tag::Strikethrough => self.emphasise(Emphasis::Struck),
            Tag::Link { dest_url, .. } => self.emphasise(Emphasis::Link(dest_url.as_ref().into())),
            Tag::Image { dest_url, .. } => {
                self.image = Some((dest_url.to_string(), self.text.text.len()));
            }
            Tag::TableHead | Tag::TableCell => {}
            Tag::TableRow => self.table.rows.push(Vec::new()),
            other => {
                self.end_paragraph();
                self.start_block(other)?;
            }
        }
        Ok(())
    }

    fn start_block(&mut self, tag: Tag<'_>) -> Result<(), Fault> {
        match tag {
            Tag::BlockQuote(_) => self.enter(BlockContainer::Quote)?,
            Tag::List(next) => self.enter(BlockContainer::List { next, items: Vec::new() })?,
            Tag::Item => {
                let marker = self.next_marker();
                self.enter(BlockContainer::Item { marker })?;
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.code = Some(String::new());
            }
            Tag::Table(alignments) => {
                let sides = alignments.into_iter().map(side).collect();
                self.table = Table { sides, ..Table::default() };
                self.in_table = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link => {
                if let Some((start, emphasis)) = self.emphases.pop() {
                    self.text.spans.push((start..self.text.text.len(), emphasis));
                }
            }
            TagEnd::Image => self.end_image(),
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text);
                self.blocks.push(Block::Heading { level: number(level), text });
            }
            TagEnd::CodeBlock => {
                let text = self.code.take().unwrap_or_default();
                self.blocks.push(Block::Lines { text, code: true });
            }
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Table => {
                self.in_table = false;
                self.blocks.push(Block::Table(std::mem::take(&mut self.table)));
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.leave(),
            TagEnd::TableHead | TagEnd::TableRow => {}
            _ => self.end_paragraph(),
        }
    }

    fn emphasise(&mut self, emphasis: Emphasis) {
        self.emphases.push((self.text.text.len(), emphasis));
    }

    fn end_paragraph(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        text.trim_end();
        if !text.is_blank() {
            self.blocks.push(Block::Paragraph(text));
        }
    }

    fn end_cell(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.table.rows.last_mut() {
            Some(row) => row.push(text),
            None => self.table.header.push(text),
        }
    }

    /// An image of a file stands on its own, one in a table or of the web is its description and
    /// its address: loading it would tell its host that somebody reads the text.
    fn end_image(&mut self) {
        let Some((path, start)) = self.image.take() else { return };
        let description = self.text.text.split_off(start);
        self.text.spans.retain(|(range, _)| range.end <= start);
        if self.in_table || path.contains("://") || path.starts_with("data:") {
            let shown: String = path.chars().take(200).collect();
            self.text.push(&format!("{description} ({shown})"));
            return;
        }
        for (begin, _) in &mut self.emphases {
            *begin = 0;
        }
        self.end_paragraph();
        self.blocks.push(Block::Image { path, description });
    }

    fn enter(&mut self, container: BlockContainer) -> Result<(), Fault> {
        if self.open.len() >= 2 * MAX_DEPTH {
            let message = format!("lists and quotes nest deeper than {MAX_DEPTH} levels");
            return Err(Fault::new(FaultCode::PdfUnwritable, message).hint("nest them less"));
        }
        self.open.push((container, std::mem::take(&mut self.blocks)));
        Ok(())
    }

    fn leave(&mut self) {
        self.end_paragraph();
        let Some((container, before)) = self.open.pop() else { return };
        let inner = std::mem::replace(&mut self.blocks, before);
        match container {
            BlockContainer::Quote => self.blocks.push(Block::Quote(inner)),
            BlockContainer::List { items, .. } => self.blocks.push(Block::List(items)),
            BlockContainer::Item { marker } => {
                if let Some((BlockContainer::List { items, .. }, _)) = self.open.last_mut() {
                    items.push(ListItem { marker, blocks: inner });
                }
            }
        }
    }

    fn next_marker(&mut self) -> String {
        match self.open.last_mut() {
            Some((BlockContainer::List { next: Some(number), .. }, _)) => {
                let marker = format!("{number}.");
                *number = number.saturating_add(1);
                marker
            }
            _ => "•".to_owned(),
        }
    }

    fn mark_task(&mut self, done: bool) {
        if let Some((BlockContainer::Item { marker }, _)) = self.open.last_mut() {
            if done { "☑" } else { "☐" }.clone_into(marker);
        }
    }
}

fn is_line_break(html: &str) -> bool {
    let name = html.trim().trim_start_matches('<').trim_end_matches('>').trim_end_matches('/');
    name.trim().eq_ignore_ascii_case("br")
}

const fn side(alignment: Alignment) -> ColumnAlignment {
    match alignment {
        Alignment::None | Alignment::Left => ColumnAlignment::Start,
        Alignment::Center => ColumnAlignment::Centre,
        Alignment::Right => ColumnAlignment::End,
    }
}

const fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
