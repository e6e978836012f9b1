//! Blocks over pages.

use std::rc::Rc;

use antiphon_core::{Fault, FaultCode};
use krilla::image::Image;

use super::blocks::{Block, ListItem};
use super::page::{Bookmark, PageItem, PageMeasures, PageRectangle, Pagination};
use super::rich_text::RichText;
use super::table;
use super::typesetter::{Colour, TextStyle, Typeset, Typesetter};

pub(super) const LINE_GREY: Colour = [0xc8, 0xc8, 0xc8];
pub(super) const SHADE: Colour = [0xf2, 0xf2, 0xf2];

/// The least width of a text: deeper lists are not indented further.
const MIN_WIDTH: f32 = 120.0;

/// Reads an image that the document names.
pub(super) type ReadImage<'a> = &'a dyn Fn(&str) -> Result<Image, Fault>;

/// Left edge and width of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextColumn {
    pub(super) x: f32,
    pub(super) width: f32,
}

impl TextColumn {
    fn indented(self, by: f32) -> Self {
        let by = by.min((self.width - MIN_WIDTH).max(0.0));
        Self { x: self.x + by, width: self.width - by }
    }
}

pub(super) struct PageLayout<'a> {
    pub(super) typesetter: &'a mut Typesetter,
    pub(super) size: f32,
    frame: PageMeasures,
    max_pages: usize,
    read_image: ReadImage<'a>,
    pages: Pagination,
    /// Where the next block begins on the last page.
    y: f32,
    /// The left edges of the bars of quotes.
    bars: Vec<f32>,
}

impl<'a> PageLayout<'a> {
    pub(super) fn new(
        typesetter: &'a mut Typesetter,
        frame: PageMeasures,
        size: f32,
        max_pages: usize,
        read_image: ReadImage<'a>,
    ) -> Self {
        let pages = Pagination { pages: vec![Vec::new()], bookmarks: Vec::new() };
        let bars = Vec::new();
        Self { typesetter, size, frame, max_pages, read_image, pages, y: frame.top(), bars }
    }

    /// Sets all blocks.
    ///
    /// # Errors
    /// A fault `pdf_unwritable`, or that of an image.
    pub(super) fn set(mut self, blocks: &[Block]) -> Result<Pagination, Fault> {
        let column = TextColumn { x: self.frame.margins.left, width: self.frame.line_width() };
        self.blocks(blocks, column)?;
        Ok(self.pages)
    }

