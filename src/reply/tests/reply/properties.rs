//! Valid JSON, disguised in the ways that models do, is parsed
//! unchanged; any other text does no harm.

use antiphon_core::model::FinishReason;
use antiphon_core::reply::ReplyParser as _;
use antiphon_reply::CompiledSchema;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use crate::{reply, shape};

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Json::from),
            btree_map(text(), inner, 0..6)
                .prop_map(|m| Json::Object(m.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,8}",
        any::<String>(),
        r#"[{}\[\]:,"'/#*\\`\n a]{0,12}"#,
        Just("http://x.y/z?a=1:2#f".to_owned()),
        Just("```json\n{}\n```".to_owned()),
    ]
}

fn any_document() -> impl Strategy<Value = Json> {
    btree_map(text(), any_json(), 0..5)
        .prop_map(|fields| Json::Object(fields.into_iter().collect()))
}

fn object() -> CompiledSchema {
    shape(json!({"type": "object"}))
}

/// Writes `value` as JSON with the noise of `noise`, in a circle, after each
/// token, and a trailing comma in everything that is not empty.
fn write_noisily(value: &Json, noise: &mut dyn Iterator<Item = &'static str>, out: &mut String) {
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    match value {
        Json::Array(items) => {
            out.push(open);
            for item in items {
                write_noisily(item, noise, out);
                out.push(',');
                out.push_str(noise.next().unwrap());
            }
            out.push(close);
        }
        Json::Object(fields) => {
            out.push(open);
            for (name, field) in fields {
                out.push_str(&Json::from(name.as_str()).to_string());
                out.push_str(noise.next().unwrap());
                out.push(':');
                write_noisily(field, noise, out);
                out.push(',');
                out.push_str(noise.next().unwrap());
            }
            out.push(close);
        }
        scalar => out.push_str(&scalar.to_string()),
    }
    out.push_str(noise.next().unwrap());
}

fn any_noise() -> impl Strategy<Value = Vec<&'static str>> {
    let pieces =
        ["", " ", "\n", "// it's, {a: [comment\n", "/* \"so\" is } this */", "# and ] this\n"];
    vec(prop::sample::select(pieces.to_vec()), 1..6)
}

proptest! {
    #[test]
    fn a_document_reads_back(value in any_document(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        prop_assert_eq!(object().parse(&text).unwrap().value, value);
    }

    #[test]
    fn a_document_amid_prose_reads_back(value in any_document()) {
        let text = format!("Gladly, {{user}} - it's here [see below]: {value}\nAnything else?");
        prop_assert_eq!(object().parse(&text).unwrap().value, value);
    }

    #[test]
    fn a_fenced_document_reads_back(value in any_document(), tag in "[a-z]{0,6}") {
        let text = format!("Gladly:\n```{tag}\n{value:#}\n```\nAnything {{else}}?");
        let reading = object().parse(&text).unwrap();
        prop_assert_eq!(reading.value, value);
        prop_assert_eq!(reading.level.number(), 3);
    }

    #[test]
    fn a_document_with_comments_and_trailing_commas_reads_back(
        value in any_document(), noise in any_noise(), wrapped in 0..3,
    ) {
        let mut text = String::new();
        write_noisily(&value, &mut noise.iter().copied().cycle(), &mut text);
        let text = match wrapped {
            0 => text,
            1 => format!("Well, here it is: {text}\nBye."),
            _ => format!("Well:\n```json\n{text}\n```\nBye."),
        };
        prop_assert_eq!(object().parse(&text).unwrap().value, value, "{}", text);
    }

    #[test]
    fn the_end_of_a_document_can_be_lost_anywhere(value in any_document(), end in any::<prop::sample::Index>()) {
        let text = value.to_string();
        let cut: String = text.chars().take(end.index(text.chars().count())).collect();
        for finish in [FinishReason::Stop, FinishReason::Length] {
            if let Ok(reading) = object().parse_reply(&reply(&cut, finish)) {
                let whole = value.as_object().unwrap();
                for name in reading.value.as_object().unwrap().keys() {
                    prop_assert!(whole.contains_key(name), "{} in {}", name, cut);
                }
            }
        }
    }

    #[test]
    fn bytes_at_random_do_no_harm(bytes in vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = object().parse(&text).map_err(|unreadable| unreadable.feedback());
    }

    #[test]
    fn punctuation_at_random_does_no_harm(text in r#"([{}\[\]:,"'/#*\\`~\n a1-]|true|```|\\u00e9|é){0,80}"#) {
        let whole = shape(json!({"type": ["object", "array"]}));
        if let Err(unreadable) = whole.parse(&text) {
            prop_assert!(!unreadable.errors.is_empty());
            let _ = unreadable.into_fault();
        }
    }

    #[test]
    fn what_is_read_fits(value in any_document(), noise in any_noise()) {
        let strict = shape(json!({
            "additionalProperties": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}]},
        }));
        let mut text = String::new();
        write_noisily(&value, &mut noise.iter().copied().cycle(), &mut text);
        if let Ok(reading) = strict.parse(&text) {
            prop_assert_eq!(strict.validate(&reading.value), Ok(()));
        }
    }
}
