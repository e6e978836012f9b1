//! Statistics of lists.

use super::error::MathError;
use super::function::{Function, MANY, Notes, function, get, items};
use super::number::Number;
use super::unit::Unit;
use super::value::{Quantity, Value, ValueResult};

pub(super) const FUNCTIONS: &[Function] = &[
    function(&["sum", "total"], "sum([1, 2, 3])", (1, MANY), |v, _| sum(v)),
    function(&["product", "prod"], "product([1, 2, 3])", (1, MANY), |v, _| product(v)),
    function(&["mean", "average", "avg"], "mean([1, 2, 3])", (1, MANY), |v, _| mean(v)),
    function(&["geometric_mean", "geomean"], "geometric_mean([1, 2, 3])", (1, MANY), |v, _| {
        geometric_mean(v)
    }),
    function(&["weighted_mean"], "weighted_mean([values], [weights])", (2, 2), |v, _| {
        weighted_mean(v)
    }),
    function(&["median"], "median([1, 2, 3])", (1, MANY), |v, _| median(v)),
    function(&["mode"], "mode([1, 2, 2])", (1, MANY), |v, _| mode(v)),
    function(&["min"], "min(a, b, …)", (1, MANY), |v, _| extreme(v, true)),
    function(&["max"], "max(a, b, …)", (1, MANY), |v, _| extreme(v, false)),
    function(&["range"], "range([1, 2, 3])", (1, MANY), |v, _| {
        extreme(v, false)?.subtract(&extreme(v, true)?)
    }),
    function(&["count", "len", "length"], "count([1, 2, 3])", (1, MANY), |v, _| Ok(count(v))),
    function(&["sort", "sorted"], "sort([3, 1, 2])", (1, MANY), |v, _| sort(v)),
    function(
        &["stdev", "stdev_sample", "std", "stddev", "sd"],
        "stdev([1, 2, 3])",
        (1, MANY),
        |v, n| deviation(v, n, Of::Sample),
    ),
    function(
        &["stdev_population", "pstdev", "stdevp"],
        "stdev_population([1, 2, 3])",
        (1, MANY),
        |v, n| deviation(v, n, Of::Population),
    ),
    function(&["variance", "variance_sample", "var"], "variance([1, 2, 3])", (1, MANY), |v, n| {
        variance(v, n, Of::Sample)
    }),
    function(
        &["variance_population", "pvariance", "varp"],
        "variance_population([1, 2, 3])",
        (1, MANY),
        |v, n| variance(v, n, Of::Population),
    ),
    function(&["percentile"], "percentile([1, 2, 3], 90)", (2, 3), percentile),
    function(&["quartiles"], "quartiles([1, 2, 3])", (1, 1), quartiles),
    function(&["correlation", "corr", "pearson"], "correlation([x], [y])", (2, 2), correlation),
    function(&["linear_regression"], "linear_regression([x], [y])", (2, 2), linear_regression),
];

/// The most words of an exact fraction that is a sum.
const MAX_WORDS: u64 = 64;

/// Whose spread is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Sample,
    Population,
}

/// Numbers of one unit.
struct Sample {
    numbers: Vec<Number>,
    unit: Unit,
}

impl Sample {
    /// Reads quantities of one kind, in the unit of the first.
    fn read(values: &[Value]) -> Result<Self, MathError> {
        let unit = match items(values) {
            [] => return Err(MathError::new("an empty list")),
            [first, ..] => first.as_quantity()?.unit.clone(),
        };
        let convert = |value: &Value| Ok(value.as_quantity()?.convert(&unit)?.number);
        let numbers = items(values).iter().map(convert).collect::<Result<_, MathError>>()?;
        Ok(Self { numbers, unit })
    }

    /// Reads quantities whose sums and squares make sense: no readings of a scale.
    fn read_amounts(values: &[Value]) -> Result<Self, MathError> {
        let sample = Self::read(values)?;
        sample.value(Number::integer(0)).check_scale()?;
        Ok(sample)
    }

    fn value(&self, number: Number) -> Quantity {
        Quantity { number, unit: self.unit.clone() }
    }

    fn count(&self) -> Number {
        Number::integer(self.numbers.len())
    }

    fn total(&self) -> Result<Number, MathError> {
        total(&self.numbers)
    }

    fn mean(&self) -> Result<Number, MathError> {
        self.total()?.divide(&self.count())
    }

    fn sorted(mut self) -> Self {
        self.numbers.sort_by(Number::compare);
        self
    }

    /// The sum of products of the deviations from the means of the two.
    fn products(&self, other: &Self) -> Result<Number, MathError> {
        let (mean, other_mean) = (self.mean()?, other.mean()?);
        let pairs = self.numbers.iter().zip(&other.numbers);
        let products = pairs.map(|(a, b)| a.subtract(&mean)?.multiply(&b.subtract(&other_mean)?));
        total(&products.collect::<Result<Vec<_>, _>>()?)
    }
}

