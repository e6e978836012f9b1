//! What the pipeline delivers.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::AuditReport;
use crate::claim::Claim;
use crate::correction::CorrectionRecord;
use crate::evidence::Evidence;
use crate::source::{CitedSource, PageOrigin};
use crate::summary::CitationSummary;

/// Why nothing was verified, if the stages were ended before.
pub(crate) const NOT_FINISHED: &str = "not_finished";

/// A source that a report cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reference {
    /// Its place in the list, from 1.
    pub number: usize,
    /// What stands in brackets.
    pub key: String,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Where what is cited of it is from.
    pub origin: PageOrigin,
    /// The evidence of it that is cited.
    pub evidence: Vec<String>,
}

impl Reference {
    /// A line of the list: key, title and address, and that the page was not read for the
    /// report, if so. The path of a document is no link.
    fn markdown(&self) -> String {
        let path = self.url.strip_prefix("file://").unwrap_or(&self.url);
        let address = if self.url.contains("://") && path.len() == self.url.len() {
            format!("<{}>", self.url)
        } else {
            format!("`{}`", path.replace('`', "'"))
        };
        let title = self.title.replace(['[', ']', '\n'], " ");
        let note = match self.origin {
            PageOrigin::Fetched => "",
            PageOrigin::Known => " (known before, not read again)",
            PageOrigin::Found => " (not read, a snippet of it)",
        };
        match title.trim() {
            "" => format!("[{}] {address}{note}", self.key),
            title if title == path => format!("[{}] {address}{note}", self.key),
            title => format!("[{}] {title}, {address}{note}", self.key),
        }
    }
}

/// A report with all that is known about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CitationResult {
    /// Markdown with keys of sources in brackets, without the list of references.
    pub report: String,
    /// The list of references, in the order of first use.
    pub references: Vec<Reference>,
    /// The claims of the report, those that were removed included.
    pub claims: Vec<Claim>,
    /// All evidence.
    pub evidence: Vec<Evidence>,
    /// All sources, those that were found for facts included.
    pub sources: Vec<CitedSource>,
    /// Citations that were changed.
    pub corrections: Vec<CorrectionRecord>,
    /// What was done, in numbers.
    pub summary: CitationSummary,
    /// The promises that the report does not keep.
    pub audit: AuditReport,
    /// Whether no model has written it: its sentences are those of its evidence.
    pub is_degraded: bool,
    /// Whether all stages have ended.
    pub is_finished: bool,
}

impl CitationResult {
    /// Whether the stages were ended before they came to their end.
    pub fn is_cut_short(&self) -> bool {
        self.summary.verification_skipped.as_deref() == Some(NOT_FINISHED)
    }

    /// The report with its list of references, and with what does not hold, if anything.
    pub fn markdown(&self) -> String {
        let mut text = self.report.clone();
        if !self.references.is_empty() {
            text.push_str("\n\n## References\n");
            for reference in &self.references {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n- {}", reference.markdown());
            }
        }
        if !self.audit.is_clean() {
            let count = match self.audit.violations.len() {
                1 => "1 check of this report has failed".to_owned(),
                count => format!("{count} checks of this report have failed"),
            };
            let _ = write!(text, "\n\n> **Note:** {count}.");
        }
        text
    }
}
