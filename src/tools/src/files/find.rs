//! `list_files` and `search_files`.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::slice;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_runtime::CallContext;
use async_trait::async_trait;
use globset::GlobSet;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::access::{EntryKind, FolderAccess, FolderEntry, WalkResult, glob_set};
use super::blocking;
use super::read::text;
use super::relative_path::RelativePath;
use crate::typed_tool::ToolFunction;

/// The most entries that a listing shows.
const MAX_ENTRIES: usize = 500;
/// How many folders down a listing goes by default, and at most.
const DEPTH: usize = 3;
const MAX_DEPTH: usize = 32;
/// The most matches of a search, by default and at most.
const MATCHES: usize = 50;
const MAX_MATCHES: usize = 200;
/// The most bytes that one search reads.
const MAX_READ: u64 = 200_000_000;
/// The most lines before and after a match.
const MAX_CONTEXT: usize = 10;
/// The most characters of a line that a match shows.
const MAX_LINE: usize = 300;

/// The arguments of `list_files`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ListFilesArguments {
    /// The folder; the root by default.
    #[serde(default)]
    path: String,
    /// How many folders to go down; 3 by default, 1 for the folder alone.
    depth: Option<usize>,
    /// Which files: *.md for names anywhere, notes/**/*.txt for paths.
    glob: Option<String>,
}

#[derive(Debug)]
pub(super) struct ListFiles(pub(super) Arc<FolderAccess>);

#[async_trait]
impl ToolFunction for ListFiles {
    type Arguments = ListFilesArguments;

    async fn call(&self, arguments: ListFilesArguments, _: &CallContext) -> ToolOutcome {
        let access = self.0.clone();
        blocking(move || {
            let folder = access.resolve(&arguments.path)?;
            let glob = read_glob(arguments.glob.as_ref())?;
            let depth = arguments.depth.unwrap_or(DEPTH).clamp(1, MAX_DEPTH);
            let mut entries = Vec::new();
            let mut more = false;
            let walk = access.walk(&folder, depth, &mut |entry| {
                if glob.as_ref().is_some_and(|glob| !glob.is_match(entry.path.as_str())) {
                    return ControlFlow::Continue(());
                }
                if entries.len() >= MAX_ENTRIES {
                    more = true;
                    return ControlFlow::Break(());
                }
                entries.push(row(entry));
                ControlFlow::Continue(())
            })?;
            Ok(listing(&entries, more, walk))
        })
        .await
    }
}

fn row(entry: &FolderEntry) -> Json {
    let path = entry.path.as_str();
    match entry.kind {
        EntryKind::File => json!({"path": path, "size": entry.size}),
        EntryKind::Folder => json!({"path": format!("{path}/")}),
        EntryKind::Link => json!({"path": path, "kind": "link"}),
        EntryKind::Special => json!({"path": path, "kind": "pipe, device or socket"}),
    }
}

fn listing(entries: &[Json], more: bool, walk: WalkResult) -> Json {
    let mut fields = json!({"entries": entries});
    if let Some(object) = fields.as_object_mut() {
        if more || walk.cut {
            let note = "there are more; name a folder, or pass a glob";
            object.insert("truncated".to_owned(), json!(note));
        }
        if walk.unreadable > 0 {
            object.insert("names_not_unicode".to_owned(), json!(walk.unreadable));
        }
    }
    fields
}

fn read_glob(glob: Option<&String>) -> Result<Option<GlobSet>, Fault> {
    glob.map(|glob| glob_set(slice::from_ref(glob), FaultCode::InvalidValue)).transpose()
}

/// The arguments of `search_files`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchFilesArguments {
    /// A regular expression for one line, without look-around and back references.
    pattern: String,
    /// The folder or file to search; the root by default.
    #[serde(default)]
    path: String,
    /// Which files: *.md for names anywhere, notes/**/*.txt for paths.
    glob: Option<String>,
    /// Whether capital and small letters are the same.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines to show before and after each match; 0 by default, at most 10.
    #[serde(default)]
    context: usize,
    /// The most matches to show; 50 by default, at most 200.
    limit: Option<usize>,
}