/// The sum, in pairs: that keeps the fractions small, and the error of rounded numbers as well.
fn total(numbers: &[Number]) -> Result<Number, MathError> {
    match numbers {
        [] => Ok(Number::integer(0)),
        [one] => Ok(one.clone()),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let sum = total(left)?.add(&total(right)?)?;
            // Its decimals never end, and nobody reads such a fraction.
            if sum.words() > MAX_WORDS && sum.as_integer().is_none() {
                return Number::approximate(sum.to_f64());
            }
            Ok(sum)
        }
    }
}

fn sum(values: &[Value]) -> ValueResult {
    if items(values).is_empty() {
        return Ok(Number::integer(0).into());
    }
    let sample = Sample::read_amounts(values)?;
    Ok(Value::Quantity(sample.value(sample.total()?)))
}

fn product(values: &[Value]) -> ValueResult {
    items(values)
        .iter()
        .try_fold(Value::from(Number::one()), |product, item| product.multiply(item))
}

fn mean(values: &[Value]) -> ValueResult {
    let sample = Sample::read(values)?;
    Ok(Value::Quantity(sample.value(sample.mean()?)))
}

fn geometric_mean(values: &[Value]) -> ValueResult {
    let sample = Sample::read_amounts(values)?;
    if sample.numbers.iter().any(|number| number.is_negative() || number.is_zero()) {
        return Err(MathError::new("a geometric mean is of numbers above zero"));
    }
    let logarithms = sample.numbers.iter().map(|number| number.to_f64().ln());
    let count = sample.count().to_f64();
    let number = Number::approximate((logarithms.sum::<f64>() / count).exp())?;
    Ok(Value::Quantity(sample.value(number)))
}

fn weighted_mean(values: &[Value]) -> ValueResult {
    let (sample, weights) = pair(values, 1)?;
    let pairs = sample.numbers.iter().zip(&weights.numbers);
    let products = pairs.map(|(value, weight)| value.multiply(weight));
    let number = total(&products.collect::<Result<Vec<_>, _>>()?)?.divide(&weights.total()?)?;
    Ok(Value::Quantity(sample.value(number)))
}

fn median(values: &[Value]) -> ValueResult {
    let sample = Sample::read(values)?.sorted();
    let number = interpolate(&sample.numbers, &half(&sample.numbers)?)?;
    Ok(Value::Quantity(sample.value(number)))
}

/// The middle position, counted from zero.
fn half(numbers: &[Number]) -> Result<Number, MathError> {
    Number::integer(numbers.len() - 1).divide(&Number::integer(2))
}

fn mode(values: &[Value]) -> ValueResult {
    let sample = Sample::read(values)?.sorted();
    let runs = sample.numbers.chunk_by(|a, b| a.compare(b).is_eq());
    let most = runs.clone().map(<[Number]>::len).max().unwrap_or(0);
    let modes: Vec<Value> = runs
        .filter(|run| run.len() == most)
        .filter_map(|run| run.first())
        .map(|number| Value::Quantity(sample.value(number.clone())))
        .collect();
    match <[Value; 1]>::try_from(modes) {
        Ok([single]) => Ok(single),
        Err(several) => Ok(Value::List(several)),
    }
}

fn extreme(values: &[Value], smallest: bool) -> ValueResult {
    let mut found: Option<&Value> = None;
    for item in items(values) {
        let better = match found {
            None => true,
            Some(best) if smallest => item.compare(best)?.is_lt(),
            Some(best) => item.compare(best)?.is_gt(),
        };
        if better {
            found = Some(item);
        }
    }
    found.cloned().ok_or_else(|| MathError::new("an empty list"))
}

fn count(values: &[Value]) -> Value {
    Number::integer(items(values).len()).into()
}

fn sort(values: &[Value]) -> ValueResult {
    let sample = Sample::read(values)?.sorted();
    let numbers = sample.numbers.iter().cloned();
    Ok(Value::List(numbers.map(|number| Value::Quantity(sample.value(number))).collect()))
}

fn variance(values: &[Value], notes: &mut Notes, of: Of) -> ValueResult {
    let sample = Sample::read_amounts(values)?;
    let mut count = sample.numbers.len();
    if of == Of::Sample {
        notes.add("of a sample (n - 1); write …_population for a population (n)");
        count -= 1;
    }
    if count == 0 {
        return Err(MathError::new("the spread of a sample needs at least two values"));
    }
    let number = sample.products(&sample)?.divide(&Number::integer(count))?;
    let unit = sample.unit.power(2)?;
    Ok(Value::Quantity(Quantity { number, unit }))
}

