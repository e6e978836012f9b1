//! Markdown for notebooks and reports.

use std::collections::BTreeMap;

use pyo3::prelude::*;

/// Renders Markdown that is not trusted as HTML: HTML in the text is shown as text, nothing is
/// loaded from a network, and links lead to web and mail addresses only.
///
/// `places` has the id of a place of the page for each label of a reference, such as `[tea]`, that
/// the text does not define.
#[pyfunction]
#[pyo3(signature = (text, places=None, /))]
pub(crate) fn markdown_html(text: &str, places: Option<BTreeMap<String, String>>) -> String {
    antiphon_markdown::to_html_with_places(text, &places.unwrap_or_default())
}
