//! Tables and figures that follow an outcome. Each is bounded, all together are bounded, and
//! each is checked before the next one is accepted.

use antiphon_runtime::redact;
use antiphon_runtime::sandbox::{JobTable, SandboxBudget};

use crate::check;
use crate::outcome::{OutcomeBody, TableHeader};

/// The attachments that have arrived and are valid.
#[derive(Default)]
pub(super) struct ReceivedAttachments {
    tables: Vec<JobTable>,
    figures: Vec<Vec<u8>>,
    /// The bytes of tables, and of figures.
    taken: (u64, u64),
}

impl ReceivedAttachments {
    /// The largest next attachment, in bytes.
    pub(super) fn bound(&self, announced: &[TableHeader], budget: &SandboxBudget) -> u64 {
        if self.tables.len() < announced.len() {
            budget.table_bytes.min(budget.tables_bytes.saturating_sub(self.taken.0))
        } else {
            budget.figure_bytes.min(budget.figures_bytes.saturating_sub(self.taken.1))
        }
    }

    /// Accepts the next attachment.
    ///
    /// Errors: the violation of the protocol, in words.
    pub(super) fn take(
        &mut self,
        mut bytes: Vec<u8>,
        announced: &[TableHeader],
        budget: &SandboxBudget,
    ) -> Result<(), String> {
        let size = bytes.len() as u64;
        if let Some(about) = announced.get(self.tables.len()) {
            redact::mask_bytes(&mut bytes);
            let extent = check::table(&bytes)
                .map_err(|why| format!("an attachment is not a valid table: {why}"))?;
            // The announced size is not trusted.
            let check::TableExtent { rows, columns } = extent;
            self.tables.push(JobTable { name: about.name.clone(), rows, columns, bytes });
            self.taken.0 += size;
        } else {
            check::figure(&bytes, budget.figure_pixels)
                .map_err(|why| format!("an attachment is not a valid figure: {why}"))?;
            self.figures.push(bytes);
            self.taken.1 += size;
        }
        Ok(())
    }

    /// Whether all announced attachments have arrived.
    pub(super) fn is_complete(&self, body: &OutcomeBody) -> bool {
        self.tables.len() == body.tables.len() && self.figures.len() as u64 == body.figures
    }

    /// The tables and the figures.
    pub(super) fn into_parts(self) -> (Vec<JobTable>, Vec<Vec<u8>>) {
        (self.tables, self.figures)
    }
}
