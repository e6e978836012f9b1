//! A call of a served tool, and the client that makes it.

use antiphon_core::{Fault, FaultCode, ToolOutcome, ToolSpec};
use async_trait::async_trait;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Value as Json, json};
use tokio::sync::{mpsc, oneshot};

use crate::client::ElicitationAnswer;

/// Something that clients may call.
#[async_trait]
pub trait ServedTool: Send + Sync {
    /// What clients and their models see.
    fn spec(&self) -> &ToolSpec;

    /// Calls it with arguments that may not fit its schema. A dropped future must stop the work.
    async fn call(&self, arguments: Json, client: CallClient) -> ToolOutcome;
}

/// A question on its way to the client of a call that ends for now, and its answer.
#[derive(Debug)]
pub(super) struct RelayedQuestion {
    pub(super) params: ElicitRequestParams,
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

/// How a client is asked.
#[derive(Clone, Debug)]
pub(super) enum QuestionRoute {
    /// It declares no way to ask people.
    None,
    /// A request to the client, in revisions with an `initialize` handshake.
    Request,
    /// The result of the call, which the client repeats with the answer.
    Result(mpsc::Sender<RelayedQuestion>),
}

/// The client that waits for the result of a call.
#[derive(Clone, Debug)]
pub struct CallClient {
    pub(super) peer: Peer<RoleServer>,
    pub(super) progress: Option<ProgressToken>,
    pub(super) route: QuestionRoute,
}

impl CallClient {
    /// Tells the client how far the call is, if it wants to know. `done` must grow.
    pub async fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.progress.clone() else { return };
        let mut params = ProgressNotificationParam::new(token, done);
        params.total = total;
        params.message = message;
        // A client that has gone is found out by the call itself.
        let _ = self.peer.notify_progress(params).await;
    }

    /// Whether a person can be asked through this client.
    pub const fn can_ask(&self) -> bool {
        !matches!(self.route, QuestionRoute::None)
    }

    /// Asks the person behind the client. `schema` is that of the answer; a schema that forms do
    /// not support becomes a field for a text.
    ///
    /// # Errors
    /// A `Tool` fault `mcp_client_silent`: the client cannot ask, or did not answer.
    pub async fn ask(
        &self,
        message: &str,
        schema: Option<&Json>,
    ) -> Result<ElicitationAnswer, Fault> {
        let params = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: message.to_owned(),
            requested_schema: form(schema),
        };
        let silent = |cause: &str| {
            let message = format!("the client did not answer a question: {cause}");
            Fault::new(FaultCode::McpClientSilent, message)
                .hint("call the tool through a client that supports elicitation")
        };
        let result = match &self.route {
            QuestionRoute::None => return Err(silent("it cannot ask")),
            QuestionRoute::Request => {
                let answered = self.peer.create_elicitation(params).await;
                answered.map_err(|error| silent(&error.to_string()))?
            }
            QuestionRoute::Result(questions) => {
                let (answer, answered) = oneshot::channel();
                let question = RelayedQuestion { params, answer };
                questions.send(question).await.map_err(|_| silent("it is gone"))?;
                answered.await.map_err(|_| silent("it took too long"))?
            }
        };
        Ok(match result.action {
            ElicitationAction::Accept => {
                ElicitationAnswer::Accept(result.content.unwrap_or_default())
            }
            ElicitationAction::Decline => ElicitationAnswer::Decline,
            _ => ElicitationAnswer::Cancel,
        })
    }
}

/// The form for an answer: objects of plain fields only.
fn form(schema: Option<&Json>) -> ElicitationSchema {
    let given = schema.cloned().and_then(|schema| serde_json::from_value(schema).ok());
    given.unwrap_or_else(|| {
        let fields = json!({"type": "object", "properties": {"answer": {"type": "string"}},
            "required": ["answer"]});
        serde_json::from_value(fields)
            .unwrap_or_else(|_| ElicitationSchema::new(std::collections::BTreeMap::new()))
    })
}
