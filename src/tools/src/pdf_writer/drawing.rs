//! Pagination as the bytes of a PDF file.

use std::collections::HashMap;

use antiphon_core::{Fault, FaultCode};
use krilla::Document;
use krilla::action::{Action, LinkAction};
use krilla::annotation::{Annotation, LinkAnnotation, Target};
use krilla::color::rgb;
use krilla::destination::XyzDestination;
use krilla::geom::{PathBuilder, Point, Rect, Size, Transform};
use krilla::metadata::Metadata;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::{Fill, Stroke};
use krilla::surface::Surface;
use krilla::text::{Font, GlyphId, KrillaGlyph, Tag};
use parley::layout::{Line, Run};

use super::flow::SHADE;
use super::page::{Bookmark, PageItem, PageMeasures, PageRectangle, Pagination};
use super::typesetter::{Colour, GlyphStyle, Typeset};

/// Addresses that links may lead to.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

/// A link on a page.
struct PageLink {
    area: PageRectangle,
    address: String,
}

/// Data, index and variation of a font that `parley` has chosen.
type FontKey = (u64, u32, Vec<([u8; 4], u32)>);

/// Glyphs of one style, from left to right.
struct GlyphRun {
    x: f32,
    width: f32,
    style: u16,
    glyphs: Vec<KrillaGlyph>,
}

#[derive(Default)]
struct PdfDrawing {
    fonts: HashMap<FontKey, Option<Font>>,
    links: Vec<PageLink>,
}

/// Draws pages.
///
/// # Errors
/// A fault `pdf_unwritable`: a font or an image cannot be embedded.
pub(super) fn draw(
    pages: &Pagination,
    frame: PageMeasures,
    title: Option<&str>,
) -> Result<Vec<u8>, Fault> {
    let mut document = Document::new();
    let mut drawing = PdfDrawing::default();
    for marks in &pages.pages {
        let settings = PageSettings::from_wh(frame.width, frame.height).unwrap_or_default();
        let mut page = document.start_page_with(settings);
        let mut surface = page.surface();
        for mark in marks {
            drawing.mark(&mut surface, mark);
        }
        surface.finish();
        for link in drawing.links.drain(..) {
            let Some(area) = rect(link.area) else { continue };
            let action = Target::Action(Action::Link(LinkAction::new(link.address)));
            page.add_annotation(Annotation::new_link(LinkAnnotation::new(area, action), None));
        }
        page.finish();
    }
    document.set_outline(outline(&pages.bookmarks, frame.margins.left));
    let mut metadata = Metadata::new().producer("antiphon".to_owned());
    if let Some(title) = title {
        metadata = metadata.title(title.to_owned());
    }
    document.set_metadata(metadata);
    document.finish().map_err(|error| {
        let message = format!("the file cannot be written as PDF: {error}");
        Fault::new(FaultCode::PdfUnwritable, message).hint("try another font or image")
    })
}

impl PdfDrawing {
    fn mark(&mut self, surface: &mut Surface<'_>, mark: &PageItem) {
        match mark {
            PageItem::Fill { area, colour } => fill(surface, *area, *colour),
            PageItem::Line { text, line, x, y } => {
                if let Some(line) = text.layout.get(*line) {
                    self.line(surface, text, &line, (*x, *y));
                }
            }
            PageItem::Image { image, area } => {
                let Some(size) = Size::from_wh(area.width, area.height) else { return };
                surface.push_transform(&Transform::from_translate(area.x, area.y));
                surface.draw_image(image.clone(), size);
                surface.pop();
            }
        }
    }

    fn line(
        &mut self,
        surface: &mut Surface<'_>,
        text: &Typeset,
        line: &Line<'_, GlyphStyle>,
        (left, top): (f32, f32),
    ) {
        let metrics = line.metrics();
        let baseline = top + metrics.baseline - metrics.block_min_coord;
        let mut x = left + metrics.inline_min_coord + metrics.offset;
        for run in line.runs() {
            for glyph_run in glyph_runs(&run, x) {
                let area = PageRectangle {
                    x: glyph_run.x,
                    y: top,
                    width: glyph_run.width,
                    height: metrics.line_height,
                };
                self.glyph_run(surface, text, (&run, &glyph_run), (area, baseline));
            }
            x += run.advance();
        }
    }

