//! Whether words of a question refer to columns, whose names are often abbreviations.

/// Whether a word and a part of the name of a column or table begin alike.
pub(crate) fn names(word: &str, column: &str) -> bool {
    let lower = column.to_lowercase();
    let alike = |part: &str| {
        let shared = part.chars().zip(word.chars()).take_while(|(one, other)| one == other).count();
        let (part, word) = (part.chars().count(), word.chars().count());
        shared >= 4 || shared >= 3 && (shared == part || shared == word)
    };
    lower.split(|sign: char| !sign.is_alphabetic()).any(alike)
}

/// Whether a word of a question refers to a column: a part of the column's name begins as the word
/// does, or abbreviates it.
pub(super) fn stands_for(word: &str, column: &str) -> bool {
    let lower = column.to_lowercase();
    let is_number = matches!(word, "number" | "numbers" | "nummer");
    let alike = |part: &str| {
        part == word
            || abbreviates(part, word)
            || is_number && matches!(part, "no" | "nr" | "num" | "id" | "nummer")
    };
    names(word, column)
        || is_number && column.contains('#')
        || lower.split(|sign: char| !sign.is_alphanumeric()).any(alike)
}

/// Whether a part of a name abbreviates a word: `qty`, `svc` and `dept`, but not `city` for
/// `capacity`.
fn abbreviates(part: &str, word: &str) -> bool {
    let length = part.chars().count();
    let mut rest = word.chars();
    let is_within = part.chars().all(|sign| rest.any(|other| other == sign));
    let shared = part.chars().zip(word.chars()).take_while(|(one, other)| one == other).count();
    let has_vowel = part.chars().skip(1).any(|sign| "aeiou".contains(sign));
    (2..=4).contains(&length) && is_within && shared > 0 && (!has_vowel || shared > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_named_by_a_word_or_abbreviates_it() {
        for (word, column) in [
            ("quantity", "QTY"),
            ("department", "dept"),
            ("service", "last_svc"),
            ("kilometres", "km (total)"),
            ("temperature", "temp_c"),
            ("number", "Order No."),
            ("number", "Loan#"),
            ("vehicle", "veh. type"),
            ("id", "customer_id"),
        ] {
            assert!(stands_for(word, column), "{word} {column}");
        }
        for (word, column) in [
            ("capacity", "city"),
            ("author", "Member"),
            ("price", "melting point"),
            ("number", "Region"),
            ("built", "last_svc"),
        ] {
            assert!(!stands_for(word, column), "{word} {column}");
        }
    }
}
