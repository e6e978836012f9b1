//! Images in replies: `data:` URLs, in the field `images` of a message or among its parts.

use antiphon_core::{ContentPart, Media};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

/// Bytes of an image, as of those that a user sends.
const MAX_IMAGE: usize = 20 << 20;
/// Characters of an address that a text names.
const MAX_ADDRESS: usize = 200;

/// The address of an image: `{"image_url": {"url": …}}`, as servers write it, or a shorter form.
pub(super) fn image_url(part: &Json) -> Option<&str> {
    let image = part.get("image_url").unwrap_or(part);
    image.as_str().or_else(|| image.get("url")?.as_str())
}

/// The image at an address; a text where it cannot be taken over. Nothing is loaded: a reply that
/// could have an address loaded could reach any host.
pub(super) fn image(url: &str) -> ContentPart {
    let Some((kind, data)) = data_of(url) else {
        let address: String = url.chars().take(MAX_ADDRESS).collect();
        return ContentPart::text(format!("[an image that is not loaded: {address}]"));
    };
    let Ok(bytes) = BASE64_STANDARD.decode(data) else {
        return ContentPart::text("[an image whose base64 is malformed]");
    };
    if bytes.len() > MAX_IMAGE {
        let size = bytes.len();
        return ContentPart::text(format!("[an image that is larger than 20 MiB: {size} bytes]"));
    }
    if let Some(kind) = Media::image_type(&bytes) {
        return ContentPart::Image(Media::base64(kind, data));
    }
    let kind: String = kind.chars().take(MAX_ADDRESS).collect();
    ContentPart::text(format!("[an image that is no PNG, JPEG, GIF or WebP: {kind}]"))
}

/// The media type and the base64 of a `data:` URL.
fn data_of(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.trim().split_once(':')?;
    let (kind, data) = rest.split_once(',')?;
    let kind = kind.strip_suffix(";base64")?;
    scheme.eq_ignore_ascii_case("data").then_some((kind, data))
}
