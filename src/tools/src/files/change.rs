//! `write_file`, `append_file`, `move_file` and `delete_file`.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_runtime::CallContext;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::access::FolderAccess;
use super::blocking;
use super::relative_path::RelativePath;
use crate::typed_tool::ToolFunction;

/// The arguments of `write_file`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteFileArguments {
    /// The path, relative to the root: notes/plan.md. Missing folders are made.
    path: String,
    /// The whole text of the file.
    content: String,
    /// Whether to replace a file that exists.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Debug)]
pub(super) struct WriteFile(pub(super) Arc<FolderAccess>);

#[async_trait]
impl ToolFunction for WriteFile {
    type Arguments = WriteFileArguments;

    async fn call(&self, arguments: WriteFileArguments, _: &CallContext) -> ToolOutcome {
        let access = self.0.clone();
        blocking(move || {
            let path = access.resolve_file(&arguments.path)?;
            let _alone = access.lock_changes();
            replace(&access, &path, arguments.content.as_bytes(), arguments.overwrite)
        })
        .await
    }
}

/// Writes a whole file.
pub(super) fn replace(
    access: &FolderAccess,
    path: &RelativePath,
    content: &[u8],
    overwrite: bool,
) -> ToolOutcome {
    access.check_size(path, content.len() as u64)?;
    let mut file = access.root.create(path, access.max_file_size)?;
    file.write(content)?;
    file.commit(overwrite)?;
    Ok(json!({"path": path.as_str(), "size": content.len()}))
}

/// The arguments of `append_file`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct AppendFileArguments {
    /// The path, relative to the root. A missing file is made.
    path: String,
    /// The text to add at the end, with a line break before it if it begins a line.
    content: String,
}

#[derive(Debug)]
pub(super) struct AppendFile(pub(super) Arc<FolderAccess>);

#[async_trait]
impl ToolFunction for AppendFile {
    type Arguments = AppendFileArguments;

    async fn call(&self, arguments: AppendFileArguments, _: &CallContext) -> ToolOutcome {
        let access = self.0.clone();
        blocking(move || {
            let path = access.resolve_file(&arguments.path)?;
            let _alone = access.lock_changes();
            // The file is written anew, so that a crash leaves the old one or the new one, and so
            // that a hard link to a file elsewhere is not written through.
            let mut content = if access.root.exists(&path)? {
                access.root.read(&path, access.max_file_size)?
            } else {
                Vec::new()
            };
            content.extend_from_slice(arguments.content.as_bytes());
            replace(&access, &path, &content, true)
        })
        .await
    }
}

/// The arguments of `move_file`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct MoveFileArguments {
    /// The path of the file or folder.
    from: String,
    /// The new path, with its name. Missing folders are made.
    to: String,
    /// Whether to replace a file that exists.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Debug)]
pub(super) struct MoveFile(pub(super) Arc<FolderAccess>);

#[async_trait]
impl ToolFunction for MoveFile {
    type Arguments = MoveFileArguments;

    async fn call(&self, arguments: MoveFileArguments, _: &CallContext) -> ToolOutcome {
        let access = self.0.clone();
        blocking(move || {
            let from = not_the_root(access.resolve(&arguments.from)?)?;
            let to = not_the_root(access.resolve(&arguments.to)?)?;
            let _alone = access.lock_changes();
            if access.root.entry(&from)?.is_dir() {
                access.check_whole(&from)?;
                if from.contains(&to) {
                    let message = format!("a folder cannot be moved into itself: {to}");
                    return Err(Fault::new(FaultCode::FileUnusable, message));
                }
            } else {
                access.resolve_file(&arguments.from)?;
                access.resolve_file(&arguments.to)?;
            }
            if !arguments.overwrite && access.root.exists(&to)? {
                let fault =
                    Fault::new(FaultCode::FileExists, format!("the file exists already: {to}"));
                return Err(fault.hint("set `overwrite` to replace it, or choose another name"));
            }
            access.root.rename(&from, &to)?;
            Ok(json!({"path": to.as_str()}))
        })
        .await
    }
}

/// The arguments of `delete_file`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct DeleteFileArguments {
    /// The path of the file or folder.
    path: String,
    /// Whether to delete a folder with all in it; without, only an empty one.
    #[serde(default)]
    recursive: bool,
}

#[derive(Debug)]
pub(super) struct DeleteFile(pub(super) Arc<FolderAccess>);

#[async_trait]
impl ToolFunction for DeleteFile {
    type Arguments = DeleteFileArguments;

    async fn call(&self, arguments: DeleteFileArguments, _: &CallContext) -> ToolOutcome {
        let access = self.0.clone();
        blocking(move || {
            let path = not_the_root(access.resolve(&arguments.path)?)?;
            let _alone = access.lock_changes();
            if access.root.entry(&path)?.is_dir() {
                if arguments.recursive {
                    access.check_whole(&path)?;
                }
                access.root.remove_folder(&path, arguments.recursive)?;
            } else {
                access.resolve_file(&arguments.path)?;
                access.root.remove_file(&path)?;
            }
            Ok(json!({"deleted": path.as_str()}))
        })
        .await
    }
}

fn not_the_root(path: RelativePath) -> Result<RelativePath, Fault> {
    if path.is_root() {
        let fault =
            Fault::new(FaultCode::PathRefused, "the root itself cannot be moved or deleted: .");
        return Err(fault.hint("name a file or folder below it"));
    }
    Ok(path)
}
