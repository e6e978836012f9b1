//! What a server says about tables and rows.

use antiphon_core::{Content, ContentPart};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::limits::QueryLimits;

/// A table as a server describes it.
#[derive(Debug, Deserialize)]
pub(super) struct RemoteTable {
    #[serde(default)]
    pub(super) schema: Option<String>,
    #[serde(alias = "table")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) columns: Vec<RemoteColumn>,
}

/// A column as a server describes it.
#[derive(Debug, Deserialize)]
pub(super) struct RemoteColumn {
    pub(super) name: String,
    #[serde(default, rename = "type")]
    pub(super) data_type: String,
    #[serde(default = "yes")]
    pub(super) nullable: bool,
}

const fn yes() -> bool {
    true
}

/// The value that a reply of a tool stands for: its structured content, or the JSON of its text.
pub(super) fn payload(reply: &Json) -> Option<Json> {
    let value = match Content::of_result(reply) {
        Some(Content::Parts(parts)) => {
            let data = parts.iter().find_map(|part| match part {
                ContentPart::Data { value } => Some(value.clone()),
                _ => None,
            });
            let texts = || parts.iter().filter_map(ContentPart::as_text).collect::<String>();
            data.or_else(|| serde_json::from_str(&texts()).ok())?
        }
        Some(Content::Text(text)) => serde_json::from_str(&text).ok()?,
        None => reply.clone(),
    };
    match &value {
        Json::String(text) => serde_json::from_str(text).ok(),
        // What the SDK makes of a value that is no object.
        Json::Object(fields) if fields.len() == 1 => {
            Some(fields.get("result").cloned().unwrap_or(value))
        }
        _ => Some(value),
    }
}

/// The tables of a reply: a list, also as the only list of an object.
pub(super) fn read_tables(reply: &Json) -> Option<Vec<RemoteTable>> {
    let tables = match reply {
        Json::Object(fields) => fields.get("tables")?,
        other => other,
    };
    Vec::<RemoteTable>::deserialize(tables).ok()
}

/// The rows of a reply as `sql_query` returns them. None if there are none, or if a row has more or
/// fewer cells than there are columns.
pub(super) fn read_rows(reply: &Json, most: usize, limits: &QueryLimits) -> Option<Json> {
    let data = reply.get("data").or_else(|| reply.get("rows"))?.as_array()?;
    let names = columns(reply, data)?;
    let mut rows = Vec::new();
    let (mut bytes, mut is_cut, mut truncated) = (0, false, false);
    for row in data {
        let cells: Vec<Json> = match row {
            Json::Array(cells) if cells.len() == names.len() => cells.clone(),
            Json::Object(fields) => {
                names.iter().map(|name| fields.get(name).cloned()).collect::<Option<_>>()?
            }
            _ => return None,
        };
        let cells: Vec<Json> =
            cells.into_iter().map(|cell| cut(cell, limits.cell, &mut is_cut)).collect();
        bytes += json!(cells).to_string().len();
        if rows.len() == most || bytes > limits.bytes {
            truncated = true;
            break;
        }
        rows.push(cells);
    }
    let columns: Vec<Json> = names.iter().map(|name| json!({"name": name, "type": ""})).collect();
    let mut table = json!({"columns": columns, "row_count": rows.len()});
    if let Some(table) = table.as_object_mut() {
        for (key, is_so) in [("truncated", truncated), ("cells_cut", is_cut)] {
            if is_so {
                table.insert(key.to_owned(), json!(true));
            }
        }
        table.insert("rows".to_owned(), json!(rows));
    }
    Some(table)
}

/// The names of the columns: those that the reply lists, else the keys of its first row.
fn columns(reply: &Json, data: &[Json]) -> Option<Vec<String>> {
    let listed = reply.get("columns").and_then(Json::as_array);
    let Some(listed) = listed else {
        let keys = data.first()?.as_object()?.keys();
        return Some(keys.cloned().collect());
    };
    let name = |column: &Json| {
        let name = column.as_str().or_else(|| column.get("name")?.as_str());
        name.map(str::to_owned)
    };
    listed.iter().map(name).collect()
}

/// A cell of at most so many characters.
fn cut(cell: Json, most: usize, is_cut: &mut bool) -> Json {
    let text = match &cell {
        Json::String(text) => text.clone(),
        Json::Array(_) | Json::Object(_) => cell.to_string(),
        _ => return cell,
    };
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            *is_cut = true;
            json!(format!("{}…", text.get(..end).unwrap_or_default()))
        }
        None => cell,
    }
}
