//! Tables: widths of columns, and rows that break over pages under a repeated header.

use std::rc::Rc;

use antiphon_core::{Fault, FaultCode};

use super::blocks::{ColumnAlignment, Table};
use super::flow::{LINE_GREY, PageLayout, SHADE, TextColumn};
use super::page::{PageItem, PageRectangle};
use super::rich_text::RichText;
use super::typesetter::{TextStyle, Typeset};

/// Sizes of the text that are tried in turn, until no word must be broken.
const SCALES: [f32; 3] = [0.95, 0.82, 0.7];
/// The least width of a column, in sizes of the text.
const LEAST: f32 = 1.5;
const RULE: f32 = 0.6;

/// How a table is laid out.
struct TableLayout {
    size: f32,
    pad: f32,
    columns: Vec<TextColumn>,
    sides: Vec<ColumnAlignment>,
}

/// Sets a table.
///
/// # Errors
/// A fault `pdf_unwritable`: it has more columns than a page is wide, or there are too many pages.
pub(super) fn set(
    flow: &mut PageLayout<'_>,
    table: &Table,
    column: TextColumn,
) -> Result<(), Fault> {
    let layout = lay_out(flow, table, column)?;
    let header = cells(flow, &layout, &table.header, true);
    let header_height = height(&header) + 2.0 * layout.pad;
    let has_header = table.header.iter().any(|cell| !cell.is_blank());
    if has_header {
        flow.keep(header_height * 3.0)?;
        draw_row(flow, &layout, &header, true)?;
    }
    // A header that takes half of a page is not repeated.
    let repeated = has_header && header_height < flow.whole_room() / 2.0;
    for row in &table.rows {
        let row = cells(flow, &layout, row, false);
        let height = height(&row) + 2.0 * layout.pad + RULE;
        let fits_elsewhere = height + header_height <= flow.whole_room();
        if height > flow.room() && !flow.is_fresh() && fits_elsewhere {
            flow.break_page()?;
            if repeated {
                draw_row(flow, &layout, &header, true)?;
            }
        }
        draw_row(flow, &layout, &row, false)?;
    }
    Ok(())
}

/// Draws a row; one that is higher than a page goes on on the next.
fn draw_row(
    flow: &mut PageLayout<'_>,
    layout: &TableLayout,
    cells: &[Rc<Typeset>],
    header: bool,
) -> Result<(), Fault> {
    let mut next: Vec<usize> = vec![0; cells.len()];
    loop {
        let room = flow.room() - 2.0 * layout.pad - RULE;
        let parts: Vec<Vec<f32>> = cells
            .iter()
            .zip(&next)
            .map(|(cell, first)| fitting(cell, *first, room, flow.is_fresh()))
            .collect();
        let left = cells.iter().zip(&next).any(|(cell, first)| *first < cell.layout.len());
        if left && parts.iter().all(Vec::is_empty) {
            flow.break_page()?;
            continue;
        }
        let height = parts.iter().map(|part| part.iter().sum()).fold(0.0, f32::max);
        draw_part(flow, layout, cells, &next, &parts, (height, header))?;
        for (first, part) in next.iter_mut().zip(&parts) {
            *first += part.len();
        }
        if cells.iter().zip(&next).all(|(cell, first)| *first >= cell.layout.len()) {
            return Ok(());
        }
        flow.break_page()?;
    }
}

/// The heights of the lines from `first` on that fit; one at least if the page is empty.
fn fitting(cell: &Typeset, first: usize, room: f32, fresh: bool) -> Vec<f32> {
    let mut used = 0.0;
    let mut heights = Vec::new();
    for line in cell.layout.lines().skip(first) {
        let height = line.metrics().line_height;
        if used + height > room && !(fresh && heights.is_empty()) {
            break;
        }
        used += height;
        heights.push(height);
    }
    heights
}

#[expect(clippy::too_many_arguments, reason = "the state of one loop")]
fn draw_part(
    flow: &mut PageLayout<'_>,
    layout: &TableLayout,
    cells: &[Rc<Typeset>],
    next: &[usize],
    parts: &[Vec<f32>],
    (height, header): (f32, bool),
) -> Result<(), Fault> {
    let (x, width) = layout.span();
    let y = flow.take(height + 2.0 * layout.pad + RULE)?;
    if header {
        let area = PageRectangle { x, y, width, height: height + 2.0 * layout.pad };
        flow.mark(PageItem::Fill { area, colour: SHADE });
    }
    for (((cell, column), first), part) in cells.iter().zip(&layout.columns).zip(next).zip(parts) {
        let mut line_y = y + layout.pad;
        for (offset, line_height) in part.iter().enumerate() {
            let text = cell.clone();
            flow.mark(PageItem::Line { text, line: first + offset, x: column.x, y: line_y });
            line_y += line_height;
        }
    }
    let area = PageRectangle { x, y: y + height + 2.0 * layout.pad, width, height: RULE };
    flow.mark(PageItem::Fill { area, colour: LINE_GREY });
    Ok(())
}

impl TableLayout {
    /// Left edge and width of the table.
    fn span(&self) -> (f32, f32) {
        let first = self.columns.first().map_or(0.0, |column| column.x);
        let last = self.columns.last().map_or(0.0, |column| column.x + column.width);
        (first - 2.0 * self.pad, last - first + 4.0 * self.pad)
    }
}

