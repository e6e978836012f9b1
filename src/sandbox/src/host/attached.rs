//! Tables and figures that follow an outcome: each has a bound, all together have one, and
//! each is checked before the next is waited for.

use antiphon_runtime::sandbox::{JobTable, SandboxBudget};

use super::body::{self, OutcomeBody};
use crate::check;

/// What has come so far, and was found to be sound.
#[derive(Default)]
pub(super) struct ReceivedAttachments {
    tables: Vec<JobTable>,
    figures: Vec<Vec<u8>>,
    /// Bytes of tables, and of figures.
    taken: (u64, u64),
}

impl ReceivedAttachments {
    /// Most bytes that the next one may have.
    pub(super) fn bound(&self, announced: &[body::AnnouncedTable], budget: &SandboxBudget) -> u64 {
        if self.tables.len() < announced.len() {
            budget.table_bytes.min(budget.tables_bytes.saturating_sub(self.taken.0))
        } else {
            budget.figure_bytes.min(budget.figures_bytes.saturating_sub(self.taken.1))
        }
    }

    /// Takes the next one.
    ///
    /// Errors: the breach of protocol, in words.
    pub(super) fn take(
        &mut self,
        bytes: Vec<u8>,
        announced: &[body::AnnouncedTable],
        budget: &SandboxBudget,
    ) -> Result<(), String> {
        let size = bytes.len() as u64;
        if let Some(about) = announced.get(self.tables.len()) {
            let extent =
                check::table(&bytes).map_err(|why| format!("what it sent is no table: {why}"))?;
            // What is said of it is not believed.
            let check::TableExtent { rows, columns } = extent;
            self.tables.push(JobTable { name: about.name.clone(), rows, columns, bytes });
            self.taken.0 += size;
        } else {
            check::figure(&bytes, budget.figure_pixels)
                .map_err(|why| format!("what it sent is no figure: {why}"))?;
            self.figures.push(bytes);
            self.taken.1 += size;
        }
        Ok(())
    }

    /// Whether all that an outcome announced is there.
    pub(super) fn is_complete(&self, body: &OutcomeBody) -> bool {
        self.tables.len() == body.tables.len() && self.figures.len() as u64 == body.figures
    }

    /// Tables and figures.
    pub(super) fn into_parts(self) -> (Vec<JobTable>, Vec<Vec<u8>>) {
        (self.tables, self.figures)
    }
}
