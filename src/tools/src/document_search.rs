//! Search in a folder of documents: the tools `search_documents` and `read_document`, and the index behind them.
//!
//! | module | holds |
//! |---|---|
//! | [`index`] | a folder with its index: update, search, read |
//! | [`report`] | what an update did |
//! | [`search`], [`page`] | queries and passages; parts of a document |
//! | [`tools`] | the tools that models call |

mod chunk;
pub mod index;
mod location;
pub mod page;
mod query;
mod ranking;
mod refresh;
pub mod report;
mod schema;
pub mod search;
mod signs;
mod snippet;
mod store;
pub mod tools;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, SideEffect};
use antiphon_runtime::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::ToolFamily;
use crate::typed_tool::TypedTool;

pub use index::{DocumentIndex, IndexOptions};
pub use page::{DocumentPage, PageRequest};
pub use report::{IndexReport, SkippedFiles};
pub use search::{DocumentQuery, FoundPassage};
use tools::{DocumentResults, IndexDocuments, ReadDocument, SearchDocuments};

/// The family `document_search`.
#[derive(Debug)]
pub struct DocumentSearchTools;

/// The settings of [`DocumentSearchTools`].
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentSearchSettings {
    /// The folder of documents.
    pub folder: String,
    /// Whether words with the same English stem are the same.
    pub stemming: bool,
    /// Whether symbolic links are followed, also out of the folder.
    pub follow_links: bool,
    /// The most bytes of a file; larger ones are left out.
    pub max_file_bytes: u64,
    /// The folder of all indexes; empty for one below `XDG_CACHE_HOME` or `~/.cache`.
    pub cache: String,
    /// How many seconds pass before the folder is looked at again for changes.
    pub refresh_after: f64,
    /// Whether there is a tool `index_documents` too, for programs that show how indexing goes on.
    pub indexing: bool,
}

impl Default for DocumentSearchSettings {
    fn default() -> Self {
        Self {
            folder: String::new(),
            stemming: true,
            follow_links: false,
            max_file_bytes: 50_000_000,
            cache: String::new(),
            refresh_after: 60.0,
            indexing: false,
        }
    }
}

impl ToolFamily for DocumentSearchTools {
    const NAME: &'static str = "document_search";
    const DESCRIPTION: &'static str =
        "Search and read a folder of documents: HTML, Markdown, text, PDF, office files.";
    type Settings = DocumentSearchSettings;

    fn open(settings: DocumentSearchSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        if settings.folder.is_empty() {
            let message = "`folder` must be an existing folder: \"\"";
            return Err(Fault::new(FaultCode::ToolSettingInvalid, message));
        }
        let refresh_after = Duration::try_from_secs_f64(settings.refresh_after).map_err(|_| {
            let message =
                format!("`refresh_after` must be a number of seconds: {}", settings.refresh_after);
            Fault::new(FaultCode::ToolSettingInvalid, message)
        })?;
        let options = IndexOptions {
            stemming: settings.stemming,
            follow_links: settings.follow_links,
            max_file_bytes: settings.max_file_bytes,
            cache: (!settings.cache.is_empty()).then(|| PathBuf::from(settings.cache)),
            refresh_after,
        };
        let index = Arc::new(DocumentIndex::new(&PathBuf::from(settings.folder), options)?);
        let read = SideEffect::Read;
        let search = TypedTool::new(
            "search_documents",
            "Searches the user's documents. Returns passages with their path and position, best first. \
             Quotation marks enclose words that must follow each other; `begin*` finds words that begin so.",
            read,
            SearchDocuments::new(index.clone()),
        );
        let page = TypedTool::new(
            "read_document",
            "Reads a document by the path that `search_documents` returned, part by part.",
            read,
            ReadDocument::new(index.clone()),
        );
        let mut opened: Vec<Arc<dyn Tool>> = vec![
            Arc::new(search.results::<DocumentResults>()),
            Arc::new(page.results::<DocumentPage>()),
        ];
        if settings.indexing {
            let index = IndexDocuments::new(index);
            opened.push(Arc::new(TypedTool::new(
                "index_documents",
                "Updates the index.",
                read,
                index,
            )));
        }
        Ok(opened)
    }
}
