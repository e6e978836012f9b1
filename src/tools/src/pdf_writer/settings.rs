//! The settings of `write_pdf`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of `write_pdf`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WritePdfSettings {
    /// The folder that files are written to; it must exist. Images and texts are read from it.
    pub root: String,
    /// Font files (TrueType, OpenType, collections). The family of the first is the one of the
    /// text; the others are used for characters that it does not have.
    pub fonts: Vec<String>,
    /// The folder of the fonts that a call may name.
    pub fonts_dir: Option<String>,
    /// Whether fonts of this machine are used for characters that no other font has.
    pub system_fonts: bool,
    /// The size of the paper.
    pub page_size: PageSize,
    /// The size of the text, in points.
    pub font_size: f32,
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
            fonts_dir: None,
            system_fonts: true,
            page_size: PageSize::A4,
            font_size: 10.5,
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
