//! The time of a question, for models that have no clock.

use antiphon_core::Time;
use serde_json::{Map, Value as Json};

const NOW: &str = "current_datetime_utc";
const DATE: &str = "current_date";
const HOURS: [(&str, &str); 2] =
    [("current_date_start_hour", "00"), ("current_date_end_hour", "23")];

/// The context with the keys of the time that it lacks: the instant, the date in UTC, and the first
/// and the last hour of that date. A date that was given has its hours only with `fill_hours`.
///
/// ```
/// use antiphon_core::Time;
/// use antiphon_systems::data_analyst::temporal::attach_time;
/// use serde_json::{Map, json};
/// let noon = Time::from_micros(1_764_072_000_000_000);
/// let context = attach_time(&Map::new(), noon, true);
/// assert_eq!(context["current_date"], json!("2025-11-25"));
/// assert_eq!(context["current_date_end_hour"], json!("2025-11-25 23"));
/// ```
pub fn attach_time(context: &Map<String, Json>, now: Time, fill_hours: bool) -> Map<String, Json> {
    let mut context = context.clone();
    let now = now.to_string();
    let lacks = |context: &Map<String, Json>, key: &str| context.get(key).is_none_or(Json::is_null);
    if lacks(&context, NOW) {
        context.insert(NOW.to_owned(), Json::from(now.as_str()));
    }
    let has_own_date = !lacks(&context, DATE);
    if !has_own_date {
        let date = now.split('T').next().unwrap_or_default();
        context.insert(DATE.to_owned(), Json::from(date));
    }
    if has_own_date && !fill_hours {
        return context;
    }
    let Some(date) = context.get(DATE).and_then(Json::as_str).map(str::to_owned) else {
        return context;
    };
    for (key, hour) in HOURS {
        if lacks(&context, key) {
            context.insert(key.to_owned(), Json::from(format!("{date} {hour}")));
        }
    }
    context
}
