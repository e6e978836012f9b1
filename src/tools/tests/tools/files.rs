//! Files below a root: what the tools do, and that nothing leads out of it.

mod changes;
mod escapes;
mod paths;
mod races;
mod reading;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use antiphon_core::{Fault, ToolOutcome};
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::find;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// A folder with the tools' root in it and a secret beside the root.
struct Folder {
    outside: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Folder {
    fn new() -> Self {
        Self::with(&json!({}))
    }

    /// With further settings beside the root.
    fn with(settings: &Json) -> Self {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(outside.path().join("root")).unwrap();
        fs::write(outside.path().join("secret.txt"), "secret").unwrap();
        let mut settings = settings.clone();
        settings["root"] = json!(outside.path().join("root"));
        let tools = find("files").unwrap().open(&settings).unwrap();
        Self { outside, tools }
    }

    fn root(&self, path: &str) -> PathBuf {
        self.outside.path().join("root").join(path)
    }

    fn secret(&self) -> PathBuf {
        self.outside.path().join("secret.txt")
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.root(path).parent().unwrap()).unwrap();
        fs::write(self.root(path), content).unwrap();
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.root(path)).unwrap()
    }

    async fn call(&self, name: &str, arguments: Json) -> ToolOutcome {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).unwrap();
        tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await
    }

    async fn answer(&self, name: &str, arguments: Json) -> Json {
        self.call(name, arguments).await.unwrap()
    }

    async fn fault(&self, name: &str, arguments: Json) -> Fault {
        self.call(name, arguments).await.unwrap_err()
    }

    async fn code(&self, name: &str, arguments: Json) -> String {
        self.fault(name, arguments).await.code.to_string()
    }

    async fn read(&self, path: &str) -> String {
        self.answer("read_file", json!({"path": path})).await.as_str().unwrap().to_owned()
    }
}
