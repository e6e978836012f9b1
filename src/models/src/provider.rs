//! Providers: one row of parameters each.

use crate::capabilities::{MaxTokensField, ModelCapabilities, StructuredOutput};
use crate::wire::WireKind;

/// A service or local server, and how it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name before the colon.
    pub name: &'static str,
    /// Other spellings of the name.
    pub aliases: &'static [&'static str],
    /// The API that it speaks.
    pub wire: WireKind,
    /// The default address; `None` if every user has an own one.
    pub base_url: Option<&'static str>,
    /// Environment variables for the address; the first one that is set counts.
    pub base_url_env: &'static [&'static str],
    /// The path of an address without one.
    pub default_path: &'static str,
    /// The port of an address without scheme and port.
    pub default_port: Option<u16>,
    /// Environment variables for the key; the first one that is set counts.
    pub key_env: &'static [&'static str],
    /// Environment variables for a token that is sent as `Authorization: Bearer`; the first one
    /// that is set counts, if there is no key.
    pub bearer_env: &'static [&'static str],
    /// Whether it needs a key.
    pub needs_key: bool,
    /// The header that carries the plain key; `None` for `Authorization: Bearer`.
    pub key_header: Option<&'static str>,
    /// Environment variables whose values become headers, if set.
    pub env_headers: &'static [(&'static str, &'static str)],
    /// Headers of every request.
    pub fixed_headers: &'static [(&'static str, &'static str)],
    /// What its models accept, unless their family differs.
    pub capabilities: ModelCapabilities,
}

impl Provider {
    /// The provider of that name or alias, in any case.
    pub fn find(name: &str) -> Option<&'static Self> {
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        PROVIDERS.iter().find(|row| is(&row.name) || row.aliases.iter().any(is))
    }

    /// All names, in the order of the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROVIDERS.iter().map(|row| row.name)
    }
}

/// What most servers of the OpenAI chat API accept.
const COMPATIBLE: ModelCapabilities = ModelCapabilities {
    structured_output: StructuredOutput::Schema,
    max_tokens_field: MaxTokensField::MaxTokens,
    default_max_tokens: None,
    temperature: true,
    tools: true,
    stream_options: true,
};

/// The limit of a reply's tokens where the API requires one. A longer reply would have to be
/// streamed, because connections are not kept open for more than ten minutes of silence.
const MAX_TOKENS: u32 = 16_384;

/// A hosted service that needs a key.
const HOSTED: Provider = Provider {
    name: "",
    aliases: &[],
    wire: WireKind::OpenAiChat,
    base_url: None,
    base_url_env: &[],
    default_path: "",
    default_port: None,
    key_env: &[],
    bearer_env: &[],
    needs_key: true,
    key_header: None,
    env_headers: &[],
    fixed_headers: &[],
    capabilities: COMPATIBLE,
};

/// A server that users run themselves.
const LOCAL: Provider = Provider { needs_key: false, default_path: "/v1", ..HOSTED };

