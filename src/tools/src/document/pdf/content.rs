//! The operations that draw a page, as far as they show text.

use std::collections::BTreeMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId};

use super::font::PdfFont;
use super::matrix::PdfMatrix;
use crate::document::writer::TextWriter;

/// The most operations of one file.
const OPERATIONS: usize = 20_000_000;

/// How deep forms may contain forms.
const FORMS: usize = 8;

/// Saved states of graphics.
const SAVED: usize = 256;

/// Walks over the pages of a file.
pub(super) struct PdfContent<'d> {
    file: &'d Document,
    /// How many bytes the content of one page may unpack to.
    limit: usize,
    operations: usize,
    /// By the address of the font's dictionary: pages share fonts.
    fonts: BTreeMap<usize, Rc<PdfFont<'d>>>,
}

/// A page, or a form within it, and how far it is drawn.
struct DrawnForm<'d> {
    operations: std::vec::IntoIter<Operation>,
    resources: Vec<&'d Dictionary>,
    /// None for the page.
    id: Option<ObjectId>,
    state: GraphicsState<'d>,
    saved: Vec<GraphicsState<'d>>,
}

/// What decides where text is shown.
#[derive(Clone)]
struct GraphicsState<'d> {
    page: PdfMatrix,
    text: PdfMatrix,
    line: PdfMatrix,
    leading: f32,
    size: f32,
    stretch: f32,
    character_space: f32,
    word_space: f32,
    font: Option<Rc<PdfFont<'d>>>,
}

impl GraphicsState<'_> {
    const fn at(page: PdfMatrix) -> Self {
        Self {
            page,
            text: PdfMatrix::IDENTITY,
            line: PdfMatrix::IDENTITY,
            leading: 0.0,
            size: 1.0,
            stretch: 1.0,
            character_space: 0.0,
            word_space: 0.0,
            font: None,
        }
    }

    fn next_line(&mut self, x: f32, y: f32) {
        self.line = PdfMatrix::translation(x, y).then(self.line);
        self.text = self.line;
    }

    fn advance(&mut self, distance: f32) {
        self.text = PdfMatrix::translation(distance * self.stretch, 0.0).then(self.text);
    }
}

/// Where the last text ended.
#[derive(Default)]
struct TextEnd {
    place: Option<(f32, f32)>,
}

impl<'d> PdfContent<'d> {
    pub(super) const fn new(file: &'d Document, limit: usize) -> Self {
        Self { file, limit, operations: OPERATIONS, fonts: BTreeMap::new() }
    }

    /// Writes the text of a page.
    pub(super) fn write_page(
        &mut self,
        page: ObjectId,
        writer: &mut TextWriter,
    ) -> lopdf::Result<()> {
        let bytes = self.file.get_page_content_with_limit(page, self.limit)?;
        let (direct, shared) = self.file.get_page_resources(page)?;
        let mut resources: Vec<&Dictionary> = direct.into_iter().collect();
        resources.extend(shared.iter().filter_map(|id| self.file.get_dictionary(*id).ok()));
        let state = GraphicsState::at(PdfMatrix::IDENTITY);
        let mut open = vec![drawn(&bytes, resources, None, state)?];
        let mut end = TextEnd::default();
        // Forms are drawn in the middle of what contains them; no recursion.
        while let Some(form) = open.last_mut() {
            let Some(operation) = form.operations.next() else {
                open.pop();
                continue;
            };
            let Some(left) = self.operations.checked_sub(1) else { return Ok(()) };
            self.operations = left;
            if operation.operator == "Do" {
                if let Some(inner) = self.form(&operation, &open) {
                    open.push(inner);
                }
                continue;
            }
            if writer.is_full() {
                return Ok(());
            }
            self.draw(form, &operation, &mut end, writer);
        }
        Ok(())
    }

