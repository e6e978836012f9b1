//! What the server answers to its clients.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value as Json;
use tokio::sync::{mpsc, oneshot};

use super::caller::{CallClient, QuestionRoute, ServedTool};
use super::paused_calls::{CallInProgress, CallProgress};
use super::tool_server::ToolServer;
use super::wire;

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let settings = &self.settings;
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let own = Implementation::new(settings.name.clone(), settings.version.clone());
        let config = ServerConfig::new(capabilities).with_server_info(own);
        match settings.instructions.as_str() {
            "" => config,
            instructions => config.with_instructions(instructions),
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.iter().map(|tool| wire::listed(tool.spec()));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        Some(wire::listed(self.find(name)?.spec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = match &request.request_state {
            Some(state) => {
                let answers = request.input_responses.clone().unwrap_or_default();
                let paused = self.paused.resume(state, &answers);
                paused.ok_or_else(|| ErrorData::invalid_params("the call waits no longer", None))?
            }
            None => self.begin(request, &context)?,
        };
        let followed = tokio::select! {
            followed = self.paused.follow(call) => followed,
            // Dropping the call stops its work.
            () = context.ct.cancelled() => CallProgress::Done(Err(cancelled())),
        };
        Ok(match followed {
            CallProgress::Done(outcome) => wire::result(outcome).into(),
            CallProgress::Asks(asked) => asked.into(),
        })
    }
}

impl ToolServer {
    fn find(&self, name: &str) -> Option<&Arc<dyn ServedTool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// Starts a call in the background.
    fn begin(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallInProgress, ErrorData> {
        let tool = self.find(&request.name).map(Arc::clone);
        let tool = tool.ok_or_else(|| {
            let name: String = request.name.chars().take(100).collect();
            ErrorData::invalid_params(format!("unknown tool: {name}"), None)
        })?;
        let Ok(permit) = Arc::clone(&self.calls).try_acquire_owned() else {
            return Err(ErrorData::internal_error(
                "too many calls at a time; try again later",
                None,
            ));
        };
        let (sender, questions) = mpsc::channel(1);
        let client = CallClient {
            peer: context.peer.clone(),
            progress: context.meta.get_progress_token(),
            route: route(context, sender),
        };
        let arguments = Json::Object(request.arguments.unwrap_or_default());
        let (done, outcome) = oneshot::channel();
        let work = tokio::spawn(async move {
            let _permit = permit;
            // Nobody may wait any more.
            let _ = done.send(tool.call(arguments, client).await);
        });
        Ok(CallInProgress::new(questions, outcome, work.abort_handle()))
    }
}

/// How the client of a request is asked.
fn route(
    context: &RequestContext<RoleServer>,
    questions: mpsc::Sender<super::caller::RelayedQuestion>,
) -> QuestionRoute {
    let asks = context.client_capabilities().is_some_and(|it| it.elicitation.is_some());
    let version = context.protocol_version();
    match version {
        _ if !asks => QuestionRoute::None,
        Some(version) if version.as_str() >= ProtocolVersion::NO_INITIALIZE.as_str() => {
            QuestionRoute::Result(questions)
        }
        _ => QuestionRoute::Request,
    }
}

fn cancelled() -> Fault {
    Fault::new(FaultCode::TaskCancelled, "the client cancelled the call")
}
