//! From a name to a model.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_models::capabilities::{MaxTokensField, ModelCapabilities, StructuredOutput};
use antiphon_models::endpoint::Endpoint;
use antiphon_models::family::FAMILIES;
use antiphon_models::{ModelName, ModelSettings, PROVIDERS, Provider, open};
use serde_json::json;

fn resolve(name: &str, settings: &ModelSettings, env: &[(&str, &str)]) -> Result<Endpoint, Fault> {
    let env = |variable: &str| {
        env.iter().find(|(name, _)| *name == variable).map(|(_, value)| (*value).to_owned())
    };
    Endpoint::resolve(&ModelName::parse(name)?, settings, &env)
}

fn url(name: &str, env: &[(&str, &str)]) -> String {
    let settings = ModelSettings { api_key: Some("k".into()), ..ModelSettings::default() };
    resolve(name, &settings, env).unwrap().url.to_string()
}

#[test]
fn the_first_separator_counts() {
    for (name, shown) in [
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
        ("groq/openai/gpt-oss:20b", "groq:openai/gpt-oss:20b"),
        ("ollama:qwen2.5:0.5b", "ollama:qwen2.5:0.5b"),
        (" MistralAI : large ", "mistral:large"),
        ("google_genai:gemini", "google:gemini"),
    ] {
        assert_eq!(ModelName::parse(name).unwrap().to_string(), shown);
    }
}

#[test]
fn a_name_without_provider_or_model_is_malformed() {
    for name in ["gpt-5-mini", "openai:", ":gpt", "", "openai/ "] {
        let fault = ModelName::parse(name).unwrap_err();
        assert_eq!(fault.code, FaultCode::ModelNameMalformed);
        assert!(fault.message.ends_with(&format!("`{name}`")), "{}", fault.message);
    }
}

#[test]
fn an_unknown_provider_is_refused_with_the_known_ones() {
    let fault = ModelName::parse("acme:one").unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelProviderUnknown);
    let hint = fault.hint.clone().unwrap();
    assert!(Provider::names().all(|name| hint.contains(name)), "{hint}");
}

