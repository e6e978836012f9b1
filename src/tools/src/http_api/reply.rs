//! What an API answers: rows, JSON or text, without secrets and within limits.

use antiphon_net::Redactor;
use serde_json::{Map, Value as Json, json};

use crate::sql::limits::QueryLimits;
use crate::sql::table::{CellValue, QueryColumn, QueryTable, TableBuilder};

/// The most columns of a table.
const MOST_COLUMNS: usize = 100;

/// The deepest nesting of JSON that is kept.
const DEEPEST: usize = 12;

/// What of a reply is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// The most rows of a table, and items of a list; 200.
    pub rows: usize,
    /// The most characters of a text in it; 2,000.
    pub cell: usize,
    /// The most characters of a reply that is a text; 20,000.
    pub text: usize,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self { rows: 200, cell: 2_000, text: 20_000 }
    }
}

/// What a reply consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyContent {
    /// Nothing.
    Empty,
    /// Rows, and the fields beside the list that they were in.
    Table(QueryTable, Map<String, Json>),
    /// Any other JSON.
    Json(Json),
    /// A text.
    Text(String),
    /// Something that is neither, of this type and so many bytes.
    Binary(String, usize),
}

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiReply {
    /// The status.
    pub status: u16,
    /// The content.
    pub content: ReplyContent,
    /// Whether something was cut.
    pub truncated: bool,
}

impl ApiReply {
    /// Reads a body by its type, and removes secrets from it.
    pub(super) fn read(
        status: u16,
        content_type: &str,
        body: &[u8],
        limits: &ReplyLimits,
        redactor: &Redactor,
    ) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (content, truncated) = read_content(&kind, body, limits, redactor);
        Self { status, content, truncated }
    }

    /// The reply as JSON: `status`, then `table`, `data` or `text`, and `truncated` if it is.
    pub fn to_json(&self) -> Json {
        let mut shown = Map::new();
        shown.insert("status".to_owned(), Json::from(self.status));
        if self.truncated {
            shown.insert("truncated".to_owned(), Json::from(true));
        }
        let (key, value) = match &self.content {
            ReplyContent::Empty => return Json::Object(shown),
            ReplyContent::Table(table, fields) => {
                if !fields.is_empty() {
                    shown.insert("fields".to_owned(), Json::Object(fields.clone()));
                }
                ("table", table.to_json())
            }
            ReplyContent::Json(value) => ("data", value.clone()),
            ReplyContent::Text(text) => ("text", Json::from(text.as_str())),
            ReplyContent::Binary(kind, bytes) => ("binary", json!({"type": kind, "bytes": bytes})),
        };
        shown.insert(key.to_owned(), value);
        Json::Object(shown)
    }
}

fn read_content(
    kind: &str,
    body: &[u8],
    limits: &ReplyLimits,
    redactor: &Redactor,
) -> (ReplyContent, bool) {
    if body.is_empty() {
        return (ReplyContent::Empty, false);
    }
    let looks_like_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    if (kind.contains("json") || looks_like_json)
        && let Ok(mut value) = serde_json::from_slice::<Json>(body)
    {
        redact(&mut value, redactor);
        return read_json(value, limits);
    }
    let is_text = kind.is_empty()
        || kind.starts_with("text/")
        || ["json", "xml", "yaml", "javascript", "x-www-form-urlencoded"]
            .iter()
            .any(|part| kind.contains(part));
    if !is_text || body.contains(&0) {
        return (ReplyContent::Binary(kind.to_owned(), body.len()), false);
    }
    let text = redactor.clean(&String::from_utf8_lossy(body));
    if kind == "text/csv"
        && let Some(table) = read_csv(&text, limits)
    {
        let truncated = table.truncated;
        return (ReplyContent::Table(table, Map::new()), truncated);
    }
    let mut truncated = false;
    let text = cut(&text, limits.text, &mut truncated);
    (ReplyContent::Text(text), truncated)
}

/// Servers may escape a secret within JSON, so its texts are cleaned after parsing.
fn redact(value: &mut Json, redactor: &Redactor) {
    match value {
        Json::String(text) => *text = redactor.clean(text),
        Json::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
        Json::Object(fields) => {
            let cleaned = std::mem::take(fields).into_iter().map(|(key, mut value)| {
                redact(&mut value, redactor);
                (redactor.clean(&key), value)
            });
            *fields = cleaned.collect();
        }
        Json::Null | Json::Bool(_) => {}
        // A secret may be a number.
        Json::Number(number) => {
            let text = number.to_string();
            let cleaned = redactor.clean(&text);
            if cleaned != text {
                *value = Json::from(cleaned);
            }
        }
    }
}

