//! One connection to a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::CallContext;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, DiscoverRequest,
    DiscoverRequestParams, InputRequest, InputRequiredResult, InputResponses, ListToolsResult,
    PaginatedRequestParams, PingRequest, ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, PeerRequestOptions,
    RequestHandle, RoleClient, RunningService,
};
use rmcp::transport::Transport;
use serde_json::json;

use super::active_calls::ActiveCallGuard;
use super::failure::{CallFailure, handshake_failed, of_handshake, reply_invalid};
use super::handler::PeerHandler;
use super::http;
use super::oauth::ServerAuthorization;
use super::progress_transport::ProgressTransport;
use super::server_questions::ServerQuestions;
use super::session::McpServices;
use super::stdio::{ServerProcess, StdioTransport};
use super::target::ServerTarget;

/// How often a server may ask for further input during one call.
const ROUNDS: usize = 10;
/// How long a silent server may take to answer a ping.
const PROBE: Duration = Duration::from_secs(5);
/// How long a connection may take to close: its process is told to end, and killed.
const CLOSING: Duration = Duration::from_secs(8);

/// What a connection is made with.
pub(super) struct ConnectionSpec {
    pub(super) target: ServerTarget,
    pub(super) roots: Vec<String>,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) http: antiphon_net::HttpClient,
    pub(super) authorization: Option<ServerAuthorization>,
}

/// A server that has completed its handshake.
pub(super) struct Connection {
    server: String,
    timeout: Duration,
    service: tokio::sync::Mutex<Option<RunningService<RoleClient, PeerHandler>>>,
    peer: rmcp::Peer<RoleClient>,
    handler: PeerHandler,
    pub(super) process: ServerProcess,
    /// It does not answer any more.
    dead: AtomicBool,
    /// Held by a call during which the run may be asked, if messages do not say which call they
    /// belong to.
    turn: Option<tokio::sync::Mutex<()>>,
    /// Held while a server that let a call time out is asked whether it is alive.
    probing: Arc<tokio::sync::Mutex<()>>,
}

impl Connection {
    /// Connects with the newest revision, or with an older one if the server knows no newer.
    pub(super) async fn open(spec: &ConnectionSpec, services: McpServices) -> Result<Self, Fault> {
        let server = spec.target.name();
        let process = ServerProcess::default();
        let stderr = &process.stderr;
        let handler = PeerHandler::new(&server, &spec.roots, services);
        let modes = [
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            // Some servers of older revisions do not even survive the question.
            ClientLifecycleMode::Initialize,
        ];
        let connect = async {
            let mut first_fault = None;
            for mode in modes {
                match begin(spec, handler.clone(), &process, mode).await {
                    Ok(service) => return Ok(service),
                    Err((fault, true)) => first_fault = first_fault.or(Some(fault)),
                    Err((fault, false)) => return Err(fault),
                }
            }
            Err(first_fault
                .unwrap_or_else(|| handshake_failed(&server, "no revision fits", stderr)))
        };
        let service = tokio::time::timeout(spec.connect_timeout, connect).await;
        let service = service.unwrap_or_else(|_| {
            let cause = format!("it took longer than {} s", spec.connect_timeout.as_secs_f64());
            Err(handshake_failed(&server, &cause, stderr))
        })?;
        let peer = service.peer().clone();
        let service = tokio::sync::Mutex::new(Some(service));
        let is_process = matches!(spec.target, ServerTarget::Process(_));
        let turn = (is_process && handler.asks_run()).then(tokio::sync::Mutex::default);
        Ok(Self {
            server,
            timeout: spec.timeout,
            service,
            peer,
            handler,
            process,
            dead: AtomicBool::new(false),
            turn,
            probing: Arc::default(),
        })
    }

    /// The revision of the protocol that is spoken.
    pub(super) fn revision(&self) -> String {
        let info = self.peer.peer_info();
        info.map_or_else(String::new, |info| info.protocol_version.to_string())
    }

    /// How often the server's list of tools has changed.
    pub(super) fn changes(&self) -> u64 {
        self.handler.changes.load(Ordering::Acquire)
    }