#[test]
fn the_table_is_sound() {
    let mut names: Vec<&str> = Vec::new();
    for row in PROVIDERS {
        names.push(row.name);
        names.extend(row.aliases);
        assert!(row.base_url.is_some() || !row.base_url_env.is_empty(), "{}", row.name);
        assert!(!row.key_env.is_empty(), "{}", row.name);
        let base = row.base_url.unwrap_or("https://x");
        assert!(base.starts_with("https://") || !row.needs_key, "{}", row.name);
        assert!(!base.ends_with('/'), "{}", row.name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name stands twice");
}

#[test]
fn a_missing_key_names_its_variable() {
    let fault = open("openai:m", &ModelSettings::default(), &|_| None).err().unwrap();
    assert_eq!(fault.code, FaultCode::ModelKeyMissing);
    assert!(fault.message.ends_with("`OPENAI_API_KEY`"), "{}", fault.message);
    let blank = open("openai:m", &ModelSettings::default(), &|_| Some(" ".into())).err().unwrap();
    assert_eq!(blank.code, "model_key_missing");
}

#[test]
fn servers_on_this_machine_need_no_key() {
    for (name, env) in [
        ("ollama:m", vec![]),
        ("openai:m", vec![("OPENAI_BASE_URL", "http://127.0.0.1:8130/v1")]),
        ("openai:m", vec![("OPENAI_BASE_URL", "http://[::1]:8130/v1")]),
        ("groq:m", vec![("GROQ_BASE_URL", "http://localhost:1/v1")]),
    ] {
        assert!(resolve(name, &ModelSettings::default(), &env).is_ok(), "{name} {env:?}");
    }
    let far = [("OPENAI_BASE_URL", "http://127.0.0.1.example.com/v1")];
    assert_eq!(
        resolve("openai:m", &ModelSettings::default(), &far).unwrap_err().code,
        "model_key_missing"
    );
}

#[test]
fn arguments_come_before_the_environment_and_that_before_the_table() {
    assert_eq!(url("openai:m", &[]), "https://api.openai.com/v1/chat/completions");
    let env = [("OPENAI_BASE_URL", "https://env.example/x/")];
    assert_eq!(url("openai:m", &env), "https://env.example/x/chat/completions");
    let base_url = Some("https://arg.example".to_owned());
    let settings =
        ModelSettings { base_url, api_key: Some("k".into()), ..ModelSettings::default() };
    let endpoint = resolve("openai:m", &settings, &env).unwrap();
    assert_eq!(endpoint.url.as_str(), "https://arg.example/chat/completions");
    let env = [("GOOGLE_API_KEY", "second"), ("GEMINI_API_KEY", "first")];
    let endpoint = resolve("google:m", &ModelSettings::default(), &env).unwrap();
    assert_eq!(endpoint.headers[0].1.expose(), "Bearer first");
}

#[test]
fn addresses_of_local_servers_are_read_in_all_their_forms() {
    for (host, expected) in [
        ("192.168.1.5", "http://192.168.1.5:11434/v1/chat/completions"),
        ("0.0.0.0:9999", "http://127.0.0.1:9999/v1/chat/completions"),
        ("https://ollama.example", "https://ollama.example/v1/chat/completions"),
        ("http://box:11434/", "http://box:11434/v1/chat/completions"),
        ("http://box/api/v1", "http://box/api/v1/chat/completions"),
    ] {
        assert_eq!(url("ollama:m", &[("OLLAMA_HOST", host)]), expected);
    }
    let azure = [("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/")];
    assert_eq!(url("azure:m", &azure), "https://me.openai.azure.com/openai/v1/chat/completions");
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_being_shown() {
    for base in ["http://", "ftp://host/v1", "https://me:hush@host/v1", "http://a b/hush"] {
        let settings = ModelSettings { base_url: Some(base.into()), ..ModelSettings::default() };
        let fault = resolve("openai:m", &settings, &[]).unwrap_err();
        assert_eq!(fault.code, FaultCode::ModelBaseUrlInvalid);
        assert!(!format!("{fault:?}").contains("hush"), "{fault:?}");
    }
    let fault = resolve("azure:m", &ModelSettings::default(), &[]).unwrap_err();
    assert_eq!(fault.code, "model_base_url_missing");
    assert!(fault.hint.as_ref().unwrap().contains("AZURE_OPENAI_ENDPOINT"));
}

fn capabilities(name: &str, env: &[(&str, &str)], own: &serde_json::Value) -> ModelCapabilities {
    let settings = json!({"api_key": "k", "capabilities": own});
    let settings: ModelSettings = serde_json::from_value(settings).unwrap();
    resolve(name, &settings, env).unwrap().capabilities
}

#[test]
fn only_the_official_server_gets_strict_schemas() {
    let known = |name: &str, env: &[(&str, &str)]| {
        let found = capabilities(name, env, &json!({}));
        (found.structured_output, found.max_tokens_field)
    };
    let (max, completion) = (MaxTokensField::MaxTokens, MaxTokensField::MaxCompletionTokens);
    assert_eq!(known("openai:m", &[]), (StructuredOutput::Strict, completion));
    assert_eq!(known("deepseek:m", &[]), (StructuredOutput::Json, max));
    let proxy = [("OPENAI_BASE_URL", "https://proxy.example/v1")];
    assert_eq!(known("openai:m", &proxy), (StructuredOutput::Schema, max));
    assert_eq!(known("openai:gpt-5-mini", &proxy), (StructuredOutput::Schema, completion));
}

#[test]
fn a_family_decides_what_is_accepted() {
    for (name, temperature, tools) in [
        ("openai:gpt-5-mini", false, true),
        ("openai:GPT-5", false, true),
        ("azure:gpt-5-nano", false, true),
        ("openai:o4-mini", false, true),
        ("openai:gpt-5.2-pro", false, true),
        ("openai:gpt-5.2", true, true),
        ("openai:gpt-5-chat-latest", true, true),
        ("openai:gpt-4.1", true, true),
        ("openai:gpt-4o-search-preview", false, false),
        ("openrouter:openai/gpt-5-mini", true, true),
        ("anthropic:claude-sonnet-5-5", false, true),
        ("anthropic:claude-3-haiku-20240307", false, true),
        ("anthropic:of-another-server", true, true),
        ("ollama:gpt-5", true, true),
    ] {
        let env = [("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com")];
        let known = capabilities(name, &env, &json!({}));
        assert_eq!((known.temperature, known.tools), (temperature, tools), "{name}");
    }
    let structured = |name: &str| capabilities(name, &[], &json!({})).structured_output;
    assert_eq!(structured("openai:gpt-4o"), StructuredOutput::Strict);
    assert_eq!(structured("openai:gpt-4-turbo"), StructuredOutput::Json);
    assert_eq!(structured("openai:gpt-4"), StructuredOutput::Prompt);
    assert_eq!(structured("anthropic:claude-opus-5-5"), StructuredOutput::Strict);
    assert_eq!(structured("anthropic:claude-sonnet-4-20250514"), StructuredOutput::Tool);
    let limit = |name: &str| capabilities(name, &[], &json!({})).default_max_tokens;
    assert_eq!(limit("anthropic:claude-3-haiku-20240307"), Some(4096));
    assert_eq!(limit("anthropic:claude-sonnet-5-5"), Some(16_384));
    assert_eq!(limit("openai:gpt-5-mini"), None);
}

#[test]
fn no_row_of_a_family_hides_another_one() {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for row in FAMILIES {
        for provider in row.providers {
            assert!(Provider::find(provider).is_some(), "{provider}");
            for prefix in row.prefixes {
                let hidden = |(other, shorter): &&(&str, &str)| {
                    other == provider && prefix.starts_with(shorter)
                };
                assert_eq!(seen.iter().find(hidden), None, "{prefix}");
            }
        }
        let pairs = |provider: &'static &'static str| {
            row.prefixes.iter().map(move |prefix| (*provider, *prefix))
        };
        seen.extend(row.providers.iter().flat_map(pairs));
    }
}

#[test]
fn a_setting_counts_over_the_family() {
    let own = json!({
        "temperature": true, "tools": false, "structured_output": "prompt",
        "max_tokens_field": "max_tokens", "default_max_tokens": 64,
    });
    let known = capabilities("openai:gpt-5-mini", &[], &own);
    let expected = ModelCapabilities {
        structured_output: StructuredOutput::Prompt,
        max_tokens_field: MaxTokensField::MaxTokens,
        default_max_tokens: Some(64),
        temperature: true,
        tools: false,
        stream_options: true,
    };
    assert_eq!(known, expected);
}

#[test]
fn anthropic_is_reached_at_its_own_address_with_its_own_headers() {
    let settings = ModelSettings::default();
    let env = [("ANTHROPIC_API_KEY", "k-1"), ("ANTHROPIC_AUTH_TOKEN", "t-1")];
    let endpoint = resolve("anthropic:claude-sonnet-5-5", &settings, &env).unwrap();
    assert_eq!(endpoint.url.as_str(), "https://api.anthropic.com/v1/messages");
    let (name, value) = &endpoint.headers[0];
    assert_eq!((name.as_str(), value.expose(), endpoint.headers.len()), ("x-api-key", "k-1", 1));
    let token = [("ANTHROPIC_AUTH_TOKEN", "t-1")];
    let endpoint = resolve("anthropic:m", &settings, &token).unwrap();
    let (name, value) = &endpoint.headers[0];
    assert_eq!((name.as_str(), value.expose()), ("authorization", "Bearer t-1"));
    assert_eq!(resolve("anthropic:m", &settings, &[]).unwrap_err().code, "model_key_missing");
    for (base, url) in [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/messages"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/messages"),
        ("http://127.0.0.1:8080/anthropic", "http://127.0.0.1:8080/anthropic/v1/messages"),
    ] {
        let endpoint = resolve("anthropic:m", &settings, &[("ANTHROPIC_BASE_URL", base)]).unwrap();
        assert_eq!(endpoint.url.as_str(), url);
    }
}

#[test]
fn organisation_and_project_come_from_the_environment() {
    let env = [("OPENAI_API_KEY", "k"), ("OPENAI_PROJECT_ID", "p-1"), ("OPENAI_ORG_ID", "o-1")];
    let endpoint = resolve("openai:m", &ModelSettings::default(), &env).unwrap();
    let names: Vec<&str> = endpoint.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["authorization", "OpenAI-Organization", "OpenAI-Project"]);
}

#[test]
fn a_field_of_the_request_cannot_be_set_twice() {
    let extra_body = [("stream".to_owned(), json!(true))].into_iter().collect();
    let settings = ModelSettings { extra_body, ..ModelSettings::default() };
    let fault = resolve("ollama:m", &settings, &[]).unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelSettingInvalid);
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_before_anything_is_and_not_shown() {
    let with = |key: &str| ModelSettings { api_key: Some(key.into()), ..ModelSettings::default() };
    let fault = resolve("openai:m", &with("sk-hu\nsh"), &[]).unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelSettingInvalid);
    assert!(fault.message.ends_with(": authorization"), "{}", fault.message);
    assert!(!format!("{fault:?}").contains("hu") && fault.hint.is_some(), "{fault:?}");
    let around = resolve("openai:m", &with(" sk-hush\r\n"), &[]).unwrap();
    assert_eq!(around.headers[0].1.expose(), "Bearer sk-hush", "blanks around it are no part");
    let headers = [("x other".to_owned(), "v".into())].into();
    let settings = ModelSettings { headers, api_key: Some("k".into()), ..ModelSettings::default() };
    assert!(resolve("openai:m", &settings, &[]).unwrap_err().message.ends_with(": x other"));
}

