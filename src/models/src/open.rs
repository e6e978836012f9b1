//! Opens a model by its name.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::Model;

use crate::anthropic::AnthropicMessages;
use crate::endpoint::Endpoint;
use crate::name::ModelName;
use crate::openai_chat::OpenAiChat;
use crate::retrying::Retrying;
use crate::settings::ModelSettings;
use crate::wire::WireKind;

/// Opens the model `name` with transport retries. Nothing is sent yet. `env` looks up an
/// environment variable; an empty value counts as unset.
///
/// ```
/// use antiphon_models::{ModelSettings, open};
/// let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-123".to_owned());
/// let model = open("openai:gpt-5-mini", &ModelSettings::default(), &env).unwrap();
/// assert_eq!(model.name(), "openai:gpt-5-mini");
/// ```
///
/// # Errors
/// `Validation` if the name, the address or a setting is not valid (codes
/// `model_name_malformed`, `model_provider_unknown`, `model_base_url_missing`,
/// `model_base_url_invalid`, `model_setting_invalid`); `Auth` with `model_key_missing` if the
/// provider needs a key and there is none.
pub fn open(
    name: &str,
    settings: &ModelSettings,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Model>, Fault> {
    let endpoint = Endpoint::resolve(&ModelName::parse(name)?, settings, env)?;
    let http = settings.http.clone().unwrap_or_default();
    let model: Arc<dyn Model> = match endpoint.wire {
        WireKind::OpenAiChat => Arc::new(OpenAiChat::new(endpoint, http)),
        WireKind::AnthropicMessages => Arc::new(AnthropicMessages::new(endpoint, http)),
    };
    Ok(Arc::new(Retrying::new(model, settings.retry.clone())))
}
