//! The few liberties taken with a value that does not fit: a number for a
//! numeric text and the reverse, a list of one for a single value, an
//! alternative in another case, white space around a text. They are taken only
//! where the schema complains, so a value that fits is never touched.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value as Json;

use crate::depth::measure;
use crate::explain::explain;
use crate::mend::mend;
use crate::rules::SchemaRules;
use antiphon_core::reply::Violation;

/// Rounds of correction: a list of lists of numbers written as one text is three.
const ROUNDS: usize = 4;

/// Values that may be copied to try the branches of choices.
const FUEL: usize = 100_000;

/// A value that fits, and the places that were changed for it.
pub(crate) type CoercedValue = (Json, Vec<String>);

/// Makes `value` fit `rules`, or tells what is left that does not. `value` is
/// known not to fit as it is.
pub(crate) fn coerce(rules: &SchemaRules, mut value: Json) -> Result<CoercedValue, Vec<Violation>> {
    let mut hand = ValueFixer { rules, fuel: FUEL };
    let mut touched = BTreeSet::new();
    let mut wraps: Vec<ListWrap> = Vec::new();
    for _ in 0..ROUNDS {
        let Some(errors) = rules.errors(&value) else { break };
        let fixes = hand.fixes(&errors, &value, "");
        drop(errors);
        if fixes.is_empty() {
            break;
        }
        for fix in fixes {
            fix.apply(&mut value);
            touched.extend(fix.touched);
            wraps.extend(fix.wrap);
        }
        if rules.fits(&value) {
            return Ok((value, touched.into_iter().collect()));
        }
    }
    Err(unwrap_places(rules.violations(&value), wraps))
}

/// A model knows nothing of the list that was put around its value: an error
/// inside is reported as the error that there was no list.
fn unwrap_places(mut violations: Vec<Violation>, wraps: Vec<ListWrap>) -> Vec<Violation> {
    for wrap in wraps {
        let inside = format!("{}/0", wrap.path);
        let before = violations.len();
        violations.retain(|violation| !violation.path.starts_with(&inside));
        if violations.len() < before {
            violations.extend(wrap.complaints);
        }
    }
    violations
}

/// One correction.
struct ValueFix {
    path: String,
    value: Json,
    touched: Vec<String>,
    wrap: Option<ListWrap>,
}

/// A value that became the one item of a list.
struct ListWrap {
    path: String,
    complaints: Vec<Violation>,
}

impl ValueFix {
    fn apply(&self, value: &mut Json) {
        if let Some(place) = value.pointer_mut(&self.path) {
            place.clone_from(&self.value);
        }
    }
}

struct ValueFixer<'r> {
    rules: &'r SchemaRules,
    fuel: usize,
}

impl ValueFixer<'_> {
    /// A correction for each place of `value` that has one. The paths of the
    /// errors start with `above`, those of the corrections do not.
    fn fixes(
        &mut self,
        errors: &[ValidationError<'_>],
        value: &Json,
        above: &str,
    ) -> Vec<ValueFix> {
        let mut fixes: Vec<ValueFix> = Vec::new();
        let mut done = BTreeSet::new();
        for error in errors {
            let full = error.instance_path().as_str();
            let Some(path) = full.strip_prefix(above) else { continue };
            let Some(found) = value.pointer(path) else { continue };
            if done.contains(path) {
                continue;
            }
            if let Some(fix) = self.fix(error, found, path) {
                done.insert(path.to_owned());
                fixes.push(fix);
            }
        }
        fixes
    }

    fn fix(&mut self, error: &ValidationError<'_>, found: &Json, path: &str) -> Option<ValueFix> {
        if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind() {
            let branches = context.iter().enumerate();
            return branches.into_iter().find_map(|(index, errors)| {
                let branch = format!("{}/{index}", error.schema_path().as_str());
                self.branch(&branch, errors, (found, path, error.instance_path().as_str()))
            });
        }
        let value = mend(error.kind(), found)?;
        let wrapped = matches!(error.kind(), Kind::Type { .. }) && value.is_array();
        let wrap = wrapped.then(|| {
            let mut complaints = Vec::new();
            explain(error, &mut complaints);
            ListWrap { path: path.to_owned(), complaints }
        });
        Some(ValueFix { path: path.to_owned(), value, touched: vec![path.to_owned()], wrap })
    }

    /// `found` as one branch of a choice wants it. `place` is the value, its
    /// path below the value under correction, and its path in the errors.
    fn branch(
        &mut self,
        pointer: &str,
        errors: &[ValidationError<'_>],
        place: (&Json, &str, &str),
    ) -> Option<ValueFix> {
        let (found, path, above) = place;
        let rules = self.rules;
        let part = rules.part(pointer)?;
        self.fuel = self.fuel.checked_sub(measure(found).nodes)?;
        let mut value = found.clone();
        let mut touched = Vec::new();
        let mut fixes = self.fixes(errors, &value, above);
        for _ in 0..ROUNDS {
            if fixes.is_empty() {
                return None;
            }
            for fix in fixes {
                fix.apply(&mut value);
                touched.extend(fix.touched.iter().map(|inner| format!("{path}{inner}")));
            }
            if part.is_valid(&value) {
                return Some(ValueFix { path: path.to_owned(), value, touched, wrap: None });
            }
            let left: Vec<ValidationError<'_>> = part.iter_errors(&value).collect();
            fixes = self.fixes(&left, &value, "");
        }
        None
    }
}
