//! The clauses of a sentence with what each is about, so that a number is not taken for another
//! one of the same sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use antiphon_figures::{QuantityKind, StatedQuantity, quantities};

use crate::word::{PlacedWord, content_words, names, periods, stem, words};

/// Measures of business that are not the same, a row each.
const MEASURES: &[&str] = &[
    "revenue sale turnover umsatz chiffre ingreso",
    "profit income earning gewinn bénéfice beneficio",
    "loss verlust perte pérdida",
    "cost expense expenditure spending kosten",
    "price preis prix precio",
    "debt schulden dette",
    "asset vermögen",
    "investment funding",
    "import einfuhr",
    "export ausfuhr",
    "birth geburt",
    "death tod",
    "minimum lowest",
    "maximum highest",
    "mean average",
    "median",
    "height höhe",
    "width breite",
    "length länge",
    "depth tiefe",
    "weight mass gewicht",
    "area fläche",
    "speed",
    "age",
    "population",
];

/// The words of the table, each with the first row that has it.
static MEASURE_ROWS: LazyLock<BTreeMap<&str, usize>> = LazyLock::new(|| {
    let row = |(row, words): (usize, &&'static str)| words.split(' ').map(move |word| (word, row));
    MEASURES.iter().enumerate().rev().flat_map(row).collect()
});

/// A part of a sentence with its numbers and what it is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clause {
    /// The quantities that it states.
    pub(crate) quantities: Vec<StatedQuantity>,
    /// The words before and after each of them, mostly what it counts; empty if there is none.
    neighbours: Vec<(String, String)>,
    /// The words of its own.
    pub(crate) own: BTreeSet<String>,
    /// Those that it takes over from clauses before or after it.
    inherited: BTreeSet<String>,
    /// Names, its own or taken over.
    pub(crate) names: BTreeSet<String>,
    /// Years and quarters, its own or taken over.
    pub(crate) periods: BTreeSet<String>,
}

impl Clause {
    /// Its words, its own and those that it takes over.
    pub(crate) fn terms(&self) -> BTreeSet<String> {
        self.own.union(&self.inherited).cloned().collect()
    }

    pub(crate) fn has(&self, term: &str) -> bool {
        self.own.contains(term) || self.inherited.contains(term) || self.periods.contains(term)
    }

    /// The words before and after a quantity of its own.
    pub(crate) fn neighbours(&self, quantity: &StatedQuantity) -> (&str, &str) {
        let place = self.quantities.iter().position(|own| std::ptr::eq(own, quantity));
        let found = place.and_then(|place| self.neighbours.get(place));
        found.map_or(("", ""), |(before, after)| (before, after))
    }

    /// What its counts are of: the word after each.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &str> {
        let all = self.quantities.iter().zip(&self.neighbours);
        let counts = all.filter(|(quantity, _)| quantity.kind == QuantityKind::Count);
        counts.map(|(_, (_, after))| after.as_str()).filter(|after| !after.is_empty())
    }

    pub(crate) fn has_own(&self, term: &str) -> bool {
        self.own.contains(term)
    }

    /// How much the other clause is about the same; what it only takes over counts half.
    #[expect(clippy::cast_precision_loss, reason = "clauses have few words")]
    pub(crate) fn closeness(&self, other: &Self) -> f64 {
        let terms = self.terms();
        let own = terms.intersection(&other.own).count() as f64;
        let inherited = terms.intersection(&other.inherited).count() as f64;
        own + inherited / 2.0
    }

    /// Whether it speaks of revenue, say, and the other, or what is known beside it, does not.
    pub(crate) fn measures_other(&self, other: &Self, context: &BTreeSet<String>) -> bool {
        let own = self.measured();
        let their = other.measured();
        let their = if their.is_empty() { measures(context) } else { their };
        !own.is_empty() && own.is_disjoint(&their)
    }

    fn measured(&self) -> BTreeSet<usize> {
        let own = measures(&self.own);
        if own.is_empty() { measures(&self.inherited) } else { own }
    }
}

/// What is measured, by the rows of the table.
fn measures(terms: &BTreeSet<String>) -> BTreeSet<usize> {
    terms.iter().filter_map(|word| MEASURE_ROWS.get(word.as_str()).copied()).collect()
}

/// The clauses of a sentence, in order.
pub(crate) fn clauses(sentence: &str) -> Vec<Clause> {
    let mut names = names(sentence);
    names.extend(first_name(sentence));
    let mut found: Vec<Clause> =
        split(sentence).into_iter().map(|text| clause(text, &names)).collect();
    let mut words_before = BTreeSet::new();
    let (mut names_before, mut periods_before) = (BTreeSet::new(), BTreeSet::new());
    for clause in &mut found {
        let plain: BTreeSet<String> = clause.own.difference(&names).cloned().collect();
        let plain: BTreeSet<String> = plain.difference(&clause.periods).cloned().collect();
        let plain: BTreeSet<String> =
            plain.into_iter().filter(|word| !word.chars().all(char::is_numeric)).collect();
        take_over(&mut clause.names, &mut names_before, &mut clause.inherited);
        take_over(&mut clause.periods, &mut periods_before, &mut clause.inherited);
        if plain.is_empty() || clause.quantities.is_empty() {
            clause.inherited.extend(words_before.iter().cloned());
        }
        if !plain.is_empty() {
            words_before = plain;
        }
    }
    let (mut names_after, mut periods_after) = (BTreeSet::new(), BTreeSet::new());
    for clause in found.iter_mut().rev() {
        take_over(&mut clause.names, &mut names_after, &mut clause.inherited);
        take_over(&mut clause.periods, &mut periods_after, &mut clause.inherited);
    }
    found
}

