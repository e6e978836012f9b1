//! Brings an index up to date: reads what is new or has changed on several threads, and writes in batches, so that
//! an interrupted update goes on where it was.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use twox_hash::XxHash3_128;

use crate::document::{DocumentLimits, DocumentText, read_document};

use super::chunk::{DocumentChunk, divide};
use super::report::IndexReport;
use super::store::{self, StoredFile};
use super::walk::{FolderSurvey, FoundFile};

/// A batch ends after so many documents, or so many characters.
const BATCH: (usize, usize) = (400, 12_000_000);

/// A file that was changed this short before it was read may change again within the same tick of the clock of its
/// file system.
const TICK: i64 = 2_000_000_000;

/// The most threads that read.
const READERS: usize = 8;

/// What limits an update.
pub(super) struct RefreshLimits<'l> {
    /// The most bytes of a file.
    pub(super) max_file_bytes: u64,
    pub(super) document: DocumentLimits,
    /// No further file is read after this long.
    pub(super) time: Option<Duration>,
    /// Set to stop.
    pub(super) cancelled: &'l AtomicBool,
}

impl RefreshLimits<'_> {
    fn is_over(&self, start: Instant) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.time.is_some_and(|time| start.elapsed() >= time)
    }
}

/// A document that was read.
struct ReadFile<'f> {
    file: &'f FoundFile,
    known: Option<&'f StoredFile>,
    checked: i64,
    hash: Option<Vec<u8>>,
    content: FileContent,
}

enum FileContent {
    /// The bytes are those that were read before.
    Same,
    Text(Box<DocumentText>, Vec<DocumentChunk>),
    Refused(String),
}

/// Updates the tables by what the folder holds.
pub(super) fn refresh(
    database: &mut Connection,
    survey: &FolderSurvey,
    limits: &RefreshLimits<'_>,
) -> rusqlite::Result<IndexReport> {
    let start = Instant::now();
    let known = store::files(database)?;
    let mut report = IndexReport { files: survey.files.len(), ..IndexReport::default() };
    report.removed = remove_missing(database, &known, survey)?;
    let due: Vec<(&FoundFile, Option<&StoredFile>)> = survey
        .files
        .iter()
        .map(|file| (file, known.get(&file.path)))
        .filter(|(file, known)| known.is_none_or(|known| may_differ(file, known)))
        .collect();
    report.read = read_all(database, &due, limits, start)?;
    report.left = due.len() - report.read;
    report.documents = store::count(database)?;
    for (reason, files) in &survey.skipped {
        report.skipped.insert((*reason).to_owned(), files.clone());
    }
    for (reason, path) in store::refusals(database)? {
        report.skipped.entry(reason).or_default().add(&path);
    }
    if report.left == 0 {
        store::note_complete(database)?;
    }
    Ok(report)
}

fn may_differ(file: &FoundFile, known: &StoredFile) -> bool {
    let size = i64::try_from(file.size).unwrap_or(i64::MAX);
    known.size != size || known.modified != file.modified || known.modified >= known.checked - TICK
}

fn remove_missing(
    database: &mut Connection,
    known: &HashMap<String, StoredFile>,
    survey: &FolderSurvey,
) -> rusqlite::Result<usize> {
    let present: std::collections::HashSet<&str> =
        survey.files.iter().map(|file| file.path.as_str()).collect();
    let mut gone: Vec<_> =
        known.iter().filter(|(path, _)| !present.contains(path.as_str())).collect();
    gone.sort_by_key(|(path, _)| *path);
    for batch in gone.chunks(BATCH.0) {
        let change = database.transaction()?;
        for (_, file) in batch {
            store::remove(&change, file.id)?;
        }
        change.commit()?;
    }
    Ok(gone.len())
}

