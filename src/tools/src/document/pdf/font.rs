//! Fonts: the characters that codes stand for, and how wide these are.

use std::collections::BTreeMap;

use lopdf::{Dictionary, Document, Encoding, Object};

/// The width of a character whose font says nothing, in thousandths of its size.
const USUAL_WIDTH: f32 = 500.0;

/// The most widths of one font that are kept.
const WIDTHS: usize = 70_000;

/// A font of a page.
#[derive(Debug)]
pub(super) struct PdfFont<'d> {
    /// None if it cannot be read; its text is left out.
    encoding: Option<Encoding<'d>>,
    /// Two bytes for each code.
    wide: bool,
    widths: BTreeMap<u32, f32>,
    default_width: f32,
}

impl<'d> PdfFont<'d> {
    pub(super) fn read(font: &'d Dictionary, file: &'d Document, limit: usize) -> Self {
        let encoding = font.get_font_encoding_with_limit(file, limit).ok();
        let wide =
            font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Type0");
        let mut read = Self { encoding, wide, widths: BTreeMap::new(), default_width: USUAL_WIDTH };
        // Without widths, gaps are estimated.
        let _ = if wide { read.read_wide(font, file) } else { read.read_simple(font, file) };
        read
    }

    pub(super) fn text(&self, bytes: &[u8]) -> Option<String> {
        let text = Document::decode_text(self.encoding.as_ref()?, bytes).ok()?;
        Some(text.chars().flat_map(ligature_letters).collect())
    }

    /// How far `bytes` move on, in units of the font's size, and how many characters they are.
    pub(super) fn advance(&self, bytes: &[u8]) -> (f32, usize) {
        let width = |code| self.widths.get(&code).copied().unwrap_or(self.default_width) / 1000.0;
        if self.wide {
            let codes = bytes
                .chunks_exact(2)
                .map(|pair| pair.iter().fold(0, |code, byte| code << 8 | u32::from(*byte)));
            (codes.map(width).sum(), bytes.len() / 2)
        } else {
            (bytes.iter().map(|byte| width(u32::from(*byte))).sum(), bytes.len())
        }
    }

    fn read_simple(&mut self, font: &Dictionary, file: &Document) -> lopdf::Result<()> {
        let first = font.get_deref(b"FirstChar", file)?.as_i64()?;
        let widths = font.get_deref(b"Widths", file)?.as_array()?;
        for (code, width) in (u32::try_from(first).unwrap_or_default()..).zip(widths).take(256) {
            self.put(code, number(width, file));
        }
        Ok(())
    }

    fn read_wide(&mut self, font: &Dictionary, file: &Document) -> lopdf::Result<()> {
        let descendants = font.get_deref(b"DescendantFonts", file)?.as_array()?;
        let Some(descendant) = descendants.first() else { return Ok(()) };
        let descendant = file.dereference(descendant)?.1.as_dict()?;
        let default = descendant.get_deref(b"DW", file).ok();
        self.default_width = default.and_then(|width| number(width, file)).unwrap_or(1000.0);
        let mut entries = descendant.get_deref(b"W", file)?.as_array()?.iter();
        // `first [widths]` or `first last width`.
        while let (Some(first), Some(second)) = (entries.next(), entries.next()) {
            let first = code_of(first);
            match file.dereference(second)?.1 {
                Object::Array(widths) => {
                    for (code, width) in (first..).zip(widths) {
                        self.put(code, number(width, file));
                    }
                }
                last => {
                    let width = entries.next().and_then(|width| number(width, file));
                    (first..=code_of(last).min(0xffff)).for_each(|code| self.put(code, width));
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, code: u32, width: Option<f32>) {
        if let Some(width) = width.filter(|_| self.widths.len() < WIDTHS) {
            self.widths.insert(code, width);
        }
    }
}

fn code_of(object: &Object) -> u32 {
    object.as_i64().ok().and_then(|code| u32::try_from(code).ok()).unwrap_or_default()
}

fn number(object: &Object, file: &Document) -> Option<f32> {
    let (_, object) = file.dereference(object).ok()?;
    object.as_float().ok().filter(|number| number.is_finite())
}

/// The letters of a ligature, so that words are found as they are spelled.
fn ligature_letters(character: char) -> impl Iterator<Item = char> {
    let letters = match character {
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        'ﬅ' | 'ﬆ' => "st",
        _ => "",
    };
    let itself = letters.is_empty().then_some(character);
    letters.chars().chain(itself)
}
