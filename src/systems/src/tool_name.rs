//! Names of tools as models write them.

/// The name that is meant: exactly this one, else one that the model surrounds with blanks, quotes
/// or a prefix such as `functions.`, or writes with other capitals. None if several are alike.
pub(crate) fn meant_name<'n>(given: &str, names: &[&'n str]) -> Option<&'n str> {
    let exact = |wanted: &str| names.iter().copied().find(|name| *name == wanted);
    let bare = given.trim().trim_end_matches("()").trim_matches(['`', '"', '\'']).trim();
    let last = bare.rsplit(['.', '/', ':']).next().unwrap_or(bare);
    let any_case = |wanted: &str| {
        let mut alike = names.iter().filter(|name| name.eq_ignore_ascii_case(wanted));
        alike.next().filter(|_| alike.next().is_none()).copied()
    };
    exact(given)
        .or_else(|| exact(bare))
        .or_else(|| exact(last))
        .or_else(|| any_case(bare))
        .or_else(|| any_case(last))
}