/// Reads files and writes what they hold; returns how many.
fn read_all(
    database: &mut Connection,
    due: &[(&FoundFile, Option<&StoredFile>)],
    limits: &RefreshLimits<'_>,
    start: Instant,
) -> rusqlite::Result<usize> {
    if due.is_empty() {
        return Ok(0);
    }
    let readers =
        thread::available_parallelism().map_or(1, NonZero::get).min(READERS).min(due.len());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel(4 * readers);
    thread::scope(|scope| {
        for _ in 0..readers {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || read_files(due, next, &sender, limits, start));
        }
        drop(sender);
        // A writer that fails drops the receiver, which ends the readers.
        let receiver = receiver;
        let mut done = 0;
        let mut pending = receiver.recv().ok();
        while pending.is_some() {
            let change = database.transaction()?;
            let (mut documents, mut characters) = (0, 0);
            while let Some(read) = pending.take() {
                characters += write(&change, read)?;
                documents += 1;
                pending = receiver.recv().ok();
                if documents >= BATCH.0 || characters >= BATCH.1 {
                    break;
                }
            }
            change.commit()?;
            done += documents;
        }
        Ok(done)
    })
}

fn read_files<'f>(
    due: &[(&'f FoundFile, Option<&'f StoredFile>)],
    next: &AtomicUsize,
    sender: &SyncSender<ReadFile<'f>>,
    limits: &RefreshLimits<'_>,
    start: Instant,
) {
    while !limits.is_over(start) {
        let Some((file, known)) = due.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
        if sender.send(read_file(file, *known, limits)).is_err() {
            return;
        }
    }
}

fn read_file<'f>(
    file: &'f FoundFile,
    known: Option<&'f StoredFile>,
    limits: &RefreshLimits<'_>,
) -> ReadFile<'f> {
    let checked = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let checked =
        checked.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default();
    let refused = |reason: String| ReadFile {
        file,
        known,
        checked,
        hash: None,
        content: FileContent::Refused(reason),
    };
    if file.size > limits.max_file_bytes {
        return refused("too large".to_owned());
    }
    let mut bytes = Vec::new();
    let opened = File::open(&file.file);
    let read =
        opened.and_then(|opened| opened.take(limits.max_file_bytes + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return refused(format!("unreadable: {}", error.kind()));
    }
    let hash = Some(XxHash3_128::oneshot(&bytes).to_le_bytes().to_vec());
    if known.is_some_and(|known| known.hash == hash) {
        return ReadFile { file, known, checked, hash, content: FileContent::Same };
    }
    // A parser that panics has met a file that nobody has tried with it; the others can still be read.
    let read = catch_unwind(AssertUnwindSafe(|| {
        read_document(&bytes, file.format, &limits.document).map(|text| {
            let chunks = divide(&text);
            FileContent::Text(Box::new(text), chunks)
        })
    }));
    let content = match read {
        Ok(Ok(content)) => content,
        Ok(Err(refusal)) => FileContent::Refused(refusal.reason().to_owned()),
        Err(_) => FileContent::Refused("damaged".to_owned()),
    };
    ReadFile { file, known, checked, hash, content }
}

/// Writes a document; returns how many characters it has.
fn write(database: &Connection, read: ReadFile<'_>) -> rusqlite::Result<usize> {
    let ReadFile { file, known, checked, hash, content } = read;
    if let (FileContent::Same, Some(known)) = (&content, known) {
        store::touch(database, known.id, file, checked)?;
        return Ok(0);
    }
    if let Some(known) = known {
        store::remove(database, known.id)?;
    }
    match content {
        FileContent::Text(text, chunks) => {
            let id = store::add(database, file, checked, hash.as_deref(), Ok(&text))?;
            store::add_chunks(database, id, text.title.as_deref().unwrap_or(&file.path), &chunks)?;
            Ok(chunks.last().map_or(0, |chunk| chunk.range.end))
        }
        FileContent::Refused(reason) => {
            store::add(database, file, checked, hash.as_deref(), Err(&reason)).map(|_| 0)
        }
        FileContent::Same => Ok(0),
    }
}
