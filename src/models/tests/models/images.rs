//! Images that a model makes: read from whole replies and streams, and sent back.

use antiphon_core::{Content, ContentPart, Media, Message, ModelRequest, ToolCall};
use antiphon_models::{ModelSettings, open};
use serde_json::{Value as Json, json};

use crate::answers::{ask, ask_streamed, completes, cx, delta, opened, settings, streams};
use crate::server::Server;

/// A picture of one grey pixel, as PNG in base64.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

fn data_url() -> String {
    format!("data:image/png;base64,{PIXEL}")
}

fn pixel() -> ContentPart {
    ContentPart::Image(Media::base64("image/png", PIXEL))
}

fn image_part(url: &str) -> Json {
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn drawn(url: &str) -> Json {
    json!({"role": "assistant", "content": "Here.", "images": [image_part(url)]})
}

#[tokio::test]
async fn an_image_of_a_whole_reply_is_read() {
    let parts = json!([{"type": "text", "text": "Here."}, image_part(&data_url())]);
    for message in [
        drawn(&data_url()),
        drawn(&data_url().replace("data:", "DATA:")),
        json!({"role": "assistant", "content": "Here.", "images": [{"image_url": data_url()}]}),
        json!({"role": "assistant", "content": parts}),
    ] {
        let reply = ask(completes(&message, "stop")).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.media.as_slice()), ("Here.", &[pixel()][..]));
        assert_eq!(reply.content(), Content::Parts(vec![ContentPart::text("Here."), pixel()]));
    }
}

#[tokio::test]
async fn images_of_a_stream_are_read_once() {
    let images = |count: usize| json!({"images": vec![image_part(&data_url()); count]});
    let events = [
        delta(&json!({"role": "assistant", "content": "Here."}), None),
        delta(&images(1), None),
        delta(&json!({"images": []}), None),
        delta(&images(1), Some("stop")),
        "[DONE]".to_owned(),
    ];
    let reply = ask_streamed(streams(events)).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.media.as_slice()), ("Here.", &[pixel()][..]));
}

#[tokio::test]
async fn a_stream_of_an_image_alone_is_a_reply() {
    let events = [delta(&json!({"images": [image_part(&data_url())]}), None), "[DONE]".to_owned()];
    let reply = ask_streamed(streams(events)).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.media.as_slice()), ("", &[pixel()][..]));
}

#[tokio::test]
async fn an_image_that_is_not_taken_over_is_named() {
    for (url, said) in [
        ("https://host.example/a.png", "[an image that is not loaded: https://host.example/a.png]"),
        ("file:///etc/passwd", "[an image that is not loaded: file:///etc/passwd]"),
        ("data:image/png,plain", "[an image that is not loaded: data:image/png,plain]"),
        ("data:image/png;base64,?!", "[an image whose base64 is malformed]"),
        (
            "data:image/svg+xml;base64,PHN2Zz4=",
            "[an image that is no PNG, JPEG, GIF or WebP: image/svg+xml]",
        ),
        // What it says to be does not count.
        (
            "data:image/png;base64,PHN2Zz4=",
            "[an image that is no PNG, JPEG, GIF or WebP: image/png]",
        ),
    ] {
        let reply = ask(completes(&drawn(url), "stop")).await.unwrap();
        assert_eq!(reply.media, [ContentPart::text(said)]);
    }
    let long = format!("https://host.example/{}", "a".repeat(5_000));
    let reply = ask(completes(&drawn(&long), "stop")).await.unwrap();
    assert!(reply.content().text().chars().count() < 300);
}

#[tokio::test]
async fn an_image_that_is_too_large_is_named() {
    let url = format!("data:image/png;base64,{}", "A".repeat(28 << 20));
    let server = Server::start([completes(&drawn(&url), "stop")]).await;
    let given = ModelSettings { max_reply_bytes: 64 << 20, ..settings(&server) };
    let reply = opened(&given).call(&crate::answers::question(), &cx()).await.unwrap();
    let said = "[an image that is larger than 20 MiB: 22020096 bytes]";
    assert_eq!(reply.media, [ContentPart::text(said)]);
}

#[tokio::test]
async fn what_is_no_list_of_images_changes_no_reply() {
    for images in [json!(null), json!("none"), json!({"a": 1}), json!([1, null, {"type": "x"}])] {
        let message = json!({"role": "assistant", "content": "42", "images": images});
        let reply = ask(completes(&message, "stop")).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.media.len()), ("42", 0), "{message}");
    }
}

#[tokio::test]
async fn a_secret_in_the_address_of_an_image_is_masked() {
    let url = format!("https://host.example/{}", crate::answers::KEY);
    let reply = ask(completes(&drawn(&url), "stop")).await.unwrap();
    assert_eq!(
        reply.content().text(),
        "Here.\n[an image that is not loaded: https://host.example/***]"
    );
}

/// A conversation in which the model has drawn, called a tool and is asked on.
fn conversation() -> Vec<Message> {
    let drawing = Content::Parts(vec![ContentPart::text("Here."), pixel()]);
    let call = ToolCall { id: "c1".into(), name: "look".into(), arguments: "{}".into() };
    vec![
        Message::user("Draw."),
        Message { tool_calls: vec![call], ..Message::assistant(drawing) },
        Message::tool("c1", "grey"),
        Message::user("Make it red."),
    ]
}

async fn sent(name: &str) -> Json {
    let server = Server::start([crate::answers::fails(500, "x", "x")]).await;
    let request = ModelRequest { messages: conversation(), ..ModelRequest::default() };
    let given = settings(&server);
    let model = if name == "openai" {
        opened(&given)
    } else {
        let given = ModelSettings { base_url: Some(server.url("")), ..given };
        open(&format!("{name}:m-1"), &given, &|_| None).unwrap()
    };
    model.call(&request, &cx()).await.unwrap_err();
    let body: Json = serde_json::from_str(&server.seen()[0].body).unwrap();
    body["messages"].clone()
}

/// OpenAI takes images from the user alone, and the results of calls right after them.
#[tokio::test]
async fn an_image_of_a_reply_goes_back_in_a_message_of_the_user() {
    let messages = sent("openai").await;
    let roles: Vec<&str> =
        messages.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "user"]);
    assert_eq!(messages[1]["content"], "Here.\n[part 2 of your reply: see below]");
    let expected =
        json!([{"type": "text", "text": "[part 2 of your reply]"}, image_part(&data_url())]);
    assert_eq!(messages[3]["content"], expected);
    assert_eq!(messages[4]["content"], "Make it red.");
}

#[tokio::test]
async fn anthropic_gets_an_image_of_a_reply_in_the_turn_of_the_user() {
    let turns = sent("anthropic").await;
    let kinds = |turn: usize| -> Vec<String> {
        let blocks = turns[turn]["content"].as_array().unwrap().iter();
        blocks.map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(turns.as_array().unwrap().len(), 3);
    assert_eq!(kinds(1), ["text", "text", "tool_use"]);
    assert_eq!(turns[1]["content"][1]["text"], "[part 2 of your reply: see below]");
    assert_eq!(kinds(2), ["tool_result", "text", "image", "text"]);
    assert_eq!(turns[2]["content"][2]["source"]["data"], PIXEL);
}