#[test]
fn an_empty_key_is_none() {
    let settings = ModelSettings { api_key: Some(" ".into()), ..ModelSettings::default() };
    assert_eq!(resolve("openai:m", &settings, &[]).unwrap_err().code, "model_key_missing");
    let env = [("OPENAI_API_KEY", "k-from-env")];
    let endpoint = resolve("openai:m", &settings, &env).unwrap();
    assert_eq!(endpoint.headers[0].1.expose(), "Bearer k-from-env");
}

#[test]
fn settings_are_read_from_json() {
    let read: ModelSettings = serde_json::from_value(json!({
        "base_url": "http://127.0.0.1:1/v1", "api_key": "sk-1", "timeout": 1.5, "idle_timeout": null,
        "max_attempts": 5, "max_reply_bytes": 99, "headers": {"x-team": "a"}, "extra_body": {"seed": 1},
    }))
    .unwrap();
    let defaults = ModelSettings::default();
    assert_eq!(read.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
    assert_eq!(
        (read.timeout, read.idle_timeout),
        (Duration::from_millis(1500), defaults.idle_timeout)
    );
    assert_eq!((read.retry.max_attempts, read.idempotency_header), (5, false));
    assert_eq!(read.max_reply_bytes, 99);
    assert_eq!(read.extra_body.get("seed"), Some(&json!(1)));
    assert!(read.headers.contains_key("x-team") && read.api_key.is_some());
}

#[test]
fn settings_that_cannot_be_used_say_why() {
    for (given, reason) in [
        (json!({"timeout": -1}), "`timeout` must be a non-negative number of seconds: -1"),
        (json!({"idle_timeout": 0}), "`idle_timeout` must be a number of seconds above zero: 0"),
        (json!({"max_reply_bytes": 0}), "`max_reply_bytes` must be an integer of at least 1: 0"),
        (json!({"max_attempts": 0}), "`max_attempts` must be an integer of at least 1: 0"),
        (json!({"base_ulr": "u"}), "base_ulr"),
        (json!({"capabilities": {"temprature": true}}), "temprature"),
        (json!({"capabilities": {"structured_output": "xml"}}), "xml"),
        (json!({"capabilities": {"default_max_tokens": 0}}), "must be an integer of at least 1: 0"),
    ] {
        let error = serde_json::from_value::<ModelSettings>(given).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
