//! A folder of documents with its index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use antiphon_core::{Fault, FaultCode};
use rusqlite::Connection;

use crate::document::DocumentLimits;

use super::location::{IndexLocation, WriterLock, default_cache};
use super::page::{DocumentPage, PageRequest, read_page};
use super::refresh::{RefreshLimits, refresh};
use super::report::IndexReport;
use super::search::{DocumentQuery, FoundPassage, IndexSearch};
use super::walk::FolderSurvey;
use super::{schema, store};

/// How often a process looks whether another one has finished writing.
const POLL: Duration = Duration::from_millis(50);

/// What an index is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// Whether words with the same English stem are the same; true.
    pub stemming: bool,
    /// Whether symbolic links are followed, also out of the folder; false.
    pub follow_links: bool,
    /// The most bytes of a file; 50 MB.
    pub max_file_bytes: u64,
    /// The folder of all indexes; below `XDG_CACHE_HOME` or `~/.cache` by default.
    pub cache: Option<PathBuf>,
    /// How long an update is good for; a minute.
    pub refresh_after: Duration,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            stemming: true,
            follow_links: false,
            max_file_bytes: 50_000_000,
            cache: None,
            refresh_after: Duration::from_mins(1),
        }
    }
}

/// A folder of documents that can be searched. The index lies in a cache and is brought up to date before a search,
/// at most once per [`IndexOptions::refresh_after`]. One process writes it; others read what is there.
///
/// ```
/// use antiphon_tools::document_search::{DocumentIndex, DocumentQuery, IndexOptions};
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("tea.md"), "# Tea\n\nSteep green tea for two minutes.\n")?;
/// let cache = tempfile::tempdir()?;
/// let options = IndexOptions { cache: Some(cache.path().to_owned()), ..IndexOptions::default() };
/// let index = DocumentIndex::new(folder.path(), options)?;
/// let query = DocumentQuery { text: "how long does tea steep?".to_owned(), limit: 3, ..DocumentQuery::default() };
/// assert_eq!(index.search(&query)?[0].path, "tea.md");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DocumentIndex {
    root: PathBuf,
    location: IndexLocation,
    options: IndexOptions,
    state: Mutex<IndexState>,
    /// One update at a time.
    updating: Mutex<()>,
}

#[derive(Debug, Default)]
struct IndexState {
    reader: Option<Connection>,
    frequencies: HashMap<String, usize>,
    updated: Option<Instant>,
    notes: Vec<String>,
}

impl DocumentIndex {
    /// The index of `folder`. Nothing is read or written yet.
    ///
    /// # Errors
    /// `tool_setting_invalid` if `folder` is no folder.
    pub fn new(folder: &Path, options: IndexOptions) -> Result<Self, Fault> {
        let root = folder.canonicalize().ok().filter(|root| root.is_dir()).ok_or_else(|| {
            let message = format!("`folder` must be an existing folder: {}", folder.display());
            Fault::new(FaultCode::ToolSettingInvalid, message)
        })?;
        let cache = options.cache.clone().unwrap_or_else(default_cache);
        let variant =
            format!("{}{}", schema::VERSION, if options.stemming { "" } else { " exact" });
        let location = IndexLocation::new(&cache, &root, &variant);
        Ok(Self { root, location, options, state: Mutex::default(), updating: Mutex::default() })
    }

    /// The folder, as a canonical path.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// Brings the index up to date, for at most `time`. What is interrupted goes on at the next update. If another
    /// process is writing, its state is used, once it is complete.
    ///
    /// # Errors
    /// `document_index_unavailable` if the folder cannot be read, the cache cannot be written, or `cancelled` is set
    /// while another process writes.
    pub fn refresh(
        &self,
        time: Option<Duration>,
        cancelled: &AtomicBool,
    ) -> Result<IndexReport, Fault> {
        let _one = self.updating.lock().unwrap_or_else(PoisonError::into_inner);
        self.location
            .create()
            .map_err(|error| unavailable("the cache cannot be written", &error))?;
        let Some(lock) = self.acquire(time, cancelled)? else {
            let mut report = self.reading(|database, _| {
                Ok(IndexReport { documents: store::count(database)?, ..IndexReport::default() })
            })?;
            report.notes.push("another process is updating the index".to_owned());
            return Ok(report);
        };
        let survey = FolderSurvey::of(&self.root, self.options.follow_links)
            .map_err(|error| unavailable("the folder of documents cannot be read", &error))?;
        let update = || -> rusqlite::Result<IndexReport> {
            let mut database =
                schema::open_writer(&self.location.database(), self.options.stemming)?;
            refresh(&mut database, &survey, &self.limits(time, cancelled))
        };
        let mut notes = Vec::new();
        let mut updated = update();
        if updated.as_ref().is_err_and(schema::is_damage) {
            self.forget();
            self.location
                .discard(&lock)
                .map_err(|error| unavailable("the index cannot be replaced", &error))?;
            notes.push("the index was damaged and has been built again".to_owned());
            updated = update();
        }
        let mut report =
            updated.map_err(|error| unavailable("the index cannot be updated", &error))?;
        report.notes = notes;
        self.note(&report);
        Ok(report)
    }

