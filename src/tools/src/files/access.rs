//! What the settings allow below the root.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_core::{Fault, FaultCode};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::FilesSettings;
use super::relative_path::RelativePath;
use super::root::{Root, TEMPORARY_PREFIX, failure, text_name, too_large};
use super::write_lock;

/// The most entries that one call looks at.
const MAX_VISITS: usize = 20_000;

/// A root with what its settings allow.
#[derive(Debug)]
pub(super) struct FolderAccess {
    pub(super) root: Root,
    pub(super) max_file_size: u64,
    quota: Option<u64>,
    max_files: Option<usize>,
    patterns: Option<GlobSet>,
    hidden: bool,
    /// Held while something is changed: what there is counts until then.
    writing: Arc<Mutex<()>>,
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    /// A symbolic link; it is not followed.
    Link,
    /// A pipe, device or socket.
    Special,
}

/// An entry that a walk has come to.
pub(super) struct FolderEntry {
    pub(super) path: RelativePath,
    pub(super) kind: EntryKind,
    pub(super) size: u64,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WalkResult {
    /// How many entries it has looked at.
    visits: usize,
    /// Whether there was more than a walk looks at.
    pub(super) cut: bool,
    /// Entries whose names are not Unicode.
    pub(super) unreadable: usize,
}

impl FolderAccess {
    pub(super) fn open(settings: &FilesSettings) -> Result<Self, Fault> {
        if settings.root.is_empty() {
            let fault = Fault::new(FaultCode::ToolSettingInvalid, "`root` must name a folder: ''");
            return Err(fault.hint("pass the folder that the tools may use"));
        }
        let patterns = match settings.patterns.as_slice() {
            [] => None,
            some => Some(glob_set(some, FaultCode::ToolSettingInvalid)?),
        };
        let root = Root::open(&settings.root)?;
        Ok(Self {
            writing: write_lock::of(root.host_path()),
            root,
            max_file_size: settings.max_file_size,
            quota: settings.quota,
            max_files: settings.max_files,
            patterns,
            hidden: settings.hidden,
        })
    }

    /// Waits for the changes of others through tools of this folder, and keeps further ones waiting.
    pub(super) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path that a model names, if the settings allow it.
    pub(super) fn resolve(&self, path: &str) -> Result<RelativePath, Fault> {
        let path = RelativePath::parse(path)?;
        if !self.shows(&path) {
            let message = format!("hidden files are not available here: {path}");
            return Err(Fault::new(FaultCode::PathRefused, message)
                .hint("use files whose names do not begin with a dot"));
        }
        Ok(path)
    }

    /// The path of a file, which the patterns of the settings must allow as well.
    pub(super) fn resolve_file(&self, path: &str) -> Result<RelativePath, Fault> {
        let path = self.resolve(path)?;
        if self.allows(&path) {
            return Ok(path);
        }
        let message = format!("files of this name are not available here: {path}");
        Err(Fault::new(FaultCode::PathRefused, message)
            .hint("call list_files to see what is available"))
    }

    /// Whether a path is one that listings show.
    fn shows(&self, path: &RelativePath) -> bool {
        !path.name().starts_with(TEMPORARY_PREFIX) && (self.hidden || !path.is_hidden())
    }

