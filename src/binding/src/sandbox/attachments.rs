//! The checks of what a worker sent along, for engines of any kind.

use antiphon_runtime::sandbox::JobOutput;
use antiphon_sandbox::check::{self, Refusal};
use antiphon_sandbox::outcome::{self, OutcomeBody};
use antiphon_sandbox::tagged;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::limits::limits_of;
use super::native_sandbox::outcome_in;
use crate::value::json;

/// Checks the outcome of a job as its worker reports it.
///
/// Args:
///     body: what the worker sent.
///     limits: all limits of the job.
///     want: the parts of the result that the job wants.
///
/// Returns:
///     The outcome without tables and figures, the names of the tables that follow, and the
///     number of figures.
///
/// Raises:
///     `ValueError`: no honest worker sends this.
#[pyfunction]
pub(crate) fn sandbox_outcome<'py>(
    py: Python<'py>,
    body: &[u8],
    limits: &Bound<'py, PyDict>,
    want: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyDict>, Vec<String>, u64)> {
    let want: Vec<JobOutput> = json::read(want)?;
    let budget = outcome::granted(limits_of(py, limits, false)?.budget(), &want);
    let found = py.detach(|| {
        let body = OutcomeBody::read(body, &budget)?;
        let tables = body.tables.iter().map(|table| table.name.clone()).collect();
        let figures = body.figures;
        Ok((body.check(&budget)?, tables, figures))
    });
    let (outcome, tables, figures) = found.map_err(PyValueError::new_err::<&str>)?;
    Ok((outcome_in(py, &outcome)?, tables, figures))
}

/// Checks that bytes are a plain table as an Arrow IPC stream, so that a library may read it.
///
/// Args:
///     stream: what a worker sent.
///
/// Returns:
///     How many rows and columns it has.
///
/// Raises:
///     `ValueError`: no honest worker sends this.
#[pyfunction]
pub(crate) fn sandbox_table(py: Python<'_>, stream: &[u8]) -> PyResult<(u64, u64)> {
    let extent = py.detach(|| check::table(stream)).map_err(refused)?;
    Ok((extent.rows, extent.columns))
}

/// Checks that bytes are one PNG image, so that a library may show it.
///
/// Args:
///     image: what a worker sent.
///     pixels: how many it may have.
///
/// Returns:
///     Its width and height in pixels.
///
/// Raises:
///     `ValueError`: no honest worker sends this.
#[pyfunction]
pub(crate) fn sandbox_figure(py: Python<'_>, image: &[u8], pixels: u64) -> PyResult<(u32, u32)> {
    py.detach(|| check::figure(image, pixels)).map_err(refused)
}

/// Checks that JSON text does not take a reader more memory than it may.
///
/// Args:
///     text: what a worker sent.
///     depth: containers inside containers that it may have.
///     nodes: items that it may have, each dict counted as four.
///
/// Raises:
///     `ValueError`: it has more.
#[pyfunction]
pub(crate) fn sandbox_json(py: Python<'_>, text: &[u8], depth: u64, nodes: u64) -> PyResult<()> {
    py.detach(|| tagged::measure(text, depth, nodes)).map_err(|refusal| match refusal {
        tagged::ValueFault::TooLarge(what) => {
            PyValueError::new_err(format!("it is over its bound: {what}"))
        }
        tagged::ValueFault::Malformed(why) => PyValueError::new_err(why),
    })
}

fn refused(refusal: Refusal) -> PyErr {
    PyValueError::new_err(refusal.0)
}
