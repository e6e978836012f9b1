//! Exchanges with servers that refuse, echo, redirect and vanish.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_net::AddressPolicy;
use antiphon_runtime::{CallContext, Clock, ManualClock};
use antiphon_tools::SecretText;
use antiphon_tools::http_api::{
    AdjustmentRule, ApiCall, ApiCatalogue, ApiExchange, ApiOptions, ApiPrincipal, AuthProfile,
    HttpApi, KeyLocation, ReplyContent, TokenProfile,
};
use antiphon_tools::sql::CellValue;
use serde_json::{Map, Value as Json, json};

use super::server::{Answer, SeenRequest, TestServer};

const CATALOGUE: &str = "
sections:
  - id: all
    endpoints:
      - path: /orders
        query_params: {start_date: from, end_date: to, region: where}
      - {path: /open, requires_auth: false}
      - {method: POST, path: /orders, body: {type: object}}
";

pub(super) const SECRET: &str = "s3cret-key-of-ada-4711";

pub(super) struct Setup {
    pub(super) api: HttpApi,
    pub(super) clock: Arc<ManualClock>,
}

impl Setup {
    pub(super) fn new(server: &TestServer, auth: AuthProfile) -> Self {
        Self::with_options(server, auth, ApiOptions::default())
    }

    fn with_options(server: &TestServer, auth: AuthProfile, options: ApiOptions) -> Self {
        let policy = AddressPolicy::default().allow("loopback").unwrap();
        let catalogue = ApiCatalogue::parse(CATALOGUE).unwrap();
        let api = HttpApi::new(catalogue, Some(&server.url), auth, policy, options).unwrap();
        Self { api, clock: Arc::new(ManualClock::default()) }
    }

    async fn call(&self, id: &str, call: ApiCall) -> Result<ApiExchange, Fault> {
        self.call_for(id, call, &ApiPrincipal::new("ada")).await
    }

    async fn call_for(
        &self,
        id: &str,
        call: ApiCall,
        principal: &ApiPrincipal,
    ) -> Result<ApiExchange, Fault> {
        let (method, path) = id.split_once(' ').unwrap();
        let endpoint = self.api.catalogue().find(method, path).unwrap();
        let context = CallContext::new(Arc::clone(&self.clock) as _);
        self.api.call(endpoint, call, principal, &context).await
    }

    /// Lets the pause of a repetition pass as soon as the call waits for it.
    pub(super) async fn pass(&self, pause: Duration) {
        while self.clock.next_wake() != Some(self.clock.now() + pause) {
            tokio::task::yield_now().await;
        }
        self.clock.advance(pause);
    }

    pub(super) async fn get(&self) -> Result<ApiExchange, Fault> {
        self.call("GET /orders", ApiCall::default()).await
    }
}

pub(super) fn tokens(server: &TestServer) -> AuthProfile {
    AuthProfile::Token(Box::new(TokenProfile {
        url: format!("{}/token", server.url),
        client_id: Some("antiphon".to_owned()),
        client_secret: Some(SecretText::new(SECRET)),
        scope: Some("orders:read".to_owned()),
        ..TokenProfile::default()
    }))
}