fn read_json(value: Json, limits: &ReplyLimits) -> (ReplyContent, bool) {
    if is_rows(&value) {
        let Json::Array(rows) = value else { return (ReplyContent::Json(value), false) };
        let table = table_of(rows, limits);
        let truncated = table.truncated;
        return (ReplyContent::Table(table, Map::new()), truncated);
    }
    let mut truncated = false;
    if let Json::Object(mut fields) = value {
        let lists: Vec<String> =
            fields.iter().filter(|(_, value)| is_rows(value)).map(|(key, _)| key.clone()).collect();
        let others_are_flat = fields.values().all(|value| is_rows(value) || is_scalar(value));
        if let ([list], true) = (lists.as_slice(), others_are_flat)
            && let Some(Json::Array(rows)) = fields.shift_remove(list)
        {
            let table = table_of(rows, limits);
            truncated |= table.truncated;
            let fields = bounded(Json::Object(fields), limits, 0, &mut truncated);
            let fields = fields.as_object().cloned().unwrap_or_default();
            return (ReplyContent::Table(table, fields), truncated);
        }
        let value = bounded(Json::Object(fields), limits, 0, &mut truncated);
        return (ReplyContent::Json(value), truncated);
    }
    (ReplyContent::Json(bounded(value, limits, 0, &mut truncated)), truncated)
}

const fn is_scalar(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

/// Whether it is a list of objects.
fn is_rows(value: &Json) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Json::is_object))
}

fn table_of(rows: Vec<Json>, limits: &ReplyLimits) -> QueryTable {
    let mut names: Vec<String> = Vec::new();
    let mut too_wide = false;
    for name in rows.iter().take(limits.rows).filter_map(Json::as_object).flat_map(Map::keys) {
        if names.contains(name) {
            continue;
        }
        if names.len() >= MOST_COLUMNS {
            too_wide = true;
            break;
        }
        names.push(name.clone());
    }
    let column = |name: &String| QueryColumn { name: name.clone(), data_type: String::new() };
    let mut table = TableBuilder::new(names.iter().map(column).collect(), query_limits(limits));
    for row in rows {
        let Json::Object(mut fields) = row else { continue };
        let cells = names.iter().map(|name| fields.remove(name).map_or(CellValue::Null, cell));
        if !table.push(cells.collect()) {
            break;
        }
    }
    // Only columns of Arrow can fail, and there are none.
    let mut table = table.finish().unwrap_or_default();
    table.truncated |= too_wide;
    table
}

fn cell(value: Json) -> CellValue {
    match value {
        Json::Null => CellValue::Null,
        Json::Bool(value) => CellValue::Boolean(value),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => CellValue::Integer(integer),
            None => CellValue::Json(Json::Number(number)),
        },
        Json::String(text) => CellValue::Text(text),
        nested @ (Json::Array(_) | Json::Object(_)) => CellValue::Json(nested),
    }
}

fn query_limits(limits: &ReplyLimits) -> QueryLimits {
    QueryLimits { rows: limits.rows, cell: limits.cell, ..QueryLimits::default() }
}

/// The rows of a text with a header line; `None` if it is not well-formed.
fn read_csv(text: &str, limits: &ReplyLimits) -> Option<QueryTable> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let header = reader.headers().ok()?.clone();
    if header.is_empty() || header.len() > MOST_COLUMNS {
        return None;
    }
    let column = |name: &str| QueryColumn { name: name.to_owned(), data_type: String::new() };
    let mut table = TableBuilder::new(header.iter().map(column).collect(), query_limits(limits));
    for record in reader.records() {
        let cells = record.ok()?.iter().map(|text| CellValue::Text(text.to_owned())).collect();
        if !table.push(cells) {
            break;
        }
    }
    table.finish().ok()
}

/// JSON whose lists, texts and nesting are within limits.
fn bounded(value: Json, limits: &ReplyLimits, depth: usize, truncated: &mut bool) -> Json {
    match value {
        Json::String(text) => Json::from(cut(&text, limits.cell, truncated)),
        Json::Array(_) | Json::Object(_) if depth >= DEEPEST => {
            *truncated = true;
            Json::from("…")
        }
        Json::Array(items) => {
            *truncated |= items.len() > limits.rows;
            let items = items.into_iter().take(limits.rows);
            items.map(|item| bounded(item, limits, depth + 1, truncated)).collect()
        }
        Json::Object(fields) => {
            *truncated |= fields.len() > limits.rows;
            let fields = fields.into_iter().take(limits.rows);
            fields.map(|(key, value)| (key, bounded(value, limits, depth + 1, truncated))).collect()
        }
        scalar => scalar,
    }
}

fn cut(text: &str, limit: usize, truncated: &mut bool) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => {
            *truncated = true;
            format!("{}…", text.get(..end).unwrap_or_default())
        }
        None => text.to_owned(),
    }
}