    /// The form that an operation draws; none if it is an image, is open already or is nested too deeply.
    fn form(&self, operation: &Operation, open: &[DrawnForm<'d>]) -> Option<DrawnForm<'d>> {
        let outer = open.last().filter(|_| open.len() < FORMS)?;
        let name = operation.operands.first()?.as_name().ok()?;
        let id = outer.resources.iter().find_map(|resources| {
            let forms = resources.get_deref(b"XObject", self.file).ok()?.as_dict().ok()?;
            forms.get(name).and_then(Object::as_reference).ok()
        })?;
        if open.iter().any(|form| form.id == Some(id)) {
            return None;
        }
        let stream = self.file.get_object(id).and_then(Object::as_stream).ok()?;
        if stream.dict.get(b"Subtype").and_then(Object::as_name).ok()? != b"Form" {
            return None;
        }
        let bytes = stream.get_plain_content_with_limit(self.limit).ok()?;
        let own = stream.dict.get_deref(b"Resources", self.file).and_then(Object::as_dict).ok();
        let resources = own.map_or_else(|| outer.resources.clone(), |own| vec![own]);
        let matrix = stream.dict.get_deref(b"Matrix", self.file).and_then(Object::as_array).ok();
        let matrix = matrix.and_then(|numbers| matrix_of(numbers)).unwrap_or(PdfMatrix::IDENTITY);
        let state = GraphicsState::at(matrix.then(outer.state.page));
        drawn(&bytes, resources, Some(id), state).ok()
    }

    fn draw(
        &mut self,
        form: &mut DrawnForm<'d>,
        operation: &Operation,
        end: &mut TextEnd,
        writer: &mut TextWriter,
    ) {
        let operands = &operation.operands;
        let at = |index: usize| operands.get(index).and_then(|operand| operand.as_float().ok());
        let first = at(0).unwrap_or_default();
        let state = &mut form.state;
        match operation.operator.as_str() {
            "q" if form.saved.len() < SAVED => form.saved.push(state.clone()),
            "Q" => *state = form.saved.pop().unwrap_or_else(|| state.clone()),
            "cm" => {
                if let Some(matrix) = matrix_of(operands) {
                    state.page = matrix.then(state.page);
                }
            }
            "BT" => (state.text, state.line) = (PdfMatrix::IDENTITY, PdfMatrix::IDENTITY),
            "Tf" => {
                state.size = at(1).unwrap_or(state.size);
                let name = operands.first().and_then(|name| name.as_name().ok());
                state.font = name.and_then(|name| self.font(&form.resources, name));
            }
            "Tm" => {
                if let Some(matrix) = matrix_of(operands) {
                    (state.text, state.line) = (matrix, matrix);
                }
            }
            "Td" => state.next_line(first, at(1).unwrap_or_default()),
            "TD" => {
                state.leading = -at(1).unwrap_or_default();
                state.next_line(first, -state.leading);
            }
            "TL" => state.leading = first,
            "Tc" => state.character_space = first,
            "Tw" => state.word_space = first,
            "Tz" => state.stretch = first / 100.0,
            "T*" => state.next_line(0.0, -state.leading),
            "'" | "\"" => {
                state.next_line(0.0, -state.leading);
                show(state, operands, end, writer);
            }
            "Tj" | "TJ" => show(state, operands, end, writer),
            _ => {}
        }
    }

    fn font(&mut self, resources: &[&'d Dictionary], name: &[u8]) -> Option<Rc<PdfFont<'d>>> {
        let font = resources.iter().find_map(|resources| {
            let fonts = resources.get_deref(b"Font", self.file).ok()?.as_dict().ok()?;
            fonts.get_deref(name, self.file).ok()?.as_dict().ok()
        })?;
        let key = std::ptr::from_ref(font).addr();
        let read = || Rc::new(PdfFont::read(font, self.file, self.limit));
        Some(Rc::clone(self.fonts.entry(key).or_insert_with(read)))
    }
}

fn drawn<'d>(
    bytes: &[u8],
    resources: Vec<&'d Dictionary>,
    id: Option<ObjectId>,
    state: GraphicsState<'d>,
) -> lopdf::Result<DrawnForm<'d>> {
    let operations = Content::decode(bytes)?.operations.into_iter();
    Ok(DrawnForm { operations, resources, id, state, saved: Vec::new() })
}

/// Shows the strings among the operands; numbers between them move on.
fn show(
    state: &mut GraphicsState<'_>,
    operands: &[Object],
    end: &mut TextEnd,
    writer: &mut TextWriter,
) {
    for operand in operands {
        let pieces = match operand {
            Object::Array(pieces) => pieces.as_slice(),
            other => std::slice::from_ref(other),
        };
        for piece in pieces {
            match piece {
                Object::String(bytes, _) => show_text(state, bytes, end, writer),
                number => {
                    let back = number.as_float().unwrap_or_default() / 1000.0;
                    state.advance(-back * state.size);
                }
            }
        }
    }
}

fn show_text(
    state: &mut GraphicsState<'_>,
    bytes: &[u8],
    end: &mut TextEnd,
    writer: &mut TextWriter,
) {
    let Some(font) = state.font.clone() else { return };
    let (width, count) = font.advance(bytes);
    let text = font.text(bytes).unwrap_or_default();
    let placed = state.text.then(state.page);
    if !text.trim().is_empty() {
        separate(placed.origin(), state.size.abs() * placed.scale(), end, writer);
    }
    writer.text(&text);
    let spaces = bytes.split(|byte| *byte == b' ').count() - 1;
    let spacing = small(count) * state.character_space + small(spaces) * state.word_space;
    state.advance(width * state.size + spacing);
    if !text.trim().is_empty() {
        end.place = Some(state.text.then(state.page).origin());
    }
}

/// Begins a word, a line or a paragraph, by where the last text ended.
fn separate((x, y): (f32, f32), size: f32, end: &TextEnd, writer: &mut TextWriter) {
    let Some((last_x, last_y)) = end.place else { return };
    let (down, gap) = (last_y - y, x - last_x);
    if down > 1.8 * size || down < -1.2 * size {
        writer.block();
    } else if down.abs() > 0.4 * size {
        writer.line();
    } else if gap > 0.17 * size || gap < -size {
        writer.text(" ");
    }
}

fn matrix_of(numbers: &[Object]) -> Option<PdfMatrix> {
    let mut matrix = [0.0; 6];
    for (slot, number) in matrix.iter_mut().zip(numbers.get(..6)?) {
        *slot = number.as_float().ok()?;
    }
    Some(PdfMatrix(matrix))
}

/// Counts of characters of one string.
fn small(count: usize) -> f32 {
    f32::from(u16::try_from(count).unwrap_or(u16::MAX))
}
