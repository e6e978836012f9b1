//! Texts and presentations of Word, `PowerPoint` and `OpenDocument`: ZIP archives with XML in them.
//!
//! Entities are never expanded, beside the five of XML and references to characters.

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::archive::{BoundedArchive, broken};
use super::read::{DocumentLimits, DocumentRefusal};
use super::text::DocumentText;
use super::writer::TextWriter;

/// The text of a Word document, with its headings and tables.
///
/// # Errors
/// The file is damaged or unpacks to more than the limit.
pub fn docx_text(bytes: &[u8], limits: &DocumentLimits) -> Result<DocumentText, DocumentRefusal> {
    let mut archive = BoundedArchive::open(bytes, limits.unpacked)?;
    let title = core_title(&mut archive)?;
    let body =
        archive.text("word/document.xml")?.ok_or_else(|| broken(&"no `word/document.xml`"))?;
    let mut writer = TextWriter::new(limits.characters);
    walk(&body, &mut WordReader::default(), &mut writer)?;
    for name in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(notes) = archive.text(name)? {
            walk(&notes, &mut WordReader::default(), &mut writer)?;
        }
    }
    Ok(writer.finish(title))
}

/// The text of a `PowerPoint` presentation, slide by slide.
///
/// # Errors
/// The file is damaged or unpacks to more than the limit.
pub fn pptx_text(bytes: &[u8], limits: &DocumentLimits) -> Result<DocumentText, DocumentRefusal> {
    let mut archive = BoundedArchive::open(bytes, limits.unpacked)?;
    let title = core_title(&mut archive)?;
    let number = |name: &str| -> Option<u32> {
        name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse().ok()
    };
    let mut slides: Vec<u32> = archive.names().iter().filter_map(|name| number(name)).collect();
    slides.sort_unstable();
    let mut writer = TextWriter::new(limits.characters);
    for slide in slides {
        if let Some(xml) = archive.text(&format!("ppt/slides/slide{slide}.xml"))? {
            writer.heading(2, &format!("Slide {slide}"), None);
            walk(&xml, &mut WordReader::default(), &mut writer)?;
        }
    }
    Ok(writer.finish(title))
}

