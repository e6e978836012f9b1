//! What the client answers to its server.
#![expect(deprecated, reason = "servers of all revisions but the newest use sampling and roots")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ErrorData;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    FormElicitationCapability, Implementation, ListRootsResult, ProgressNotificationParam,
    ProtocolVersion, Root, UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};

use super::active_calls::{ActiveCalls, OpenQuestion};
use super::elicitation::{Elicitation, ElicitationHandler, ElicitationQuestion};
use super::pending_replies::PendingReplies;
use super::sampling;
use super::server_questions::ServerQuestions;
use super::session::McpServices;

/// The client's side of one connection.
#[derive(Clone)]
pub(super) struct PeerHandler {
    server: Arc<str>,
    roots: Arc<[String]>,
    services: McpServices,
    pub(super) calls: ActiveCalls,
    pub(super) replies: PendingReplies,
    /// Counts the changes of the server's list of tools.
    pub(super) changes: Arc<AtomicU64>,
    /// Held while a call is sent, so that no message about it comes before it is known.
    pub(super) sending: Arc<tokio::sync::Mutex<()>>,
}

impl PeerHandler {
    pub(super) fn new(server: &str, roots: &[String], services: McpServices) -> Self {
        Self {
            server: server.into(),
            roots: roots.into(),
            services,
            calls: ActiveCalls::default(),
            replies: PendingReplies::default(),
            changes: Arc::default(),
            sending: Arc::default(),
        }
    }

    /// Answers a question that the server asks between two rounds of a call.
    pub(super) async fn elicit_between(
        &self,
        params: &ElicitRequestParams,
        of_run: &ServerQuestions,
    ) -> Option<ElicitResult> {
        let question = ElicitationQuestion::of(&self.server, params);
        Some(match (&self.services.elicitation, question) {
            (Elicitation::Handler(handler), Some(question)) => {
                self.handled(&**handler, question).await
            }
            (Elicitation::Run, Some(question)) => of_run.answer(&question)?.into_result(),
            _ => ElicitResult::new(ElicitationAction::Decline),
        })
    }

    async fn elicit(
        &self,
        params: &ElicitRequestParams,
        origin: Option<&InboundStreamOrigin>,
    ) -> ElicitResult {
        let Some(question) = ElicitationQuestion::of(&self.server, params) else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let id = match origin {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
            _ => None,
        };
        drop(self.sending.lock().await);
        let call = self.calls.asking(id);
        match &self.services.elicitation {
            Elicitation::Handler(handler) => {
                let open = OpenQuestion::during(call);
                let result = self.handled(&**handler, question).await;
                drop(open);
                result
            }
            Elicitation::Run => {
                if let Some(call) = call {
                    return asked_by_run(&call.of_run, &question).await;
                }
                tracing::warn!(server = &*self.server, "a question belongs to no call");
                ElicitResult::new(ElicitationAction::Decline)
            }
            Elicitation::Declined => ElicitResult::new(ElicitationAction::Decline),
        }
    }

    async fn handled(
        &self,
        handler: &dyn ElicitationHandler,
        question: ElicitationQuestion,
    ) -> ElicitResult {
        match handler.ask(question).await {
            Ok(answer) => answer.into_result(),
            Err(fault) => {
                tracing::warn!(server = &*self.server, %fault, "a question was not answered");
                ElicitResult::new(ElicitationAction::Cancel)
            }
        }
    }

    /// Whether calls have to be made one at a time, so that a question belongs to one of them.
    pub(super) const fn asks_run(&self) -> bool {
        matches!(self.services.elicitation, Elicitation::Run)
    }
}

/// Without an answer the call is cancelled first, so that the server does not act on this one.
async fn asked_by_run(of_run: &ServerQuestions, question: &ElicitationQuestion) -> ElicitResult {
    if let Some(answer) = of_run.answer(question) {
        return answer.into_result();
    }
    of_run.ended().await;
    ElicitResult::new(ElicitationAction::Cancel)
}

impl PeerHandler {
    /// Asks the model that the server may ask.
    pub(super) async fn sample(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorData> {
        let Some(model) = &self.services.model else {
            return Err(ErrorData::invalid_request("sampling is not allowed here", None));
        };
        sampling::answer(&**model, params).await
    }

    /// Tells a call about its progress.
    pub(super) async fn report(&self, progress: &ProgressNotificationParam) {
        drop(self.sending.lock().await);
        if let Some(call) = self.calls.by_token(&progress.progress_token) {
            call.report(progress);
        }
    }

    /// The folders that the server works in.
    pub(super) fn roots(&self) -> ListRootsResult {
        ListRootsResult::new(self.roots.iter().map(Root::new).collect())
    }
}

impl ClientHandler for PeerHandler {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.sample(params).await
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.replies.add(context.id.clone());
        Ok(self.elicit(&request, context.extensions.get::<InboundStreamOrigin>()).await)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if !matches!(self.services.elicitation, Elicitation::Declined) {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(FormElicitationCapability::default());
            elicitation.url = Some(UrlElicitationCapability::default());
            capabilities.elicitation = Some(elicitation);
        }
        if self.services.model.is_some() {
            capabilities.sampling = Some(rmcp::model::SamplingCapability::default());
        }
        if !self.roots.is_empty() {
            capabilities.roots = Some(rmcp::model::RootsCapabilities::default());
        }
        let client = Implementation::new("antiphon", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
