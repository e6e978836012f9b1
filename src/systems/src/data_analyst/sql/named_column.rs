//! Columns as queries name them.

use std::ops::Range;

use super::column_owner::QuerySource;
use super::query_token::QueryToken;

/// A column as a query names it.
pub(super) struct NamedColumn<'q> {
    /// The table before it, or its alias.
    pub(super) table: Option<&'q str>,
    pub(super) name: &'q str,
    pub(super) place: Range<usize>,
}

impl NamedColumn<'_> {
    /// The place among the sources of the one that the column is of; none if that is not certain.
    pub(super) fn owner(&self, sources: &[QuerySource<'_>]) -> Option<usize> {
        let is_it = |source: &QuerySource<'_>| match self.table {
            Some(table) => source.alias.eq_ignore_ascii_case(table),
            None => source.has(self.name),
        };
        let mut owners = sources.iter().enumerate().filter(|(_, source)| is_it(source));
        match (owners.next(), owners.next()) {
            (Some((place, source)), None) if source.has(self.name) => Some(place),
            _ => None,
        }
    }
}

/// The column that ends before a token.
pub(super) fn column_before<'q>(
    tokens: &[QueryToken<'q>],
    place: usize,
) -> Option<NamedColumn<'q>> {
    let last = tokens.get(place.checked_sub(1)?)?;
    let (name, mut place_of, mut owner) = (last.name()?, last.place.clone(), None);
    if let Some([table, dot]) = place.checked_sub(3).and_then(|at| tokens.get(at..at + 2))
        && dot.text == "."
    {
        place_of.start = table.place.start;
        owner = table.name();
    }
    Some(NamedColumn { table: owner, name, place: place_of })
}

/// The column that begins after it.
pub(super) fn column_after<'q>(tokens: &[QueryToken<'q>], place: usize) -> Option<NamedColumn<'q>> {
    let first = tokens.get(place + 1)?;
    if let Some([dot, column]) = tokens.get(place + 2..place + 4)
        && dot.text == "."
    {
        let place = first.place.start..column.place.end;
        return Some(NamedColumn { table: first.name(), name: column.name()?, place });
    }
    Some(NamedColumn { table: None, name: first.name()?, place: first.place.clone() })
}
