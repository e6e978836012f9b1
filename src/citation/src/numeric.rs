//! The numbers of a claim against those of its evidence.

use std::collections::BTreeSet;
use std::rc::Rc;

use antiphon_figures::{
    QuantityKind, QuantityMismatch, QuantityVerdict, StatedQuantity, quantities,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clause::{Clause, clauses};
use crate::era::is_era;
use crate::multiplicity::says_times;
use crate::numeral::unknown_numerals;
use crate::sentence::sentences;
use crate::verdict::Verdict;
use crate::word::{content_words, is_stop_word, periods, share};

/// How a number of a claim is related to the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NumberStatus {
    /// It stands there.
    Exact,
    /// It stands there, more precisely.
    Approximate,
    /// It follows from numbers that stand there.
    Computed,
    /// Another number stands there for the same thing.
    Mismatch,
    /// Nothing of the kind stands there.
    Unverifiable,
}

impl NumberStatus {
    /// Whether the evidence states the number.
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Exact | Self::Approximate | Self::Computed)
    }
}

/// A number of a claim, compared with those of its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumericVerification {
    /// As the claim states it.
    pub claim_value: String,
    /// At full length.
    pub normalized_claim: String,
    /// The closest number of the evidence, as it is stated there.
    pub evidence_value: Option<String>,
    /// At full length.
    pub normalized_evidence: Option<String>,
    /// How they compare.
    pub status: NumberStatus,
    /// From 0 to 1.
    pub confidence: f64,
}

/// What a model says about how a number was computed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProposedComputation {
    /// `sum`, `difference`, `ratio` or `growth`.
    pub operation: String,
    /// Numbers of the evidence, in words of the evidence.
    pub operands: Vec<String>,
}

/// A number of a claim, and the number of the evidence that answers the same question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NumberAnswer {
    /// What is asked of both.
    pub question: String,
    /// What the claim says.
    pub claim_answer: String,
    /// What the evidence says; empty if it says nothing.
    pub evidence_answer: String,
}

/// Compares each number of a claim with all of its evidence. `context` are titles and headings
/// of the evidence, which may name what its sentences are about. Last comes what the claim states
/// beside quantities and the evidence does not: dates and times, places in an order, names and
/// labels with a number, eras, rates, numbers of times, sizes such as `thousands`, and numerals
/// that the claim states more often.
///
/// ```
/// use antiphon_citation::{NumberStatus, check_numbers};
/// let check = |claim: &str| check_numbers(claim, &["Revenue was $3.19 billion in 2023."], &[]);
/// assert!(check("In 2023 revenue was $3.2 billion.").iter().all(|it| it.status.is_match()));
/// let wrong = check("In 2023 revenue was $3.9 billion.");
/// assert_eq!(wrong[1].status, NumberStatus::Mismatch);
/// let other = check("In 2023 profit was $3.2 billion.");
/// assert!(!other[1].status.is_match());
/// ```
pub fn check_numbers(claim: &str, quotes: &[&str], context: &[&str]) -> Vec<NumericVerification> {
    let evidence: Vec<KnownSentence> =
        quotes.iter().flat_map(|quote| known_sentences(quote)).collect();
    let known = [quotes, context].concat();
    let context = NumberContext::new(context, &evidence);
    let mut found = Vec::new();
    for clause in sentences_of(claim).iter().flat_map(|sentence| clauses(sentence)) {
        for quantity in &clause.quantities {
            let check = checked(quantity, &clause, &evidence, &context);
            let is_said = !check.status.is_match()
                && quantity.kind == QuantityKind::Factor
                && says_times(quantity.value(), quotes);
            let said = || verification(quantity, None, NumberStatus::Exact, 0.8);
            found.push(if is_said { said() } else { check });
        }
    }
    found.extend(unknown_numerals(claim, &known).into_iter().map(unverifiable));
    found
}

/// What is no quantity, or stands in the place of another one.
fn unverifiable(text: String) -> NumericVerification {
    NumericVerification {
        normalized_claim: text.clone(),
        claim_value: text,
        evidence_value: None,
        normalized_evidence: None,
        status: NumberStatus::Unverifiable,
        confidence: 0.2,
    }
}

fn sentences_of(text: &str) -> Vec<String> {
    let own = sentences(text).into_iter().filter_map(|span| span.of(text));
    own.map(str::to_owned).collect()
}

/// A sentence of the evidence, and the words of the passage that it stands in.
struct KnownSentence {
    clauses: Vec<Clause>,
    passage: Rc<BTreeSet<String>>,
}

fn known_sentences(quote: &str) -> Vec<KnownSentence> {
    let passage = Rc::new(content_words(quote));
    let own = sentences_of(quote).into_iter();
    own.map(|it| KnownSentence { clauses: clauses(&it), passage: Rc::clone(&passage) }).collect()
}