#[derive(Debug)]
pub(super) struct SearchFiles(pub(super) Arc<FolderAccess>);

#[async_trait]
impl ToolFunction for SearchFiles {
    type Arguments = SearchFilesArguments;

    async fn call(&self, arguments: SearchFilesArguments, _: &CallContext) -> ToolOutcome {
        let access = self.0.clone();
        blocking(move || {
            let start = access.resolve(&arguments.path)?;
            let glob = read_glob(arguments.glob.as_ref())?;
            let mut search = Search::new(&arguments)?;
            if access.root.metadata(&start)?.is_file() {
                access.resolve_file(&arguments.path)?;
                let _ = search.file(&access, &start);
                return Ok(json!(search.report()));
            }
            let walk = access.walk(&start, MAX_DEPTH, &mut |entry| {
                let named = glob.as_ref().is_none_or(|glob| glob.is_match(entry.path.as_str()));
                if entry.kind != EntryKind::File || !named {
                    return ControlFlow::Continue(());
                }
                search.file(&access, &entry.path)
            })?;
            search.cut |= walk.cut;
            Ok(json!(search.report()))
        })
        .await
    }
}

/// A search under way.
struct Search {
    pattern: Regex,
    context: usize,
    limit: usize,
    found: usize,
    read: u64,
    files: usize,
    skipped: usize,
    cut: bool,
    text: String,
}

impl Search {
    fn new(arguments: &SearchFilesArguments) -> Result<Self, Fault> {
        let pattern = RegexBuilder::new(&arguments.pattern)
            .case_insensitive(arguments.ignore_case)
            .size_limit(1 << 20)
            .dfa_size_limit(1 << 20)
            .build()
            .map_err(|error| {
                let reason = error.to_string();
                let reason =
                    reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
                let message = format!("not a regular expression ({reason}): {}", arguments.pattern);
                Fault::new(FaultCode::InvalidValue, message).hint("escape ( ) [ ] . * + ? with \\")
            })?;
        Ok(Self {
            pattern,
            context: arguments.context.min(MAX_CONTEXT),
            limit: arguments.limit.unwrap_or(MATCHES).clamp(1, MAX_MATCHES),
            found: 0,
            read: 0,
            files: 0,
            skipped: 0,
            cut: false,
            text: String::new(),
        })
    }

    fn file(&mut self, access: &FolderAccess, path: &RelativePath) -> ControlFlow<()> {
        let content = access.root.read(path, access.max_file_size).and_then(|bytes| {
            self.read += bytes.len() as u64;
            text(path, &bytes)
        });
        let Ok(content) = content else {
            self.skipped += 1;
            return ControlFlow::Continue(());
        };
        self.files += 1;
        let lines: Vec<&str> = content.lines().collect();
        // The first line that no match before has shown.
        let mut next = 0;
        for (index, line) in lines.iter().enumerate() {
            if !self.pattern.is_match(line) {
                continue;
            }
            if self.found >= self.limit {
                self.cut = true;
                return ControlFlow::Break(());
            }
            self.found += 1;
            let first = index.saturating_sub(self.context).max(next);
            if self.context > 0 && first > next && !self.text.is_empty() {
                self.text.push_str("--\n");
            }
            next = (index + self.context + 1).min(lines.len());
            for (number, line) in lines.iter().enumerate().take(next).skip(first) {
                let mark = if self.pattern.is_match(line) { ':' } else { '-' };
                let line: String = line.chars().take(MAX_LINE).collect();
                let _ = writeln!(self.text, "{path}{mark}{}{mark} {line}", number + 1);
            }
        }
        if self.read > MAX_READ {
            self.cut = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn report(mut self) -> String {
        let skipped = match self.skipped {
            0 => String::new(),
            count => format!(", {count} skipped that are no text or too large"),
        };
        if self.found == 0 {
            let _ = write!(self.text, "[no match in {} files{skipped}]", self.files);
        } else if self.cut {
            let _ = write!(self.text, "[{} matches; there may be more]", self.found);
        } else {
            let _ = write!(self.text, "[{} matches in {} files{skipped}]", self.found, self.files);
        }
        self.text
    }
}