    /// Whether it can carry calls. Waits for the end of a probe.
    pub(super) async fn is_alive(&self) -> bool {
        drop(self.probing.lock().await);
        let is_given_up = self.dead.load(Ordering::Acquire) || self.process.has_ended();
        !is_given_up && !self.peer.is_transport_closed()
    }

    /// One page of the list of tools.
    pub(super) async fn page(
        &self,
        cursor: Option<String>,
    ) -> Result<ListToolsResult, CallFailure> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let listing = self.peer.list_tools(Some(params));
        match tokio::time::timeout(self.timeout, listing).await {
            Ok(Ok(page)) => Ok(page),
            Ok(Err(error)) => Err(CallFailure::of(&self.server, &error)),
            Err(_) => Err(CallFailure::TimedOut),
        }
    }

    /// Calls a tool.
    pub(super) async fn call(
        self: &Arc<Self>,
        params: CallToolRequestParams,
        cx: &CallContext,
    ) -> Result<CallToolResult, CallFailure> {
        let _turn = match &self.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        let questions = AnsweringCall(ServerQuestions::of(cx));
        self.rounds(params, cx, &questions.0).await
    }

    /// Drives all rounds in which the server wants to know more.
    async fn rounds(
        self: &Arc<Self>,
        mut params: CallToolRequestParams,
        cx: &CallContext,
        questions: &Arc<ServerQuestions>,
    ) -> Result<CallToolResult, CallFailure> {
        for _ in 0..ROUNDS {
            let result = self.request(params.clone(), cx, questions).await?;
            let asked = match result {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::EmptyResult(_) => return Ok(CallToolResult::default()),
                ServerResult::InputRequiredResult(asked) => asked,
                _ => return Err(self.nonsense("it is no result of a tool")),
            };
            params.request_state = asked.request_state.clone();
            let Some(responses) = self.input(asked, questions).await else {
                return Err(CallFailure::asks(questions.unanswered().await));
            };
            params.input_responses = Some(responses);
        }
        Err(self.nonsense("it asks for input again and again"))
    }

    /// What the server wants to know, by its names; `None` if the run has to be asked first.
    async fn input(
        &self,
        asked: InputRequiredResult,
        questions: &ServerQuestions,
    ) -> Option<InputResponses> {
        let mut responses = InputResponses::new();
        for (name, request) in asked.input_requests.unwrap_or_default() {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    json!(self.handler.elicit_between(&request.params, questions).await?)
                }
                InputRequest::CreateMessage(request) => {
                    match self.handler.sample(request.params).await {
                        Ok(reply) => json!(reply),
                        Err(error) => json!({"error": error}),
                    }
                }
                InputRequest::ListRoots(_) => json!(self.handler.roots()),
                _ => continue,
            };
            responses.insert(name, response);
        }
        Some(responses)
    }

    async fn request(
        self: &Arc<Self>,
        params: CallToolRequestParams,
        cx: &CallContext,
        questions: &Arc<ServerQuestions>,
    ) -> Result<ServerResult, CallFailure> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = self.handler.sending.lock().await;
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| CallFailure::of(&self.server, &error))?;
        let calls = &self.handler.calls;
        let active = calls.add(&handle.progress_token, handle.id.clone(), (cx, questions));
        drop(sending);
        let mut call = InFlightCall { connection: self, handle: Some(handle) };
        let asked = tokio::select! {
            biased;
            result = call.result(active, cx) => return result,
            asked = questions.unanswered() => asked,
        };
        call.cancel("a person is asked first").await;
        questions.end();
        self.handler.replies.sent().await;
        Err(CallFailure::asks(asked))
    }

    /// Asks in the background whether the server is alive, and gives it up if it is not.
    fn probe(self: &Arc<Self>) {
        let connection = Arc::clone(self);
        let Ok(probing) = Arc::clone(&self.probing).try_lock_owned() else { return };
        tokio::spawn(async move {
            let request = if connection.revision() >= ProtocolVersion::NO_INITIALIZE.to_string() {
                ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}))
            } else {
                ClientRequest::PingRequest(PingRequest::default())
            };
            let limit = PROBE.min(connection.timeout);
            let answer = tokio::time::timeout(limit, connection.peer.send_request(request)).await;
            // An error is an answer too.
            let alive = matches!(answer, Ok(Ok(_) | Err(rmcp::ServiceError::McpError(_))));
            if !alive {
                connection.dead.store(true, Ordering::Release);
            }
            drop(probing);
            if !alive {
                connection.close().await;
            }
        });
    }

    /// Ends it: the process and its children are gone, or the session is deleted.
    pub(super) async fn close(&self) {
        self.dead.store(true, Ordering::Release);
        let service = self.service.lock().await.take();
        if let Some(mut service) = service {
            // What does not end in time is killed when it is dropped.
            let _ = service.close_with_timeout(CLOSING).await;
        }
    }

    fn nonsense(&self, cause: &str) -> CallFailure {
        CallFailure::Final(reply_invalid(&self.server, cause))
    }
}