/// All providers.
pub const PROVIDERS: &[Provider] = &[
    Provider {
        name: "openai",
        aliases: &["openai-chat"],
        base_url: Some("https://api.openai.com/v1"),
        base_url_env: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        key_env: &["OPENAI_API_KEY"],
        env_headers: &[
            ("OPENAI_ORG_ID", "OpenAI-Organization"),
            ("OPENAI_PROJECT_ID", "OpenAI-Project"),
        ],
        ..HOSTED
    },
    Provider {
        name: "anthropic",
        wire: WireKind::AnthropicMessages,
        base_url: Some("https://api.anthropic.com"),
        base_url_env: &["ANTHROPIC_BASE_URL"],
        key_env: &["ANTHROPIC_API_KEY"],
        bearer_env: &["ANTHROPIC_AUTH_TOKEN"],
        key_header: Some("x-api-key"),
        fixed_headers: &[("anthropic-version", "2026-10-21")],
        capabilities: ModelCapabilities {
            structured_output: StructuredOutput::Tool,
            default_max_tokens: Some(MAX_TOKENS),
            ..COMPATIBLE
        },
        ..HOSTED
    },
    Provider {
        name: "azure",
        aliases: &["azure_openai"],
        base_url_env: &["AZURE_OPENAI_ENDPOINT"],
        default_path: "/openai/v1",
        key_env: &["AZURE_OPENAI_API_KEY"],
        key_header: Some("api-key"),
        capabilities: ModelCapabilities {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            ..COMPATIBLE
        },
        ..HOSTED
    },
    Provider {
        name: "google",
        aliases: &["google_genai", "gemini"],
        base_url: Some("https://generativelanguage.googleapis.com/v1beta/openai"),
        key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "mistral",
        aliases: &["mistralai"],
        base_url: Some("https://api.mistral.ai/v1"),
        base_url_env: &["MISTRAL_BASE_URL"],
        key_env: &["MISTRAL_API_KEY"],
        capabilities: ModelCapabilities { stream_options: false, ..COMPATIBLE },
        ..HOSTED
    },
    Provider {
        name: "groq",
        base_url: Some("https://api.groq.com/openai/v1"),
        base_url_env: &["GROQ_BASE_URL"],
        key_env: &["GROQ_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "together",
        base_url: Some("https://api.together.xyz/v1"),
        base_url_env: &["TOGETHER_BASE_URL"],
        key_env: &["TOGETHER_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "fireworks",
        base_url: Some("https://api.fireworks.ai/inference/v1"),
        base_url_env: &["FIREWORKS_BASE_URL"],
        key_env: &["FIREWORKS_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "deepseek",
        base_url: Some("https://api.deepseek.com/v1"),
        base_url_env: &["DEEPSEEK_BASE_URL"],
        key_env: &["DEEPSEEK_API_KEY"],
        capabilities: ModelCapabilities { structured_output: StructuredOutput::Json, ..COMPATIBLE },
        ..HOSTED
    },
    Provider {
        name: "openrouter",
        base_url: Some("https://openrouter.ai/api/v1"),
        base_url_env: &["OPENROUTER_BASE_URL"],
        key_env: &["OPENROUTER_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "xai",
        aliases: &["grok"],
        base_url: Some("https://api.x.ai/v1"),
        base_url_env: &["XAI_BASE_URL"],
        key_env: &["XAI_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "cerebras",
        base_url: Some("https://api.cerebras.ai/v1"),
        base_url_env: &["CEREBRAS_BASE_URL"],
        key_env: &["CEREBRAS_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "huggingface",
        base_url: Some("https://router.huggingface.co/v1"),
        key_env: &["HF_TOKEN"],
        ..HOSTED
    },
    Provider {
        name: "ollama",
        base_url: Some("http://127.0.0.1:11434/v1"),
        base_url_env: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
        default_port: Some(11434),
        key_env: &["OLLAMA_API_KEY"],
        ..LOCAL
    },
    Provider {
        name: "vllm",
        base_url: Some("http://127.0.0.1:8000/v1"),
        base_url_env: &["VLLM_BASE_URL"],
        default_port: Some(8000),
        key_env: &["VLLM_API_KEY"],
        ..LOCAL
    },
    Provider {
        name: "lmstudio",
        aliases: &["lm_studio"],
        base_url: Some("http://127.0.0.1:1234/v1"),
        base_url_env: &["LM_STUDIO_API_BASE"],
        default_port: Some(1234),
        key_env: &["LM_STUDIO_API_KEY"],
        ..LOCAL
    },
    Provider {
        name: "llamacpp",
        aliases: &["llama_cpp", "llama.cpp"],
        base_url: Some("http://127.0.0.1:8080/v1"),
        base_url_env: &["LLAMACPP_BASE_URL"],
        default_port: Some(8080),
        key_env: &["LLAMA_API_KEY"],
        ..LOCAL
    },
];
