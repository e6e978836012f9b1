//! Files below one folder: read, write, list, search, move, delete.

mod access;
mod change;
mod find;
mod read;
mod relative_path;
mod root;
mod write_lock;

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, SideEffect};
use antiphon_runtime::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::access::FolderAccess;
use self::change::{AppendFile, DeleteFile, MoveFile, WriteFile};
use self::find::{ListFiles, SearchFiles};
use self::read::ReadFile;
pub use self::relative_path::RelativePath;
pub use self::root::{AtomicFile, Root};
use crate::registry::ToolFamily;
use crate::typed_tool::TypedTool;

/// The family of tools for files below one folder.
#[derive(Debug)]
pub struct FileTools;

/// The settings of [`FileTools`].
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilesSettings {
    /// The folder, which must exist. No path leads out of it.
    pub root: String,
    /// Whether there are only the tools that change nothing.
    pub read_only: bool,
    /// The most bytes of a file that is read or written.
    pub max_file_size: u64,
    /// The most bytes of all files below the root together, which a write may not exceed.
    pub quota: Option<u64>,
    /// The most files below the root together, which a write may not exceed.
    pub max_files: Option<usize>,
    /// Globs of the files that are available, such as `*.md`; none for all.
    pub patterns: Vec<String>,
    /// Whether files and folders whose names begin with a dot are available.
    pub hidden: bool,
}

impl Default for FilesSettings {
    fn default() -> Self {
        Self {
            root: String::new(),
            read_only: false,
            max_file_size: 10_000_000,
            quota: None,
            max_files: None,
            patterns: Vec::new(),
            hidden: false,
        }
    }
}

impl ToolFamily for FileTools {
    const NAME: &'static str = "files";
    const DESCRIPTION: &'static str = "Reads and writes files below one folder.";
    type Settings = FilesSettings;

    fn open(settings: FilesSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let access = Arc::new(FolderAccess::open(&settings)?);
        let read = SideEffect::Read;
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(TypedTool::new("read_file", READ, read, ReadFile(access.clone()))),
            Arc::new(TypedTool::new("list_files", LIST, read, ListFiles(access.clone()))),
            Arc::new(TypedTool::new("search_files", SEARCH, read, SearchFiles(access.clone()))),
        ];
        if !settings.read_only {
            let write = SideEffect::Write;
            let writing = TypedTool::new("write_file", WRITE, write, WriteFile(access.clone()));
            tools.push(Arc::new(writing));
            let append = AppendFile(access.clone());
            tools.push(Arc::new(TypedTool::new("append_file", APPEND, write, append)));
            let moving = MoveFile(access.clone());
            tools.push(Arc::new(TypedTool::new("move_file", MOVE, write, moving)));
            tools.push(Arc::new(TypedTool::new("delete_file", DELETE, write, DeleteFile(access))));
        }
        Ok(tools)
    }
}

const READ: &str = "Reads a text file, or shows an image. Long files come in parts.";
const LIST: &str = "Lists files with their sizes in bytes, and folders.";
const SEARCH: &str = "Searches the lines of text files for a regular expression.";
const WRITE: &str = "Writes a text file.";
const APPEND: &str = "Adds text at the end of a file.";
const MOVE: &str = "Moves or renames a file or folder.";
const DELETE: &str = "Deletes a file or folder.";

/// Runs what waits for a disk where it delays nobody else.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            let message = format!("the work on a file has ended without a result: {error}");
            Err(Fault::new(FaultCode::ToolPanicked, message))
        }
    }
}
