//! The stages of [`antiphon_citation`] in a graph: what its machine asks is asked of roles and
//! tools, and what fails is handed back as failed. Any system whose answers are cited can use it.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@role`] | the roles, their prompts and the forms of their replies |
//! | `conversation` | what each role gets to read |
//! | `graph` | the nodes |

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_citation::{CitationRun, CitedSource, FoundPage};
use antiphon_core::Fault;
use async_trait::async_trait;
use serde_json::Value as Json;

mod conversation;
mod graph;
pub mod role;

pub use graph::{ENTRY, add};

use crate::node::NodeContext;
use crate::patch::Patch;
use crate::state::{Field, Record, Set, Worst, field_types};
use crate::system::System;

field_types! {
    Any: CitationRun;
}

/// A system whose answers are cited. Its own nodes start a run with [`CitesSources::keep_run`] and go
/// to [`ENTRY`]; after the last stage comes the node that [`add`] was given, which reads the result of
/// [`CitesSources::run`]. A run that is cut short is ended by [`CitationRun::conclude`].
#[async_trait]
pub trait CitesSources: System {
    /// The run, without the texts of its pages.
    const CITATION: Field<Self::State, Set, CitationRun>;
    /// The texts of its pages, by address: each is written once.
    const PAGES: Field<Self::State, Record, BTreeMap<String, String>>;
    /// What was replied, by the ids of requests.
    const REPLIES: Field<Self::State, Record, BTreeMap<String, Json>>;
    /// Where failures of nodes are recorded: those of the stages are taken back.
    const ERROR: Field<Self::State, Worst, Option<Fault>>;

    /// Where the stages write how many milliseconds they have left, with
    /// [`CitesSources::time_left`]; none without a limit.
    const TIME_LEFT_MS: Option<Field<Self::State, Set, usize>> = None;

    /// How long the stages may still take; none without a limit. Once no time is left, the node
    /// after the last stage comes next, with a run that is not finished.
    fn time_left(_: &NodeContext<Self>) -> Option<Duration> {
        None
    }

    /// The run in a state, without the texts of its pages.
    fn citation(state: &Self::State) -> &CitationRun;

    /// The texts of its pages in a state.
    fn pages(state: &Self::State) -> &BTreeMap<String, String>;

    /// The run in a state with the texts of its pages.
    fn run(state: &Self::State) -> CitationRun {
        let mut run = Self::citation(state).clone();
        run.attach_pages(Self::pages(state));
        run
    }

    /// Writes a run, and those of its pages that the state does not have.
    fn keep_run(state: &Self::State, mut run: CitationRun, patch: &mut Patch<Self::State>) {
        let mut pages = run.detach_pages();
        pages.retain(|url, _| !Self::pages(state).contains_key(url));
        if !pages.is_empty() {
            patch.set(Self::PAGES, pages);
        }
        patch.set(Self::CITATION, run);
    }

    /// The replies in a state.
    fn replies(state: &Self::State) -> &BTreeMap<String, Json>;

    /// Searches for a fact.
    ///
    /// # Errors
    /// Why nothing was found; the fact then stays uncertain.
    async fn search(
        cx: &NodeContext<Self>,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FoundPage>, Fault>;

    /// Fetches a page that was found.
    ///
    /// # Errors
    /// Why it has no text; it is then not cited.
    async fn read_page(cx: &NodeContext<Self>, url: &str) -> Result<CitedSource, Fault>;
}