/// What people are counted as: an amount of money is no number of them.
const PEOPLE: &str = "people person employee worker user customer member student pupil teacher resident inhabitant \
                      citizen visitor passenger patient";

/// What titles and headings say beside the passages, which fiscal years the passages name, and what
/// all of them count.
struct NumberContext {
    titles: BTreeSet<String>,
    periods: BTreeSet<String>,
    counted: BTreeSet<String>,
}

impl NumberContext {
    fn new(titles: &[&str], evidence: &[KnownSentence]) -> Self {
        let titles = titles.join("\n");
        let clauses = evidence.iter().flat_map(|sentence| &sentence.clauses);
        let counted = clauses.flat_map(Clause::counted).filter(|word| !is_stop_word(word));
        let counted = counted.chain(PEOPLE.split_whitespace()).map(str::to_owned).collect();
        let fiscal = evidence.iter().flat_map(|sentence| &sentence.clauses);
        let fiscal = fiscal.flat_map(|it| &it.periods).filter(|it| it.starts_with("fy"));
        let periods = periods(&titles).into_iter().chain(fiscal.cloned()).collect();
        Self { titles: content_words(&titles), periods, counted }
    }
}

/// A number of the evidence with its clause.
struct KnownNumber<'e> {
    quantity: &'e StatedQuantity,
    clause: &'e Clause,
    sentence: &'e [Clause],
    passage: &'e BTreeSet<String>,
}

fn checked(
    quantity: &StatedQuantity,
    clause: &Clause,
    evidence: &[KnownSentence],
    context: &NumberContext,
) -> NumericVerification {
    let all: Vec<KnownNumber<'_>> = evidence
        .iter()
        .flat_map(|KnownSentence { clauses: sentence, passage }| {
            sentence.iter().flat_map(move |clause| {
                clause.quantities.iter().map(move |quantity| KnownNumber {
                    quantity,
                    clause,
                    sentence,
                    passage,
                })
            })
        })
        .collect();
    let verdict = |known: &KnownNumber<'_>| quantity.follows_from(known.quantity);
    let fits = |known: &&KnownNumber<'_>| {
        verdict(known).is_match() && is_about(quantity, clause, known, context)
    };
    let rank = |known: &&KnownNumber<'_>| usize::from(verdict(known) == QuantityVerdict::Exact);
    if let Some(known) = all.iter().filter(fits).max_by_key(rank) {
        let status = match verdict(known) {
            QuantityVerdict::Exact => NumberStatus::Exact,
            _ => NumberStatus::Approximate,
        };
        let is_direct =
            clause.names.iter().chain(&clause.periods).all(|term| known.clause.has(term));
        let confidence = if is_direct { 0.95 } else { 0.8 };
        return verification(quantity, Some(known.quantity), status, confidence);
    }
    let fiscal = format!("fy{}", quantity.text);
    let is_dated = context.periods.contains(&quantity.text)
        || clause.periods.contains(&fiscal) && context.periods.contains(&fiscal);
    if quantity.kind == QuantityKind::Year && is_dated {
        return verification(quantity, None, NumberStatus::Exact, 0.8);
    }
    // Another value of the same kind for the same thing.
    let is_other = |known: &&KnownNumber<'_>| {
        matches!(
            quantity.compare(known.quantity),
            QuantityVerdict::Different(QuantityMismatch::Value | QuantityMismatch::Change)
        ) && is_about(quantity, clause, known, context)
            && share(&clause.own, &known.clause.terms()) >= 0.5
    };
    match all.iter().find(is_other) {
        Some(known) => verification(quantity, Some(known.quantity), NumberStatus::Mismatch, 0.8),
        None => verification(quantity, None, NumberStatus::Unverifiable, 0.2),
    }
}

fn verification(
    quantity: &StatedQuantity,
    known: Option<&StatedQuantity>,
    status: NumberStatus,
    confidence: f64,
) -> NumericVerification {
    NumericVerification {
        claim_value: quantity.text.clone(),
        normalized_claim: quantity.normalized(),
        evidence_value: known.map(|it| it.text.clone()),
        normalized_evidence: known.map(StatedQuantity::normalized),
        status,
        confidence,
    }
}

