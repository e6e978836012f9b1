//! Calls of nodes and roles by their kinds and digests.

use antiphon_core::budget::BudgetCharge;
use antiphon_core::checkpoint::{self, Callee};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What is called, by its name.
pub(crate) fn callee(kind: &str) -> PyResult<Callee> {
    let mut known = Callee::ALL.into_iter().filter(|callee| *callee != Callee::Graph);
    let found = known.find(|callee| callee.as_str() == kind);
    found.ok_or_else(|| {
        PyValueError::new_err(format!("a call is `model`, `tool` or `step`, found: {kind}"))
    })
}

/// What a call counts as against the budgets, by the name of what is called.
pub(crate) fn charge(kind: &str) -> PyResult<BudgetCharge> {
    match kind {
        "model" => Ok(BudgetCharge::Model),
        "tool" => Ok(BudgetCharge::Tool),
        _ => Err(PyValueError::new_err(format!("a call is `model` or `tool`, found: {kind}"))),
    }
}

/// The digest of what a call is given that is part of another one: it is not taken for the
/// same call beside that one, which does not make it once what came of it is known.
pub(crate) fn digest_within(digest: u64, within: Option<&str>) -> u64 {
    within
        .map_or(digest, |key| checkpoint::digest(&[&digest.to_be_bytes(), key.as_bytes()].concat()))
}