    fn blocks(&mut self, blocks: &[Block], column: TextColumn) -> Result<(), Fault> {
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 {
                self.skip(self.size * 0.65);
            }
            self.block(block, column)?;
        }
        Ok(())
    }

    fn block(&mut self, block: &Block, column: TextColumn) -> Result<(), Fault> {
        match block {
            Block::Heading { level, text } => self.heading(*level, text, column),
            Block::Paragraph(text) => {
                let text =
                    self.typesetter.set(text, TextStyle::text(self.size), Some(column.width));
                self.lines(&Rc::new(text), column.x)
            }
            Block::Lines { text, code } => self.raw_lines(text, *code, column),
            Block::List(items) => self.list(items, column),
            Block::Quote(inner) => {
                let bar = column.x + 2.0;
                self.bars.push(bar);
                let set = self.blocks(inner, column.indented(self.size * 1.4));
                self.bars.pop();
                set
            }
            Block::Table(table) => table::set(self, table, column),
            Block::Image { path, description } => self.image(path, description, column),
            Block::Rule => {
                let area = PageRectangle { x: column.x, y: 0.0, width: column.width, height: 0.75 };
                self.skip(self.size * 0.3);
                let y = self.take(area.height)?;
                self.mark(PageItem::Fill { area: PageRectangle { y, ..area }, colour: LINE_GREY });
                self.skip(self.size * 0.3);
                Ok(())
            }
        }
    }

    fn heading(&mut self, level: u8, text: &RichText, column: TextColumn) -> Result<(), Fault> {
        let scale = match level {
            1 => 1.9,
            2 => 1.5,
            3 => 1.22,
            _ => 1.05,
        };
        let style = TextStyle { bold: true, ..TextStyle::text(self.size * scale) };
        self.skip(self.size * 0.5 * scale);
        let set = Rc::new(self.typesetter.set(text, style, Some(column.width)));
        // A heading stays with the beginning of what it is for.
        self.keep(set.layout.height() + self.size * 4.0)?;
        let (page, y) = (self.pages.pages.len() - 1, self.y);
        self.lines(&set, column.x)?;
        let title: String = text.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !title.is_empty() {
            self.pages.bookmarks.push(Bookmark { title, level, page, y });
        }
        Ok(())
    }

    /// The lines of a text. A first line does not stay behind alone.
    fn lines(&mut self, text: &Rc<Typeset>, x: f32) -> Result<(), Fault> {
        let heights: Vec<f32> =
            text.layout.lines().map(|line| line.metrics().line_height).collect();
        if heights.len() > 2 {
            self.keep(heights.iter().take(2).sum())?;
        }
        for (line, height) in heights.into_iter().enumerate() {
            let y = self.take(height)?;
            self.mark(PageItem::Line { text: text.clone(), line, x, y });
        }
        Ok(())
    }

    /// Lines that keep their breaks; code has a background.
    fn raw_lines(&mut self, text: &str, code: bool, column: TextColumn) -> Result<(), Fault> {
        let pad = if code { self.size * 0.6 } else { 0.0 };
        let style = TextStyle { code, ..TextStyle::text(self.size) };
        if code {
            self.keep(pad + self.size * 1.5)?;
            self.shade(pad * 0.7, column)?;
        }
        for line in text.trim_end_matches('\n').split('\n') {
            // A space gives an empty line its height.
            let line =
                if line.trim().is_empty() { " ".to_owned() } else { line.replace('\t', "    ") };
            let line = RichText::from(line.as_str());
            let set = Rc::new(self.typesetter.set(&line, style, Some(column.width - 2.0 * pad)));
            let heights: Vec<f32> =
                set.layout.lines().map(|line| line.metrics().line_height).collect();
            for (line, height) in heights.into_iter().enumerate() {
                let y = if code { self.shade(height, column)? } else { self.take(height)? };
                self.mark(PageItem::Line { text: set.clone(), line, x: column.x + pad, y });
            }
        }
        if code && self.room() >= pad * 0.7 {
            self.shade(pad * 0.7, column)?;
        }
        Ok(())
    }

    /// Takes a part of the page with the background of code.
    fn shade(&mut self, height: f32, column: TextColumn) -> Result<f32, Fault> {
        let y = self.take(height)?;
        // Parts overlap by a hair, or viewers show the seams.
        let area = PageRectangle { x: column.x, y, width: column.width, height: height + 0.2 };
        self.mark(PageItem::Fill { area, colour: SHADE });
        Ok(y)
    }

    fn list(&mut self, items: &[ListItem], column: TextColumn) -> Result<(), Fault> {
        let style = TextStyle::text(self.size);
        let markers: Vec<Rc<Typeset>> = items
            .iter()
            .map(|item| Rc::new(self.typesetter.set(&item.marker.as_str().into(), style, None)))
            .collect();
        let widest = markers.iter().map(|marker| marker.layout.width()).fold(0.0, f32::max);
        let inner = column.indented((widest + self.size * 0.6).max(self.size * 1.5));
        let loose = items.iter().any(|item| item.blocks.len() > 1);
        for (index, (item, marker)) in items.iter().zip(markers).enumerate() {
            if index > 0 {
                self.skip(self.size * if loose { 0.4 } else { 0.15 });
            }
            // The marker and the first line of the text stay on one page.
            let height = marker.layout.height();
            self.keep(height * 2.0)?;
            let x = inner.x - self.size * 0.6 - marker.layout.width();
            self.mark(PageItem::Line { text: marker, line: 0, x: x.max(column.x), y: self.y });
            if item.blocks.is_empty() {
                self.take(height)?;
            }
            self.blocks(&item.blocks, inner)?;
        }
        Ok(())
    }

    fn image(&mut self, path: &str, description: &str, column: TextColumn) -> Result<(), Fault> {
        let image = (self.read_image)(path)?;
        let (width, height) = measures(&image);
        // 96 pixels an inch, smaller if it does not fit.
        let caption = self.size * 2.0;
        let scale = (column.width / width).min((self.frame.room() - caption) / height).min(0.75);
        let (width, height) = (width * scale, height * scale);
        self.keep(height + if description.is_empty() { 0.0 } else { caption })?;
        let y = self.take(height)?;
        self.mark(PageItem::Image { image, area: PageRectangle { x: column.x, y, width, height } });
        if description.is_empty() {
            return Ok(());
        }
        let style =
            TextStyle { colour: super::typesetter::GREY, ..TextStyle::text(self.size * 0.9) };
        self.skip(self.size * 0.3);
        let caption = self.typesetter.set(&description.into(), style, Some(column.width));
        self.lines(&Rc::new(caption), column.x)
    }

    pub(super) fn mark(&mut self, mark: PageItem) {
        if let Some(page) = self.pages.pages.last_mut() {
            page.push(mark);
        }
    }

    /// Whether nothing stands on the page yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.y <= self.frame.top()
    }

    /// The height that is left on the page.
    pub(super) fn room(&self) -> f32 {
        self.frame.bottom() - self.y
    }

    /// The height of an empty page.
    pub(super) const fn whole_room(&self) -> f32 {
        self.frame.room()
    }

    /// Begins a new page if the rest of this one is too small, and a new one is not.
    pub(super) fn keep(&mut self, height: f32) -> Result<(), Fault> {
        if height > self.room() && height <= self.whole_room() {
            self.break_page()?;
        }
        Ok(())
    }

    /// Takes a part of the page, of the next one if it is too high.
    pub(super) fn take(&mut self, height: f32) -> Result<f32, Fault> {
        if height > self.room() && !self.is_fresh() {
            self.break_page()?;
        }
        let y = self.y;
        self.draw_bars(y, height);
        self.y += height;
        Ok(y)
    }

    pub(super) fn break_page(&mut self) -> Result<(), Fault> {
        if self.pages.pages.len() >= self.max_pages {
            let message = format!("the document has more than {} pages", self.max_pages);
            return Err(Fault::new(FaultCode::PdfUnwritable, message)
                .hint("write several files, or shorten the text"));
        }
        self.pages.pages.push(Vec::new());
        self.y = self.frame.top();
        Ok(())
    }

    /// Leaves space, except at the top of a page.
    fn skip(&mut self, height: f32) {
        if !self.is_fresh() {
            let height = height.min(self.room().max(0.0));
            self.draw_bars(self.y, height);
            self.y += height;
        }
    }

    fn draw_bars(&mut self, y: f32, height: f32) {
        for x in self.bars.clone() {
            let area = PageRectangle { x, y, width: 2.0, height: height + 0.2 };
            self.mark(PageItem::Fill { area, colour: LINE_GREY });
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "an image has far fewer pixels than 2^24 a side")]
fn measures(image: &Image) -> (f32, f32) {
    let (width, height) = image.size();
    (width.max(1) as f32, height.max(1) as f32)
}
