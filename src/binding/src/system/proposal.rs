//! Calls that a person has to approve of, where Python makes them itself.

use antiphon_core::Fault;
use antiphon_core::approval::{Decision, Proposal as Proposed};
use antiphon_core::value::Value;
use antiphon_reply::JsonSchemas;
use pyo3::prelude::*;

use crate::fault::to_exception;
use crate::value::json;
use crate::value::object::Object;

/// A call of a tool that a person has to approve of.
///
/// `arguments` are JSON values by name, and `parameters` is their schema.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Proposal(Proposed);

#[pymethods]
impl Proposal {
    #[new]
    fn new(
        tool: &str,
        arguments: &Bound<'_, PyAny>,
        parameters: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        Ok(Self(Proposed::new(tool, json::read(arguments)?, json::read(parameters)?)))
    }

    /// What a person is asked, as a dict.
    #[getter]
    fn question<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, &self.0.question())?)
    }

    /// What an answer decides: whether the call is made, with which arguments if not its own,
    /// and why not, if that was said.
    ///
    /// Raises the `antiphon.errors` class of `approval_invalid` if it decides nothing, or its
    /// arguments do not fit.
    fn decide<'py>(&self, py: Python<'py>, answer: Py<PyAny>) -> PyResult<DecisionParts<'py>> {
        let shown = answer.bind(py).get_type().to_string();
        let decided = match Object(answer).to_json() {
            Some(answer) => self.0.decide(&answer, Some(&JsonSchemas)),
            None => Err(self.0.undecided(&shown)),
        };
        decision_parts(py, decided)
    }

    /// `decide`, of an answer that a run has taken, which is tied to its call.
    ///
    /// Raises the `antiphon.errors` class of `replay_diverged` if it is about another call.
    fn recall<'py>(&self, py: Python<'py>, answer: Py<PyAny>) -> PyResult<DecisionParts<'py>> {
        let answer = Object(answer).to_json().unwrap_or_default();
        decision_parts(py, self.0.decode_answer(&answer, Some(&JsonSchemas)))
    }

    fn __repr__(&self) -> String {
        format!("Proposal({:?})", self.0.tool)
    }
}

/// Whether a call is made, with which arguments if not its own, and why not.
type DecisionParts<'py> = (bool, Option<Bound<'py, PyAny>>, Option<String>);

fn decision_parts(py: Python<'_>, decided: Result<Decision, Fault>) -> PyResult<DecisionParts<'_>> {
    match decided.map_err(|fault| to_exception(py, &fault))? {
        Decision::Approve => Ok((true, None, None)),
        Decision::Change(arguments) => {
            Ok((true, Some(pythonize::pythonize(py, &arguments)?), None))
        }
        Decision::Refuse(reason) => Ok((false, None, reason)),
    }
}
