//! The tool `write_pdf`.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use krilla::image::Image;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::blocks::{Block, characters};
use super::flow::PageLayout;
use super::fonts::{FontSearch, Fonts};
use super::page::{PageItem, PageMeasures, Pagination};
use super::settings::{MarginSettings, WritePdfSettings};
use super::typesetter::{GREY, TextStyle, Typesetter};
use super::{drawing, markdown};
use crate::files::{RelativePath, Root, blocking};
use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

const DESCRIPTION: &str = "Writes a PDF file from Markdown (headings, lists, tables, code, links, images of the folder) or \
    plain text, given as `content` or read from the file `source`. It returns the number of pages, and characters that no \
    font has.";

/// The most bytes of a text: it is set as a whole, which takes 150 times its size.
const MAX_TEXT: u64 = 2_000_000;
/// The most pixels of an image: what a page shows has far fewer.
const MAX_PIXELS: u64 = 50_000_000;
/// The sizes of text, in points.
const FONT_SIZES: std::ops::RangeInclusive<f32> = 4.0..=40.0;
/// How many missing characters a result names.
const MAX_MISSING: usize = 50;

/// The family of one tool, `write_pdf`.
#[derive(Debug)]
pub struct WritePdf;

impl ToolFamily for WritePdf {
    const NAME: &'static str = "write_pdf";
    const DESCRIPTION: &'static str = "Writes text and Markdown as PDF files.";
    type Settings = WritePdfSettings;

    fn open(settings: WritePdfSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let writer = PdfWriter::open(settings)?;
        let function = WritePdfFile(Arc::new(writer));
        let tool = TypedTool::new("write_pdf", DESCRIPTION, SideEffect::Write, function);
        Ok(vec![Arc::new(tool)])
    }
}

/// How a text is written.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TextFormat {
    #[default]
    Markdown,
    Text,
}

/// The arguments of `write_pdf`.
#[derive(Deserialize, JsonSchema)]
struct WritePdfArguments {
    /// The path of the PDF file, relative to the root: reports/summary.pdf. Missing folders are made.
    path: String,
    /// The whole text.
    #[serde(default)]
    content: Option<String>,
    /// The path of a text file to read instead of `content`.
    #[serde(default)]
    source: Option<String>,
    /// How the text is written.
    #[serde(default)]
    format: TextFormat,
    /// The title in the properties of the file; by default the first heading.
    #[serde(default)]
    title: Option<String>,
    /// The name of a font file to set the text in, such as Body-Regular.ttf, of the fonts that the
    /// host offers. Without it, or if it cannot be used, the text has the usual font.
    #[serde(default)]
    font: Option<String>,
    /// The name of a font family to set the text in, such as Helvetica or Courier, instead of
    /// `font`. One that is not there gives way to the usual font.
    #[serde(default)]
    font_name: Option<String>,
    /// The size of the text in points, from 4 to 40; by default that of the host.
    #[serde(default)]
    font_size: Option<f32>,
    /// The space between the text and the edges of the paper in points (72 are an inch): a number,
    /// or four for top, right, bottom and left; by default that of the host.
    #[serde(default)]
    margins: Option<MarginSettings>,
    /// Whether to replace a file that exists.
    #[serde(default)]
    overwrite: bool,
}

struct WritePdfFile(Arc<PdfWriter>);

#[async_trait]
impl ToolFunction for WritePdfFile {
    type Arguments = WritePdfArguments;

    async fn call(&self, arguments: WritePdfArguments, _: &CallContext) -> ToolOutcome {
        let writer = self.0.clone();
        blocking(move || writer.write(&arguments)).await
    }
}

struct PdfWriter {
    root: Root,
    fonts: Fonts,
    settings: WritePdfSettings,
}

impl PdfWriter {
    fn open(settings: WritePdfSettings) -> Result<Self, Fault> {
        if settings.root.is_empty() {
            let fault = Fault::new(FaultCode::ToolSettingInvalid, "`root` must name a folder: ''");
            return Err(fault.hint("pass the folder that files are written to"));
        }
        if !FONT_SIZES.contains(&settings.font_size) {
            let message = format!("`font_size` must lie between 4 and 40: {}", settings.font_size);
            return Err(Fault::new(FaultCode::ToolSettingInvalid, message));
        }
        if settings.max_pages == 0 {
            let message = "`max_pages` must be positive: 0";
            return Err(Fault::new(FaultCode::ToolSettingInvalid, message));
        }
        let unfit = |message| Fault::new(FaultCode::ToolSettingInvalid, message);
        settings.margins.on(settings.page_size, settings.page_numbers).map_err(unfit)?;
        let mut fonts = Fonts::load(&settings.fonts)?;
        if let Some(name) = &settings.font_name {
            fonts.choose(name, font_search(&settings)).map_err(|reason| {
                unfit(format!("`font_name` cannot be used: {reason}"))
                    .hint("pass its files as `fonts`, or the folder of them as `fonts_dir`")
            })?;
        }
        Ok(Self { root: Root::open(&settings.root)?, fonts, settings })
    }