    /// The best passages for a query.
    ///
    /// # Errors
    /// `document_index_unavailable` as [`DocumentIndex::refresh`].
    pub fn search(&self, query: &DocumentQuery) -> Result<Vec<FoundPassage>, Fault> {
        self.keep_current(&AtomicBool::new(false))?;
        self.reading(|database, frequencies| IndexSearch::new(database, frequencies, query)?.run())
    }

    /// A part of a document, by its path and possibly `#` and an anchor.
    ///
    /// # Errors
    /// `document_unknown` if there is no such document; `document_index_unavailable` as
    /// [`DocumentIndex::refresh`].
    pub fn read(&self, request: &PageRequest) -> Result<DocumentPage, Fault> {
        self.keep_current(&AtomicBool::new(false))?;
        self.reading(|database, _| read_page(database, request))?
    }

    /// How many documents can be found, and what a reader should know about the last update.
    ///
    /// # Errors
    /// `document_index_unavailable`.
    pub fn status(&self) -> Result<(usize, Vec<String>), Fault> {
        let documents = self.reading(|database, _| store::count(database))?;
        Ok((documents, self.state().notes.clone()))
    }

    /// Updates the index if the last update is too long ago. If it is cancelled, what was found so far can be
    /// searched.
    ///
    /// # Errors
    /// As [`DocumentIndex::refresh`].
    pub fn keep_current(&self, cancelled: &AtomicBool) -> Result<(), Fault> {
        let due = self.state().updated.is_none_or(|at| at.elapsed() >= self.options.refresh_after);
        if due {
            self.refresh(None, cancelled)?;
        }
        Ok(())
    }

    const fn limits<'l>(
        &self,
        time: Option<Duration>,
        cancelled: &'l AtomicBool,
    ) -> RefreshLimits<'l> {
        let document = DocumentLimits { characters: 2_000_000, unpacked: 200_000_000 };
        RefreshLimits { max_file_bytes: self.options.max_file_bytes, document, time, cancelled }
    }

    /// The right to write; none if another process has it and what it has written can be used.
    fn acquire(
        &self,
        time: Option<Duration>,
        cancelled: &AtomicBool,
    ) -> Result<Option<WriterLock>, Fault> {
        let start = Instant::now();
        loop {
            let lock = self.location.try_lock();
            if let Some(lock) =
                lock.map_err(|error| unavailable("the cache cannot be written", &error))?
            {
                return Ok(Some(lock));
            }
            let usable = self.reading(|database, _| store::is_complete(database)).unwrap_or(false);
            if usable {
                return Ok(None);
            }
            if cancelled.load(Ordering::Relaxed) || time.is_some_and(|time| start.elapsed() >= time)
            {
                let message = "another process is building the index of the folder";
                return Err(Fault::new(FaultCode::DocumentIndexUnavailable, message)
                    .hint("try again later"));
            }
            thread::sleep(POLL);
        }
    }

    /// Reads from the index; a damaged one is built again, once.
    fn reading<T>(
        &self,
        read: impl Fn(&Connection, &mut HashMap<String, usize>) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        let attempt = || -> rusqlite::Result<T> {
            let mut state = self.state();
            let IndexState { reader, frequencies, .. } = &mut *state;
            if reader.is_none() {
                *reader = Some(schema::open_reader(&self.location.database())?);
            }
            match reader {
                Some(database) => read(database, frequencies),
                None => Err(rusqlite::Error::QueryReturnedNoRows),
            }
        };
        attempt().map_err(|error| {
            if schema::is_damage(&error) {
                // The next update finds the damage and builds the index again.
                self.forget();
            }
            unavailable("the index cannot be read", &error)
        })
    }

    fn note(&self, report: &IndexReport) {
        let mut state = self.state();
        state.updated = (report.left == 0).then(Instant::now);
        state.notes.clone_from(&report.notes);
        if report.read > 0 || report.removed > 0 {
            state.frequencies.clear();
        }
    }

    fn forget(&self) {
        *self.state() = IndexState::default();
    }

    fn state(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets a flag when it goes: the caller no longer waits.
pub(super) struct CancelGuard(pub(super) Arc<AtomicBool>);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn unavailable(what: &str, error: &dyn std::fmt::Display) -> Fault {
    Fault::new(FaultCode::DocumentIndexUnavailable, format!("{what}: {error}"))
}
