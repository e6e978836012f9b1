//! The blocks of a Markdown text, as far as citations need them.

use crate::span::TextSpan;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading of a level from 1.
    Heading(usize),
    /// Sentences.
    Paragraph,
    /// An item of a list.
    Item,
    /// The header of a table, and the line below it.
    TableHead,
    /// A row of a table.
    TableRow,
    /// Code between fences, or indented.
    Code,
}

/// A block with its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextBlock {
    /// What it is.
    pub kind: BlockKind,
    /// Its lines with their breaks.
    pub lines: TextSpan,
    /// Its text without the mark of a list or a heading.
    pub content: TextSpan,
}

impl TextBlock {
    /// Whether it is quoted: `> …`.
    pub(crate) fn is_quote(&self, text: &str) -> bool {
        let starts =
            |span: TextSpan| span.of(text).is_some_and(|own| own.trim_start().starts_with('>'));
        matches!(self.kind, BlockKind::Paragraph | BlockKind::Item)
            && (starts(self.lines) || starts(self.content))
    }
}

/// The blocks of a text, in order; blank lines belong to none.
///
/// ```
/// use antiphon_citation::{BlockKind, blocks};
/// let text = "# Tea\n\nIt is\ngreen.\n\n- hot\n- cold\n";
/// let found = blocks(text);
/// let contents: Vec<_> = found.iter().filter_map(|block| block.content.of(text)).collect();
/// assert_eq!(contents, ["Tea", "It is\ngreen.", "hot", "cold"]);
/// assert_eq!(found[0].kind, BlockKind::Heading(1));
/// ```
pub fn blocks(text: &str) -> Vec<TextBlock> {
    let mut reader =
        BlockReader { text, found: Vec::new(), fence: None, unclosed: Vec::new(), is_open: false };
    let mut start = 0;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (place, line) in lines.iter().enumerate() {
        let rest = lines.get(place + 1..).unwrap_or_default();
        reader.line(TextSpan::new(start, start + line.len()), line, rest);
        start += line.len();
    }
    reader.found
}

struct BlockReader<'t> {
    text: &'t str,
    found: Vec<TextBlock>,
    /// The signs that close the code that is open.
    fence: Option<(char, usize)>,
    /// The signs of fences that nothing closes: no later line has to be looked at again.
    unclosed: Vec<(char, usize)>,
    /// Whether the next line may continue the last block.
    is_open: bool,
}

impl BlockReader<'_> {
    fn line(&mut self, span: TextSpan, line: &str, rest: &[&str]) {
        let bare = line.trim();
        if let Some(open) = self.fence {
            self.extend(span);
            if closes(line, open) {
                (self.fence, self.is_open) = (None, false);
            }
            return;
        }
        if bare.is_empty() {
            self.is_open = false;
            return;
        }
        if let Some(open) = fence(line).filter(|open| self.is_closed(*open, rest)) {
            self.fence = Some(open);
            return self.put(BlockKind::Code, span, 0);
        }
        let next = rest.first().copied().unwrap_or_default();
        let level = bare.chars().take_while(|sign| *sign == '#').count();
        let indent = line.len() - line.trim_start().len();
        if (1..=6).contains(&level) && bare.get(level..).is_some_and(|it| it.starts_with(' ')) {
            self.put(BlockKind::Heading(level), span, indent + level);
            self.is_open = false;
        } else if bare.starts_with('|') {
            self.row(span, bare, next);
        } else if let Some(mark) = item_mark(line.trim_start()) {
            self.put(BlockKind::Item, span, indent + mark);
        } else if self.is_open && self.continues() && (self.is_quoted() || !bare.starts_with('>')) {
            self.extend(span);
        } else if indent >= 4 && !self.follows_item() {
            self.put(BlockKind::Code, span, 0);
        } else {
            let quote = line.len() - line.trim_start_matches([' ', '>']).len();
            self.put(BlockKind::Paragraph, span, quote);
        }
    }

    /// Whether a fence is closed. What is not is no code: it would hide the rest of the text from
    /// all checks.
    fn is_closed(&mut self, (sign, length): (char, usize), rest: &[&str]) -> bool {
        let is_known = |(own, least): &(char, usize)| *own == sign && length >= *least;
        if self.unclosed.iter().any(is_known) {
            return false;
        }
        let is_closed = rest.iter().any(|line| closes(line, (sign, length)));
        if !is_closed {
            self.unclosed.push((sign, length));
        }
        is_closed
    }

    fn row(&mut self, span: TextSpan, bare: &str, next: &str) {
        let is_rule = |line: &str| {
            line.contains('-') && line.chars().all(|sign| matches!(sign, '|' | '-' | ':' | ' '))
        };
        let kind = if is_rule(bare) || is_rule(next.trim()) {
            BlockKind::TableHead
        } else {
            BlockKind::TableRow
        };
        self.put(kind, span, 0);
        self.is_open = false;
    }

    fn put(&mut self, kind: BlockKind, lines: TextSpan, skipped: usize) {
        let content = TextSpan::new(lines.start + skipped, lines.end).trimmed(self.text);
        self.found.push(TextBlock { kind, lines, content });
        self.is_open = true;
    }

    fn extend(&mut self, span: TextSpan) {
        if let Some(last) = self.found.last_mut() {
            last.lines.end = span.end;
            last.content = TextSpan::new(last.content.start, span.end).trimmed(self.text);
        }
    }

    fn continues(&self) -> bool {
        self.found
            .last()
            .is_some_and(|it| matches!(it.kind, BlockKind::Paragraph | BlockKind::Item))
    }

    /// Whether the last block is a quotation, which a line with its mark continues.
    fn is_quoted(&self) -> bool {
        self.found.last().is_some_and(|it| it.is_quote(self.text))
    }

    fn follows_item(&self) -> bool {
        self.found.last().is_some_and(|it| it.kind == BlockKind::Item)
    }
}

/// The sign of a fence, and how many there are, as `CommonMark` has it: with at most three spaces
/// before it, and no back-tick after back-ticks.
fn fence(line: &str) -> Option<(char, usize)> {
    let bare = line.trim_start_matches(' ');
    let sign = bare.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = bare.chars().take_while(|own| *own == sign).count();
    let info = bare.get(length..).unwrap_or_default();
    let is_fence = length >= 3 && line.len() - bare.len() <= 3;
    (is_fence && !(sign == '`' && info.contains('`'))).then_some((sign, length))
}

/// Whether a line closes the code that a fence has opened.
fn closes(line: &str, (sign, length): (char, usize)) -> bool {
    fence(line).is_some_and(|(own, size)| own == sign && size >= length)
        && line.trim().trim_start_matches(sign).is_empty()
}

/// The length of the mark of a list that a line begins with, and of the space after it.
pub(crate) fn item_mark(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match line.get(digits..)?.chars().next()? {
        '.' | ')' if (1..=3).contains(&digits) => digits + 1,
        '-' | '*' | '+' if digits == 0 => 1,
        _ => return None,
    };
    let rest = line.get(mark..)?;
    (rest.is_empty() || rest.starts_with([' ', '\t', '\n'])).then_some(mark)
}
