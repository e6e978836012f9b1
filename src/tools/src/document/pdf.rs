//! PDF to canonical text. Files may be hostile: nesting, unpacked bytes and operations are bounded, forms that contain
//! themselves are left out, and a panic of the parser is a refusal.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lopdf::{Document, LoadOptions, Object};

use super::read::{DocumentLimits, DocumentRefusal};
use super::text::DocumentText;
use super::writer::TextWriter;

mod content;
mod font;
mod matrix;

use content::PdfContent;

/// The most pages that are read.
const PAGES: usize = 5000;

/// The text of a PDF file. Each page begins with a heading `Page N` in the list of headings, which is not part of the
/// text, with the fragment of a URL that leads there. Text within images is not read.
///
/// # Errors
/// The file is damaged, encrypted with a password, or unpacks to more than the limit.
pub fn pdf_text(bytes: &[u8], limits: &DocumentLimits) -> Result<DocumentText, DocumentRefusal> {
    let read = AssertUnwindSafe(|| read_pages(bytes, limits));
    let panicked = |_| Err(DocumentRefusal::Malformed("its reader gave up".to_owned()));
    catch_unwind(read).unwrap_or_else(panicked)
}

fn read_pages(bytes: &[u8], limits: &DocumentLimits) -> Result<DocumentText, DocumentRefusal> {
    let unpacked = usize::try_from(limits.unpacked).unwrap_or(usize::MAX);
    let options = LoadOptions { max_decompressed_size: Some(unpacked), ..LoadOptions::default() };
    let file = Document::load_mem_with_options(bytes, options).map_err(|error| refused(&error))?;
    if file.is_encrypted() {
        return Err(DocumentRefusal::Malformed("it is encrypted with a password".to_owned()));
    }
    let mut writer = TextWriter::new(limits.characters);
    let mut content = PdfContent::new(&file, unpacked);
    for (number, page) in file.get_pages().into_iter().take(PAGES) {
        if writer.is_full() {
            break;
        }
        writer.block();
        let start = writer.position();
        writer.note_heading(2, &format!("Page {number}"), start, Some(format!("page={number}")));
        // A damaged page does not make the others unreadable.
        if let Err(error) = content.write_page(page, &mut writer)
            && refused(&error) == DocumentRefusal::UnpacksTooLarge
        {
            return Err(DocumentRefusal::UnpacksTooLarge);
        }
    }
    Ok(writer.finish(title(&file)))
}

fn refused(error: &lopdf::Error) -> DocumentRefusal {
    match error {
        lopdf::Error::Decompress(lopdf::DecompressError::MemoryLimitExceeded { .. }) => {
            DocumentRefusal::UnpacksTooLarge
        }
        error => DocumentRefusal::Malformed(error.to_string()),
    }
}

/// The title among the facts about the file.
fn title(file: &Document) -> Option<String> {
    let facts = file.trailer.get(b"Info").ok()?;
    let (_, facts) = file.dereference(facts).ok()?;
    let title = facts.as_dict().ok()?.get_deref(b"Title", file).ok()?;
    matches!(title, Object::String(..)).then(|| lopdf::decode_text_string(title).ok()).flatten()
}
