//! Reports whose citations are checked. Evidence is what stands at a position of a stored page; a
//! report is written from numbered evidence; its claims are verified one by one, corrected,
//! compared number by number, searched for and rewritten; and an audit by code alone lists what
//! does not hold.
//!
//! The crate decides and does nothing: [`CitationRun`] says what it needs, and its caller asks
//! models, searches and reads pages.
//!
//! ```
//! use std::collections::BTreeMap;
//! use antiphon_citation::{CitationInput, CitationQuery, CitationRun, CitedSource, PageOrigin};
//! use serde_json::json;
//! let text = "Green tea steeps for two minutes at 80 °C, says the guild of growers.".to_owned();
//! let url = "https://tea.example/green".to_owned();
//! let source = CitedSource { url, text, origin: PageOrigin::Fetched, ..CitedSource::default() };
//! let question = "How long does green tea steep?".to_owned();
//! let input = CitationInput { question, sources: vec![source], ..CitationInput::default() };
//! let mut run = CitationRun::new(input);
//! let mut requests = run.advance(&BTreeMap::new());
//! while !requests.is_empty() {
//!     let reply = |query: &CitationQuery| match query {
//!         CitationQuery::Write { .. } => json!("Green tea steeps for two minutes [0]. It is 5 m tall."),
//!         CitationQuery::Verify { items, .. } => {
//!             json!({"verdicts": [{"number": items[0].number, "verdict": "supported"}]})
//!         }
//!         _ => json!(null),
//!     };
//!     let replies = requests.iter().map(|it| (it.id.clone(), reply(&it.query))).collect();
//!     requests = run.advance(&replies);
//! }
//! let result = run.result();
//! assert!(result.report.starts_with("Green tea steeps for two minutes [Tea]."));
//! assert!(result.report.ends_with("It is 5 m tall (not confirmed by the sources)."));
//! assert!(result.audit.is_clean());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `span`, `word`, `sentence`, `block` | positions, words, sentences, and the blocks of Markdown |
//! | `source`, `evidence`, `quote` | pages, passages of them, and finding a quote in its page |
//! | `marker`, `compose`, `claim` | citations in a text, the report that a model has written, its claims |
//! | `report` | a report with its claims, and edits that keep both together |
//! | `layout`, `field` | reports in a caller's form: their texts as Markdown, and back |
//! | `confidence`, `verdict`, `correction` | how claims are checked, and whether citations fit |
//! | `clause`, `numeric`, `quotation` | numbers and quotations against evidence |
//! | `numeral`, `ordinal`, `label`, `era`, `rate`, `multiplicity`, `magnitude` | what claims state with numbers beside quantities |
//! | `model_order`, `relevance`, `removal` | what speaks to language models, what bears on the question, what is taken out |
//! | `ranking`, `hedge` | passages close to a fact; sentences that say that they are not certain |
//! | `settings`, `request`, `run` | the pipeline as a machine |
//! | `summary`, `result`, `audit` | what was done, what is delivered, and what does not hold |

mod audit;
mod block;
mod claim;
mod clause;
mod compose;
mod confidence;
mod correction;
mod era;
mod evidence;
mod field;
mod hedge;
mod label;
mod layout;
mod magnitude;
mod marker;
mod model_order;
mod multiplicity;
mod numeral;
mod numeric;
mod ordinal;
mod quotation;
mod quote;
mod ranking;
mod rate;
mod relevance;
mod removal;
mod report;
mod request;
mod result;
mod run;
mod sentence;
mod settings;
mod source;
mod span;
mod summary;
mod tagged_report;
mod verdict;
mod word;

pub use audit::{AuditEvidence, AuditReport, AuditRule, AuditViolation, audit};
pub use block::{BlockKind, TextBlock, blocks};
pub use claim::{Claim, RevisionKind, RevisionRecord};
pub use confidence::{ConfidenceLevel, confidence};
pub use correction::{CorrectionAction, CorrectionRecord, citation_score};
pub use evidence::{Evidence, ProposedSpan, page_score};
pub use field::{FieldKind, ReportField};
pub use hedge::{is_hedged, softened};
pub use marker::{BracketedText, brackets, code_span};
pub use model_order::{InstructionFilter, addresses_models, told_title};
pub use numeric::{
    NumberAnswer, NumberStatus, NumericVerification, ProposedComputation, check_numbers,
    verdict_after_numbers,
};
pub use quote::align;
pub use ranking::bm25;
pub use relevance::TopicWords;
pub use removal::without_repetitions;
pub use report::{CitedReport, EditSummary, TextEdit};
pub use request::{
    ArbitrationAction, ArbitrationReply, CitationOption, CitationQuery, CitationRequest,
    ComposeCall, ComposeReply, ComposeTool, FactScoreItem, FactsReply, FoundPage, NumbersReply,
    PagesReply, Passage, ReportReply, ScoresReply, SentenceReply, ShownPassage, SpansReply,
    VerdictItem, VerdictsReply, VerificationItem,
};
pub use result::{CitationResult, Reference};
pub use run::{
    CitationEvent, CitationInput, CitationRun, CitationStage, MissingReport, PendingRequests,
};
pub use sentence::sentences;
pub use settings::{CitationSettings, ContradictedAction, GenerationMode, SynthesisMode};
pub use source::{CitedSource, PageOrigin};
pub use span::TextSpan;
pub use summary::{CitationSummary, VerdictSummary};
pub use verdict::Verdict;