    fn write(&self, arguments: &WritePdfArguments) -> ToolOutcome {
        let path = pdf_path(&arguments.path)?;
        let content = self.content(arguments)?;
        let blocks = match arguments.format {
            TextFormat::Markdown => markdown::read(&content)?,
            TextFormat::Text => vec![Block::Lines { text: content, code: false }],
        };
        let title = arguments.title.clone().or_else(|| first_heading(&blocks));
        let font_size = arguments.font_size.unwrap_or(self.settings.font_size);
        if !FONT_SIZES.contains(&font_size) {
            let message = format!("`font_size` must lie between 4 and 40: {font_size}");
            return Err(Fault::new(FaultCode::InvalidValue, message));
        }
        let frame = self.frame(arguments.margins)?;
        let (fonts, unusable_font) = self.fonts_with(arguments)?;
        let (pages, missing) = self.set(&blocks, fonts, (font_size, frame))?;
        let bytes = drawing::draw(&pages, frame, title.as_deref())?;
        let mut file = self.root.create(&path, self.settings.max_file_size)?;
        file.write(&bytes)?;
        file.commit(arguments.overwrite)?;
        let mut result = json!({
            "path": path.as_str(),
            "size": bytes.len(),
            "pages": pages.pages.len(),
        });
        if let (Some(fields), Some(reason)) = (result.as_object_mut(), unusable_font) {
            fields.insert("unusable_font".to_owned(), reason.into());
        }
        if let Some(fields) = result.as_object_mut().filter(|_| !missing.is_empty()) {
            fields.insert("missing_characters".to_owned(), missing_characters(&missing));
            let note = "no font has these characters, and the file shows boxes for them: replace them and write the file anew";
            fields.insert("note".to_owned(), note.into());
        }
        Ok(result)
    }

    fn content(&self, arguments: &WritePdfArguments) -> Result<String, Fault> {
        let limit = self.settings.max_file_size.min(MAX_TEXT);
        match (&arguments.content, &arguments.source) {
            (Some(content), None) if content.len() as u64 <= limit => Ok(content.clone()),
            (Some(_), None) => {
                let message = format!("`content` has more than {limit} bytes");
                Err(Fault::new(FaultCode::FileTooLarge, message))
            }
            (None, Some(source)) => {
                let path = RelativePath::parse(source)?;
                String::from_utf8(self.root.read(&path, limit)?).map_err(|_| {
                    let message = format!("the file is not a text in UTF-8: {path}");
                    Fault::new(FaultCode::FileNotText, message)
                })
            }
            _ => {
                let message = "exactly one of `content` and `source` must be given";
                Err(Fault::new(FaultCode::InvalidValue, message)
                    .hint("pass the text as `content`, or the path of a text file as `source`"))
            }
        }
    }

    fn frame(&self, margins: Option<MarginSettings>) -> Result<PageMeasures, Fault> {
        let WritePdfSettings { page_size, page_numbers, .. } = self.settings;
        let margins = margins.unwrap_or(self.settings.margins);
        margins.on(page_size, page_numbers).map_err(|it| Fault::new(FaultCode::InvalidValue, it))
    }

    /// The fonts, with the one of a call before the others; and why that cannot be used.
    fn fonts_with(&self, arguments: &WritePdfArguments) -> Result<(Fonts, Option<String>), Fault> {
        let mut fonts = self.fonts.clone();
        let used = match (&arguments.font, &arguments.font_name) {
            (None, None) => Ok(()),
            (Some(_), Some(_)) => {
                let message = "at most one of `font` and `font_name` can be given";
                return Err(Fault::new(FaultCode::InvalidValue, message));
            }
            (None, Some(name)) => fonts.choose(name, font_search(&self.settings)),
            (Some(name), None) => {
                let file = font_file(name)?;
                let used = match &self.settings.fonts_dir {
                    Some(folder) => fonts.prefer(&Path::new(folder).join(file)),
                    None => Err("there is no folder of fonts".to_owned()),
                };
                used.map_err(|reason| format!("{reason}: {name}"))
            }
        };
        Ok((fonts, used.err()))
    }

