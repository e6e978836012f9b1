//! Bytes to text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How many bytes of a document are searched for a declaration of its charset.
const DECLARATION: usize = 4096;

/// How many bytes are looked at to guess a charset.
const SAMPLE: usize = 65_536;

/// Text, and how it was encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedText {
    /// The text, without a byte-order mark.
    pub text: String,
    /// The name of the charset, for instance `UTF-8`.
    pub charset: &'static str,
    /// Whether bytes that the charset does not know were replaced by U+FFFD.
    pub replaced: bool,
}

/// Decodes `bytes` by, in this order: a byte-order mark, the `declared` charset of a protocol, valid UTF-8, a
/// declaration within the document (`<meta charset>`, an XML declaration), a guess from the bytes.
///
/// ```
/// use antiphon_tools::document::decode;
/// assert_eq!(decode(b"caf\xe9", Some("latin1")).text, "café");
/// ```
pub fn decode(bytes: &[u8], declared: Option<&str>) -> DecodedText {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, bytes.get(length..).unwrap_or_default());
    }
    let label =
        declared.and_then(|label| Encoding::for_label_no_replacement(label.trim().as_bytes()));
    if let Some(encoding) = label {
        return decode_as(encoding, bytes);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return DecodedText { text: text.to_owned(), charset: UTF_8.name(), replaced: false };
    }
    decode_as(declaration(bytes).unwrap_or_else(|| guess(bytes)), bytes)
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> DecodedText {
    let (text, replaced) = encoding.decode_without_bom_handling(bytes);
    DecodedText { text: text.into_owned(), charset: encoding.name(), replaced }
}

/// The charset that a document names in its beginning.
fn declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..DECLARATION.min(bytes.len()))?;
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    ["charset=", "encoding="].into_iter().find_map(|key| {
        let (_, value) = head.split_once(key)?;
        let value = value.trim_start_matches(['"', '\'', ' ']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
        let label = value.get(..end.unwrap_or(value.len()))?;
        let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
        // A document whose declaration can be read byte by byte is not UTF-16.
        Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
    })
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let sample = bytes.get(..SAMPLE.min(bytes.len())).unwrap_or_default();
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, sample.len() == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}