/// Takes terms over from the clause before, if there are none.
fn take_over(
    own: &mut BTreeSet<String>,
    before: &mut BTreeSet<String>,
    inherited: &mut BTreeSet<String>,
) {
    if own.is_empty() {
        inherited.extend(before.iter().cloned());
        own.clone_from(before);
    } else {
        before.clone_from(own);
    }
}

fn clause(text: &str, names: &BTreeSet<String>) -> Clause {
    let own: BTreeSet<String> = content_words(text);
    let periods = periods(text);
    let own: BTreeSet<String> = own.into_iter().chain(periods.iter().cloned()).collect();
    let quantities = quantities(text);
    Clause {
        neighbours: neighbours(text, &quantities),
        quantities,
        names: own.intersection(names).cloned().collect(),
        inherited: BTreeSet::new(),
        own,
        periods,
    }
}

/// The words before and after each quantity.
fn neighbours(text: &str, quantities: &[StatedQuantity]) -> Vec<(String, String)> {
    let mut rest = text;
    let around = |quantity: &StatedQuantity| {
        let (before, after) = rest.split_once(quantity.text.as_str()).unwrap_or_default();
        if !after.is_empty() {
            rest = after;
        }
        let word = |found: Option<&PlacedWord<'_>>| found.map(|it| stem(it.text));
        let (before, after) = (words(before), words(after));
        (word(before.last()).unwrap_or_default(), word(after.first()).unwrap_or_default())
    };
    quantities.iter().map(around).collect()
}

/// The first word of a sentence, if it may be a name.
fn first_name(sentence: &str) -> Option<String> {
    const COMMON: &str = "in on at by for from after before during since while when the a an this that these those it \
                          its they total overall annual global net gross average nearly almost about over more less \
                          most many some researcher scientist study people company \
                          therefore hence consequently accordingly finally additionally moreover furthermore \
                          overall specifically generally typically usually similarly";
    let all = words(sentence);
    let first = all.first()?;
    let stem = stem(first.text);
    let is_capital = first.text.starts_with(char::is_uppercase);
    let is_common = COMMON.split_whitespace().any(|word| word == stem)
        || crate::word::is_stop_word(first.text)
        || MEASURE_ROWS.contains_key(stem.as_str());
    // A word of everyday language is seldom followed by a verb at once.
    let next = all.get(1).map_or("", |next| next.text);
    let is_owner = first.text.ends_with("'s") || first.text.ends_with("’s");
    let acts = next.chars().next().is_some_and(char::is_lowercase);
    (is_capital && !is_common && (acts || is_owner)).then_some(stem)
}

/// Cuts a sentence at commas, conjunctions and words that compare, except within numbers.
fn split(sentence: &str) -> Vec<&str> {
    const CUTS: [&str; 14] = [
        ", ",
        "; ",
        " and ",
        " while ",
        " whereas ",
        " but ",
        " versus ",
        " compared with ",
        " compared to ",
        " und ",
        " während ",
        "，",
        "；",
        " et ",
    ];
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(rest) = sentence.get(at..).filter(|rest| !rest.is_empty()) {
        let cut = CUTS.iter().find(|cut| rest.starts_with(**cut));
        let step = rest.chars().next().map_or(1, char::len_utf8);
        let Some(cut) = cut else {
            at += step;
            continue;
        };
        let is_digit = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_digit());
        let before = sentence.get(..at).and_then(|text| text.chars().next_back());
        let after = rest.get(cut.len()..).and_then(|text| text.chars().next());
        let is_range = is_digit(before)
            && is_digit(after)
            && sentence.get(start..at).is_some_and(|own| own.to_lowercase().contains("between "));
        // `May 3, 2021`.
        let is_date =
            *cut == ", " && is_digit(before) && is_digit(after) && is_year(rest, cut.len());
        if is_range || is_date || is_one_number(sentence.get(..at), rest.get(cut.len()..)) {
            at += cut.len();
            continue;
        }
        found.extend(sentence.get(start..at));
        at += cut.len();
        start = at;
    }
    found.extend(sentence.get(start..));
    found
}

/// Whether a conjunction stands within a number in words: `one hundred and twelve`, `two and a half`.
fn is_one_number(before: Option<&str>, after: Option<&str>) -> bool {
    let before = words(before.unwrap_or_default());
    let after = words(after.unwrap_or_default());
    let word = |found: Option<&PlacedWord<'_>>| found.map_or("", |it| it.text).to_owned();
    let (scale, next) = (word(before.last()), word(after.first()));
    let part = word(after.get(1));
    if matches!(&*next, "a" | "one") && matches!(&*part, "half" | "quarter") {
        return quantities(&scale).len() == 1;
    }
    let is_scale = matches!(&*scale.to_lowercase(), "hundred" | "thousand" | "hundert" | "tausend");
    // After digits the scale ends the number: `5 thousand and two`.
    let of_digits = before
        .iter()
        .rev()
        .nth(1)
        .is_some_and(|it| it.text.contains(|sign: char| sign.is_ascii_digit()));
    is_scale
        && !of_digits
        && quantities(&format!("{scale} and {next}")).len() == 1
        && quantities(&next).len() == 1
}

fn is_year(rest: &str, skipped: usize) -> bool {
    let digits: String =
        rest.get(skipped..).unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    digits.len() == 4
}
