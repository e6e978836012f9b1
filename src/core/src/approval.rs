//! Tool calls that need approval before they are made.
//!
//! ```
//! use antiphon_core::approval::{Decision, Proposal};
//! use antiphon_reply::JsonSchemas;
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"euros": {"type": "integer"}}});
//! let proposal = Proposal::new("pay", json!({"euros": 70}), schema);
//! let answer = json!({"approve": true, "args": {"euros": 7}});
//! let decided = proposal.decide(&answer, Some(&JsonSchemas))?;
//! assert_eq!(decided, Decision::Change(json!({"euros": 7})));
//! let unclear = proposal.decide(&json!("perhaps"), Some(&JsonSchemas));
//! assert_eq!(unclear.unwrap_err().code, "approval_invalid");
//! # Ok::<(), antiphon_core::Fault>(())
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::excerpt::short;
use crate::fault::{Fault, FaultCode};
use crate::reply::{ReplyParser, SchemaCompiler};
use crate::schema::Schema;

/// Compiles the schemas of arguments that a person has changed. Without it, an answer that changes
/// arguments is refused.
pub type Schemas = Option<&'static dyn SchemaCompiler>;

/// Characters of an answer that an error shows.
const SHOWN: usize = 120;

/// Who approves the calls of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Nobody.
    #[default]
    None,
    /// A person: the run pauses until there is an answer.
    Person,
    /// Code of the host, without a pause.
    Host,
}

impl Approval {
    /// Whether nobody has to approve.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The host's decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostVerdict {
    /// The call is made unchanged.
    Approve,
    /// It is not made; the model reads the reason, if there is one.
    Refuse(Option<String>),
}

impl From<HostVerdict> for Decision {
    fn from(verdict: HostVerdict) -> Self {
        match verdict {
            HostVerdict::Approve => Self::Approve,
            HostVerdict::Refuse(reason) => Self::Refuse(reason),
        }
    }
}

/// The decision about a call, of a person or the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The call is made.
    Approve,
    /// It is made with these arguments instead.
    Change(Json),
    /// It is not made; the model reads the reason, if there is one.
    Refuse(Option<String>),
}

/// A call that a person has to approve.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The tool.
    pub tool: String,
    /// Its arguments, which are valid.
    pub arguments: Json,
    /// JSON schema of the arguments, for a person who changes them.
    pub parameters: Json,
}

/// The `type` of such a question.
const KIND: &str = "antiphon.approval";

impl Proposal {
    /// A call of `tool`, whose arguments have the schema `parameters`.
    pub fn new(tool: impl Into<String>, arguments: Json, parameters: Json) -> Self {
        Self { tool: tool.into(), arguments, parameters }
    }

    /// The question as a person sees it.
    pub fn question(&self) -> Json {
        json!({
            "type": KIND,
            "tool": self.tool,
            "arguments": self.arguments,
            "why": format!("`{}` is called only once a person has approved of it", self.tool),
            "parameters": self.parameters,
        })
    }

    /// Parses the question about a call; `None` if it is another question.
    pub fn parse(question: &Json) -> Option<Self> {
        let fields = question.as_object()?;
        if fields.get("type")? != KIND {
            return None;
        }
        let tool = fields.get("tool")?.as_str()?;
        let of = |key: &str| fields.get(key).filter(|found| found.is_object()).cloned();
        Some(Self::new(tool, of("arguments")?, of("parameters")?))
    }

    /// Parses an answer: `true` or `"approve"`, `false`, or an object with `approve` and either a
    /// `reason` against the call or other `args` for it.
    ///
    /// # Errors
    /// `approval_invalid` if it is none of these, or the arguments do not fit.
    pub fn decide(&self, answer: &Json, schemas: Schemas) -> Result<Decision, Fault> {
        match answer {
            Json::Bool(true) => Ok(Decision::Approve),
            Json::String(word) if word == "approve" => Ok(Decision::Approve),
            Json::Bool(false) => Ok(Decision::Refuse(None)),
            Json::Object(fields) => self.decide_by(fields, schemas),
            other => Err(self.undecided(&short(&other.to_string(), SHOWN))),
        }
    }

    /// The answer as it is stored: the decision and the call.
    ///
    /// # Errors
    /// As [`Proposal::decide`].
    pub fn encode_answer(&self, answer: &Json, schemas: Schemas) -> Result<Json, Fault> {
        Ok(match self.decide(answer, schemas)? {
            Decision::Approve => json!({"approve": true, "of": self.call()}),
            Decision::Change(args) => json!({"approve": true, "args": args, "of": self.call()}),
            Decision::Refuse(why) => json!({"approve": false, "reason": why, "of": self.call()}),
        })
    }

