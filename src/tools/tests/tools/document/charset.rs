//! Bytes to text.

use antiphon_tools::document::decode;
use proptest::prelude::*;

#[test]
fn a_byte_order_mark_beats_what_the_server_says() {
    let decoded = decode(b"\xEF\xBB\xBFcaf\xc3\xa9", Some("latin1"));
    assert_eq!((decoded.text.as_str(), decoded.charset), ("café", "UTF-8"));
    assert_eq!(decode(b"\xFF\xFEa\0b\0", None).text, "ab");
}

#[test]
fn a_declaration_is_used_if_the_bytes_are_not_utf_8() {
    assert_eq!(
        decode(b"<meta charset='windows-1251'>\xcf\xf0", None).text,
        "<meta charset='windows-1251'>Пр"
    );
    let xml = decode(b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\xe9", None);
    assert!(xml.text.ends_with('é'));
}

#[test]
fn bytes_without_a_declaration_are_guessed() {
    let bytes =
        "Größe und Maße der Straße für Fußgänger".chars().map(|c| c as u8).collect::<Vec<_>>();
    assert_eq!(decode(&bytes, None).text, "Größe und Maße der Straße für Fußgänger");
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode("日本語の文章を書く");
    assert_eq!(decode(&bytes, None).text, "日本語の文章を書く");
}

#[test]
fn bytes_outside_of_the_charset_are_replaced_and_said_to_be() {
    let decoded = decode(b"a\xffb", Some("utf-8"));
    assert_eq!((decoded.text.as_str(), decoded.replaced), ("a\u{fffd}b", true));
}

proptest! {
    #[test]
    fn any_bytes_are_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..300), label in "[a-z0-9-]{0,12}") {
        decode(&bytes, Some(&label));
        decode(&bytes, None);
    }

    #[test]
    fn utf_8_stays_what_it_is(text in "[^\u{feff}].*") {
        prop_assert_eq!(decode(text.as_bytes(), None).text, text);
    }
}
