//! Columns that a query takes from the wrong one of its tables.

use std::ops::Range;

use super::known_names::KnownTable;
use super::query_token::{QueryToken, tokens};

/// Words that end a table of a query, so that none of them is its alias.
const ENDS: [&str; 16] = [
    "on", "using", "where", "group", "order", "having", "limit", "join", "inner", "left", "right",
    "full", "cross", "natural", "union", "offset",
];

/// A table of a query, under the name that it has there.
pub(super) struct QuerySource<'q> {
    pub(super) alias: &'q str,
    /// The alias with its quotes, if it has any.
    written: &'q str,
    pub(super) table: &'q KnownTable,
}

impl QuerySource<'_> {
    pub(super) fn has(&self, column: &str) -> bool {
        self.table.columns.iter().any(|known| known.eq_ignore_ascii_case(column))
    }
}

/// Gives each column the alias of the only table of the query that has it.
///
/// Small models confuse `T1` and `T2`, also after the error of the database. A query with more than
/// one `SELECT` does not change. A query with such a column in the condition of a join does not
/// change either: another alias there would be another join.
///
/// ```
/// use antiphon_systems::data_analyst::sql::column_owner::give_owners;
/// use antiphon_systems::data_analyst::sql::KnownTable;
/// let table = |name: &str, columns: [&str; 2]| KnownTable {
///     name: name.to_owned(), columns: columns.map(str::to_owned).to_vec(), is_whole: true,
///     ..KnownTable::default()
/// };
/// let tables = [table("item", ["id", "name"]), table("stock", ["id", "pieces"])];
/// let query = "SELECT T2.name FROM item T1 JOIN stock AS T2 ON T1.id = T2.id";
/// let mended = "SELECT T1.name FROM item T1 JOIN stock AS T2 ON T1.id = T2.id";
/// assert_eq!(give_owners(query, &tables), mended);
/// ```
pub fn give_owners(query: &str, tables: &[KnownTable]) -> String {
    let mut mended = query.to_owned();
    for change in changes(query, tables).unwrap_or_default().into_iter().rev() {
        mended.replace_range(change.place, change.owner);
    }
    mended
}

/// What a reader has to know of a query that [`give_owners`] has changed: which columns it reads
/// from another table than the one that was named.
pub fn owner_notes(query: &str, tables: &[KnownTable]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for QualifierChange { alias, table, column, owner, .. } in
        changes(query, tables).unwrap_or_default()
    {
        let note = format!(
            "`{table}` has no column `{column}`: `{owner}.{column}` was read for `{alias}.{column}`"
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// An alias that stands before a column of another table.
struct QualifierChange<'q> {
    /// Where it stands.
    place: Range<usize>,
    alias: &'q str,
    /// The table that it means.
    table: &'q str,
    column: &'q str,
    /// The alias of the table that has the column.
    owner: &'q str,
}

/// The aliases to change; none if the query is not understood.
fn changes<'q>(query: &'q str, tables: &'q [KnownTable]) -> Option<Vec<QualifierChange<'q>>> {
    let tokens = tokens(query);
    if tokens.iter().filter(|token| token.is_word("select")).count() != 1 {
        return None;
    }
    let sources = sources(&tokens, tables)?;
    let mut changes = Vec::new();
    let mut joins = false;
    for (place, token) in tokens.iter().enumerate() {
        if ENDS.iter().any(|word| token.is_word(word)) {
            joins = token.is_word("on") || token.is_word("using");
        }
        let [Some(dot), Some(column)] = [1, 2].map(|next| tokens.get(place + next)) else { break };
        let before = place.checked_sub(1).and_then(|before| tokens.get(before));
        let follows_dot = before.is_some_and(|before| before.text == ".");
        if dot.text != "." || follows_dot {
            continue;
        }
        let (Some(alias), Some(column)) = (token.name(), column.name()) else { continue };
        let Some(own) = sources.iter().find(|it| it.alias.eq_ignore_ascii_case(alias)) else {
            continue;
        };
        if own.has(column) || !own.table.is_whole {
            continue;
        }
        let owners: Vec<&QuerySource<'_>> = sources.iter().filter(|it| it.has(column)).collect();
        let [owner] = *owners else { continue };
        if joins {
            return None;
        }
        let (place, table, owner) = (token.place.clone(), &*own.table.name, owner.written);
        changes.push(QualifierChange { place, alias, table, column, owner });
    }
    Some(changes)
}

/// The tables of a query; none if one is not known, such as a subquery.
pub(super) fn sources<'q>(
    tokens: &[QueryToken<'q>],
    tables: &'q [KnownTable],
) -> Option<Vec<QuerySource<'q>>> {
    let mut sources = Vec::new();
    let mut rest = tokens;
    let mut lists = false;
    while let [first, others @ ..] = rest {
        rest = others;
        let begins = first.is_word("from") || first.is_word("join");
        if !(begins || lists && first.text == ",") {
            lists = lists && !ENDS.iter().any(|word| first.is_word(word));
            continue;
        }
        lists = true;
        let [first, others @ ..] = others else { return None };
        let (mut name, mut written) = (first.name()?, first.text);
        rest = others;
        while let [dot, part, more @ ..] = rest
            && dot.text == "."
        {
            (name, written) = (part.name()?, part.text);
            rest = more;
        }
        let is_it = |table: &&KnownTable| {
            table.name.rsplit('.').next().is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        let table = tables.iter().find(is_it)?;
        if let [word, more @ ..] = rest
            && word.is_word("as")
        {
            rest = more;
        }
        let mut alias = name;
        if let [word, more @ ..] = rest
            && let Some(given) = word.name()
            && !ENDS.iter().any(|end| word.is_word(end))
        {
            (alias, written) = (given, word.text);
            rest = more;
        }
        sources.push(QuerySource { alias, written, table });
    }
    Some(sources)
}
