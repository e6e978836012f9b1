//! The tool `download`.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::settings::DownloadSettings;
use super::transfer::Downloader;
use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

const DESCRIPTION: &str = "Downloads a file into the folder of downloads and returns its name there (`path`), size and \
    SHA-256. A download that was interrupted is continued when it is called again.";

/// The family of one tool, `download`.
#[derive(Debug)]
pub struct Download;

impl ToolFamily for Download {
    const NAME: &'static str = "download";
    const DESCRIPTION: &'static str = "Files of the web into a folder, bounded and checked.";
    type Settings = DownloadSettings;

    fn open(settings: DownloadSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let downloader = Downloader::new(&settings)?;
        let timeout = downloader.timeout();
        let function = DownloadFile { downloader };
        let tool = TypedTool::new("download", DESCRIPTION, SideEffect::Write, function);
        Ok(vec![Arc::new(tool.timeout(timeout))])
    }
}

/// The arguments of `download`.
#[derive(Deserialize, JsonSchema)]
struct DownloadArguments {
    /// The whole address, beginning with `https://` or `http://`.
    url: String,
    /// The name of the file; by default the one that the server proposes. Folders are not part of it.
    #[serde(default)]
    name: Option<String>,
    /// The SHA-256 that the file must have, in hexadecimal digits.
    #[serde(default)]
    sha256: Option<String>,
}

#[derive(Debug)]
struct DownloadFile {
    downloader: Downloader,
}

#[async_trait]
impl ToolFunction for DownloadFile {
    type Arguments = DownloadArguments;

    async fn call(&self, arguments: DownloadArguments, cx: &CallContext) -> ToolOutcome {
        let DownloadArguments { url, name, sha256 } = arguments;
        if let Some(hash) = &sha256 {
            check_hash(hash)?;
        }
        let downloader = &self.downloader;
        let report =
            downloader.download(&url, name.as_deref(), sha256.as_deref(), &*cx.clock).await?;
        Ok(json!(report))
    }
}

fn check_hash(hash: &str) -> Result<(), Fault> {
    let hash = hash.trim();
    if hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(());
    }
    let message = format!("`sha256` must have 64 hexadecimal digits: {hash}");
    Err(Fault::new(FaultCode::InvalidValue, message))
}
