//! Names of models.

use std::fmt;

use antiphon_core::{Fault, FaultCode};

use crate::provider::Provider;

/// A model of a provider, for instance `openai:gpt-5-mini`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// The provider.
    pub provider: &'static Provider,
    /// The provider's name of the model; may contain `:` and `/`.
    pub model: String,
}

impl ModelName {
    /// Parses `provider:model` or `provider/model`; the first separator counts.
    ///
    /// ```
    /// let name = antiphon_models::ModelName::parse("openrouter:meta-llama/llama-4:free").unwrap();
    /// assert_eq!(name.provider.name, "openrouter");
    /// assert_eq!(name.model, "meta-llama/llama-4:free");
    /// ```
    ///
    /// # Errors
    /// `Validation`: `model_name_malformed` without a provider or a model,
    /// `model_provider_unknown` for an unknown provider.
    pub fn parse(name: &str) -> Result<Self, Fault> {
        let (prefix, model) = name.trim().split_once([':', '/']).unwrap_or(("", name));
        let (prefix, model) = (prefix.trim(), model.trim());
        if prefix.is_empty() || model.is_empty() {
            return Err(malformed(name));
        }
        let provider = Provider::find(prefix).ok_or_else(|| unknown(prefix))?;
        Ok(Self { provider, model: model.to_owned() })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider.name, self.model)
    }
}

fn malformed(name: &str) -> Fault {
    let message = format!("a model name needs a provider and a model: `{name}`");
    Fault::new(FaultCode::ModelNameMalformed, message)
        .with("name", name)
        .hint("use the form `provider:model`, for instance `openai:gpt-5-mini`")
}

fn unknown(prefix: &str) -> Fault {
    let known = Provider::names().collect::<Vec<_>>().join(", ");
    let message = format!("unknown model provider: `{prefix}`");
    Fault::new(FaultCode::ModelProviderUnknown, message).with("provider", prefix).hint(format!(
        "choose one of {known}; for another server that speaks the OpenAI chat wire, use \
             `openai:…` and set its base URL"
    ))
}
