//! A file that comes with a question.

use antiphon_core::{Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text file, given inline with the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl Attachment {
    /// How large a file may be, in bytes: 64 KiB.
    pub const LIMIT: usize = 64 * 1024;

    /// A text of that name.
    ///
    /// # Errors
    /// As [`Attachment::check`].
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Self, Fault> {
        let attachment = Self { name: name.into(), text: text.into() };
        attachment.check()?;
        Ok(attachment)
    }

    /// The content of a file of that name.
    ///
    /// # Errors
    /// As [`Attachment::check`]; a `Validation` fault `attachment_not_text` if
    /// the content is not UTF-8.
    pub fn from_bytes(name: impl Into<String>, content: Vec<u8>) -> Result<Self, Fault> {
        let name = name.into();
        if content.len() > Self::LIMIT {
            return Err(too_large(&name, content.len()));
        }
        match String::from_utf8(content) {
            Ok(text) => Self::new(name, text),
            Err(_) => Err(not_text(&name)),
        }
    }

    /// Whether it can be given to a model.
    ///
    /// # Errors
    /// A `Validation` fault: `attachment_too_large` beyond
    /// [`Attachment::LIMIT`], `attachment_not_text` if it holds a NUL.
    pub fn check(&self) -> Result<(), Fault> {
        if self.text.len() > Self::LIMIT {
            return Err(too_large(&self.name, self.text.len()));
        }
        if self.text.contains('\0') { Err(not_text(&self.name)) } else { Ok(()) }
    }
}

fn too_large(name: &str, size: usize) -> Fault {
    let message = format!("the attached file `{name}` is larger than 64 KiB, bytes: {size}");
    Fault::new(FaultCode::AttachmentTooLarge, message)
        .hint("attach the relevant part, or give the researcher a tool that reads the file")
}

fn not_text(name: &str) -> Fault {
    let message = format!("the attached file is not UTF-8 text: {name}");
    Fault::new(FaultCode::AttachmentNotText, message)
        .hint("convert it to text, or give the researcher a tool that reads it")
}