/// Gives out `token-1`, `token-2`, …, and accepts what `accepts` says.
pub(super) async fn token_server(
    expires_in: u64,
    accepts: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> TestServer {
    let given = std::sync::atomic::AtomicUsize::new(0);
    TestServer::start(move |request, _| {
        if request.target == "/token" {
            let number = given.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
            let token = format!("token-{number}-abcdefgh");
            return Answer::json(200, &json!({"access_token": token, "expires_in": expires_in}));
        }
        let token = request.header("authorization").unwrap_or_default().to_owned();
        let token = token.trim_start_matches("Bearer ");
        if accepts(token) {
            Answer::json(200, &json!([{"id": 1, "token": token}]))
        } else {
            Answer::json(401, &json!({"error": format!("bad token {token}")}))
        }
    })
    .await
}

pub(super) fn targets(server: &TestServer) -> Vec<String> {
    server.seen().into_iter().map(|request| request.target).collect()
}

#[tokio::test]
async fn each_auth_profile_puts_its_secret_in_its_place_and_nowhere_else() {
    let server = TestServer::start(|request, _| {
        let echo = format!("{:?}", (&request.headers, &request.target));
        Answer::json(200, &json!({"echo": echo, "nested": [{"deep": echo}], "n": 1}))
    })
    .await;
    let key = |location| AuthProfile::ApiKey {
        name: "X-Api-Key".to_owned(),
        key: SecretText::new(SECRET),
        location,
    };
    let basic = AuthProfile::Basic { user: "ada".to_owned(), password: SecretText::new(SECRET) };
    for (auth, place) in [
        (AuthProfile::Bearer { token: SecretText::new(SECRET) }, "authorization"),
        (basic, "authorization"),
        (key(KeyLocation::Header), "x-api-key"),
        (key(KeyLocation::Query), "query"),
    ] {
        let setup = Setup::new(&server, auth.clone());
        let exchange = setup.get().await.unwrap();
        let seen = server.seen().pop().unwrap();
        if place == "query" {
            assert_eq!(seen.target, format!("/orders?X-Api-Key={SECRET}"));
        } else {
            assert!(seen.header(place).is_some(), "{place}");
        }
        let shown = format!("{exchange:?} {auth:?} {:?}", setup.api);
        assert!(!shown.contains(SECRET), "{shown}");
        assert!(!shown.contains("YWRhOnMzY3JldC1rZXktb2YtYWRhLTQ3MTE"), "{shown}");

        setup.call("GET /open", ApiCall::default()).await.unwrap();
        let seen = server.seen().pop().unwrap();
        assert!(!format!("{seen:?}").contains(SECRET), "{seen:?}");
    }
}

#[tokio::test]
async fn an_error_that_echoes_the_secret_is_cleaned() {
    let server = TestServer::start(|request, _| {
        let token = request.header("authorization").unwrap_or_default();
        let escaped = token.replace('4', "\\u0034");
        Answer::text(403, "application/json", &format!("{{\"message\": \"{token} {escaped}\"}}"))
    })
    .await;
    let setup = Setup::new(&server, AuthProfile::Bearer { token: SecretText::new(SECRET) });
    let fault = setup.get().await.unwrap_err();
    assert_eq!(fault.code, "api_unauthorized");
    assert!(!format!("{fault:?}").contains(SECRET), "{fault:?}");
    assert!(!format!("{fault:?}").contains("s3cret-key-of-ada"), "{fault:?}");
}

#[tokio::test]
async fn a_token_is_kept_until_shortly_before_it_expires() {
    let server = token_server(3_600, |token| token.starts_with("token-")).await;
    let setup = Setup::new(&server, tokens(&server));
    for _ in 0..3 {
        let exchange = setup.get().await.unwrap();
        assert!(!format!("{exchange:?}").contains("token-1"), "{exchange:?}");
    }
    assert_eq!(targets(&server), ["/token", "/orders", "/orders", "/orders"]);
    let form = &server.seen()[0];
    assert_eq!(form.body, "grant_type=client_credentials&scope=orders%3Aread");
    assert!(form.header("authorization").unwrap().starts_with("Basic "));

    setup.clock.advance(Duration::from_secs(3_479));
    setup.get().await.unwrap();
    assert_eq!(server.seen().len(), 5);
    setup.clock.advance(Duration::from_secs(1));
    setup.get().await.unwrap();
    assert_eq!(targets(&server)[5..], ["/token", "/orders"]);
}

#[tokio::test]
async fn tokens_of_principals_do_not_mix() {
    let server = token_server(3_600, |token| token.starts_with("token-")).await;
    let setup = Setup::new(&server, tokens(&server));
    let (ada, bo) = (ApiPrincipal::new("ada"), ApiPrincipal::new("bo"));
    let own = AuthProfile::Bearer { token: SecretText::new("own-token-of-cy-99") };
    let cy = ApiPrincipal::new("cy").with_auth(own).unwrap();
    let call = |principal| setup.call_for("GET /orders", ApiCall::default(), principal);
    let (first, second, third) = tokio::join!(call(&ada), call(&bo), call(&ada));
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
    let seen = server.seen();
    let of_token = |token: &str| {
        let is_it = |request: &&SeenRequest| request.header("authorization") == Some(token);
        seen.iter().filter(is_it).count()
    };
    // One fetch for each principal, although the calls ran at the same time.
    assert_eq!(seen.iter().filter(|request| request.target == "/token").count(), 2);
    let counts = [of_token("Bearer token-1-abcdefgh"), of_token("Bearer token-2-abcdefgh")];
    assert!(counts == [1, 2] || counts == [2, 1], "{counts:?}");

    assert_eq!(call(&cy).await.unwrap_err().code, "api_unauthorized");
    let last = server.seen().pop().unwrap();
    assert_eq!(last.header("authorization"), Some("Bearer own-token-of-cy-99"));
}

#[tokio::test]
async fn a_401_renews_the_token_exactly_once() {
    let server = token_server(3_600, |token| token.starts_with("token-2")).await;
    let setup = Setup::new(&server, tokens(&server));
    let exchange = setup.get().await.unwrap();
    assert_eq!(targets(&server), ["/token", "/orders", "/token", "/orders"]);
    assert_eq!((exchange.requests, exchange.notes.len()), (2, 1));

    let server = token_server(3_600, |_| false).await;
    let setup = Setup::new(&server, tokens(&server));
    let fault = setup.get().await.unwrap_err();
    assert_eq!(fault.code, "api_unauthorized");
    assert_eq!(targets(&server), ["/token", "/orders", "/token", "/orders"]);
    assert!(!fault.message.contains("token-2"), "{fault}");

    // A token that was given is not renewed.
    let setup = Setup::new(&server, AuthProfile::Bearer { token: SecretText::new(SECRET) });
    assert_eq!(setup.get().await.unwrap_err().code, "api_unauthorized");
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn a_token_endpoint_that_fails_or_lies_is_an_error_without_secrets() {
    for answer in [
        (400, format!("{{\"error\": \"invalid_client {SECRET}\"}}")),
        (200, "no json".to_owned()),
        (200, "{\"expires_in\": 5}".to_owned()),
        (302, String::new()),
    ] {
        let server = TestServer::start(move |_, _| {
            Answer::text(answer.0, "application/json", &answer.1).with("location", "/elsewhere")
        })
        .await;
        let setup = Setup::new(&server, tokens(&server));
        let call = ApiCall { body: Some(json!({})), ..ApiCall::default() };
        let fault = setup.call("POST /orders", call).await.unwrap_err();
        assert_eq!(fault.code, "api_token_failed");
        assert!(!format!("{fault:?}").contains(SECRET), "{fault:?}");
        assert_eq!(targets(&server), ["/token"], "nothing is changed without a token");
    }
}

#[tokio::test]
async fn a_400_adds_the_parameters_that_it_asks_for_once() {
    let server = TestServer::start(|request, _| {
        let has = |name: &str| request.target.contains(name);
        if has("start_date=2026-02-03T00") && has("end_date=") && has("region=north") {
            Answer::json(200, &json!([{"id": 1}]))
        } else {
            Answer::json(400, &json!({"error": "START_DATE, end_date and Region are required"}))
        }
    })
    .await;
    let rule = AdjustmentRule {
        when_error_mentions: vec!["start_date".to_owned(), "end_date".to_owned()],
        set: json!({"start_date": "{today}T00", "end_date": "{today}T23", "unknown": 1})
            .as_object()
            .cloned()
            .unwrap(),
    };
    let known_values = Map::from_iter([("REGION".to_owned(), Json::from("north"))]);
    let options = ApiOptions { adjustments: vec![rule], known_values, ..ApiOptions::default() };
    let mut setup = Setup::with_options(&server, AuthProfile::None, options);
    setup.clock = Arc::new(ManualClock::at(Time::from_micros(1_770_100_000_000_000)));
    let exchange = setup.get().await.unwrap();
    assert_eq!(exchange.requests, 2);
    assert!(exchange.notes[0].ends_with("start_date, end_date, region"), "{:?}", exchange.notes);

    let query = json!({"start_date": "2025-01-01"}).as_object().cloned().unwrap();
    let call = ApiCall { query, ..ApiCall::default() };
    let fault = setup.call("GET /orders", call).await.unwrap_err();
    assert_eq!(fault.code, "api_call_rejected");
    assert_eq!(server.seen().len(), 4);
    assert!(server.seen()[3].target.contains("start_date=2025-01-01"));
    assert!(fault.message.contains("START_DATE, end_date and Region are required"), "{fault}");
    assert!(fault.hint.as_deref().unwrap().contains("start_date, end_date, region"));
}

#[tokio::test]
async fn a_401_then_a_400_then_success_are_three_requests() {
    let server = TestServer::start(|request, number| {
        if request.target == "/token" {
            return Answer::json(200, &json!({"access_token": format!("token-{number}-abcdefgh")}));
        }
        match number {
            1 => Answer::json(401, &json!({})),
            3 => Answer::json(400, &json!({"error": "region"})),
            _ => Answer::json(200, &json!([{"id": 1}])),
        }
    })
    .await;
    let known_values = Map::from_iter([("region".to_owned(), Json::from("north"))]);
    let options = ApiOptions { known_values, ..ApiOptions::default() };
    let setup = Setup::with_options(&server, tokens(&server), options);
    let exchange = setup.get().await.unwrap();
    assert_eq!((exchange.requests, exchange.notes.len()), (3, 2));
}

#[tokio::test]
async fn reads_are_repeated_once_and_writes_never() {
    let server = TestServer::start(|request, number| match (request.method.as_str(), number) {
        ("POST", _) | (_, 0) => Answer::cut(),
        _ => Answer::json(200, &json!([{"id": 1}])),
    })
    .await;
    let setup = Setup::new(&server, AuthProfile::None);
    let (exchange, ()) = tokio::join!(setup.get(), setup.pass(Duration::from_millis(500)));
    assert_eq!(exchange.unwrap().requests, 2);
    let call = ApiCall { body: Some(json!({})), ..ApiCall::default() };
    let fault = setup.call("POST /orders", call).await.unwrap_err();
    assert_eq!(fault.code, "server_unreachable");
    assert_eq!(server.seen().len(), 3);
    assert_eq!(server.seen()[2].body, "{}");
}

#[tokio::test]
async fn a_busy_server_is_asked_again_after_the_pause_that_it_wants() {
    let server = TestServer::start(|_, number| match number {
        0 => Answer::json(429, &json!({})).with("retry-after", "7"),
        1 => Answer::json(200, &json!([{"id": 1}])),
        2 => Answer::json(503, &json!({"error": "overloaded"})).with("retry-after", "3600"),
        _ => Answer::json(429, &json!({})),
    })
    .await;
    let setup = Setup::new(&server, AuthProfile::None);
    let (exchange, ()) = tokio::join!(setup.get(), setup.pass(Duration::from_secs(7)));
    assert_eq!(exchange.unwrap().requests, 2);
    // Too long a pause is not waited for.
    let fault = setup.get().await.unwrap_err();
    assert_eq!(fault.code, "api_server_failed");
    assert_eq!(fault.retry_after, Some(Duration::from_hours(1)));
    assert_eq!(server.seen().len(), 3);
    // Nor is any where other credentials can be tried.
    let endpoint = setup.api.catalogue().find("GET", "/orders").unwrap();
    let cx = CallContext { has_alternative: true, ..CallContext::new(setup.clock.clone()) };
    let principal = ApiPrincipal::new("ada");
    let fault = setup.api.call(endpoint, ApiCall::default(), &principal, &cx).await.unwrap_err();
    assert_eq!(fault.details["status"], 429);
}

#[tokio::test]
async fn a_redirect_is_followed_within_the_api_only() {
    let other = TestServer::start(|_, _| Answer::json(200, &json!([{"stolen": true}]))).await;
    let elsewhere = format!("{}/orders", other.url);
    let server = TestServer::start(move |request, _| match request.target.as_str() {
        "/orders" => Answer::redirect(302, "/open"),
        "/open" => Answer::json(200, &json!([{"id": 1}])),
        "/orders?region=x" => Answer::redirect(307, &elsewhere),
        _ => Answer::redirect(302, "/loop"),
    })
    .await;
    let setup = Setup::new(&server, AuthProfile::Bearer { token: SecretText::new(SECRET) });
    assert!(setup.get().await.is_ok());
    let region = |region: &str| {
        let query = Map::from_iter([("region".to_owned(), Json::from(region))]);
        setup.call("GET /orders", ApiCall { query, ..ApiCall::default() })
    };
    let fault = region("x").await.unwrap_err();
    assert_eq!(fault.code, "redirect_refused");
    assert!(other.seen().is_empty());
    assert_eq!(region("y").await.unwrap_err().code, "redirect_refused");
}

#[tokio::test]
async fn loopback_is_reached_only_if_it_is_allowed() {
    let server = TestServer::start(|_, _| Answer::json(200, &json!([]))).await;
    let catalogue = ApiCatalogue::parse(CATALOGUE).unwrap();
    let (auth, policy) = (AuthProfile::None, AddressPolicy::default());
    let api =
        HttpApi::new(catalogue, Some(&server.url), auth, policy, ApiOptions::default()).unwrap();
    let endpoint = api.catalogue().find("GET", "/orders").unwrap();
    let context = CallContext::new(Arc::new(ManualClock::default()));
    let principal = ApiPrincipal::new("ada");
    let call = api.call(endpoint, ApiCall::default(), &principal, &context);
    assert_eq!(call.await.unwrap_err().code, "address_refused");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn replies_become_tables_json_or_text_within_limits() {
    let rows: Vec<_> = (0..300).map(|id| json!({"id": id, "name": "n", "tags": ["a"]})).collect();
    let answers = vec![
        Answer::json(200, &json!(rows)),
        Answer::json(200, &json!({"total": 2, "items": [{"id": 1}, {"name": "x"}], "next": null})),
        Answer::text(200, "text/csv; charset=utf-8", "id,name\n1,\"a,b\"\n2,c\n"),
        Answer::text(200, "text/plain", &"é".repeat(30_000)),
        Answer::text(200, "application/octet-stream", "\u{0}\u{1}"),
        Answer::text(204, "text/plain", ""),
        Answer::text(200, "application/json", "{broken"),
        Answer::json(200, &json!({"a": {"b": "x".repeat(5_000)}})),
    ];
    let answers = std::sync::Mutex::new(answers.into_iter());
    let server = TestServer::start(move |_, _| answers.lock().unwrap().next().unwrap()).await;
    let setup = Setup::new(&server, AuthProfile::None);
    let mut replies = Vec::new();
    for _ in 0..8 {
        replies.push(setup.get().await.unwrap().reply);
    }
    let ReplyContent::Table(table, _) = &replies[0].content else { panic!("{:?}", replies[0]) };
    assert!(replies[0].truncated && table.rows.len() == 200);
    assert_eq!(table.rows[1][2], CellValue::Json(json!(["a"])));
    let ReplyContent::Table(table, fields) = &replies[1].content else { panic!() };
    assert_eq!(table.rows[1], [CellValue::Null, CellValue::Text("x".to_owned())]);
    assert_eq!(fields["total"], 2);
    let ReplyContent::Table(table, _) = &replies[2].content else { panic!() };
    assert_eq!(table.rows[0][1], CellValue::Text("a,b".to_owned()));
    assert!(replies[3].truncated);
    assert_eq!(replies[4].content, ReplyContent::Binary("application/octet-stream".to_owned(), 2));
    assert_eq!(replies[5].content, ReplyContent::Empty);
    assert_eq!(replies[6].content, ReplyContent::Text("{broken".to_owned()));
    assert!(replies[7].truncated && replies[7].to_json().to_string().len() < 3_000);
}

#[tokio::test]
async fn a_reply_beyond_the_limit_is_not_read_to_its_end() {
    let server =
        TestServer::start(|_, _| Answer::text(200, "text/plain", &"x".repeat(10_000))).await;
    let options = ApiOptions { max_bytes: 1_000, ..ApiOptions::default() };
    let setup = Setup::with_options(&server, AuthProfile::None, options);
    assert_eq!(setup.get().await.unwrap_err().code, "reply_too_large");
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_one_time_limit() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let policy = AddressPolicy::default().allow("loopback").unwrap();
    let catalogue = ApiCatalogue::parse(CATALOGUE).unwrap();
    let api = HttpApi::new(catalogue, Some(&url), AuthProfile::None, policy, ApiOptions::default())
        .unwrap();
    let endpoint = api.catalogue().find("GET", "/orders").unwrap();
    let clock = Arc::new(ManualClock::default());
    let context = CallContext::new(Arc::clone(&clock) as _);
    let principal = ApiPrincipal::new("ada");
    let call = api.call(endpoint, ApiCall::default(), &principal, &context);
    let late = async {
        let (_stream, _) = listener.accept().await.unwrap();
        clock.advance(Duration::from_secs(30));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        outcome = call => assert_eq!(outcome.unwrap_err().code, "api_timeout"),
        () = late => unreachable!(),
    }
}

#[test]
fn incomplete_auth_profiles_and_addresses_are_refused() {
    let new = |base: Option<&str>, auth: AuthProfile| {
        let catalogue = ApiCatalogue::parse(CATALOGUE).unwrap();
        HttpApi::new(catalogue, base, auth, AddressPolicy::default(), ApiOptions::default())
    };
    let empty = AuthProfile::Bearer { token: SecretText::new("") };
    for (base, auth) in [
        (None, AuthProfile::None),
        (Some("ftp://example.com"), AuthProfile::None),
        (Some("https://u:hunter2@example.com"), AuthProfile::None),
        (Some("https://example.com"), empty),
    ] {
        let fault = new(base, auth).unwrap_err();
        assert_eq!(fault.code, "tool_setting_invalid");
        assert!(!format!("{fault:?}").contains("hunter2"));
    }
}