/// The text of an `OpenDocument` file: a text, a presentation or a workbook.
///
/// # Errors
/// The file is damaged or unpacks to more than the limit.
pub fn open_document_text(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<DocumentText, DocumentRefusal> {
    let mut archive = BoundedArchive::open(bytes, limits.unpacked)?;
    let title = match archive.text("meta.xml")? {
        Some(xml) => element_text(&xml, "title")?,
        None => None,
    };
    let body = archive.text("content.xml")?.ok_or_else(|| broken(&"no `content.xml`"))?;
    let mut writer = TextWriter::new(limits.characters);
    walk(&body, &mut OpenDocumentReader::default(), &mut writer)?;
    Ok(writer.finish(title))
}

fn core_title(archive: &mut BoundedArchive<'_>) -> Result<Option<String>, DocumentRefusal> {
    archive.text("docProps/core.xml")?.map_or(Ok(None), |xml| element_text(&xml, "title"))
}

/// What the elements of a format mean.
trait XmlMeaning {
    fn open(&mut self, element: &BytesStart<'_>, writer: &mut TextWriter);
    fn close(&mut self, name: &str, writer: &mut TextWriter);
    fn text(&mut self, text: &str, writer: &mut TextWriter);
}

/// Reads the elements and texts of `xml` in order; no recursion, no entities.
fn walk(
    xml: &str,
    meaning: &mut dyn XmlMeaning,
    writer: &mut TextWriter,
) -> Result<(), DocumentRefusal> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    while !writer.is_full() {
        match reader.read_event().map_err(|error| broken(&error))? {
            Event::Start(element) => meaning.open(&element, writer),
            Event::Empty(element) => {
                meaning.open(&element, writer);
                meaning.close(element.local_name().as_ref(), writer);
            }
            Event::End(element) => meaning.close(element.local_name().as_ref(), writer),
            Event::Text(text) => meaning.text(&text.xml_content(XmlVersion::Explicit1_0), writer),
            Event::CData(text) => meaning.text(&text.xml_content(XmlVersion::Explicit1_0), writer),
            Event::GeneralRef(reference) => {
                if let Some(text) = character(&reference) {
                    meaning.text(&text, writer);
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

/// A reference to a character, or one of the five entities of XML; others are left out.
fn character(reference: &quick_xml::events::BytesRef<'_>) -> Option<String> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character.to_string());
    }
    quick_xml::escape::resolve_predefined_entity(&reference.xml_content(XmlVersion::Explicit1_0))
        .map(str::to_owned)
}

/// The text of the first element of that name.
fn element_text(xml: &str, name: &str) -> Result<Option<String>, DocumentRefusal> {
    struct FirstElement<'n> {
        name: &'n str,
        open: bool,
        done: bool,
    }
    impl XmlMeaning for FirstElement<'_> {
        fn open(&mut self, element: &BytesStart<'_>, _: &mut TextWriter) {
            self.open |= !self.done && element.local_name().as_ref() == self.name;
        }
        fn close(&mut self, name: &str, _: &mut TextWriter) {
            if self.open && name == self.name {
                self.open = false;
                self.done = true;
            }
        }
        fn text(&mut self, text: &str, writer: &mut TextWriter) {
            if self.open {
                writer.text(text);
            }
        }
    }
    let mut writer = TextWriter::new(500);
    walk(xml, &mut FirstElement { name, open: false, done: false }, &mut writer)?;
    let text = writer.finish(None).text;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// A paragraph whose style is known only after it has begun.
#[derive(Default)]
struct PendingParagraph {
    text: String,
    level: Option<u8>,
    item: bool,
}

impl PendingParagraph {
    fn finish(self, table: bool, writer: &mut TextWriter) {
        match self.level {
            Some(level) if !table => writer.heading(level, &self.text, None),
            _ => {
                if self.item && !table && !self.text.trim().is_empty() {
                    writer.verbatim("- ");
                }
                for (index, line) in self.text.split('\n').enumerate() {
                    if index > 0 && !table {
                        writer.line();
                    }
                    writer.text(line);
                }
                match (table, self.item) {
                    (true, _) => writer.text(" "),
                    (false, true) => writer.line(),
                    (false, false) => writer.block(),
                }
            }
        }
    }
}

/// The open tables and the cells of the row so far.
#[derive(Default)]
struct TableState {
    depth: usize,
    cells: usize,
}

impl TableState {
    fn row(&mut self, writer: &mut TextWriter) {
        self.cells = 0;
        writer.line();
    }

    fn cell(&mut self, writer: &mut TextWriter) {
        if self.cells > 0 {
            writer.text(" | ");
        }
        self.cells += 1;
    }
}

/// Word and `PowerPoint`: their paragraphs (`p`), texts (`t`) and tables (`tbl`) have the same names.
#[derive(Default)]
struct WordReader {
    paragraph: PendingParagraph,
    table: TableState,
    /// Within an element that holds text, not markup or deleted text.
    text: bool,
}

impl XmlMeaning for WordReader {
    fn open(&mut self, element: &BytesStart<'_>, writer: &mut TextWriter) {
        match element.local_name().as_ref() {
            "t" => self.text = true,
            "tab" => self.paragraph.text.push(' '),
            "br" | "cr" => self.paragraph.text.push('\n'),
            "pStyle" => {
                self.paragraph.level = attribute(element, "val").as_deref().and_then(heading_level);
            }
            "outlineLvl" if self.paragraph.level.is_none() => {
                let level: Option<u8> =
                    attribute(element, "val").and_then(|level| level.parse().ok());
                self.paragraph.level = level.filter(|level| *level < 6).map(|level| level + 1);
            }
            "numPr" => self.paragraph.item = true,
            "ph" if attribute(element, "type")
                .is_some_and(|kind| kind == "title" || kind == "ctrTitle") =>
            {
                self.paragraph.level = Some(3);
            }
            "tbl" => {
                self.table.depth += 1;
                writer.block();
            }
            "tr" => self.table.row(writer),
            "tc" => self.table.cell(writer),
            _ => {}
        }
    }

    fn close(&mut self, name: &str, writer: &mut TextWriter) {
        match name {
            "t" => self.text = false,
            "p" => std::mem::take(&mut self.paragraph).finish(self.table.depth > 0, writer),
            "tr" => writer.line(),
            "tbl" => {
                self.table.depth = self.table.depth.saturating_sub(1);
                writer.block();
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, _: &mut TextWriter) {
        if self.text {
            self.paragraph.text.push_str(text);
        }
    }
}

/// `Heading2` and `Title`; styles of other languages are found by their outline level.
fn heading_level(style: &str) -> Option<u8> {
    let style = style.to_ascii_lowercase().replace(' ', "");
    if style == "title" {
        return Some(1);
    }
    style.strip_prefix("heading")?.parse().ok().filter(|level| (1..=6).contains(level))
}

/// Texts, presentations and workbooks of `OpenDocument`.
#[derive(Default)]
struct OpenDocumentReader {
    paragraph: PendingParagraph,
    table: TableState,
    lists: usize,
    /// How many open elements hold text: paragraphs and headings.
    open: usize,
    /// How many open elements hold text that nobody sees, such as tracked changes.
    hidden: usize,
}

impl XmlMeaning for OpenDocumentReader {
    fn open(&mut self, element: &BytesStart<'_>, writer: &mut TextWriter) {
        match element.local_name().as_ref() {
            "tracked-changes" | "annotation" => self.hidden += 1,
            "h" => {
                let level =
                    attribute(element, "outline-level").and_then(|level| level.parse().ok());
                self.paragraph.level = Some(level.unwrap_or(1).clamp(1, 6));
                self.open += 1;
            }
            "p" => {
                self.paragraph.item = self.lists > 0;
                self.open += 1;
            }
            "s" | "tab" => self.paragraph.text.push(' '),
            "line-break" => self.paragraph.text.push('\n'),
            "list" => self.lists += 1,
            "page" => writer.heading(2, &attribute(element, "name").unwrap_or_default(), None),
            "table" => {
                self.table.depth += 1;
                if let Some(name) = attribute(element, "name").filter(|_| self.table.depth == 1) {
                    writer.heading(2, &name, None);
                }
            }
            "table-row" => self.table.row(writer),
            "table-cell" => self.table.cell(writer),
            _ => {}
        }
    }

    fn close(&mut self, name: &str, writer: &mut TextWriter) {
        match name {
            "tracked-changes" | "annotation" => self.hidden = self.hidden.saturating_sub(1),
            "h" | "p" => {
                self.open = self.open.saturating_sub(1);
                std::mem::take(&mut self.paragraph).finish(self.table.depth > 0, writer);
            }
            "list" => {
                self.lists = self.lists.saturating_sub(1);
                writer.block();
            }
            "table-row" => writer.line(),
            "table" => {
                self.table.depth = self.table.depth.saturating_sub(1);
                writer.block();
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, _: &mut TextWriter) {
        if self.open > 0 && self.hidden == 0 {
            self.paragraph.text.push_str(text);
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == name)?;
    Some(found.value.into_owned())
}