    /// Sets all blocks on pages, and says which characters no font has.
    fn set(
        &self,
        blocks: &[Block],
        mut fonts: Fonts,
        (font_size, frame): (f32, PageMeasures),
    ) -> Result<(Pagination, BTreeMap<char, usize>), Fault> {
        if self.settings.system_fonts {
            fonts.complete(&characters(blocks));
        }
        let mut typesetter = Typesetter::new(fonts);
        let read_image = |path: &str| self.image(path);
        let max_pages = self.settings.max_pages;
        let flow = PageLayout::new(&mut typesetter, frame, font_size, max_pages, &read_image);
        let mut pages = flow.set(blocks)?;
        if self.settings.page_numbers {
            add_page_numbers(&mut pages, &mut typesetter, frame, font_size);
        }
        Ok((pages, typesetter.into_missing()))
    }

    /// An image of the root.
    fn image(&self, path: &str) -> Result<Image, Fault> {
        let unusable = |reason: &str| {
            let message = format!("an image cannot be used ({reason}): {path}");
            Fault::new(FaultCode::PdfUnwritable, message)
                .hint("name a PNG, JPEG, GIF or WebP file of the folder")
        };
        let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
        let data = self.root.read(&RelativePath::parse(&decoded)?, self.settings.max_file_size)?;
        let read = match data.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => Image::from_png,
            [0xff, 0xd8, ..] => Image::from_jpeg,
            [b'G', b'I', b'F', b'8', ..] => Image::from_gif,
            [b'R', b'I', b'F', b'F', ..] => Image::from_webp,
            _ => return Err(unusable("not an image")),
        };
        let image = read(data.into(), true).map_err(|error| unusable(&error))?;
        let (width, height) = image.size();
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(unusable("more than 50 million pixels"));
        }
        Ok(image)
    }
}

fn font_search(settings: &WritePdfSettings) -> FontSearch<'_> {
    FontSearch {
        folder: settings.fonts_dir.as_deref().map(Path::new),
        of_machine: settings.system_fonts,
    }
}

fn pdf_path(path: &str) -> Result<RelativePath, Fault> {
    let path = RelativePath::parse(path)?;
    let name = path.name();
    if name.len() > 4 && name.to_lowercase().ends_with(".pdf") {
        return Ok(path);
    }
    let message = format!("the name of a PDF file must end with `.pdf`: {path}");
    Err(Fault::new(FaultCode::InvalidValue, message).hint("write for instance reports/summary.pdf"))
}

/// The name of a font file: of no path, so that it stays in its folder.
fn font_file(name: &str) -> Result<&str, Fault> {
    let ending = name.to_lowercase();
    let is_font = [".ttf", ".otf"].iter().any(|known| ending.ends_with(known));
    if is_font && !name.contains(['/', '\\', '\0']) {
        return Ok(name);
    }
    let message = format!("a font is named by its file, without a folder: {name}");
    Err(Fault::new(FaultCode::InvalidValue, message).hint("write for instance Body-Regular.ttf"))
}

fn first_heading(blocks: &[Block]) -> Option<String> {
    blocks.iter().find_map(|block| match block {
        Block::Heading { text, .. } if !text.is_blank() => Some(text.text.trim().to_owned()),
        _ => None,
    })
}

fn add_page_numbers(
    pages: &mut Pagination,
    typesetter: &mut Typesetter,
    frame: PageMeasures,
    size: f32,
) {
    let count = pages.pages.len();
    let margin = frame.margins.bottom;
    // Where it stands it has not quite two thirds of the margin.
    let style = TextStyle { colour: GREY, ..TextStyle::text((size * 0.85).min(margin * 0.45)) };
    for (index, page) in pages.pages.iter_mut().enumerate() {
        let number = format!("{} / {count}", index + 1);
        let text = Rc::new(typesetter.set(&number.as_str().into(), style, None));
        let x = (frame.width - text.layout.width()) / 2.0;
        page.push(PageItem::Line { text, line: 0, x, y: frame.bottom() + margin * 0.35 });
    }
}

fn missing_characters(missing: &BTreeMap<char, usize>) -> Json {
    let named = missing.iter().take(MAX_MISSING).map(|(c, count)| {
        json!({"character": c.to_string(), "code": format!("U+{:04X}", u32::from(*c)), "count": count})
    });
    named.collect()
}
