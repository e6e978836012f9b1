//! Questions for all tables or all endpoints in the plainest words, which need no model to be
//! understood. Any word beside the few that are known leaves the question to one.

/// Words that such a question may have, and that change nothing about it.
const FILLERS: &str = "list show name give get tell display print what which are all every of in the \
                       this your you me us please can could do does have has there exist exists \
                       available to i want see within from";

/// Whether a question asks for all tables of the database, such as `List all tables in the
/// database`. One that does not speak of a database may be about other tables.
pub(super) fn asks_for_tables(question: &str) -> bool {
    consists_of(question, &["tables"], &["database", "db"])
}

/// Whether a question asks for all endpoints of the API, such as `List me all the API points`.
pub(super) fn asks_for_endpoints(question: &str) -> bool {
    consists_of(question, &["endpoints"], &["api"])
        || consists_of(question, &["endpoints"], &[])
        || consists_of(question, &["points"], &["api"])
}

/// Whether a question has a word of each list, and beside them only fillers.
fn consists_of(question: &str, things: &[&str], places: &[&str]) -> bool {
    let lower = question.to_lowercase();
    let words = lower.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    let (mut has_thing, mut has_place) = (false, places.is_empty());
    for word in words {
        if things.contains(&word) {
            has_thing = true;
        } else if places.contains(&word) {
            has_place = true;
        } else if !FILLERS.split_whitespace().any(|filler| filler == word) {
            return false;
        }
    }
    has_thing && has_place
}
