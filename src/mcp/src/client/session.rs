//! The client: one server, which is connected when it is needed and reconnected when it is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_net::HttpClient;
use antiphon_runtime::{CallContext, Model};
use rmcp::model::{CallToolRequestParams, JsonObject};
use serde_json::Value as Json;
use tokio::sync::Mutex;

use super::connection::{Connection, ConnectionSpec};
use super::content;
use super::elicitation::Elicitation;
use super::failure::{CallFailure, connection_lost, unreachable};
use super::listing::{self, ListedTool, ToolSelection};
use super::oauth::{AuthorizationHandler, ServerAuthorization};
use super::settings::{McpSettings, duration};
use super::target::ServerTarget;
use super::tool::McpTool;

/// How often one operation asks for access: once, and once more if that was not enough.
const AUTHORIZATIONS: u32 = 2;

/// What a server may use of its caller's.
#[derive(Clone, Default)]
pub struct McpServices {
    /// Who answers its questions.
    pub elicitation: Elicitation,
    /// The model that it may ask; none if it may not.
    pub model: Option<Arc<dyn Model>>,
    /// Shows people the page on which they log in; none if nobody can be shown one.
    pub authorization: Option<Arc<dyn AuthorizationHandler>>,
}

/// A client of one server. It connects on first use. Clones share the connection.
#[derive(Clone, Debug)]
pub struct McpClient {
    session: Arc<McpSession>,
}

impl McpClient {
    /// Checks the settings. Starts nothing.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`.
    pub fn new(settings: McpSettings) -> Result<Self, Fault> {
        Self::with_services(settings, McpServices::default())
    }

    /// The same, for a server that may ask people or a model.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`.
    pub fn with_services(settings: McpSettings, services: McpServices) -> Result<Self, Fault> {
        let target = ServerTarget::of(&settings)?;
        let authorization = match &target {
            ServerTarget::Address(address) => {
                let handler = services.authorization.clone();
                ServerAuthorization::of(&address.url, settings.oauth, handler)?
            }
            ServerTarget::Process(_) => None,
        };
        let spec = ConnectionSpec {
            target,
            authorization,
            timeout: duration(settings.timeout, "timeout")?,
            connect_timeout: duration(settings.connect_timeout, "connect_timeout")?,
            roots: settings.roots,
            http: HttpClient::default(),
        };
        let selection = ToolSelection { prefix: settings.prefix, only: settings.tools };
        let state = Mutex::default();
        Ok(Self { session: Arc::new(McpSession { spec, selection, services, state }) })
    }

    /// The program, or the address without what may be secret.
    pub fn server(&self) -> String {
        self.session.spec.target.name()
    }

    /// Connects, unless it is connected.
    ///
    /// # Errors
    /// `mcp_unreachable`, `mcp_handshake_failed`, `mcp_unauthorized`.
    pub async fn connect(&self) -> Result<(), Fault> {
        self.session.connected().await.map(drop)
    }

    /// The server's tools. The list is kept until the server says that it has changed, or is
    /// connected anew.
    ///
    /// # Errors
    /// As [`Self::connect`], and `mcp_tool_unknown`, `mcp_reply_invalid`, `tool_timeout`.
    pub async fn tools(&self) -> Result<Vec<Arc<McpTool>>, Fault> {
        self.tools_within(Duration::MAX).await
    }

    /// As [`Self::tools`]; a list that is older than `max_age` is read anew, for servers that do
    /// not tell of changes.
    ///
    /// # Errors
    /// As [`Self::tools`].
    pub async fn tools_within(&self, max_age: Duration) -> Result<Vec<Arc<McpTool>>, Fault> {
        let listed = self.session.listed(max_age).await?;
        let tools =
            listed.iter().map(|listed| McpTool::new(Arc::clone(&self.session), listed.clone()));
        Ok(tools.map(Arc::new).collect())
    }

    /// Forgets the list of tools: the next one is read from the server.
    pub async fn forget_tools(&self) {
        self.session.state.lock().await.tools = None;
    }

    /// The revision of the protocol that is spoken; `None` while nothing is connected.
    pub async fn revision(&self) -> Option<String> {
        let state = self.session.state.lock().await;
        state.connection.as_ref().map(|connection| connection.revision())
    }

    /// Ends the connection: the process and its children are gone when this returns, or the
    /// session of the server is deleted. The next call would connect again.
    pub async fn close(&self) {
        let connection = self.session.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}

/// What clones of a client and its tools share.
pub(super) struct McpSession {
    spec: ConnectionSpec,
    selection: ToolSelection,
    services: McpServices,
    state: Mutex<SessionState>,
}

#[derive(Default)]
struct SessionState {
    connection: Option<Arc<Connection>>,
    tools: Option<KnownTools>,
}

/// The list of tools as it was read.
struct KnownTools {
    /// How often the server's list had changed before.
    changes: u64,
    read_at: Instant,
    tools: Arc<[ListedTool]>,
}

impl std::fmt::Debug for McpSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpSession").field("server", &self.spec.target).finish_non_exhaustive()
    }
}

