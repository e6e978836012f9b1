use antiphon_net::{Redactor, Secret};

fn clean(secret: &str, text: &str) -> String {
    Redactor::new([Secret::new(secret)]).clean(text)
}

#[test]
fn a_secret_is_struck_wherever_it_stands() {
    let text = "sk-live-0123456789 and again (sk-live-0123456789)";
    assert_eq!(clean("sk-live-0123456789", text), "*** and again (***)");
}

#[test]
fn the_beginning_of_a_secret_is_struck_with_what_follows_it() {
    assert_eq!(clean("sk-live-0123456789", "key sk-live-01234… is wrong"), "key ***… is wrong");
}

#[test]
fn a_secret_is_struck_in_json_and_in_a_url() {
    let secret = "pa/ss \"word\"";
    assert_eq!(clean(secret, r#"{"key": "pa\/ss \"word\""}"#), r#"{"key": "***"}"#);
    assert_eq!(clean(secret, "?key=pa%2Fss%20%22word%22&x=1"), "?key=***&x=1");
}

#[test]
fn a_short_secret_is_struck_as_a_whole() {
    assert_eq!(clean("geheim", "geheim, gehe"), "***, gehe");
}

#[test]
fn a_secret_inside_another_leaves_nothing_readable() {
    let redactor = Redactor::new([Secret::new("short"), Secret::new("a-short-one")]);
    assert_eq!(redactor.clean("a-short-one"), "***");
}

#[test]
fn an_unknown_bearer_token_is_struck_too() {
    let text = "headers: Authorization: Bearer abc.def-123456, Accept: */*";
    assert_eq!(clean("other-key", text), "headers: Authorization: Bearer ***, Accept: */*");
    assert_eq!(clean("other-key", "the bearer of this"), "the bearer of this");
}

#[test]
fn an_empty_secret_strikes_nothing() {
    assert_eq!(clean(" ", "plain text"), "plain text");
}

#[test]
fn text_of_many_bytes_per_character_survives() {
    assert_eq!(clean("schlüssel-größe", "ä schlüssel-größe ß schlüs"), "ä *** ß schlüs");
    assert_eq!(clean("schlüssel-größe", "ä schlüssel-grö"), "ä ***");
}

#[test]
fn a_secret_shows_as_stars_and_can_be_read_on_purpose() {
    let secret = Secret::from("hush".to_owned());
    assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
    assert_eq!(secret.expose(), "hush");
}

#[test]
fn what_is_too_short_to_be_a_secret_is_left_alone() {
    let redactor = Redactor::new(["x", "abc", "abcd"].map(Secret::new));
    assert_eq!(redactor.clean("the next abc, abcd"), "the next abc, ***");
}
