//! The settings of `write_pdf`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::{MarginMeasures, PageMeasures};

/// 2 centimetres.
const MARGIN: f64 = 56.7;
/// The least width and height of the text, in points: 2 inches.
const TEXT: f32 = 144.0;
/// What the number of a page needs below the text, in points.
const NUMBER: f32 = 18.0;

/// The settings of `write_pdf`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WritePdfSettings {
    /// The folder that files are written to; it must exist. Images and texts are read from it.
    pub root: String,
    /// Font files (TrueType, OpenType, collections). The family of the first is the one of the
    /// text; the others are used for characters that it does not have.
    pub fonts: Vec<String>,
    /// The family that the text is set in, of those files, of `fonts_dir`, of the fonts that are
    /// built in, or of this machine; that of the first file by default.
    pub font_name: Option<String>,
    /// The folder of the fonts that a call may name.
    pub fonts_dir: Option<String>,
    /// Whether fonts of this machine are used for characters that no other font has.
    pub system_fonts: bool,
    /// The size of the paper.
    pub page_size: PageSize,
    /// The size of the text, in points.
    pub font_size: f32,
    /// The space between the text and the edges of the paper, in points.
    pub margins: MarginSettings,
    /// Whether pages have numbers.
    pub page_numbers: bool,
    /// The most pages of a file.
    pub max_pages: usize,
    /// The most bytes of a file that is written, and of an image that is read. A text has at most
    /// 2,000,000 in any case.
    pub max_file_size: u64,
}

impl Default for WritePdfSettings {
    fn default() -> Self {
        Self {
            root: String::new(),
            fonts: Vec::new(),
            font_name: None,
            fonts_dir: None,
            system_fonts: true,
            page_size: PageSize::A4,
            font_size: 10.5,
            margins: MarginSettings::default(),
            page_numbers: true,
            max_pages: 500,
            max_file_size: 10_000_000,
        }
    }
}

/// A size of paper, upright.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PageSize {
    /// 210 by 297 millimetres.
    A4,
    /// 8.5 by 11 inches.
    Letter,
}

impl PageSize {
    /// Width and height in points.
    pub(super) const fn points(self) -> (f32, f32) {
        match self {
            Self::A4 => (595.276, 841.89),
            Self::Letter => (612.0, 792.0),
        }
    }
}

/// The space between a text and the edges of its paper, in points: 72 are an inch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a number of points, or four: top, right, bottom, left")]
pub enum MarginSettings {
    /// The same on all sides.
    Equal(f64),
    /// Top, right, bottom, left.
    Each([f64; 4]),
}

impl Default for MarginSettings {
    fn default() -> Self {
        Self::Equal(MARGIN)
    }
}

impl MarginSettings {
    #[expect(clippy::cast_possible_truncation, reason = "points of paper need no more digits")]
    fn sides(self) -> MarginMeasures {
        let margins = match self {
            Self::Equal(margin) => [margin; 4],
            Self::Each(margins) => margins,
        };
        let [top, right, bottom, left] = margins.map(|margin| margin as f32);
        MarginMeasures { top, right, bottom, left }
    }

    /// The pages of a size with these margins.
    ///
    /// # Errors
    /// What keeps a text from being set there.
    pub(super) fn on(self, size: PageSize, has_numbers: bool) -> Result<PageMeasures, String> {
        let MarginMeasures { top, right, bottom, left } = self.sides();
        if let Some(wrong) = [top, right, bottom, left].into_iter().find(|it| *it < 0.0) {
            return Err(format!("`margins` must be points from 0 on: {wrong}"));
        }
        let (width, height) = size.points();
        let pages = PageMeasures { width, height, margins: self.sides() };
        for (room, whole, name) in
            [(pages.line_width(), width, "width"), (pages.room(), height, "height")]
        {
            if room < TEXT {
                let taken = whole - room;
                return Err(format!(
                    "`margins` must leave {TEXT} of the {whole:.0} points of the {name}: {taken}"
                ));
            }
        }
        if has_numbers && bottom < NUMBER {
            return Err(format!(
                "`margins` must leave {NUMBER} points at the bottom for the page number: {bottom}"
            ));
        }
        Ok(pages)
    }
}
