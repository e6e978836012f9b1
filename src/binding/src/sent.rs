//! The checks of what a worker sent along, for engines of any kind.

use antiphon_sandbox::check::{self, Refusal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

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

fn refused(refusal: Refusal) -> PyErr {
    PyValueError::new_err(refusal.0)
}
