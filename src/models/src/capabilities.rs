//! What a model accepts: a provider's own, changed by the family of the model, and by the user.

use antiphon_core::{Fault, ModelRequest};
use serde::Deserialize;

use crate::failure::FaultFactory;

/// What a model accepts, and how it wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelCapabilities {
    /// How to request a JSON reply.
    pub structured_output: StructuredOutput,
    /// The name of the field that limits the reply's tokens.
    pub max_tokens_field: MaxTokensField,
    /// The limit of the reply's tokens for requests without one; `None` for the model's.
    pub default_max_tokens: Option<u32>,
    /// Whether it accepts a temperature.
    pub temperature: bool,
    /// Whether it accepts tools.
    pub tools: bool,
    /// Whether a stream reports token counts only on request. Some providers refuse the request
    /// and report them anyway.
    pub stream_options: bool,
}

/// How to request a JSON reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// With a schema rewritten to the subset that the server guarantees.
    Strict,
    /// With the schema as it is. Servers with grammars enforce it; others do their best.
    Schema,
    /// As any JSON; the schema goes into the instructions.
    Json,
    /// As the call of a tool that the model must call.
    Tool,
    /// With instructions only.
    Prompt,
}

/// The field that limits the reply's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`, which includes reasoning.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// Changes to [`ModelCapabilities`]; `None` keeps the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CapabilityOverrides {
    /// See [`ModelCapabilities::structured_output`].
    pub structured_output: Option<StructuredOutput>,
    /// See [`ModelCapabilities::max_tokens_field`].
    pub max_tokens_field: Option<MaxTokensField>,
    /// See [`ModelCapabilities::default_max_tokens`].
    pub default_max_tokens: Option<u32>,
    /// See [`ModelCapabilities::temperature`].
    pub temperature: Option<bool>,
    /// See [`ModelCapabilities::tools`].
    pub tools: Option<bool>,
}

impl CapabilityOverrides {
    /// No difference.
    pub const NONE: Self = Self {
        structured_output: None,
        max_tokens_field: None,
        default_max_tokens: None,
        temperature: None,
        tools: None,
    };
}

impl ModelCapabilities {
    /// These, with some of them changed.
    #[must_use]
    pub fn with(self, changed: &CapabilityOverrides) -> Self {
        Self {
            structured_output: changed.structured_output.unwrap_or(self.structured_output),
            max_tokens_field: changed.max_tokens_field.unwrap_or(self.max_tokens_field),
            default_max_tokens: changed.default_max_tokens.or(self.default_max_tokens),
            temperature: changed.temperature.unwrap_or(self.temperature),
            tools: changed.tools.unwrap_or(self.tools),
            stream_options: self.stream_options,
        }
    }

    /// Checks that the model accepts the parameters of `request`, which were all set on purpose.
    ///
    /// # Errors
    /// `Validation` with `model_parameter_unsupported`.
    pub(crate) fn check(
        self,
        request: &ModelRequest,
        failure: FaultFactory<'_>,
    ) -> Result<(), Fault> {
        if let Some(temperature) = request.temperature.filter(|_| !self.temperature) {
            return Err(failure.unsupported("temperature", &temperature.to_string()));
        }
        if !request.tools.is_empty() && !self.tools {
            let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
            return Err(failure.unsupported("tools", &names.join(", ")));
        }
        Ok(())
    }
}