impl McpSession {
    /// The connection, made anew if it was lost. Concurrent callers wait for one attempt.
    async fn connected(&self) -> Result<Arc<Connection>, Fault> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.take() {
            if connection.is_alive().await {
                state.connection = Some(Arc::clone(&connection));
                return Ok(connection);
            }
            connection.close().await;
        }
        state.tools = None;
        let connection = Arc::new(self.open().await?);
        state.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn open(&self) -> Result<Connection, Fault> {
        let mut asked = 0;
        loop {
            match Connection::open(&self.spec, self.services.clone()).await {
                Err(fault)
                    if asked < AUTHORIZATIONS && fault.code == FaultCode::McpUnauthorized =>
                {
                    self.authorize(fault).await?;
                    asked += 1;
                }
                opened => return opened,
            }
        }
    }

    /// Asks for access as the challenge in the fault says; fails with it if that is not possible.
    async fn authorize(&self, fault: Fault) -> Result<(), Fault> {
        let challenge = fault.details.get("challenge").and_then(Json::as_str);
        match self.spec.authorization.as_ref().zip(challenge) {
            Some((authorization, challenge)) => authorization.authorize(challenge).await,
            None => Err(fault),
        }
    }

    /// The connection in place of one that is known to be lost.
    async fn reconnected(&self, lost: &Arc<Connection>) -> Result<Arc<Connection>, Fault> {
        lost.close().await;
        self.connected().await
    }

    async fn listed(&self, max_age: Duration) -> Result<Arc<[ListedTool]>, Fault> {
        let connection = self.connected().await?;
        let changes = connection.changes();
        if let Some(known) = &self.state.lock().await.tools
            && known.changes == changes
            && known.read_at.elapsed() <= max_age
        {
            return Ok(Arc::clone(&known.tools));
        }
        let read_at = Instant::now();
        let server = self.spec.target.name();
        let read = match listing::read(&connection).await {
            Err(CallFailure::Lost { .. }) => {
                listing::read(&*self.reconnected(&connection).await?).await
            }
            read => read,
        };
        let tools = read.map_err(|failure| self.fault(failure, "tools/list", &connection))?;
        let listed: Arc<[ListedTool]> = self.selection.of(&server, &tools)?.into();
        let known = KnownTools { changes, read_at, tools: Arc::clone(&listed) };
        self.state.lock().await.tools = Some(known);
        Ok(listed)
    }

    /// Calls a tool. A call that its server never got, or that may be repeated, is made once more
    /// over a new connection.
    pub(super) async fn call(
        &self,
        tool: &ListedTool,
        arguments: JsonObject,
        cx: &CallContext,
    ) -> ToolOutcome {
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let mut connection = self.connected().await?;
        let mut result = connection.call(params.clone(), cx).await;
        let mut asked = 0;
        // A server that refuses the credentials has not begun the call.
        while let Err(CallFailure::Final(fault)) = &result
            && fault.code == FaultCode::McpUnauthorized
            && asked < AUTHORIZATIONS
        {
            self.authorize(fault.clone()).await?;
            asked += 1;
            result = connection.call(params.clone(), cx).await;
        }
        if let Err(CallFailure::Lost { sent, .. }) = &result
            && (!sent || tool.spec.is_repeatable())
        {
            connection = self.reconnected(&connection).await?;
            result = connection.call(params, cx).await;
        }
        if matches!(&result, Err(CallFailure::Lost { .. })) {
            connection.process.stderr.settle().await;
        }
        let result = result.map_err(|failure| self.fault(failure, &tool.spec.name, &connection))?;
        if let Some(schema) = tool.results.as_ref().filter(|_| result.is_error != Some(true)) {
            let checked = schema.check(&self.spec.target.name(), &result);
            checked.map_err(|fault| fault.with("tool", tool.spec.name.as_str()))?;
        }
        content::outcome(&tool.spec.name, result)
    }

    fn fault(&self, failure: CallFailure, tool: &str, connection: &Connection) -> Fault {
        let server = self.spec.target.name();
        match failure {
            CallFailure::Final(fault) => fault.with("tool", tool),
            CallFailure::Lost { sent: false, cause } => {
                unreachable(&server, &cause).with("tool", tool)
            }
            CallFailure::Lost { sent: true, cause } => {
                connection_lost(&server, &cause, &connection.process.stderr).with("tool", tool)
            }
            CallFailure::TimedOut => {
                let seconds = self.spec.timeout.as_secs_f64();
                let message =
                    format!("`{tool}` of the MCP server `{server}` took longer than {seconds} s");
                Fault::new(FaultCode::ToolTimeout, message)
                    .hint("raise `timeout` if it needs longer")
                    .with("server", server)
                    .with("tool", tool)
            }
        }
    }
}
