//! How many times, in words: `once`, `twice`, `doubled`, `tenfold`, `single`.

use std::collections::BTreeSet;

use antiphon_figures::{FigureEvidence, FigureMismatch, QuantityKind, quantities};

use crate::word::{PlacedWord, words};

/// What is said with a word. Of its kind, `once` and `single` stand in the place of others only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Usage {
    /// How often something was.
    Times,
    /// Of how many parts something is.
    Parts,
    /// How much larger something has become, or is.
    Growth,
}

/// Beginnings of words with a number of times, in hundredths.
const FORMS: &[(&str, u64, Usage)] = &[
    ("once", 100, Usage::Times),
    ("einmal", 100, Usage::Times),
    ("twice", 200, Usage::Times),
    ("zweimal", 200, Usage::Times),
    ("thrice", 300, Usage::Times),
    ("dreimal", 300, Usage::Times),
    ("single", 100, Usage::Parts),
    ("double", 200, Usage::Parts),
    ("doppel", 200, Usage::Parts),
    ("triple", 300, Usage::Parts),
    ("treble", 300, Usage::Parts),
    ("quadruple", 400, Usage::Parts),
    ("halved", 50, Usage::Growth),
    ("halving", 50, Usage::Growth),
    ("halbier", 50, Usage::Growth),
    ("doubl", 200, Usage::Growth),
    ("verdoppel", 200, Usage::Growth),
    ("duplic", 200, Usage::Growth),
    ("tripl", 300, Usage::Growth),
    ("trebl", 300, Usage::Growth),
    ("verdreifach", 300, Usage::Growth),
    ("quadrupl", 400, Usage::Growth),
    ("vervierfach", 400, Usage::Growth),
    ("quintupl", 500, Usage::Growth),
];
/// Numbers before `fold`, from 2.
const FOLDS: &str =
    "twofold threefold fourfold fivefold sixfold sevenfold eightfold ninefold tenfold";
const DENIALS: &str = "not no never neither nor without hardly";
/// How many words before a word may deny it.
const REACH: usize = 3;

/// The numbers of times in words that no text has, and which no two of their numbers have.
pub(crate) fn unknown_multiplicities(claim: &str, known: &[String]) -> Vec<String> {
    let stated = multiplicities(claim);
    if stated.is_empty() {
        return Vec::new();
    }
    let known_words: Vec<Multiplicity> =
        known.iter().flat_map(|text| multiplicities(text)).collect();
    let known_times = factors(known);
    let repeats = |times: u64| {
        stated.iter().any(|it| it.times == times) || factors(&[claim.to_owned()]).contains(&times)
    };
    let ratios = ratios(claim, known);
    let is_unknown = |it: &Multiplicity| {
        if known_words.iter().any(|other| other.times == it.times) {
            return false;
        }
        if it.times == 100 {
            // `Once` may also mean formerly.
            let others = known_words.iter().filter(|other| other.usage == it.usage);
            let others = others.map(|other| other.times);
            let counted = known_times.iter().copied().filter(|_| it.usage == Usage::Times);
            return others.chain(counted).any(|times| !repeats(times));
        }
        let is_known = known_times.contains(&it.times) || ratios.contains(&it.text);
        !it.is_denied && !is_known
    };
    stated.iter().filter(|it| is_unknown(it)).map(|it| it.text.clone()).collect()
}

/// Whether texts say so many times in words: `twice` for `two times`.
pub(crate) fn says_times(times: f64, known: &[&str]) -> bool {
    let wanted = hundredths(times);
    known
        .iter()
        .any(|text| multiplicities(text).iter().any(|it| Some(it.times) == wanted && !it.is_denied))
}

/// How often something was by a word such as `twice`, in hundredths.
pub(crate) fn times_of(word: &str) -> Option<u64> {
    form(&word.to_lowercase()).filter(|(_, usage)| *usage == Usage::Times).map(|(times, _)| times)
}

struct Multiplicity {
    /// In lower case.
    text: String,
    times: u64,
    usage: Usage,
    is_denied: bool,
}

fn multiplicities(text: &str) -> Vec<Multiplicity> {
    let all = words(text);
    let read = |(place, word): (usize, &PlacedWord<'_>)| {
        let lower = word.text.to_lowercase();
        let (times, usage) = form(&lower)?;
        let before = all.get(place.saturating_sub(REACH)..place).unwrap_or_default();
        let is_denied = before.iter().any(|it| {
            let word = it.text.to_lowercase();
            word.ends_with("n't") || DENIALS.split(' ').any(|one| one == word)
        });
        Some(Multiplicity { text: lower, times, usage, is_denied })
    };
    all.iter().enumerate().filter_map(read).collect()
}

fn form(word: &str) -> Option<(u64, Usage)> {
    if let Some(place) = FOLDS.split(' ').position(|fold| fold == word) {
        return Some((200 + 100 * u64::try_from(place).ok()?, Usage::Growth));
    }
    let is_form = |(form, _, usage): &&(&str, u64, Usage)| match usage {
        Usage::Growth => word.starts_with(form),
        Usage::Times | Usage::Parts => word == *form,
    };
    FORMS.iter().find(is_form).map(|(_, times, usage)| (*times, *usage))
}

/// The numbers of times that texts state as such: `3 times`, `2x`.
fn factors(texts: &[String]) -> BTreeSet<u64> {
    let all = texts.iter().flat_map(|text| quantities(text));
    all.filter(|it| it.kind == QuantityKind::Factor)
        .filter_map(|it| hundredths(it.value()))
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is within the range"
)]
fn hundredths(times: f64) -> Option<u64> {
    (0.0..1e9).contains(&times).then(|| (times * 100.0).round() as u64)
}

/// The words of a claim that say a ratio which two numbers of texts have.
fn ratios(claim: &str, known: &[String]) -> Vec<String> {
    let claimed = |evidence: &FigureEvidence| {
        let found = evidence.multiples(claim).into_iter();
        let texts = found.filter_map(|it| match it {
            FigureMismatch::Multiple(text) => Some(text),
            _ => None,
        });
        texts.collect::<Vec<String>>()
    };
    let mut ratios = claimed(&FigureEvidence::new());
    if ratios.is_empty() {
        return ratios;
    }
    let mut evidence = FigureEvidence::new();
    for text in known {
        evidence.text(text);
    }
    let unknown = claimed(&evidence);
    ratios.retain(|text| !unknown.contains(text));
    ratios
}
