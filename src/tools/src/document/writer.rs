//! Writes a canonical text and counts its characters.

use super::text::{CharRange, DocumentHeading, DocumentText};

/// Builds a [`DocumentText`]. White space is collapsed except in code; a text that reaches its limit is cut.
#[derive(Debug)]
pub(super) struct TextWriter {
    document: DocumentText,
    /// The characters written.
    length: usize,
    limit: usize,
    /// Line feeds that the next text begins with: 1 for a new line, 2 for a new block.
    breaks: usize,
    /// A space that the next text on this line begins with.
    space: bool,
    /// The line has only the mark of an item or a cell, whose text stands behind it.
    marked: bool,
}

impl TextWriter {
    /// A text of at most `limit` characters.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            document: DocumentText::default(),
            length: 0,
            limit,
            breaks: 0,
            space: false,
            marked: false,
        }
    }

    /// The position that the next text will have.
    pub(super) fn position(&self) -> usize {
        if self.length == 0 {
            0
        } else {
            self.length + self.breaks + usize::from(self.breaks == 0 && self.space)
        }
    }

    /// The characters that are written.
    pub(super) const fn written(&self) -> usize {
        self.length
    }

    /// Whether the limit was reached: whatever follows is dropped.
    pub(super) const fn is_full(&self) -> bool {
        self.document.truncated
    }

    /// The next text stands on a new line.
    pub(super) fn line(&mut self) {
        if self.marked {
            return;
        }
        self.breaks = self.breaks.max(1);
        self.space = false;
    }

    /// The next text begins a new block.
    pub(super) fn block(&mut self) {
        if self.marked {
            return;
        }
        self.breaks = 2;
        self.space = false;
    }

    /// The mark of an item; what follows stands on the same line, also if it is a paragraph.
    pub(super) fn item(&mut self, mark: &str) {
        self.end_line();
        self.write(mark);
        self.marked = true;
    }

    /// The mark between two cells of a row, none before the first; what follows stands on the same line.
    pub(super) fn cell(&mut self, first: bool) {
        if !first {
            (self.breaks, self.space) = (0, true);
            self.write("|");
            self.space = true;
        }
        self.marked = true;
    }

    /// Ends a row or an item, also an empty one.
    pub(super) fn end_line(&mut self) {
        self.marked = false;
        self.line();
    }

    /// Text whose white space is collapsed.
    pub(super) fn text(&mut self, text: &str) {
        if text.starts_with(is_space) {
            self.space = true;
        }
        let mut words = text.split(is_space).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            self.write(word);
            self.space = words.peek().is_some();
        }
        if text.ends_with(is_space) {
            self.space = true;
        }
    }

    /// Text whose white space is kept.
    pub(super) fn verbatim(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.flush();
                self.push('\n');
            }
            if !line.is_empty() {
                self.write(line.strip_suffix('\r').unwrap_or(line));
            }
        }
    }

    /// A whole heading as a block of its own.
    pub(super) fn heading(&mut self, level: u8, title: &str, anchor: Option<String>) {
        self.block();
        let start = self.position();
        if level < DocumentHeading::TERM {
            self.write(&"#".repeat(usize::from(level)));
            self.space = true;
        }
        self.text(title);
        self.note_heading(level, title, start, anchor);
        self.block();
    }

    /// Notes a heading whose text is written by the caller.
    pub(super) fn note_heading(
        &mut self,
        level: u8,
        title: &str,
        start: usize,
        anchor: Option<String>,
    ) {
        let title =
            title.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let title: String = title.chars().filter(|c| !c.is_control()).collect();
        if !title.is_empty() {
            self.document.headings.push(DocumentHeading { level, title, start, anchor, end: None });
        }
    }

    /// How many headings are noted.
    pub(super) const fn headings(&self) -> usize {
        self.document.headings.len()
    }

    /// What a term stands for ends before the next text.
    pub(super) fn end_heading(&mut self, index: usize) {
        let end = self.position();
        if let Some(heading) = self.document.headings.get_mut(index) {
            heading.end = Some(end);
        }
    }

    /// The range from a position on is a link.
    pub(super) fn link(&mut self, start: usize) {
        let end = self.length;
        match self.document.links.last_mut() {
            Some(last) if last.end >= start => last.end = last.end.max(end),
            _ if end > start => self.document.links.push(CharRange { start, end }),
            _ => {}
        }
    }

    /// The document.
    pub(super) fn finish(mut self, title: Option<String>) -> DocumentText {
        if !self.document.text.is_empty() {
            self.document.text.push('\n');
        }
        let title = title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        self.document.title = title.filter(|title| !title.is_empty());
        self.document
    }

    fn write(&mut self, text: &str) {
        self.marked = false;
        self.flush();
        for character in text.chars() {
            self.push(character);
        }
    }

    /// Writes the white space that is due.
    fn flush(&mut self) {
        if self.length > 0 {
            for _ in 0..self.breaks {
                self.push('\n');
            }
            if self.breaks == 0 && self.space {
                self.push(' ');
            }
        }
        self.breaks = 0;
        self.space = false;
    }

    fn push(&mut self, character: char) {
        if character.is_control() && character != '\n' && character != '\t' {
            return;
        }
        if self.length >= self.limit {
            self.document.truncated = true;
            return;
        }
        self.document.text.push(character);
        self.length += 1;
    }
}

/// White space that HTML collapses, and the no-break space, which readers do not see.
pub(super) const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\t' | '\r' | '\u{c}' | '\u{a0}')
}
