//! The tables of `docs/engine.md`, and what they say of events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use antiphon_core::event::{Event, EventKind};

const PAGE: &str = include_str!("../../../../docs/engine.md");

/// The cells of the table whose header begins with `first`, row by row.
pub(crate) fn table(first: &str) -> Vec<Vec<String>> {
    let header = format!("| {first} |");
    let rows = PAGE.lines().skip_while(|line| !line.starts_with(&header)).skip(2);
    let cells =
        |line: &str| line.trim_matches('|').split(" |").map(|it| it.trim().to_owned()).collect();
    rows.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// The documented types of the fields of each kind of event.
fn fields() -> &'static BTreeMap<String, BTreeMap<String, String>> {
    static FIELDS: OnceLock<BTreeMap<String, BTreeMap<String, String>>> = OnceLock::new();
    FIELDS.get_or_init(|| {
        let kinds = table("event").into_iter();
        kinds.map(|row| (row[0].trim_matches('`').to_owned(), types(&row[2]))).collect()
    })
}

/// Of `` `attempt` integer, `wrote` list ``: the first word after each name.
fn types(cell: &str) -> BTreeMap<String, String> {
    let parts: Vec<&str> = cell.split('`').collect();
    let typed = parts.windows(2).skip(1).step_by(2).filter_map(|pair| {
        let word = pair[1].split_whitespace().next()?;
        Some((pair[0].to_owned(), word.trim_end_matches([',', ';', ':']).to_owned()))
    });
    typed.filter(|(_, word)| is_type(word)).collect()
}

fn is_type(word: &str) -> bool {
    matches!(word, "string" | "integer" | "boolean" | "list" | "object" | "any")
}

/// The kinds of events that the page describes.
pub(crate) fn kinds() -> BTreeSet<String> {
    fields().keys().cloned().collect()
}

/// Panics if the page does not have an event, or describes its fields otherwise.
pub(crate) fn check(event: &Event) {
    let kind = serde_json::to_value(event.kind).unwrap();
    let known = fields().get(kind.as_str().unwrap()).expect("docs/engine.md lacks an event");
    for (name, value) in event.data.iter().filter(|_| event.kind != EventKind::Custom) {
        let holds = match known.get(name).map(String::as_str) {
            Some("string") => value.is_string(),
            Some("integer") => value.is_u64(),
            Some("boolean") => value.is_boolean(),
            Some("list") => value.is_array(),
            Some("object") => value.is_object(),
            Some("any") => true,
            _ => false,
        };
        assert!(holds, "docs/engine.md describes `{name}` of {kind} otherwise: {value}");
    }
}