fn cells(
    flow: &mut PageLayout<'_>,
    layout: &TableLayout,
    texts: &[RichText],
    header: bool,
) -> Vec<Rc<Typeset>> {
    let empty = RichText::default();
    let places = layout.columns.iter().zip(&layout.sides).enumerate();
    places
        .map(|(index, (column, side))| {
            let text = texts.get(index).unwrap_or(&empty);
            let style = TextStyle { bold: header, side: *side, ..TextStyle::text(layout.size) };
            Rc::new(flow.typesetter.set(text, style, Some(column.width)))
        })
        .collect()
}

fn height(cells: &[Rc<Typeset>]) -> f32 {
    cells.iter().map(|cell| cell.layout.height()).fold(0.0, f32::max)
}

/// What a column needs: its longest word, and its longest text.
#[derive(Clone, Copy, Default)]
struct ColumnDemand {
    least: f32,
    most: f32,
}

fn lay_out(
    flow: &mut PageLayout<'_>,
    table: &Table,
    column: TextColumn,
) -> Result<TableLayout, Fault> {
    let count = table.sides.len().max(1);
    let mut sides = table.sides.clone();
    sides.resize(count, ColumnAlignment::Start);
    let mut found = None;
    for scale in SCALES {
        let size = flow.size * scale;
        let pad = size * 0.3;
        let gaps = 4.0 * pad * to_f32(count);
        let available = column.width - gaps;
        if available < LEAST * size * to_f32(count) {
            continue;
        }
        let needs = needs(flow, table, count, (size, available / 2.0));
        let fits = needs.iter().map(|need| need.least).sum::<f32>() <= available;
        found = Some((size, pad, widths(&needs, available, LEAST * size)));
        if fits {
            break;
        }
    }
    let Some((size, pad, widths)) = found else {
        let message = format!("a table has more columns than a page is wide: {count}");
        return Err(Fault::new(FaultCode::PdfUnwritable, message)
            .hint("make two tables of it, or turn rows and columns"));
    };
    let mut x = column.x + 2.0 * pad;
    let columns = widths
        .into_iter()
        .map(|width| {
            let place = TextColumn { x, width };
            x += width + 4.0 * pad;
            place
        })
        .collect();
    Ok(TableLayout { size, pad, columns, sides })
}

fn needs(
    flow: &mut PageLayout<'_>,
    table: &Table,
    count: usize,
    (size, longest): (f32, f32),
) -> Vec<ColumnDemand> {
    let mut needs = vec![ColumnDemand::default(); count];
    let header = table.header.iter().zip(0..).map(|cell| (cell, true));
    let body = table.rows.iter().flat_map(|row| row.iter().zip(0..)).map(|cell| (cell, false));
    for ((text, index), bold) in header.chain(body) {
        let Some(need) = needs.get_mut::<usize>(index) else { continue };
        let style = TextStyle { bold, ..TextStyle::text(size) };
        let widths = flow.typesetter.measure(text, style);
        // A hair more, so that a text of exactly this width is not broken. One long word makes
        // neither the other columns narrow nor the letters small.
        need.least = need.least.max(widths.min + 0.1).min(longest);
        need.most = need.most.max(widths.max + 0.1);
    }
    needs
}

/// Divides a width: to each column its longest text if that fits, otherwise its longest word and
/// a share of the rest, otherwise a share.
fn widths(needs: &[ColumnDemand], available: f32, least: f32) -> Vec<f32> {
    let total = |value: fn(&ColumnDemand) -> f32| needs.iter().map(value).sum::<f32>();
    let (words, texts) = (total(|need| need.least), total(|need| need.most));
    if texts <= available {
        return needs.iter().map(|need| need.most.max(least)).collect();
    }
    if words <= available {
        return roomy_widths(needs, available);
    }
    // Narrow columns keep their words; wide ones share what is left and break theirs.
    let fixed = available / to_f32(needs.len());
    let narrow: f32 = needs.iter().map(|need| need.least).filter(|width| *width <= fixed).sum();
    let wide: f32 = needs.iter().map(|need| need.least).filter(|width| *width > fixed).sum();
    let share = (available - narrow) / wide.max(f32::EPSILON);
    let divided = needs.iter().map(|need| match need.least {
        width if width <= fixed => width,
        width => (width * share).max(least),
    });
    divided.collect()
}

/// Divides a width that all words fit in. Columns of short texts get all they need, the others
/// their longest word and a share of the rest.
fn roomy_widths(needs: &[ColumnDemand], available: f32) -> Vec<f32> {
    let mut short = vec![false; needs.len()];
    loop {
        let parted = |is_short: bool, value: fn(&ColumnDemand) -> f32| {
            let chosen = needs.iter().zip(&short).filter(move |(_, short)| **short == is_short);
            chosen.map(|(need, _)| value(need)).sum::<f32>()
        };
        let rest = available - parted(true, |need| need.most);
        let (least, most) = (parted(false, |need| need.least), parted(false, |need| need.most));
        let share = rest / to_f32(short.iter().filter(|short| !**short).count().max(1));
        // One more column is short if its text fits an equal share, and the words of the others
        // still fit beside it.
        let next = needs.iter().zip(&short).position(|(need, short)| {
            !short && need.most <= share && least - need.least <= rest - need.most
        });
        if let Some(short) = next.and_then(|index| short.get_mut(index)) {
            *short = true;
            continue;
        }
        let part = (rest - least).max(0.0) / (most - least).max(f32::EPSILON);
        let width = |(need, short): (&ColumnDemand, &bool)| {
            if *short { need.most } else { need.least + (need.most - need.least) * part }
        };
        return needs.iter().zip(&short).map(width).collect();
    }
}

#[expect(clippy::cast_precision_loss, reason = "a table has far fewer columns than 2^24")]
const fn to_f32(count: usize) -> f32 {
    count as f32
}
