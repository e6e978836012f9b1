//! Keys, addresses and engines.

use antiphon_core::Fault;
use antiphon_tools::find;
use antiphon_tools::web_search::{SearchBackend, WebSearchSettings};
use serde_json::{Value as Json, json};

use super::support::KEY;

fn refused(settings: &Json) -> Fault {
    find("web_search").unwrap().open(settings).err().unwrap()
}

fn names(settings: Json, env: &[(&str, &str)]) -> Result<Vec<String>, Fault> {
    let settings: WebSearchSettings = serde_json::from_value(settings).unwrap();
    let look =
        |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let opened = settings.open_backends(&look)?;
    Ok(opened.iter().map(|backend| SearchBackend::name(&**backend).to_owned()).collect())
}

#[test]
fn engines_with_a_key_or_an_address_are_used() {
    let env = [
        ("SERPER_API_KEY", KEY),
        ("BRAVE_SEARCH_API_KEY", KEY),
        ("SEARXNG_URL", "http://localhost:8080"),
    ];
    assert_eq!(names(json!({}), &env).unwrap(), ["searxng", "brave", "serper"]);
    assert_eq!(names(json!({"backends": ["serper"]}), &env).unwrap(), ["serper"]);
    assert_eq!(
        names(json!({"tavily_api_key": KEY}), &[("BRAVE_API_KEY", " ")]).unwrap(),
        ["tavily"]
    );
}

#[test]
fn without_any_engine_the_hint_names_the_variables() {
    let fault = names(json!({}), &[]).unwrap_err();
    assert_eq!(
        fault.hint.as_deref(),
        Some("set one of SEARXNG_URL, BRAVE_API_KEY, TAVILY_API_KEY, SERPER_API_KEY")
    );
    let fault = names(json!({"backends": ["brave"]}), &[]).unwrap_err();
    assert_eq!(fault.message, "the engine of `backends` needs a key: brave");
    assert_eq!(fault.hint.as_deref(), Some("set BRAVE_API_KEY"));
}

#[test]
fn wrong_settings_are_named_without_their_secrets() {
    for key in [
        json!(["sk-live-0123456789abcdef"]),
        json!({"k": KEY}),
        json!(format!("{KEY}\n")),
        json!(5),
    ] {
        let fault = refused(&json!({"backends": ["brave"], "brave_api_key": key}));
        assert_eq!(
            fault.message,
            "`brave_api_key` must be a key, text without spaces (its value is not shown)"
        );
        assert!(!format!("{fault:?}").contains("sk-live"));
    }
    let fault = refused(&json!({"backends": ["searxng"], "searxng_url": "ftp://user:geheim@x"}));
    assert!(!format!("{fault:?}").contains("geheim"));
    let fault = refused(&json!({"backends": ["bing"]}));
    assert_eq!(fault.message, "`backends` may hold searxng, brave, tavily, serper: bing");
    let fault = refused(&json!({"backends": ["brave"], "brave_api_key": KEY, "timeout": 0.0}));
    assert_eq!(fault.message, "`timeout` must be a number of seconds above zero: 0");
}
