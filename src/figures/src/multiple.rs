//! Claims in words of how many times as large one number is as another: `twice as many`,
//! `doubled`, `halved`.

use super::plain_text::plain;
use super::scan::{TextToken, scan};
use super::unit::contains;

/// How far the ratio of two numbers may be from a claim, as a part of it.
const TOLERANCE: f64 = 0.05;
/// The same after words such as `almost` and `more than`.
const TOLERANCE_ABOUT: f64 = 0.25;

/// Words that claim a multiple by themselves.
const VERBS: [(f64, &str); 10] = [
    (
        2.0,
        "doubled doubling twofold halved halving verdoppelt verdoppelte verdoppelten halbiert \
         halbierte halbierten doublé doublée duplicó duplicado duplicaron raddoppiato raddoppiata \
         raddoppiati",
    ),
    (
        3.0,
        "tripled tripling trebled trebling threefold verdreifacht verdreifachte verdreifachten \
         triplé triplée triplicó triplicado triplicaron triplicato triplicata",
    ),
    (4.0, "quadrupled quadrupling fourfold vervierfacht vervierfachte"),
    (5.0, "quintupled quintupling fivefold verfünffacht verfünffachte"),
    (6.0, "sixfold"),
    (7.0, "sevenfold"),
    (8.0, "eightfold"),
    (9.0, "ninefold"),
    (10.0, "tenfold verzehnfacht verzehnfachte"),
    (100.0, "hundredfold"),
];
/// Words that claim one with the word behind them: a `double room` is none.
const COMPARED: [(f64, &str, &str); 5] = [
    (2.0, "twice double", "as the that those what its their"),
    (3.0, "thrice triple", "as the that those what its their"),
    (2.0, "half", "as"),
    (2.0, "doppelt halb", "so"),
    (2.0, "double doble doppio", "de du des del que di della dello rispetto"),
];
/// Words before a claim that make it one of about so much.
const ABOUT: &str = "about around roughly approximately nearly almost over than least most well under \
                     etwa rund fast knapp über mehr weniger mindestens als environ presque plus moins \
                     que casi aproximadamente más menos circa quasi più meno";
/// Words before a claim that deny it.
const DENIALS: &str = "not no never neither nor t nicht kein keine nie pas jamais no nunca non mai";
/// Characters that the forms of a verb share.
const STEM: usize = 5;
/// How many words before a claim belong to it.
const BEFORE: usize = 3;

/// A multiple that a sentence claims.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClaimedFactor {
    /// How it is written.
    pub(super) text: String,
    /// The larger number over the smaller one.
    pub(super) factor: f64,
    tolerance: f64,
}

impl ClaimedFactor {
    /// Whether two of these numbers have that ratio, or one of them is it.
    pub(super) fn follows_from(&self, numbers: &[f64]) -> bool {
        let is = |ratio: f64| (ratio / self.factor - 1.0).abs() <= self.tolerance;
        let of = |one: f64| numbers.iter().any(|other| *other != 0.0 && is(one / other));
        // A small whole number counts something, such as rows. A ratio has decimals, and a
        // percentage is one of the whole or of a growth.
        let states = |number: f64| {
            let (ratio, size) = (number.abs(), number.abs() / 100.0);
            number.fract() != 0.0 && (is(ratio) || is(1.0 / ratio))
                || size >= 0.5 && (is(size) || is(1.0 / size) || is(size + 1.0))
        };
        numbers.iter().any(|number| of(*number) || states(*number))
    }
}

/// The multiples that a sentence claims and does not deny, apart from those that `words` have.
pub(super) fn claimed_multiples(sentence: &str, words: &str) -> Vec<ClaimedFactor> {
    let text = plain(sentence).to_lowercase();
    let tokens = scan(&text);
    let claims = (0..tokens.len()).filter_map(|place| claim(&tokens, place));
    claims.filter(|claim| !is_named(&claim.text, words)).collect()
}

/// Whether words have a claim, or another form of it: `to double` and `doubled`.
fn is_named(claim: &str, words: &str) -> bool {
    let stem: String = claim.chars().take(STEM).collect();
    let mut others = words.split(|sign: char| !sign.is_alphanumeric());
    contains(words, claim) || claim.len() > STEM && others.any(|word| word.starts_with(&stem))
}

fn claim(tokens: &[TextToken<'_>], place: usize) -> Option<ClaimedFactor> {
    let word = tokens.get(place)?.word()?;
    let next = tokens.get(place + 1).and_then(TextToken::word);
    let has = |words: &str, word: &str| words.split_whitespace().any(|one| one == word);
    let by_itself = VERBS.iter().find(|(_, words)| has(words, word)).map(|(factor, _)| *factor);
    let compared = || {
        let next = next?;
        let found = COMPARED.iter().find(|(_, words, after)| has(words, word) && has(after, next));
        found.map(|(factor, ..)| *factor)
    };
    let factor = by_itself.or_else(compared)?;
    let before = tokens.get(place.saturating_sub(BEFORE)..place).unwrap_or_default();
    let says = |words: &str| before.iter().filter_map(TextToken::word).any(|it| has(words, it));
    if says(DENIALS) {
        return None;
    }
    let tolerance = if says(ABOUT) { TOLERANCE_ABOUT } else { TOLERANCE };
    Some(ClaimedFactor { text: word.to_owned(), factor, tolerance })
}
