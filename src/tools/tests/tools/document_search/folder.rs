//! Folders of documents for tests.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use antiphon_tools::document_search::{
    DocumentIndex, DocumentQuery, FoundPassage, IndexOptions, IndexReport,
};
use tempfile::TempDir;

/// A folder with its cache; both go with the value.
pub(super) struct DocumentFolder {
    folder: TempDir,
    cache: TempDir,
}

impl DocumentFolder {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let made =
            Self { folder: tempfile::tempdir().unwrap(), cache: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            made.write(path, text.as_bytes());
        }
        made
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.cache.path().to_owned()
    }

    pub(super) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn options(&self) -> IndexOptions {
        IndexOptions { cache: Some(self.cache()), ..IndexOptions::default() }
    }

    pub(super) fn index(&self) -> DocumentIndex {
        self.index_with(self.options())
    }

    pub(super) fn index_with(&self, options: IndexOptions) -> DocumentIndex {
        DocumentIndex::new(self.folder.path(), options).unwrap()
    }

    /// The file of the only index in the cache.
    pub(super) fn database(&self) -> PathBuf {
        let mut folders = fs::read_dir(self.cache()).unwrap();
        folders.next().unwrap().unwrap().path().join("index.sqlite")
    }
}

pub(super) fn update(index: &DocumentIndex) -> IndexReport {
    index.refresh(None, &AtomicBool::new(false)).unwrap()
}

pub(super) fn search(index: &DocumentIndex, text: &str) -> Vec<FoundPassage> {
    let query = DocumentQuery { text: text.to_owned(), limit: 10, ..DocumentQuery::default() };
    index.search(&query).unwrap()
}

/// The paths of what is found.
pub(super) fn paths(index: &DocumentIndex, text: &str) -> Vec<String> {
    search(index, text).into_iter().map(|found| found.path).collect()
}
