//! Rows that a join repeats, and a sum or an average that counts each of them.
//!
//! `sum(net)` of orders that are joined with their lines counts an order once for each line. Nothing
//! but the meaning tells that from `sum(price)` of products that are joined with their sales, which
//! is right, so that this is said and not refused.

use super::column_owner::{QuerySource, sources};
use super::known_names::{KnownReference, KnownTable};
use super::named_column::{NamedColumn, column_after, column_before};
use super::query_token::{QueryToken, closing, tokens};

/// The functions whose result depends on how often a row counts.
const AGGREGATES: [&str; 3] = ["sum", "avg", "total"];

/// What a reader has to know of sums and averages over rows that a join repeats, as far as foreign
/// keys tell. Queries with another one in them are not looked at.
///
/// ```
/// use antiphon_systems::data_analyst::sql::{KnownReference, KnownTable};
/// use antiphon_systems::data_analyst::sql::multiplied_rows::multiplied_rows;
/// let table = |name: &str, columns: &[&str]| KnownTable {
///     name: name.to_owned(), columns: columns.iter().map(|it| (*it).to_owned()).collect(),
///     ..KnownTable::default()
/// };
/// let head = table("head", &["no", "net"]);
/// let mut line = table("line", &["id", "no", "qty"]);
/// let (column, table) = ("no".to_owned(), "head".to_owned());
/// line.references.push(KnownReference { key: column.clone(), column, table });
/// let tables = [head, line];
/// let told = multiplied_rows("SELECT sum(net) FROM head h JOIN line l ON l.no = h.no", &tables);
/// assert_eq!(told, ["`sum(net)` counts a row of `head` once for each of its rows of `line`"]);
/// assert!(multiplied_rows("SELECT sum(qty) FROM head h JOIN line USING (no)", &tables).is_empty());
/// ```
pub fn multiplied_rows(query: &str, tables: &[KnownTable]) -> Vec<String> {
    let tokens = tokens(query);
    let is_single = tokens.iter().filter(|token| token.is_word("select")).count() == 1;
    let Some(sources) = sources(&tokens, tables).filter(|_| is_single) else { return Vec::new() };
    let links = links(&tokens, &sources);
    let mut told: Vec<String> = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        if !AGGREGATES.iter().any(|name| token.is_word(name)) {
            continue;
        }
        let Some(inside) = inside(&tokens, place) else { continue };
        let Some(owner) = only_owner(inside, &sources) else { continue };
        let Some(other) = multiplier(owner, &links) else { continue };
        let (Some(own), Some(by)) = (sources.get(owner), sources.get(other)) else { continue };
        let end = inside.last().map_or(token.place.end, |last| last.place.end);
        let written = query.get(token.place.start..end).unwrap_or_default();
        let written = written.split_whitespace().collect::<Vec<_>>().join(" ");
        let (own, by) = (&own.table.name, &by.table.name);
        let note =
            format!("`{written})` counts a row of `{own}` once for each of its rows of `{by}`");
        if !told.contains(&note) {
            told.push(note);
        }
    }
    told
}

/// A join of a table with one that refers to it: the places of both among the sources.
struct ManyToOne {
    many: usize,
    one: usize,
}

/// A column of one of the sources, which is given by its place.
type SourceColumn<'q> = (usize, &'q str);

/// The joins along foreign keys.
fn links(tokens: &[QueryToken<'_>], sources: &[QuerySource<'_>]) -> Vec<ManyToOne> {
    let refers = |(many, column): SourceColumn<'_>, (one, key): SourceColumn<'_>| {
        let (Some(from), Some(to)) = (sources.get(many), sources.get(one)) else { return false };
        let own_key = &from.table.primary_key;
        let is_unique = matches!(&**own_key, [only] if only.eq_ignore_ascii_case(column));
        let is_it = |it: &KnownReference| {
            it.column.eq_ignore_ascii_case(column)
                && it.table == to.table.name
                && it.key.eq_ignore_ascii_case(key)
        };
        many != one && !is_unique && from.table.references.iter().any(is_it)
    };
    let pairs = joined_columns(tokens, sources);
    let both_ways = pairs.into_iter().flat_map(|(left, right)| [(left, right), (right, left)]);
    both_ways
        .filter(|(many, one)| refers(*many, *one))
        .map(|((many, _), (one, _))| ManyToOne { many, one })
        .collect()
}

/// The columns that are equal in a query, in pairs.
fn joined_columns<'q>(
    tokens: &[QueryToken<'q>],
    sources: &[QuerySource<'_>],
) -> Vec<(SourceColumn<'q>, SourceColumn<'q>)> {
    let mut pairs = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        if token.text == "=" {
            let of = |column: Option<NamedColumn<'q>>| {
                column.and_then(|column| Some((column.owner(sources)?, column.name)))
            };
            let sides = (of(column_before(tokens, place)), of(column_after(tokens, place)));
            if let (Some(left), Some(right)) = sides {
                pairs.push((left, right));
            }
        } else if token.is_word("using") {
            let names = inside(tokens, place).unwrap_or_default().iter();
            pairs.extend(names.filter_map(QueryToken::name).flat_map(|name| same(name, sources)));
        }
    }
    pairs
}

/// The columns of one name, in pairs.
fn same<'q>(
    name: &'q str,
    sources: &[QuerySource<'_>],
) -> Vec<(SourceColumn<'q>, SourceColumn<'q>)> {
    let having = || sources.iter().enumerate().filter(|(_, source)| source.has(name));
    let pairs = having().flat_map(|(one, _)| {
        let others = having().filter(move |(other, _)| *other > one);
        others.map(move |(other, _)| ((one, name), (other, name)))
    });
    pairs.collect()
}

/// What stands between the brackets after a word.
fn inside<'t, 'q>(tokens: &'t [QueryToken<'q>], place: usize) -> Option<&'t [QueryToken<'q>]> {
    let open = place + 1;
    tokens.get(open).filter(|token| token.text == "(")?;
    tokens.get(open + 1..closing(tokens, open)?)
}

/// The only source whose columns an expression reads. Distinct values count once.
fn only_owner(inside: &[QueryToken<'_>], sources: &[QuerySource<'_>]) -> Option<usize> {
    if inside.first()?.is_word("distinct") {
        return None;
    }
    let mut owners = Vec::new();
    for (place, token) in inside.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        let next = inside.get(place + 1).map_or("", |next| next.text);
        let before = place.checked_sub(1).and_then(|before| inside.get(before));
        if next == "." || next == "(" {
            continue;
        }
        let table = match before {
            Some(dot) if dot.text == "." => {
                Some(place.checked_sub(2).and_then(|at| inside.get(at)?.name())?)
            }
            _ => None,
        };
        let column = NamedColumn { table, name, place: token.place.clone() };
        // Anything else is a keyword, or not known.
        let is_column = table.is_some() || sources.iter().any(|source| source.has(name));
        if is_column {
            owners.push(column.owner(sources)?);
        }
    }
    owners.dedup();
    match *owners {
        [owner] => Some(owner),
        _ => None,
    }
}

/// A source by whose rows those of `owner` are repeated: one that refers to it, or one that refers to
/// the same as `owner` does.
fn multiplier(owner: usize, links: &[ManyToOne]) -> Option<usize> {
    let direct = links.iter().find(|link| link.one == owner);
    let beside = || {
        let own = links.iter().filter(|link| link.many == owner);
        own.into_iter()
            .find_map(|own| links.iter().find(|other| other.one == own.one && other.many != owner))
    };
    direct.or_else(beside).map(|link| link.many)
}