    /// The decision about this call, from a stored answer.
    ///
    /// # Errors
    /// `replay_diverged` if the answer is about another call, `approval_invalid` if changed
    /// arguments do not fit the current schema.
    pub fn decode_answer(&self, kept: &Json, schemas: Schemas) -> Result<Decision, Fault> {
        let fields = kept.as_object().filter(|fields| fields.get("of") == Some(&self.call()));
        let Some(fields) = fields else {
            let message =
                format!("a restarted node made another call than the approved one: {}", self.tool);
            return Err(Fault::new(FaultCode::ReplayDiverged, message)
                .with("tool", self.tool.as_str())
                .hint("take times and random numbers from `ctx.step`"));
        };
        if fields.get("approve") != Some(&Json::Bool(true)) {
            let reason = fields.get("reason").and_then(Json::as_str);
            return Ok(Decision::Refuse(reason.map(str::to_owned)));
        }
        let Some(args) = fields.get("args") else { return Ok(Decision::Approve) };
        self.check(args, schemas)?;
        Ok(Decision::Change(args.clone()))
    }

    /// The call that a stored answer is bound to.
    fn call(&self) -> Json {
        json!({"tool": self.tool, "arguments": self.arguments})
    }

    /// The fault of an answer that is no decision; `found` is shown.
    pub fn undecided(&self, found: &str) -> Fault {
        let message = format!(
            "the answer neither approves nor rejects the call of the tool `{}`: {found}",
            self.tool
        );
        self.invalid(message).hint(
            "answer `true` or `\"approve\"`, `false`, `{\"approve\": false, \"reason\": …}` or \
             `{\"approve\": true, \"args\": {…}}`",
        )
    }

    fn decide_by(&self, fields: &Map<String, Json>, schemas: Schemas) -> Result<Decision, Fault> {
        let other =
            if fields.get("approve") == Some(&Json::Bool(true)) { "args" } else { "reason" };
        // The stored form of an answer to this call is accepted too: a subrun gets it from the
        // outer run.
        let is_own = fields.get("of") == Some(&self.call());
        let known = |key: &String| key == "approve" || key == other || (is_own && key == "of");
        let unclear =
            || Err(self.undecided(&short(&Json::Object(fields.clone()).to_string(), SHOWN)));
        if !fields.keys().all(known) {
            return unclear();
        }
        match (fields.get("approve"), fields.get(other)) {
            (Some(Json::Bool(true)), None) => Ok(Decision::Approve),
            (Some(Json::Bool(true)), Some(given @ Json::Object(_))) => {
                self.changed(given, schemas).map(Decision::Change)
            }
            (Some(Json::Bool(false)), None | Some(Json::Null)) => Ok(Decision::Refuse(None)),
            (Some(Json::Bool(false)), Some(Json::String(why))) => {
                Ok(Decision::Refuse(Some(why.clone()).filter(|why| !why.trim().is_empty())))
            }
            _ => unclear(),
        }
    }

    /// Arguments that a person has changed have to be valid without coercion.
    fn changed(&self, given: &Json, schemas: Schemas) -> Result<Json, Fault> {
        let parser = self.check(given, schemas)?;
        // Defaults of the schema are filled in, as in a model's arguments.
        let parsed = parser.parse_arguments(&given.to_string());
        Ok(parsed.map_or_else(|_| given.clone(), |parsed| parsed.value))
    }

    fn check(&self, given: &Json, schemas: Schemas) -> Result<Arc<dyn ReplyParser>, Fault> {
        let Some(schemas) = schemas else {
            let tool = &self.tool;
            return Err(self.invalid(format!(
                "the `args` of an approval cannot be validated and were not passed to the tool \
                 `{tool}`: the run has no schema compiler"
            )));
        };
        let parser = schemas.compile(&Schema::new(&self.tool, self.parameters.clone()))?;
        let Err(wrong) = parser.validate(given) else { return Ok(parser) };
        let wrong: Vec<String> = wrong.iter().take(8).map(ToString::to_string).collect();
        let message = format!(
            "the `args` of an approval do not match the schema of the tool `{}`: {}",
            self.tool,
            wrong.join("; ")
        );
        Err(self.invalid(message).hint("the question's `parameters` is their schema"))
    }

    fn invalid(&self, message: String) -> Fault {
        Fault::new(FaultCode::ApprovalInvalid, message).with("tool", self.tool.as_str())
    }
}

/// The fault of a call that was not approved.
pub fn refused(tool: &str, reason: Option<&str>) -> Fault {
    let message = match reason {
        Some(reason) => format!("the call of `{tool}` was rejected: {reason}"),
        None => format!("the call was rejected: {tool}"),
    };
    let fault = Fault::new(FaultCode::ToolRefused, message).with("tool", tool);
    match reason {
        Some(reason) => fault.with("reason", reason),
        None => fault,
    }
}

/// The refusal that a fault reports, if it does.
pub(crate) fn refusal(fault: &Fault) -> Option<Decision> {
    let reason = fault.details.get("reason").and_then(Json::as_str);
    (fault.code == FaultCode::ToolRefused).then(|| Decision::Refuse(reason.map(str::to_owned)))
}
