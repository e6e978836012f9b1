//! Whether the input of a step fits its tool.

use antiphon_core::reply::{ReplyParser, UnreadableReply};
use serde_json::{Map, Value as Json};

use super::capability::RoleTool;

/// The input as the tool gets it: numbers in texts are numbers, defaults are filled in.
///
/// # Errors
/// What does not fit, each with its path.
pub(super) fn fitting(
    tool: &RoleTool,
    input: &Map<String, Json>,
) -> Result<Json, Vec<(String, String)>> {
    let given = Json::Object(input.clone()).to_string();
    match tool.arguments.parse(&given) {
        Ok(read) => Ok(read.value),
        Err(UnreadableReply { errors, .. }) => {
            let shown = errors.iter().map(|wrong| {
                let path = wrong.path.replace('/', ".");
                (path, format!("it should be {} but is: {}", wrong.expected, wrong.found))
            });
            Err(shown.collect())
        }
    }
}