/// Whether a number of the evidence is said of what the claim speaks of: of no other name, period
/// or measure, and no other clause of its sentence is closer.
fn is_about(
    quantity: &StatedQuantity,
    clause: &Clause,
    known: &KnownNumber<'_>,
    context: &NumberContext,
) -> bool {
    if quantity.kind == QuantityKind::Year {
        return true;
    }
    let other_period = !clause.periods.is_empty()
        && !known.clause.periods.is_empty()
        && clause.periods.is_disjoint(&known.clause.periods);
    let own_names = &clause.names;
    let other_name = !own_names.is_empty()
        && !known.clause.names.is_empty()
        && own_names.is_disjoint(&known.clause.terms())
        && (known.sentence.iter().any(|it| own_names.iter().any(|name| it.has_own(name)))
            || own_names.is_disjoint(known.passage) && own_names.is_disjoint(&context.titles));
    if other_period
        || other_name
        || counts_other(quantity, clause, known, context)
        || clause.measures_other(known.clause, &context.titles)
    {
        return false;
    }
    let own = clause.closeness(known.clause);
    let closer = |other: &Clause| {
        let competes = other.quantities.iter().any(|it| {
            it.kind == known.quantity.kind && !it.follows_from(known.quantity).is_match()
        });
        !std::ptr::eq(other, known.clause) && competes && clause.closeness(other) > own
    };
    !known.sentence.iter().any(closer)
}

/// Whether a count is one of something else: what it counts stands after another number in the
/// sentence of the evidence, or the claim has the number in the place of a year, as in `in 38`.
/// And whether money is said of what is counted, as in `$3 billion people`.
fn counts_other(
    quantity: &StatedQuantity,
    clause: &Clause,
    known: &KnownNumber<'_>,
    context: &NumberContext,
) -> bool {
    let (before, counted) = clause.neighbours(quantity);
    let (_, own) = known.clause.neighbours(known.quantity);
    match quantity.kind {
        QuantityKind::Count => {}
        QuantityKind::Money => return own != counted && context.counted.contains(counted),
        _ => return false,
    }
    if is_era(counted) {
        return false;
    }
    if counted.is_empty() || is_stop_word(counted) {
        return before == "in" && !own.is_empty() && !is_stop_word(own);
    }
    let is_other = |other: &Clause| {
        let wrong = |it: &&StatedQuantity| !quantity.follows_from(it).is_match();
        other.quantities.iter().filter(wrong).any(|it| other.neighbours(it).1 == counted)
    };
    own != counted && known.sentence.iter().any(is_other)
}

/// Takes over what a model says about the numbers of a claim, as far as code can check it: both
/// answers have to stand in their texts, and a computation has to come out.
pub(crate) fn refined(
    mut checks: Vec<NumericVerification>,
    claim: &str,
    quotes: &[&str],
    answers: &[NumberAnswer],
    computation: Option<&ProposedComputation>,
) -> Vec<NumericVerification> {
    let known: Vec<StatedQuantity> = quotes.iter().flat_map(|quote| quantities(quote)).collect();
    for (quantity, check) in quantities(claim).iter().zip(&mut checks) {
        if check.normalized_claim != quantity.normalized() {
            continue;
        }
        if !check.status.is_match() && computation.is_some_and(|it| derives(quantity, it, &known)) {
            (check.status, check.confidence) = (NumberStatus::Computed, 0.9);
            continue;
        }
        let answer = answers.iter().find(|answer| {
            quantities(&answer.claim_answer)
                .iter()
                .any(|own| own.normalized() == quantity.normalized())
        });
        let other = answer.and_then(|answer| {
            let stated = quantities(&answer.evidence_answer);
            stated
                .into_iter()
                .find(|own| known.iter().any(|it| it.normalized() == own.normalized()))
        });
        let Some(other) = other else { continue };
        if check.status != NumberStatus::Computed && !quantity.follows_from(&other).is_match() {
            *check = verification(quantity, Some(&other), NumberStatus::Mismatch, 0.9);
        }
    }
    checks
}

/// Whether a number comes out of numbers of the evidence.
fn derives(
    quantity: &StatedQuantity,
    computation: &ProposedComputation,
    known: &[StatedQuantity],
) -> bool {
    let operand = |text: &String| {
        let stated = quantities(text);
        let wanted = stated.first()?;
        known.iter().find(|it| {
            it.normalized() == wanted.normalized()
                || wanted.units.is_empty() && (it.value() - wanted.value()).abs() < f64::EPSILON
        })
    };
    let Some(operands) =
        computation.operands.iter().map(operand).collect::<Option<Vec<&StatedQuantity>>>()
    else {
        return false;
    };
    quantity.is_computed(&computation.operation, &operands)
}

/// The verdict on a claim after its numbers were compared. A match never raises it.
pub fn verdict_after_numbers(verdict: Verdict, checks: &[NumericVerification]) -> Verdict {
    let is_wrong = |check: &&NumericVerification| !check.status.is_match();
    if !checks.iter().any(|check| is_wrong(&check)) {
        return verdict;
    }
    let is_year = |check: &&NumericVerification| {
        check.normalized_claim == check.claim_value && check.claim_value.len() == 4
    };
    let mut core = checks.iter().filter(|check| !is_year(check)).peekable();
    let has_core = core.peek().is_some();
    let refuted = has_core && core.all(|check| check.status == NumberStatus::Mismatch);
    verdict.min(if refuted { Verdict::Contradicted } else { Verdict::Partial })
}
