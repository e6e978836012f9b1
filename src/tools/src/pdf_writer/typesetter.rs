//! Text in lines: shaping, both directions of writing, and where lines break.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use parley::style::{FontFamily, FontStyle, FontWeight, LineHeight, OverflowWrap, StyleProperty};
use parley::{
    Alignment, AlignmentOptions, ContentWidths, FontContext, Layout, LayoutContext, RangedBuilder,
};

use super::blocks::ColumnAlignment;
use super::fonts::{Fonts, is_invisible};
use super::rich_text::{Emphasis, RichText};

const LINE_HEIGHT: f32 = 1.4;
/// Monospaced letters look larger than others of the same size.
const CODE_SIZE: f32 = 0.9;

/// A colour: red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const BLACK: Colour = [0x1a, 0x1a, 0x1a];
pub(super) const GREY: Colour = [0x66, 0x66, 0x66];
const BLUE: Colour = [0x0b, 0x57, 0xa4];

/// What the drawing of a letter needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GlyphStyle {
    pub(super) colour: Colour,
    /// The place of its address among those of the text.
    pub(super) link: Option<usize>,
    /// Whether it stands on a background.
    pub(super) shaded: bool,
}

/// How a text looks apart from its emphases.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub(super) size: f32,
    pub(super) colour: Colour,
    pub(super) bold: bool,
    pub(super) code: bool,
    pub(super) side: ColumnAlignment,
}

impl TextStyle {
    pub(super) const fn text(size: f32) -> Self {
        Self { size, colour: BLACK, bold: false, code: false, side: ColumnAlignment::Start }
    }
}

/// A text in lines.
pub(super) struct Typeset {
    pub(super) text: String,
    pub(super) layout: Layout<GlyphStyle>,
    pub(super) links: Vec<Rc<str>>,
}

pub(super) struct Typesetter {
    context: FontContext,
    scratch: LayoutContext<GlyphStyle>,
    families: FontFamily<'static>,
    code_families: FontFamily<'static>,
    missing: BTreeMap<char, usize>,
}

impl Typesetter {
    pub(super) fn new(fonts: Fonts) -> Self {
        let list = |code| FontFamily::List(Cow::Owned(fonts.families(code)));
        Self {
            families: list(false),
            code_families: list(true),
            context: FontContext { collection: fonts.collection, ..FontContext::default() },
            scratch: LayoutContext::new(),
            missing: BTreeMap::new(),
        }
    }

    /// Sets a text in lines of a width; on one line without.
    pub(super) fn set(&mut self, text: &RichText, style: TextStyle, width: Option<f32>) -> Typeset {
        let (mut layout, links) = self.shape(text, style);
        layout.break_all_lines(width);
        layout.align(alignment(style.side), AlignmentOptions::default());
        self.note_missing(&text.text, &layout);
        Typeset { text: text.text.clone(), layout, links }
    }

    /// The widths of a text's longest word and of the whole text.
    pub(super) fn measure(&mut self, text: &RichText, style: TextStyle) -> ContentWidths {
        self.shape(text, style).0.calculate_content_widths()
    }

    fn shape(&mut self, text: &RichText, style: TextStyle) -> (Layout<GlyphStyle>, Vec<Rc<str>>) {
        let mut links = Vec::new();
        let mut builder = self.scratch.ranged_builder(&mut self.context, &text.text, 1.0, false);
        let families = if style.code { &self.code_families } else { &self.families };
        builder.push_default(StyleProperty::FontFamily(families.clone()));
        let size = if style.code { style.size * CODE_SIZE } else { style.size };
        builder.push_default(StyleProperty::FontSize(size));
        builder.push_default(LineHeight::FontSizeRelative(LINE_HEIGHT));
        // A word that is longer than a line is broken, but does not make a column narrow.
        builder.push_default(StyleProperty::OverflowWrap(OverflowWrap::BreakWord));
        builder.push_default(StyleProperty::Brush(GlyphStyle {
            colour: style.colour,
            ..GlyphStyle::default()
        }));
        if style.bold {
            builder.push_default(StyleProperty::FontWeight(FontWeight::BOLD));
        }
        for (range, emphasis) in &text.spans {
            let range = range.clone();
            match emphasis {
                Emphasis::Link(address) => {
                    let ink = GlyphStyle { colour: BLUE, link: Some(links.len()), shaded: false };
                    links.push(address.clone());
                    builder.push(StyleProperty::Brush(ink), range);
                }
                Emphasis::Code => {
                    let ink = GlyphStyle { colour: style.colour, link: None, shaded: true };
                    builder
                        .push(StyleProperty::FontFamily(self.code_families.clone()), range.clone());
                    builder.push(StyleProperty::FontSize(style.size * CODE_SIZE), range.clone());
                    builder.push(StyleProperty::Brush(ink), range);
                }
                plain => push_plain(&mut builder, plain, range),
            }
        }
        (builder.build(&text.text), links)
    }

    /// The characters that no font has, and how often they occur.
    pub(super) fn into_missing(self) -> BTreeMap<char, usize> {
        self.missing
    }

    fn note_missing(&mut self, text: &str, layout: &Layout<GlyphStyle>) {
        for cluster in layout.lines().flat_map(|line| line.runs()).flat_map(|run| run.clusters()) {
            if cluster.glyphs().all(|glyph| glyph.id != 0) {
                continue;
            }
            let shown = text.get(cluster.text_range()).unwrap_or_default();
            for c in shown.chars().filter(|c| !is_invisible(*c)) {
                *self.missing.entry(c).or_default() += 1;
            }
        }
    }
}

fn push_plain(
    builder: &mut RangedBuilder<'_, GlyphStyle>,
    emphasis: &Emphasis,
    range: std::ops::Range<usize>,
) {
    match emphasis {
        Emphasis::Strong => builder.push(StyleProperty::FontWeight(FontWeight::BOLD), range),
        Emphasis::Italic => builder.push(StyleProperty::FontStyle(FontStyle::Italic), range),
        Emphasis::Struck => builder.push(StyleProperty::Strikethrough(true), range),
        Emphasis::Code | Emphasis::Link(_) => {}
    }
}

const fn alignment(side: ColumnAlignment) -> Alignment {
    match side {
        ColumnAlignment::Start => Alignment::Start,
        ColumnAlignment::Centre => Alignment::Center,
        ColumnAlignment::End => Alignment::End,
    }
}
