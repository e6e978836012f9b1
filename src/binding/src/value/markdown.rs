//! Markdown for notebooks.

use pyo3::prelude::*;

/// Renders Markdown that is not trusted as HTML: HTML in the text is shown as text, nothing is
/// loaded from a network, and links lead to web and mail addresses only.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn markdown_html(text: &str) -> String {
    antiphon_markdown::to_html(text)
}
