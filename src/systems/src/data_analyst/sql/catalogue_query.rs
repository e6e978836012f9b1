//! Queries of the catalogue of a database, which models write for questions about its schema.

use super::known_names::KnownTable;
use super::listing::{SchemaRequest, SchemaScope};

/// Where databases keep what tables there are.
const TABLES: [&str; 6] = [
    "sqlite_master",
    "sqlite_schema",
    "pragma_table_list",
    "information_schema.tables",
    "pg_tables",
    "pg_class",
];
/// Where databases keep what columns there are.
const COLUMNS: [&str; 4] =
    ["pragma_table_info", "pragma_table_xinfo", "information_schema.columns", "pg_attribute"];

/// The list that a query is after, if it reads nothing but the catalogue, or all of a table that is
/// called `tables` or `columns` and not there. `known` are the tables that may be read.
pub(super) fn requested_list(query: &str, known: &[KnownTable]) -> Option<SchemaRequest> {
    let lower = query.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let scope = match *words.first()? {
        "show" if lower.contains("columns") => SchemaScope::Columns,
        "show" if lower.contains("tables") => SchemaScope::Tables,
        "describe" | "desc" => SchemaScope::Columns,
        "pragma" if lower.contains("table_list") => SchemaScope::Tables,
        "pragma" if lower.contains("table_info") => SchemaScope::Columns,
        "select" => scope_of_sources(&words, known)?,
        _ => return None,
    };
    let tables = named_tables(&lower, known);
    // What is said about a table that may not be read is refused, and no list of others.
    let is_about_one = words.first() != Some(&"select") && scope == SchemaScope::Columns;
    let names_others = literals(&lower).any(|literal| !is_plain(literal));
    let is_unknown = tables.is_empty() && (is_about_one || names_others);
    (!is_unknown).then_some(SchemaRequest { scope, tables })
}

/// The texts in quotes.
fn literals(lower: &str) -> impl Iterator<Item = &str> {
    lower.split('\'').skip(1).step_by(2)
}

/// Whether a text is what a catalogue has beside names of tables.
fn is_plain(literal: &str) -> bool {
    const PLAIN: [&str; 6] = ["table", "view", "base table", "public", "main", "r"];
    PLAIN.contains(&literal) || literal.starts_with("sqlite") || literal.starts_with("pg_")
}

/// What the catalogue is asked for; none if anything else is read.
fn scope_of_sources(words: &[&str], known: &[KnownTable]) -> Option<SchemaScope> {
    let sources = words.windows(2).filter_map(|pair| match pair {
        ["from" | "join", source] => Some(*source),
        _ => None,
    });
    // The statements that have made tables say more than a list does.
    if words.get(1).is_some_and(|word| word.trim_end_matches(',') == "sql") {
        return None;
    }
    let has_filter = words.contains(&"where");
    let mut found = None;
    for source in sources {
        // A second source without `join` follows.
        if source.ends_with(',') {
            return None;
        }
        let scope = scope_of(source, known, has_filter)?;
        found =
            Some(if found == Some(SchemaScope::Columns) { SchemaScope::Columns } else { scope });
    }
    found
}

fn scope_of(source: &str, known: &[KnownTable], has_filter: bool) -> Option<SchemaScope> {
    let name = source.split('(').next().unwrap_or_default();
    let name = name.trim_end_matches([')', ';']).replace(['"', '`', '[', ']'], "");
    let is = |place: &&str| name == **place || name.ends_with(&format!(".{place}"));
    if known.iter().any(|table| is_called(&table.name, &name)) {
        None
    } else if name == "tables" && !has_filter || TABLES.iter().any(&is) {
        Some(SchemaScope::Tables)
    } else if name == "columns" && !has_filter || COLUMNS.iter().any(is) {
        Some(SchemaScope::Columns)
    } else {
        None
    }
}

/// The tables whose names stand in quotes, as an argument, or at the end.
fn named_tables(lower: &str, known: &[KnownTable]) -> Vec<String> {
    let lower = lower.trim_end_matches([';', ' ', '\n']);
    let stands = |name: &str| {
        let is_part = |part: String| lower.contains(&part);
        is_part(format!("'{name}'"))
            || is_part(format!("({name})"))
            || lower.ends_with(&format!(" {name}"))
    };
    let is_named = |table: &&str| {
        let table = table.to_lowercase();
        stands(&table) || table.rsplit('.').next().is_some_and(stands)
    };
    let names = known.iter().map(|table| table.name.as_str());
    names.filter(is_named).map(str::to_owned).collect()
}

/// Whether a table has that name, with or without its schema.
fn is_called(table: &str, name: &str) -> bool {
    let own = table.rsplit('.').next().unwrap_or_default();
    table.eq_ignore_ascii_case(name) || own.eq_ignore_ascii_case(name)
}
