//! The name that was meant, for errors about a misspelt one.

/// The known name that is closest to `name`, if one is close: a third of its letters may differ.
/// Case counts for nothing, nor does whether words are joined by `_` or `-`.
///
/// ```
/// use antiphon_core::nearest::nearest;
///
/// assert_eq!(nearest("citty", ["city", "year"]), Some("city"));
/// assert_eq!(nearest("maxResults", ["max_results", "query"]), Some("max_results"));
/// assert_eq!(nearest("town", ["city", "year"]), None);
/// ```
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wanted = folded(name);
    let near = known.into_iter().filter_map(|candidate| {
        let found = folded(candidate);
        let longest = wanted.len().max(found.len());
        let limit = (longest / 3).max(usize::from(longest > 1));
        let distance = distance(&wanted, &found);
        (distance <= limit).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Letters of a name that are compared; longer ones are compared by their beginning.
const COMPARED: usize = 64;

fn folded(name: &str) -> Vec<char> {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).take(COMPARED).collect()
}

/// Letters to insert, delete, replace or swap with their neighbour.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut current = Vec::with_capacity(last.len());
        current.push(row + 1);
        for (column, compared) in other.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX);
            let replaced = at(&last, column) + usize::from(letter != compared);
            let mut least = replaced.min(at(&last, column + 1) + 1).min(at(&current, column) + 1);
            let swapped = row > 0
                && column > 0
                && one.get(row - 1) == Some(compared)
                && other.get(column - 1) == Some(letter);
            if swapped {
                least = least.min(at(&before, column - 1) + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}