async fn begin(
    spec: &ConnectionSpec,
    handler: PeerHandler,
    process: &ServerProcess,
    mode: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, PeerHandler>, (Fault, bool)> {
    let started = match &spec.target {
        ServerTarget::Process(target) => {
            let transport = StdioTransport::start(target, process);
            let transport = transport.map_err(|fault| (fault, false))?;
            serve(handler, transport, mode).await
        }
        ServerTarget::Address(target) => {
            let client = http::client(&spec.http, target).map_err(|fault| (fault, false))?;
            if let Some(authorization) = &spec.authorization {
                let client = authorization.client(client).await;
                let client = client.map_err(|fault| (fault, false))?;
                let transport = http::transport(client, target);
                let transport = transport.map_err(|fault| (fault, false))?;
                serve(handler, transport, mode).await
            } else {
                let transport = http::transport(client, target);
                let transport = transport.map_err(|fault| (fault, false))?;
                serve(handler, transport, mode).await
            }
        }
    };
    match started {
        Ok(service) => Ok(service),
        Err(error) => {
            process.stderr.settle().await;
            Err(of_handshake(&spec.target.name(), &error, &process.stderr))
        }
    }
}

async fn serve<T: Transport<RoleClient> + 'static>(
    handler: PeerHandler,
    transport: T,
    mode: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, PeerHandler>, ClientInitializeError> {
    let transport = ProgressTransport::new(transport, handler.clone());
    handler.serve_with_lifecycle(transport, mode).await
}

/// A call that is under way. If it is dropped before its result is there, its server is told to
/// stop, and asked whether it is alive.
struct InFlightCall<'a> {
    connection: &'a Arc<Connection>,
    handle: Option<RequestHandle<RoleClient>>,
}

impl InFlightCall<'_> {
    async fn result(
        &mut self,
        mut active: ActiveCallGuard,
        cx: &CallContext,
    ) -> Result<ServerResult, CallFailure> {
        let mut left = self.connection.timeout;
        loop {
            let Some(handle) = &mut self.handle else { return Err(CallFailure::TimedOut) };
            let waits = *active.open_questions.borrow_and_update() > 0;
            let since = cx.clock.now();
            tokio::select! {
                biased;
                result = &mut handle.rx => {
                    self.handle = None;
                    let lost = Err(rmcp::ServiceError::TransportClosed);
                    let result = result.unwrap_or(lost);
                    return result.map_err(|error| CallFailure::of(&self.connection.server, &error));
                }
                () = cx.clock.sleep(left), if !waits => return Err(CallFailure::TimedOut),
                changed = active.open_questions.changed() => {
                    if changed.is_err() {
                        return Err(CallFailure::TimedOut);
                    }
                    if !waits {
                        left = left.saturating_sub(cx.clock.now().since(since));
                    }
                }
            }
        }
    }

    /// Tells the server to stop.
    async fn cancel(&mut self, reason: &str) {
        if let Some(handle) = self.handle.take() {
            // A server that is gone has stopped.
            let _ = handle.cancel(Some(reason.to_owned())).await;
        }
    }
}

/// A call that answers questions of its server until it is dropped.
struct AnsweringCall(Arc<ServerQuestions>);

impl Drop for AnsweringCall {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        // Outside of a runtime there is nobody left to tell.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(handle.cancel(Some("nobody waits for the result".to_owned())));
            self.connection.probe();
        }
    }
}
