//! What a message says: a text, or parts of several kinds.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::checkpoint::digest;

/// What a message says: a text, or a list of parts. In JSON it is a string or a list.
///
/// ```
/// use antiphon_core::{Content, ContentPart, Media};
/// let plot = ContentPart::Image(Media::base64("image/png", "iVBORw0KGgo="));
/// let content = Content::from(vec![ContentPart::text("What is wrong here?"), plot]);
/// assert_eq!(content.text(), "What is wrong here?");
/// let json = serde_json::to_value(&content).unwrap();
/// assert_eq!(json[1]["type"], "image");
/// assert_eq!(serde_json::from_value::<Content>(json).unwrap(), content);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A text.
    Text(String),
    /// Parts, in the order in which a model reads them.
    Parts(Vec<ContentPart>),
}

/// A part of a message; in JSON its `type` says which, as in the content blocks of `LangChain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image(Media),
    /// A file, such as a PDF document.
    File {
        /// Its name, as the model reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Its contents.
        #[serde(flatten)]
        media: Media,
    },
    /// A JSON value: a record, or the rows of a table. Models read it as text.
    Data {
        /// The value.
        value: Json,
    },
}

/// The contents of an image or a file, or their address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The media type, such as `image/png`; an address may leave it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The contents or the address.
    #[serde(flatten)]
    pub source: MediaSource,
}

/// The contents of a medium, or their address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// The bytes, in base64.
    Base64(String),
    /// The text of a file; models read it as text.
    Text(String),
    /// The address from which the provider of the model loads it.
    Url(String),
}

impl Media {
    /// Bytes in base64, of this media type.
    pub fn base64(mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self { mime_type: Some(mime_type.into()), source: MediaSource::Base64(data.into()) }
    }

    /// What stands at an address.
    pub fn url(url: impl Into<String>) -> Self {
        Self { mime_type: None, source: MediaSource::Url(url.into()) }
    }

    /// The media type of an image that models see, by its first bytes: what a file is called, or a
    /// server says of it, need not be true.
    ///
    /// ```
    /// # use antiphon_core::Media;
    /// assert_eq!(Media::image_type(b"GIF89a"), Some("image/gif"));
    /// assert_eq!(Media::image_type(b"%PDF-1.7"), None);
    /// ```
    pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
            [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
            [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
            _ => None,
        }
    }

    /// The address, or the bytes as a `data:` URL; a text as it is.
    pub fn as_url(&self) -> Cow<'_, str> {
        match &self.source {
            MediaSource::Url(text) | MediaSource::Text(text) => Cow::Borrowed(text),
            MediaSource::Base64(data) => {
                let mime_type = self.mime_type.as_deref().unwrap_or("application/octet-stream");
                Cow::Owned(format!("data:{mime_type};base64,{data}"))
            }
        }
    }
}

impl ContentPart {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A table as data: its columns, the rows that are shown, and how many rows there are in all.
    pub fn table(columns: &[String], rows: &[Vec<Json>], row_count: usize) -> Self {
        Self::Data { value: json!({"row_count": row_count, "columns": columns, "rows": rows}) }
    }

    /// The part as text; `None` for an image and for a file of bytes. A file of text stands
    /// between tags that nothing in it can close.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { text } => Some(Cow::Borrowed(text)),
            Self::Data { value } => Some(Cow::Owned(value.to_string())),
            Self::File { filename, media } => match &media.source {
                MediaSource::Text(text) => {
                    let name = escaped(filename.as_deref().unwrap_or("file"));
                    let text = without_end_tag(text);
                    Some(Cow::Owned(format!("<file name=\"{name}\">\n{text}\n</file>")))
                }
                MediaSource::Base64(_) | MediaSource::Url(_) => None,
            },
            Self::Image(_) => None,
        }
    }
}

impl Content {
    /// The result of a tool as content: an object with the one field `content`, a list of parts,
    /// is those parts. Anything else is not content but data.
    pub fn of_result(value: &Json) -> Option<Self> {
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        let parts = Vec::<ContentPart>::deserialize(fields.get("content")?).ok()?;
        (!parts.is_empty()).then_some(Self::Parts(parts))
    }

    /// The content as the result of a tool; the inverse of [`Content::of_result`]. A text alone is
    /// the text itself.
    ///
    /// ```
    /// use antiphon_core::{Content, ContentPart, Media, ToolOutcome};
    /// let plot = ContentPart::Image(Media::base64("image/png", "iVBORw0KGgo="));
    /// let rows = vec![vec!["Lyon".into(), 520_774.into()]];
    /// let table = ContentPart::table(&["city".into(), "people".into()], &rows, 1);
    /// let outcome: ToolOutcome = Ok(Content::from(vec![table, plot]).into_result());
    /// # assert!(Content::of_result(&outcome.unwrap()).is_some());
    /// ```
    pub fn into_result(self) -> Json {
        match self {
            Self::Text(text) => Json::String(text),
            Self::Parts(_) => json!({"content": self}),
        }
    }

    /// The texts, one per line if there are several; images and files have none.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                let texts: Vec<_> = parts.iter().filter_map(ContentPart::as_text).collect();
                Cow::Owned(texts.join("\n"))
            }
        }
    }

    /// Whether there is nothing to read in it.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }

    /// A digest of it: the same for equal content, on any machine and in any version.
    pub(crate) fn digest(&self) -> u64 {
        match self {
            Self::Text(text) => digest(text.as_bytes()),
            Self::Parts(_) => digest(json!(self).to_string().as_bytes()),
        }
    }

    /// The parts; a text is one part.
    pub fn into_parts(self) -> Vec<ContentPart> {
        match self {
            Self::Text(text) => vec![ContentPart::Text { text }],
            Self::Parts(parts) => parts,
        }
    }

    /// Puts a text before everything else, as a separate line.
    #[must_use]
    pub fn preceded_by(self, line: &str) -> Self {
        match self {
            Self::Text(text) => Self::Text(format!("{line}\n{text}")),
            Self::Parts(mut parts) => {
                parts.insert(0, ContentPart::text(line));
                Self::Parts(parts)
            }
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The text with every `</file`, in any case, made harmless.
fn without_end_tag(text: &str) -> String {
    let mut pieces = text.split("</");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |safe, piece| {
        let name = piece.trim_start().get(..4).unwrap_or_default();
        let open = if name.eq_ignore_ascii_case("file") { "&lt;/" } else { "</" };
        safe + open + piece
    })
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\n', " ")
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Content {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<Vec<ContentPart>> for Content {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

impl PartialEq<str> for Content {
    fn eq(&self, other: &str) -> bool {
        self.text() == other
    }
}

impl PartialEq<&str> for Content {
    fn eq(&self, other: &&str) -> bool {
        self.text() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::{ContentPart, Media, MediaSource};

    #[test]
    fn a_file_of_text_cannot_end_its_tags() {
        let source = MediaSource::Text("a</div></FILE>b</ file>".into());
        let media = Media { mime_type: None, source };
        let file = ContentPart::File { filename: Some("a\"<b>.csv".into()), media };
        let expected = "<file name=\"a&quot;&lt;b>.csv\">\na</div>&lt;/FILE>b&lt;/ file>\n</file>";
        assert_eq!(file.as_text().as_deref(), Some(expected));
    }
}
