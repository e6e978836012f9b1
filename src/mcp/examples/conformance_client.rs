//! The client under test of the official conformance suite: it does what a scenario expects of
//! any client. The suite starts it with the address of its server; the scenario is in
//! `MCP_CONFORMANCE_SCENARIO`, and what the scenario hands to clients in `MCP_CONFORMANCE_CONTEXT`.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_mcp::client::{
    AuthorizationHandler, Elicitation, ElicitationAnswer, ElicitationHandler, ElicitationQuestion,
    McpServices, OAuthSettings,
};
use antiphon_mcp::{McpClient, McpSettings};
use antiphon_net::{HttpClient, HttpRequest, Url};
use antiphon_runtime::{CallContext, SystemClock, Tool};
use async_trait::async_trait;
use serde_json::{Map, Value as Json, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::args().nth(1).ok_or("usage: conformance_client URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Json = serde_json::from_str(&context).unwrap_or_default();
    let text = |key: &str| context.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let oauth = OAuthSettings {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: "https://conformance-test.local/client-metadata.json".into(),
        ..OAuthSettings::default()
    };
    let alone = scenario.starts_with("auth/client-credentials");
    let services = McpServices {
        elicitation: Elicitation::Handler(Arc::new(Defaults)),
        authorization: (!alone)
            .then(|| Arc::new(RedirectFollower) as Arc<dyn AuthorizationHandler>),
        model: None,
    };
    let settings = McpSettings { server, oauth, ..McpSettings::default() };
    let client = McpClient::with_services(settings, services).map_err(Box::new)?;
    let done = run(&client).await;
    client.close().await;
    Ok(done.map_err(Box::new)?)
}

/// Lists the tools, and calls each of them with arguments of the types that its schema names.
async fn run(client: &McpClient) -> Result<(), Fault> {
    for tool in client.tools().await? {
        let fields = properties(&tool.spec().parameters);
        let arguments: Map<String, Json> =
            fields.into_iter().map(|(name, schema)| (name, sample(&schema))).collect();
        let cx = CallContext::new(Arc::new(SystemClock::default()));
        tool.call(arguments.into(), &cx).await?;
    }
    Ok(())
}

fn properties(schema: &Json) -> Map<String, Json> {
    schema.get("properties").and_then(Json::as_object).cloned().unwrap_or_default()
}

fn sample(schema: &Json) -> Json {
    match schema.get("type").and_then(Json::as_str) {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        _ => json!("text"),
    }
}

/// Accepts each form with the defaults of its fields.
struct Defaults;

#[async_trait]
impl ElicitationHandler for Defaults {
    async fn ask(&self, question: ElicitationQuestion) -> Result<ElicitationAnswer, Fault> {
        let schema = question.schema.unwrap_or_default();
        let fields = properties(&schema);
        let defaults = fields
            .into_iter()
            .filter_map(|(name, field)| field.get("default").map(|value| (name, value.clone())));
        Ok(ElicitationAnswer::Accept(Json::Object(defaults.collect())))
    }
}

/// Permits access at once: the suite's authorization servers redirect without asking.
struct RedirectFollower;

#[async_trait]
impl AuthorizationHandler for RedirectFollower {
    async fn show(&self, page: &str) -> Result<Option<String>, Fault> {
        let failed = |cause: String| Fault::new(FaultCode::McpUnauthorized, cause);
        let url = Url::parse(page).map_err(|error| failed(error.to_string()))?;
        let reply = HttpClient::default().send(&HttpRequest::get(url)).await;
        let reply = reply.map_err(|error| failed(error.to_string()))?;
        let location = reply.header("location").map(str::to_owned);
        location.map(Some).ok_or_else(|| failed("the page did not redirect".into()))
    }
}
