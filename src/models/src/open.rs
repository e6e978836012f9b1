//! Opens a model by its name.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::Model;

use crate::endpoint::Endpoint;
use crate::name::ModelName;
use crate::openai_chat::OpenAiChat;
use crate::retrying::Retrying;
use crate::settings::ModelSettings;

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
    let chat = OpenAiChat::new(endpoint, settings.http.clone().unwrap_or_default());
    Ok(Arc::new(Retrying::new(Arc::new(chat), settings.retry.clone())))
}