fn deviation(values: &[Value], notes: &mut Notes, of: Of) -> ValueResult {
    Ok(Value::Quantity(variance(values, notes, of)?.as_quantity()?.root(2)?))
}

/// The value at a position between the first (0) and the last of sorted numbers.
fn interpolate(sorted: &[Number], position: &Number) -> Result<Number, MathError> {
    let below = position.floor()?;
    let part = position.subtract(&below)?;
    let at = |index: Option<i64>| {
        let index = usize::try_from(index.unwrap_or(0)).unwrap_or(0);
        sorted.get(index.min(sorted.len() - 1)).ok_or_else(|| MathError::new("an empty list"))
    };
    let low = at(below.as_i64())?;
    let high = at(below.as_i64().map(|index| index + 1))?;
    low.add(&high.subtract(low)?.multiply(&part)?)
}

fn percentile(values: &[Value], notes: &mut Notes) -> ValueResult {
    let method = match values.get(2) {
        None => "linear",
        Some(Value::Text(name)) => name.as_str(),
        Some(other) => return Err(unknown_method(&other.kind())),
    };
    let sample = Sample::read(values.get(..1).unwrap_or_default())?.sorted();
    let share = get(values, 1)?.as_number()?.divide(&Number::integer(100))?;
    if share.is_negative() || share.compare(&Number::one()).is_gt() {
        return Err(MathError::new("a percentile lies between 0 and 100"));
    }
    let count = sample.count();
    let last = count.subtract(&Number::one())?;
    let position = match method {
        "linear" => {
            notes.add("linear interpolation; other methods: nearest, exclusive");
            share.multiply(&last)?
        }
        "nearest" => share.multiply(&count)?.ceil()?.subtract(&Number::one())?,
        "exclusive" => {
            let above = count.add(&Number::one())?;
            let position = share.multiply(&above)?.subtract(&Number::one())?;
            if position.is_negative() || position.compare(&last).is_gt() {
                return Err(MathError::new("too few values for that percentile without its ends"));
            }
            position
        }
        other => return Err(unknown_method(other)),
    };
    let position = if position.is_negative() { Number::integer(0) } else { position };
    let number = interpolate(&sample.numbers, &position)?;
    Ok(Value::Quantity(sample.value(number)))
}

fn unknown_method(name: &str) -> MathError {
    MathError::new(format!("unknown method of percentiles ({name})"))
        .hint("write percentile([1, 2, 3], 90, linear), nearest or exclusive")
}

fn quartiles(values: &[Value], notes: &mut Notes) -> ValueResult {
    let list = get(values, 0)?.clone();
    let quarter = |share: i64, notes: &mut Notes| {
        percentile(&[list.clone(), Number::integer(share).into()], notes)
    };
    Ok(Value::List(vec![quarter(25, notes)?, quarter(50, notes)?, quarter(75, notes)?]))
}

/// Two lists of one length, each of at least so many values.
fn pair(values: &[Value], least: usize) -> Result<(Sample, Sample), MathError> {
    let first = Sample::read_amounts(values.get(..1).unwrap_or_default())?;
    let second = Sample::read_amounts(values.get(1..2).unwrap_or_default())?;
    let (left, right) = (first.numbers.len(), second.numbers.len());
    if left != right {
        let message = format!("two lists of different lengths ({left} and {right})");
        return Err(MathError::new(message).hint("give one value of each list for each pair"));
    }
    if left < least {
        return Err(MathError::new(format!("fewer than {least} pairs of values")));
    }
    Ok((first, second))
}

fn correlation(values: &[Value], notes: &mut Notes) -> ValueResult {
    let (x, y) = pair(values, 2)?;
    let spread = x.products(&x)?.multiply(&y.products(&y)?)?;
    if spread.is_zero() {
        return Err(MathError::new("no correlation with values that are all equal"));
    }
    notes.add("Pearson's correlation");
    Ok(x.products(&y)?.divide(&spread.root(2)?)?.into())
}

/// Slope and intercept of the line of least squares.
fn linear_regression(values: &[Value], notes: &mut Notes) -> ValueResult {
    let (x, y) = pair(values, 2)?;
    let spread = x.products(&x)?;
    if spread.is_zero() {
        return Err(MathError::new("no line through points whose first values are all equal"));
    }
    let slope = x.products(&y)?.divide(&spread)?;
    let intercept = y.mean()?.subtract(&slope.multiply(&x.mean()?)?)?;
    notes.add("slope and intercept of the line of least squares");
    let (unit, scale) = y.unit.multiply(&x.unit.power(-1)?)?;
    let slope = Quantity { number: slope.multiply(&scale)?, unit };
    Ok(Value::List(vec![Value::Quantity(slope), Value::Quantity(y.value(intercept))]))
}
