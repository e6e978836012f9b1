//! Whether a number that no text states follows from numbers that one does.

use super::comparison::QuantityVerdict;
use super::quantity::{QuantityBound, QuantityChange, QuantityKind, StatedQuantity, quantities};
use super::unit::contains;

/// The most numbers that a sum may have which the sentence names.
const MOST: usize = 8;
/// The most that a sum may have which it does not name.
const MOST_UNNAMED: usize = 4;
/// Words of a sentence that states a sum.
const SUM: &str = "total totals together altogether sum combined both overall all plus insgesamt \
                   zusammen summe gesamt total ensemble somme suma total juntos totale insieme somma";
/// Words of a sentence that states a difference.
const DIFFERENCE: &str = "difference differ differs more less fewer gap longer shorter higher lower \
                          larger smaller older younger later earlier faster slower bigger cheaper \
                          minus remain remains left increase increased decrease decreased rose fell \
                          grew dropped unterschied differenz mehr weniger länger kürzer höher \
                          niedriger größer kleiner gestiegen gesunken différence plus moins más \
                          menos diferencia differenza più meno";

/// How a number follows from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedNumber {
    /// `sum`, `difference`, `ratio` or `growth`.
    pub operation: &'static str,
    /// The numbers that it follows from, at full length with their units.
    pub operands: Vec<String>,
}

impl ComputedNumber {
    /// How `number`, as `sentence` writes it, follows from numbers of `known`; none if it does not.
    ///
    /// The sentence has to say what it states: `in all`, `fewer`, a percentage, how many times. It
    /// follows from the known numbers that the sentence names, all of a sum and two of anything
    /// else; if it names less than two, from all that are known, if they are few. So there is one
    /// way to compute it, and no number can be composed of parts that happen to fit.
    ///
    /// ```
    /// use antiphon_figures::{ComputedNumber, quantities};
    /// let known = quantities("Rome has 12 servers, Oslo has 5.");
    /// let find = |number, sentence| ComputedNumber::find(number, sentence, &known);
    /// let sum = find("17", "In all there are 17.").unwrap();
    /// assert_eq!((sum.operation, sum.operands), ("sum", vec!["12 servers".into(), "5".into()]));
    /// assert!(find("18", "In all there are 18.").is_none());
    /// assert!(find("17", "Rome has 17.").is_none());
    /// ```
    pub fn find(number: &str, sentence: &str, known: &[StatedQuantity]) -> Option<Self> {
        let stated = quantities(sentence);
        let place = stated.iter().position(|one| one.text == number)?;
        let own = stated.get(place)?;
        let known: Vec<&StatedQuantity> = known.iter().filter(|one| is_operand(one)).collect();
        let others = stated.iter().enumerate().filter(|(at, _)| *at != place);
        let others: Vec<_> = others.map(|(_, one)| one).filter(|one| is_operand(one)).collect();
        let named = taken(&others, known.clone());
        let claimed = claimed(own, sentence);
        let computed = |operands: &[&StatedQuantity], most| {
            claimed.iter().find_map(|operation| Self::of(own, operation, operands, most))
        };
        match named.len() {
            2.. => computed(&named, MOST),
            // What the sentence names beside it is no part of a computation with known numbers.
            count if count < others.len() => None,
            _ => computed(&known, MOST_UNNAMED),
        }
    }

    fn of(
        own: &StatedQuantity,
        operation: &'static str,
        all: &[&StatedQuantity],
        most: usize,
    ) -> Option<Self> {
        let is_scaled = matches!(operation, "sum" | "difference");
        let fits = |one: &&&StatedQuantity| {
            if is_scaled { own.scale_to(one).is_ok() } else { one.kind != QuantityKind::Percent }
        };
        let mut operands: Vec<&StatedQuantity> = all.iter().filter(fits).copied().collect();
        let most = if operation == "sum" { most } else { 2 };
        // A number that is known twice may be two things, or one.
        if !(2..=most).contains(&operands.len()) || most == MOST_UNNAMED && has_twins(&operands) {
            return None;
        }
        let is_rising = own.change == Some(QuantityChange::Up);
        match operation {
            "sum" => {}
            "growth" if is_rising => operands.sort_by(|a, b| a.value().total_cmp(&b.value())),
            _ => operands.sort_by(|a, b| b.value().total_cmp(&a.value())),
        }
        let mut is_computed = own.is_computed(operation, &operands);
        if !is_computed && operation == "ratio" {
            operands.reverse();
            is_computed = own.is_computed(operation, &operands);
        }
        let operands = operands.iter().map(|one| one.normalized()).collect();
        is_computed.then_some(Self { operation, operands })
    }
}

/// Whether it is a plain number that something can be computed with.
fn is_operand(one: &StatedQuantity) -> bool {
    one.bound == QuantityBound::Exact && one.upper.is_none() && one.kind != QuantityKind::Year
}

/// The known numbers that are named, each as often as it is named and known.
fn taken<'k>(
    named: &[&StatedQuantity],
    mut known: Vec<&'k StatedQuantity>,
) -> Vec<&'k StatedQuantity> {
    let mut take = |one: &&StatedQuantity| {
        let place = known.iter().position(|it| one.compare(it) == QuantityVerdict::Exact)?;
        Some(known.remove(place))
    };
    named.iter().filter_map(&mut take).collect()
}

fn has_twins(operands: &[&StatedQuantity]) -> bool {
    let mut names: Vec<String> = operands.iter().map(|one| one.normalized()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair.first() == pair.last())
}

/// What a sentence claims its number to be.
fn claimed(own: &StatedQuantity, sentence: &str) -> Vec<&'static str> {
    if !matches!(own.bound, QuantityBound::Exact | QuantityBound::About) || own.upper.is_some() {
        return Vec::new();
    }
    let lower = sentence.to_lowercase();
    let says = |words: &str| words.split_whitespace().any(|word| contains(&lower, word));
    let claims = [
        ("ratio", matches!(own.kind, QuantityKind::Percent if own.change.is_none())),
        ("ratio", own.kind == QuantityKind::Factor),
        ("growth", own.kind == QuantityKind::Percent && own.change.is_some()),
        ("sum", says(SUM)),
        ("difference", says(DIFFERENCE)),
    ];
    claims.into_iter().filter(|(_, is_claimed)| *is_claimed).map(|(name, _)| name).collect()
}
