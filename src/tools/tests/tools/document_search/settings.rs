//! The settings of the family.

use antiphon_tools::find;
use serde_json::json;

fn refusal(settings: &serde_json::Value) -> String {
    find("document_search").unwrap().open(settings).err().unwrap().message.clone()
}

#[test]
fn a_folder_is_required_and_must_exist() {
    assert_eq!(refusal(&json!({})), "`folder` must be an existing folder: \"\"");
    assert_eq!(
        refusal(&json!({"folder": "/no/such"})),
        "`folder` must be an existing folder: /no/such"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(
        refusal(&json!({"folder": file.path()}))
            .starts_with("`folder` must be an existing folder: /")
    );
}

#[test]
fn numbers_out_of_range_are_named() {
    let message = refusal(&json!({"folder": "/", "refresh_after": -1.0}));
    assert_eq!(message, "`refresh_after` must be a number of seconds: -1");
    assert!(refusal(&json!({"folder": "/", "stem": true})).starts_with("unknown setting of "));
}
