//! The documents below a folder.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::document::DocumentFormat;

use super::report::SkippedFiles;

/// The deepest folders that are entered.
const DEEPEST: usize = 64;

/// Folders of copies and of code, not of documents.
const PASSED: [&str; 5] = ["_sources", "_static", "node_modules", "__pycache__", "__MACOSX"];

/// A file that may be a document.
#[derive(Clone, Debug)]
pub(super) struct FoundFile {
    /// Its path below the folder, with `/`.
    pub(super) path: String,
    pub(super) file: PathBuf,
    pub(super) format: DocumentFormat,
    pub(super) size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub(super) modified: i64,
}

/// What lies below a folder.
#[derive(Debug, Default)]
pub(super) struct FolderSurvey {
    /// Documents in the order of their paths.
    pub(super) files: Vec<FoundFile>,
    /// What is left out, by reason.
    pub(super) skipped: BTreeMap<&'static str, SkippedFiles>,
}

impl FolderSurvey {
    /// Looks at all files below `root`. Hidden files are left out, and symbolic links unless `follow_links`.
    ///
    /// # Errors
    /// `root` itself cannot be read.
    pub(super) fn of(root: &Path, follow_links: bool) -> std::io::Result<Self> {
        let mut survey = Self::default();
        let mut visited = HashSet::new();
        fs::read_dir(root)?;
        let mut pending = vec![(root.to_owned(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = pending.pop() {
            let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let Ok(mut entries) = entries else {
                survey.skip("folder unreadable", &prefix);
                continue;
            };
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    survey.skip(
                        "name not UTF-8",
                        &format!("{prefix}{}", entry.file_name().display()),
                    );
                    continue;
                };
                let path = format!("{prefix}{name}");
                let Some(metadata) = survey.metadata(&entry, &path, follow_links) else { continue };
                if metadata.is_file() {
                    survey.add(path, entry.path(), &metadata);
                } else if metadata.is_dir()
                    && depth < DEEPEST
                    && visited.insert(identity(&entry.path(), &metadata))
                {
                    pending.push((entry.path(), format!("{path}/"), depth + 1));
                }
            }
        }
        survey.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(survey)
    }

    /// What an entry is; nothing if it is left out.
    fn metadata(
        &mut self,
        entry: &fs::DirEntry,
        path: &str,
        follow_links: bool,
    ) -> Option<Metadata> {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") || PASSED.iter().any(|passed| name == *passed)
        {
            return None;
        }
        let metadata = entry.metadata().ok();
        if metadata.as_ref().is_some_and(Metadata::is_symlink) {
            if !follow_links {
                self.skip("symbolic link", path);
                return None;
            }
            let target = fs::metadata(entry.path()).ok();
            if target.is_none() {
                self.skip("broken link", path);
            }
            return target;
        }
        metadata
    }

    fn add(&mut self, path: String, file: PathBuf, metadata: &Metadata) {
        let Some(format) = DocumentFormat::of_path(&file) else {
            self.skip("no document", &path);
            return;
        };
        let modified =
            metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified =
            modified.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default();
        self.files.push(FoundFile { path, file, format, size: metadata.len(), modified });
    }

    fn skip(&mut self, reason: &'static str, path: &str) {
        self.skipped.entry(reason).or_default().add(path);
    }
}

/// The same for all links to a folder.
#[cfg(unix)]
fn identity(_: &Path, metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
