//! Whether a quantity is about, over or below its number, and whether it is a rise or a fall, by
//! the words around it.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::quantity::{QuantityBound, QuantityChange};
use super::scan::TextToken;
use super::word_list::{lower, set};

/// Words of a list, split once.
type WordSet = LazyLock<HashSet<&'static str>>;

static ABOUT: WordSet = LazyLock::new(|| {
    set("about around approximately approx roughly nearly almost some circa ca etwa rund \
                     ungefähr fast knapp environ presque aproximadamente unos casi quasi")
});
static ABOVE: WordSet = LazyLock::new(|| {
    set("over exceeding exceeds exceed exceeded above beyond topping surpassing surpassed \
                     über plus")
});
static BELOW: WordSet = LazyLock::new(|| set("under below unter"));
/// Phrases of two and three words, the last of them before the number.
const PHRASES: &[(&str, QuantityBound)] = &[
    ("more than", QuantityBound::Above),
    ("greater than", QuantityBound::Above),
    ("higher than", QuantityBound::Above),
    ("mehr als", QuantityBound::Above),
    ("plus de", QuantityBound::Above),
    ("más de", QuantityBound::Above),
    ("less than", QuantityBound::Below),
    ("fewer than", QuantityBound::Below),
    ("lower than", QuantityBound::Below),
    ("weniger als", QuantityBound::Below),
    ("moins de", QuantityBound::Below),
    ("menos de", QuantityBound::Below),
    ("at least", QuantityBound::AtLeast),
    ("minimum of", QuantityBound::AtLeast),
    ("mindestens", QuantityBound::AtLeast),
    ("no fewer than", QuantityBound::AtLeast),
    ("no less than", QuantityBound::AtLeast),
    ("not less than", QuantityBound::AtLeast),
    ("au moins", QuantityBound::AtLeast),
    ("al menos", QuantityBound::AtLeast),
    ("at most", QuantityBound::AtMost),
    ("up to", QuantityBound::AtMost),
    ("maximum of", QuantityBound::AtMost),
    ("höchstens", QuantityBound::AtMost),
    ("no more than", QuantityBound::AtMost),
    ("not more than", QuantityBound::AtMost),
    ("close to", QuantityBound::About),
    ("in etwa", QuantityBound::About),
];

static UP: WordSet = LazyLock::new(|| {
    set("rise rises rose risen rising increase increases increased increasing grow grows grew \
                  grown growth growing up gain gains gained climb climbed jump jumped surge surged \
                  soared expanded higher more gestiegen stieg wuchs zuwachs hausse augmenté aumento \
                  subió")
});
static DOWN: WordSet = LazyLock::new(|| {
    set("decrease decreases decreased decreasing drop drops dropped dropping fall falls fell \
                    fallen falling loss lost lose lower less fewer down decline declines declined \
                    declining reduction reduce reduced reduces shrink shrank shrunk contracted slid \
                    slipped plunged tumbled cut rückgang gesunken sank gefallen fiel niedriger baisse \
                    baissé diminution caída bajó calo")
});
/// How many tokens before a quantity its verb may stand.
const REACH: usize = 8;

/// The bound of the quantity whose tokens are `first..end`.
pub(super) fn bound(tokens: &[TextToken<'_>], first: usize, end: usize) -> QuantityBound {
    if tokens.get(end).is_some_and(|next| next.is('+') && touches(tokens, end)) {
        return QuantityBound::AtLeast;
    }
    let before = tokens.get(first.saturating_sub(3)..first).unwrap_or_default();
    let words: Vec<String> = before
        .iter()
        .map(|token| token.word().map_or_else(|| token.text.to_owned(), str::to_lowercase))
        .collect();
    let tail = words.join(" ");
    let ends = |phrase: &str| {
        tail.strip_suffix(phrase).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
    };
    // The longest first: `no more than` has `more than` at its end.
    let longest = PHRASES.iter().filter(|(phrase, _)| ends(phrase)).max_by_key(|it| it.0.len());
    if let Some((_, bound)) = longest {
        return *bound;
    }
    match words.last().map_or("", String::as_str) {
        "~" | "≈" => QuantityBound::About,
        ">" => QuantityBound::Above,
        "<" => QuantityBound::Below,
        "≥" => QuantityBound::AtLeast,
        "≤" => QuantityBound::AtMost,
        word if ABOUT.contains(word) => QuantityBound::About,
        word if ABOVE.contains(word) => QuantityBound::Above,
        word if BELOW.contains(word) => QuantityBound::Below,
        _ => QuantityBound::Exact,
    }
}

/// Whether the quantity whose tokens are `first..end` is a rise or a fall.
pub(super) fn change(tokens: &[TextToken<'_>], first: usize, end: usize) -> Option<QuantityChange> {
    let of = |token: &TextToken<'_>| {
        let word = lower(token.word()?);
        match () {
            () if UP.contains(&*word) => Some(QuantityChange::Up),
            () if DOWN.contains(&*word) => Some(QuantityChange::Down),
            () => None,
        }
    };
    if let Some(found) = tokens.get(end).and_then(of) {
        return Some(found);
    }
    let before = tokens.get(first.saturating_sub(REACH)..first).unwrap_or_default();
    let clause = before.iter().rev().take_while(|token| !"，。.;:,".contains(token.text));
    // `more than` is a bound, and `more` before `than` no rise.
    let than = tokens.get(first.wrapping_sub(1)).and_then(TextToken::word) == Some("than");
    clause.skip(if than { 2 } else { 0 }).find_map(of)
}

/// Whether no space stands before the token.
fn touches(tokens: &[TextToken<'_>], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| tokens.get(before));
    matches!((before, tokens.get(place)), (Some(left), Some(right)) if left.end == right.start)
}