    fn glyph_run(
        &mut self,
        surface: &mut Surface<'_>,
        text: &Typeset,
        (run, glyph_run): (&Run<'_, GlyphStyle>, &GlyphRun),
        (area, baseline): (PageRectangle, f32),
    ) {
        let Some(style) = text.layout.styles().get(usize::from(glyph_run.style)) else { return };
        if style.brush.shaded {
            let inset = area.height * 0.1;
            let shade =
                PageRectangle { y: area.y + inset, height: area.height - 2.0 * inset, ..area };
            fill(surface, shade, SHADE);
        }
        let address = style.brush.link.and_then(|link| text.links.get(link));
        if let Some(address) = address.filter(|address| is_web_address(address)) {
            self.links.push(PageLink { area, address: address.to_string() });
        }
        if let Some(font) = self.font(run) {
            let colour = paint(style.brush.colour);
            surface.set_fill(Some(Fill { paint: colour.into(), ..Fill::default() }));
            // A family without a bold face is drawn with a thicker pen, one without an italic
            // face is slanted.
            let synthesis = run.synthesis();
            let stroke = synthesis.embolden().then(|| Stroke {
                paint: colour.into(),
                width: run.font_size() / 30.0,
                ..Stroke::default()
            });
            surface.set_stroke(stroke);
            let slant = synthesis.skew().map(|degrees| {
                let slant = -degrees.to_radians().tan();
                Transform::from_row(1.0, 0.0, slant, 1.0, -slant * baseline, 0.0)
            });
            if let Some(slant) = &slant {
                surface.push_transform(slant);
            }
            let (place, size) = (Point::from_xy(glyph_run.x, baseline), run.font_size());
            surface.draw_glyphs(place, &glyph_run.glyphs, font, &text.text, size, false);
            if slant.is_some() {
                surface.pop();
            }
            surface.set_stroke(None);
        }
        if style.strikethrough.is_some() {
            let metrics = run.font_metrics();
            let y = baseline - metrics.strikethrough_offset;
            let struck = PageRectangle { y, height: metrics.strikethrough_size.max(0.5), ..area };
            fill(surface, struck, style.brush.colour);
        }
    }

    fn font(&mut self, run: &Run<'_, GlyphStyle>) -> Option<Font> {
        let font = run.font();
        let synthesis = run.synthesis();
        let variations: Vec<([u8; 4], f32)> = synthesis
            .variation_settings()
            .iter()
            .map(|(tag, value)| (tag.into_bytes(), *value))
            .collect();
        let bits = variations.iter().map(|(tag, value)| (*tag, value.to_bits())).collect();
        let loaded = self.fonts.entry((font.data.id(), font.index, bits)).or_insert_with(|| {
            let coordinates: Vec<_> =
                variations.iter().map(|(tag, value)| (Tag::new(tag), *value)).collect();
            let (data, _) = font.data.clone().into_raw_parts();
            Font::new_variable(data.into(), font.index, &coordinates)
        });
        loaded.clone()
    }
}

/// The glyphs of a run with their texts, cut where the style changes.
fn glyph_runs(run: &Run<'_, GlyphStyle>, x: f32) -> Vec<GlyphRun> {
    let size = run.font_size();
    let mut glyph_runs: Vec<GlyphRun> = Vec::new();
    let mut x = x;
    // Where the text of a ligature ends whose first letter comes later, from right to left.
    let mut ligature_end = None;
    for cluster in run.visual_clusters() {
        let mut range = cluster.text_range();
        if cluster.is_ligature_continuation() {
            if run.is_rtl() {
                ligature_end = ligature_end.max(Some(range.end));
            } else if let Some(glyph) =
                glyph_runs.last_mut().and_then(|glyph_run| glyph_run.glyphs.last_mut())
            {
                glyph.text_range.end = range.end;
            }
            continue;
        }
        range.end = ligature_end.take().unwrap_or(range.end).max(range.end);
        let style = cluster.style_index();
        if glyph_runs.last().is_none_or(|glyph_run| glyph_run.style != style) {
            glyph_runs.push(GlyphRun { x, width: 0.0, style, glyphs: Vec::new() });
        }
        let Some(glyph_run) = glyph_runs.last_mut() else { continue };
        for glyph in cluster.glyphs() {
            let (advance, id) = (glyph.advance / size, GlyphId::new(glyph.id));
            // Upwards is positive in a font, negative in a layout.
            let (dx, dy) = (glyph.x / size, -glyph.y / size);
            glyph_run.glyphs.push(KrillaGlyph::new(id, advance, dx, dy, 0.0, range.clone(), None));
            glyph_run.width += glyph.advance;
            x += glyph.advance;
        }
    }
    glyph_runs
}

/// Headings as a tree: each below the last one of a higher rank.
fn outline(bookmarks: &[Bookmark], margin: f32) -> Outline {
    let mut outline = Outline::new();
    let mut open: Vec<(u8, OutlineNode)> = Vec::new();
    for bookmark in bookmarks {
        close(&mut outline, &mut open, bookmark.level);
        let place = XyzDestination::new(bookmark.page, Point::from_xy(margin, bookmark.y));
        open.push((bookmark.level, OutlineNode::new(bookmark.title.clone(), place)));
    }
    close(&mut outline, &mut open, 0);
    outline
}

/// Ends the nodes that are not above one of a level.
fn close(outline: &mut Outline, open: &mut Vec<(u8, OutlineNode)>, level: u8) {
    while let Some((_, node)) = open.pop_if(|(other, _)| *other >= level) {
        match open.last_mut() {
            Some((_, parent)) => parent.push_child(node),
            None => outline.push_child(node),
        }
    }
}

fn fill(surface: &mut Surface<'_>, area: PageRectangle, colour: Colour) {
    let mut path = PathBuilder::new();
    let Some(rect) = rect(area) else { return };
    path.push_rect(rect);
    let Some(path) = path.finish() else { return };
    surface.set_fill(Some(Fill { paint: paint(colour).into(), ..Fill::default() }));
    surface.draw_path(&path);
}

fn rect(area: PageRectangle) -> Option<Rect> {
    Rect::from_xywh(area.x, area.y, area.width, area.height)
}

fn paint([red, green, blue]: Colour) -> rgb::Color {
    rgb::Color::new(red, green, blue)
}

fn is_web_address(address: &str) -> bool {
    SCHEMES.iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}
