//! Whether a number is below zero by what stands before it.

use super::scan::{TextToken, TokenKind};

/// Words after which a dash with a space is a sign; after a name it is a dash: `North - 40`.
const OPENERS: &str = "is was are were be been of to by at than equals ist war sind waren von um auf \
                       est était sont de à es fue era è and or und et y";

/// Whether the number at a place has a sign, or a word that is one, before it.
pub(super) fn is_negative(tokens: &[TextToken<'_>], text: &str, place: usize) -> bool {
    let mut first = place;
    if before(tokens, first).is_some_and(is_money) {
        first -= 1;
    }
    let Some(sign) = before(tokens, first) else { return false };
    if let Some(word) = sign.word() {
        let word = word.to_lowercase();
        return matches!(
            &*word,
            "minus" | "negative" | "negativ" | "négatif" | "negativo" | "moins" | "menos" | "meno"
        );
    }
    let Some(number) = tokens.get(first) else { return false };
    if !is_minus(sign) {
        return false;
    }
    let earlier = before(tokens, first - 1);
    if sign.end == number.start {
        // In `2019-2023` and `COVID-19` it is a dash; in `$-5` it is none.
        let is_dash = earlier.is_some_and(|it| {
            it.end == sign.start && !(matches!(it.kind, TokenKind::Sign(_)) || is_money(it))
        });
        return !is_dash;
    }
    is_spaced_sign(earlier, sign, text)
}

/// Whether a token is a sign of money, before or after a minus.
pub(super) fn is_money(token: &TextToken<'_>) -> bool {
    "€$£¥₹".contains(token.text)
        || token.word().is_some_and(|word| {
            matches!(word, "EUR" | "USD" | "GBP" | "JPY" | "CHF" | "INR" | "US" | "eur" | "usd")
        })
}

pub(super) fn is_minus(token: &TextToken<'_>) -> bool {
    const MINUS: [char; 9] = ['-', '−', '–', '‐', '‑', '‒', '﹣', '－', '⁻'];
    MINUS.iter().any(|minus| token.is(*minus))
}

/// Whether a minus with a space behind it is a sign, and not a dash or the mark of a list.
fn is_spaced_sign(earlier: Option<&TextToken<'_>>, sign: &TextToken<'_>, text: &str) -> bool {
    let line = text.get(..sign.start).unwrap_or_default();
    let begins = line.trim_end_matches([' ', '\t']);
    if begins.is_empty() || begins.ends_with('\n') {
        // A text of one line is no list.
        return !text.trim().contains('\n');
    }
    earlier.is_some_and(|it| match it.kind {
        TokenKind::Word(word) => OPENERS.split(' ').any(|one| word.eq_ignore_ascii_case(one)),
        TokenKind::Sign(_) => it.is(':') || it.is('=') || it.is('(') || it.is('≈') || it.is('~'),
        _ => false,
    })
}

fn before<'r, 't>(tokens: &'r [TextToken<'t>], place: usize) -> Option<&'r TextToken<'t>> {
    place.checked_sub(1).and_then(|before| tokens.get(before))
}
