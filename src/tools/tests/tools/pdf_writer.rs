//! PDF files from text and Markdown, read again by the reader of documents.

mod content;
mod layout;
mod limits;
mod scripts;
mod tables;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use antiphon_core::ToolOutcome;
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::document::{DocumentFormat, DocumentLimits, read_document};
use antiphon_tools::find;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// A folder with the tool `write_pdf` for it.
struct PdfFolder {
    folder: TempDir,
    tool: Arc<dyn Tool>,
}

impl PdfFolder {
    fn new() -> Self {
        Self::with(&json!({}))
    }

    /// With further settings beside the root; without fonts of this machine, which differ.
    fn with(settings: &Json) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut all = json!({"root": folder.path(), "system_fonts": false});
        for (key, value) in settings.as_object().unwrap() {
            all[key] = value.clone();
        }
        let tool = find("write_pdf").unwrap().open(&all).unwrap().remove(0);
        Self { folder, tool }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn call(&self, arguments: Json) -> ToolOutcome {
        self.tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await
    }

    async fn write(&self, content: &str) -> Json {
        let arguments = json!({"path": "out.pdf", "content": content, "overwrite": true});
        self.call(arguments).await.unwrap()
    }

    async fn code(&self, arguments: Json) -> String {
        self.call(arguments).await.unwrap_err().code.to_string()
    }

    /// The file as `lopdf` reads it.
    fn pdf(&self) -> lopdf::Document {
        lopdf::Document::load_mem(&fs::read(self.path("out.pdf")).unwrap()).unwrap()
    }
}

impl PdfFolder {
    /// The text of all pages, as the reader of documents finds it.
    fn text(&self) -> String {
        let bytes = fs::read(self.path("out.pdf")).unwrap();
        let read = read_document(&bytes, DocumentFormat::Pdf, &DocumentLimits::default()).unwrap();
        read.text.replace('\u{a0}', " ")
    }

    fn title(&self) -> String {
        let pdf = self.pdf();
        let info = pdf.trailer.get(b"Info").unwrap().as_reference().unwrap();
        let title = pdf.get_dictionary(info).unwrap().get(b"Title").unwrap();
        lopdf::decode_text_string(title).unwrap()
    }

    /// The addresses that links lead to.
    fn addresses(&self) -> Vec<String> {
        let pdf = self.pdf();
        let annotations = pdf.page_iter().flat_map(|page| pdf.get_page_annotations(page).unwrap());
        annotations
            .filter_map(|annotation| {
                let action = annotation.get(b"A").ok()?;
                let address = match action {
                    lopdf::Object::Reference(id) => {
                        pdf.get_dictionary(*id).ok()?.get(b"URI").ok()?
                    }
                    action => action.as_dict().ok()?.get(b"URI").ok()?,
                };
                Some(String::from_utf8_lossy(address.as_str().ok()?).into_owned())
            })
            .collect()
    }

    fn fonts(&self) -> Vec<String> {
        let pdf = self.pdf();
        let fonts = pdf.page_iter().flat_map(|page| pdf.get_page_fonts(page).unwrap());
        let names = fonts.filter_map(|(_, font)| {
            Some(String::from_utf8_lossy(font.get(b"BaseFont").ok()?.as_name().ok()?).into_owned())
        });
        names.collect()
    }

    fn size_of_first_page(&self) -> (f32, f32) {
        let pdf = self.pdf();
        let page = pdf.page_iter().next().unwrap();
        let sizes = pdf.get_dictionary(page).unwrap().get(b"MediaBox").unwrap().as_array().unwrap();
        (sizes[2].as_float().unwrap(), sizes[3].as_float().unwrap())
    }

    /// Where texts of all pages begin, in points from the left edge of the paper.
    fn lefts(&self) -> Vec<f32> {
        let pdf = self.pdf();
        let contents = pdf.page_iter().map(|page| pdf.get_and_decode_page_content(page).unwrap());
        let operations = contents.flat_map(|content| content.operations);
        operations
            .filter(|operation| operation.operator == "Tm")
            .map(|operation| operation.operands[4].as_float().unwrap())
            .collect()
    }
}
