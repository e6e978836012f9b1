//! The tools of one run: those that were given, and those that registries have at present.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, FaultCode};
use antiphon_runtime::{Clock, Tool, ToolRegistry};
use tokio::sync::Mutex;

use super::AgenticSearch;
use super::catalogue::unknown_tool;
use super::config::Config;
use super::plan::{TaskError, TaskErrorKind};
use crate::node::NodeContext;
use crate::resources::SystemResources;

/// How often a registry is asked that cannot be reached, and the pause in between.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);

/// The tools of one run. A run that is resumed in another process looks for them again.
pub struct SearchTools {
    given: Vec<Arc<dyn Tool>>,
    registries: Vec<Arc<dyn ToolRegistry>>,
    max_age: Duration,
    timeout: Duration,
    found: Mutex<Option<Vec<Arc<dyn Tool>>>>,
}

/// What was found, in the order of the registries.
pub(super) struct DiscoveredTools {
    pub(super) tools: Vec<Arc<dyn Tool>>,
    /// The registries without a list, and why.
    pub(super) failed: Vec<(String, Fault)>,
}

impl SearchTools {
    pub(super) fn new(config: &Config, resources: &SystemResources) -> Self {
        Self {
            given: resources.tools.clone(),
            registries: resources.registries.clone(),
            max_age: config.tools_cache(),
            timeout: config.discover_timeout(),
            found: Mutex::default(),
        }
    }

    /// All tools; of two with the same name, the first.
    pub(super) async fn discover(&self, clock: &Arc<dyn Clock>) -> DiscoveredTools {
        let mut discovered = DiscoveredTools { tools: self.given.clone(), failed: Vec::new() };
        for registry in &self.registries {
            match self.list(registry, clock).await {
                Ok(tools) => discovered.add(tools),
                Err(fault) => discovered.failed.push((registry.name(), fault)),
            }
        }
        *self.found.lock().await = Some(discovered.tools.clone());
        discovered
    }

    /// The tool of that name.
    ///
    /// # Errors
    /// `mcp_tool_unknown` if there is none, or why its registry has no list.
    pub(super) async fn tool(
        &self,
        name: &str,
        cx: &NodeContext<AgenticSearch>,
    ) -> Result<Arc<dyn Tool>, Fault> {
        let known = self.found.lock().await.clone();
        let DiscoveredTools { tools, failed } = match known {
            Some(tools) => DiscoveredTools { tools, failed: Vec::new() },
            None => self.discover(&cx.call.cx.clock).await,
        };
        let found = tools.into_iter().find(|tool| tool.spec().name == name);
        let failure = failed.into_iter().next().map(|(_, fault)| fault);
        found.ok_or_else(|| failure.unwrap_or_else(|| unknown_tool(name)))
    }

    /// Has the lists read anew after a call of a tool that its server does not know any more.
    pub(super) async fn forget_if_unknown(&self, error: &TaskError) {
        if error.kind == TaskErrorKind::UnknownTool {
            for registry in &self.registries {
                registry.forget().await;
            }
        }
    }

    /// The list of a registry; one that cannot be reached is asked again.
    async fn list(
        &self,
        registry: &Arc<dyn ToolRegistry>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let asked = async {
            let mut attempt = 1;
            loop {
                match registry.tools(self.max_age).await {
                    Err(fault)
                        if attempt < ATTEMPTS && fault.category == Category::ToolTransport =>
                    {
                        clock.sleep(PAUSE * attempt).await;
                        attempt += 1;
                    }
                    listed => return listed,
                }
            }
        };
        tokio::select! {
            biased;
            listed = asked => listed,
            () = clock.sleep(self.timeout) => Err(silent(&registry.name())),
        }
    }
}

impl DiscoveredTools {
    fn add(&mut self, tools: Vec<Arc<dyn Tool>>) {
        for tool in tools {
            if self.tools.iter().all(|known| known.spec().name != tool.spec().name) {
                self.tools.push(tool);
            }
        }
    }
}

fn silent(registry: &str) -> Fault {
    let message = format!("the registry did not list its tools in time: {registry}");
    Fault::new(FaultCode::ToolTimeout, message).hint("raise `discover_timeout_s`")
}
