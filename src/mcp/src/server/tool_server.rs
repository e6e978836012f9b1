//! The tools of a server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use tokio::sync::Semaphore;

use super::caller::ServedTool;
use super::paused_calls::PausedCalls;
use super::settings::ServerSettings;

/// What a server offers; clones offer the same and share its limits.
#[derive(Clone)]
pub struct ToolServer {
    pub(super) tools: Arc<[Arc<dyn ServedTool>]>,
    pub(super) settings: Arc<ServerSettings>,
    pub(super) calls: Arc<Semaphore>,
    pub(super) paused: PausedCalls,
}

impl ToolServer {
    /// A server of these tools.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`: two tools have one name, or a limit is zero.
    pub fn new(
        tools: impl IntoIterator<Item = Arc<dyn ServedTool>>,
        settings: ServerSettings,
    ) -> Result<Self, Fault> {
        let tools: Arc<[_]> = tools.into_iter().collect();
        let mut names = BTreeSet::new();
        for tool in &*tools {
            let name = &tool.spec().name;
            if !names.insert(name.clone()) {
                return Err(invalid(format!("two tools have the same name: {name}")));
            }
        }
        let limits = [settings.max_sessions, settings.max_calls];
        if limits.contains(&0) || settings.idle_timeout == 0 {
            return Err(invalid("the limits of a server must be above zero"));
        }
        let calls = Arc::new(Semaphore::new(settings.max_calls.min(Semaphore::MAX_PERMITS)));
        let answer_limit = Duration::from_secs(settings.idle_timeout);
        let paused = PausedCalls::new(settings.max_calls, answer_limit);
        Ok(Self { tools, settings: Arc::new(settings), calls, paused })
    }
}

impl std::fmt::Debug for ToolServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tools.iter().map(|tool| &tool.spec().name).collect();
        f.debug_struct("ToolServer").field("tools", &names).finish_non_exhaustive()
    }
}

fn invalid(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::ToolSettingInvalid, message)
}