    /// Whether the patterns allow a file.
    pub(super) fn allows(&self, path: &RelativePath) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| patterns.is_match(path.as_str()))
    }

    /// Refuses to treat a folder as a whole if it may hold what the settings keep out of reach.
    pub(super) fn check_whole(&self, path: &RelativePath) -> Result<(), Fault> {
        let mut out_of_reach = self.patterns.is_some();
        let walk = self.walk_all(path, &mut |entry| {
            out_of_reach |= !self.shows(&entry.path);
            if out_of_reach { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if out_of_reach || walk.cut || walk.unreadable > 0 {
            let message = format!("the folder holds files that are not available here: {path}");
            return Err(
                Fault::new(FaultCode::PathRefused, message).hint("treat its files one by one")
            );
        }
        Ok(())
    }

    /// Refuses a file of `size` bytes that would exceed a limit. What there is is counted anew each
    /// time, because others may write below the root too.
    pub(super) fn check_size(&self, path: &RelativePath, size: u64) -> Result<(), Fault> {
        if size > self.max_file_size {
            return Err(too_large(path, self.max_file_size));
        }
        if self.quota.is_none() && self.max_files.is_none() {
            return Ok(());
        }
        let (mut total, mut files, mut is_new) = (size, 1_usize, true);
        let walk = self.walk_all(&RelativePath::default(), &mut |entry| {
            if entry.path == *path {
                is_new = false;
            } else if entry.kind == EntryKind::File {
                total = total.saturating_add(entry.size);
                files += 1;
            }
            ControlFlow::Continue(())
        })?;
        let exceeded = |message: String| {
            Err(Fault::new(FaultCode::FileTooLarge, message)
                .hint("delete files that are not needed"))
        };
        match (self.quota, self.max_files) {
            (Some(quota), _) if total > quota || walk.cut => {
                exceeded(format!("all files would take more than {quota} bytes: {path}"))
            }
            // A file that is there stays one, also if there are too many.
            (_, Some(most)) if is_new && (files > most || walk.cut) => {
                exceeded(format!("there would be more than {most} files: {path}"))
            }
            _ => Ok(()),
        }
    }

    /// Visits what the settings show below a folder, in the order of paths, `depth` folders down.
    pub(super) fn walk(
        &self,
        start: &RelativePath,
        depth: usize,
        visit: &mut dyn FnMut(&FolderEntry) -> ControlFlow<()>,
    ) -> Result<WalkResult, Fault> {
        let shown = &mut |entry: &FolderEntry| match entry.kind {
            EntryKind::File if !self.allows(&entry.path) => ControlFlow::Continue(()),
            _ => visit(entry),
        };
        let mut result = WalkResult::default();
        let _ = self.walk_folder(start, depth, &mut result, &mut |entry| {
            if self.shows(&entry.path) {
                shown(entry).map_continue(|()| true)
            } else {
                ControlFlow::Continue(false)
            }
        })?;
        Ok(result)
    }

    /// Visits everything below a folder.
    fn walk_all(
        &self,
        start: &RelativePath,
        visit: &mut dyn FnMut(&FolderEntry) -> ControlFlow<()>,
    ) -> Result<WalkResult, Fault> {
        let mut result = WalkResult::default();
        let _ = self.walk_folder(start, usize::MAX, &mut result, &mut |entry| {
            visit(entry).map_continue(|()| true)
        })?;
        Ok(result)
    }

    /// `visit` says whether to go down into a folder.
    fn walk_folder(
        &self,
        folder: &RelativePath,
        depth: usize,
        result: &mut WalkResult,
        visit: &mut dyn FnMut(&FolderEntry) -> ControlFlow<(), bool>,
    ) -> Result<ControlFlow<()>, Fault> {
        for entry in self.entries(folder, result)? {
            let ControlFlow::Continue(down) = visit(&entry) else {
                return Ok(ControlFlow::Break(()));
            };
            if down && entry.kind == EntryKind::Folder && depth > 1 {
                // A folder that has gone since, or may not be read, has nothing to show.
                let below = self.walk_folder(&entry.path, depth - 1, result, visit);
                if matches!(below, Ok(ControlFlow::Break(()))) {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The entries of a folder, sorted by name.
    fn entries(
        &self,
        folder: &RelativePath,
        result: &mut WalkResult,
    ) -> Result<Vec<FolderEntry>, Fault> {
        let fail = |error: std::io::Error| failure(folder, &error);
        let mut found = Vec::new();
        for entry in self.root.open_folder(folder)?.entries().map_err(fail)? {
            if result.visits >= MAX_VISITS {
                result.cut = true;
                break;
            }
            result.visits += 1;
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            let Some(name) = text_name(&name) else {
                result.unreadable += 1;
                continue;
            };
            let Ok(kind) = entry.file_type() else { continue };
            let kind = match () {
                () if kind.is_file() => EntryKind::File,
                () if kind.is_dir() => EntryKind::Folder,
                () if kind.is_symlink() => EntryKind::Link,
                () => EntryKind::Special,
            };
            let size = match kind {
                EntryKind::File => entry.metadata().map_or(0, |metadata| metadata.len()),
                _ => 0,
            };
            found.push(FolderEntry { path: folder.join(name), kind, size });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }
}

/// Glob patterns: `*` within a name, `**` over folders. One without `/` is for names anywhere.
pub(super) fn glob_set(patterns: &[String], code: FaultCode) -> Result<GlobSet, Fault> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let anywhere =
            if pattern.contains('/') { pattern.clone() } else { format!("**/{pattern}") };
        let glob =
            GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| {
                Fault::new(
                    code.clone(),
                    format!("not a glob pattern ({}): {pattern}", error.kind()),
                )
                .hint("write for instance *.md or notes/**/*.txt")
            })?;
        set.add(glob);
    }
    set.build().map_err(|error| Fault::new(code, format!("the glob patterns do not work: {error}")))
}
