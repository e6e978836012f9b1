//! The time of a question, for models that have no clock.

use antiphon_core::Time;
use serde_json::{Map, Value as Json};

const NOW: &str = "current_datetime_utc";
const DATE: &str = "current_date";
const HOURS: [(&str, &str); 2] =
    [("current_date_start_hour", "00"), ("current_date_end_hour", "23")];

/// Words that have a meaning only with the present time, in languages of many users.
const RELATIVE: &str = "today yesterday tomorrow now tonight current currently present this these last \
                        past recent recently latest next previous ago so \
                        heute gestern morgen jetzt aktuell aktuelle aktuellen diese diesem diesen \
                        dieser dieses letzte letztem letzten letzter letztes vergangenen nächste \
                        nächsten vorigen vor bisher \
                        aujourd hier demain maintenant actuel actuelle actuellement ce cette ces \
                        dernier dernière derniers dernières prochain prochaine passé \
                        hoy ayer mañana ahora actual actualmente este esta estos estas último \
                        última últimos últimas próximo próxima pasado pasada hace \
                        oggi ieri domani ora adesso attuale attualmente questo questa questi queste \
                        ultimo ultima ultimi ultime scorso scorsa prossimo prossima fa";

/// Whether a question has a word that needs the present time, such as `today` or `last`.
///
/// ```
/// use antiphon_systems::data_analyst::temporal::needs_time;
/// assert!(needs_time("How many orders came in last month?"));
/// assert!(!needs_time("How many orders came in March 2024?"));
/// ```
pub fn needs_time(question: &str) -> bool {
    let lower = question.to_lowercase();
    let mut words = lower.split(|sign: char| !sign.is_alphanumeric());
    words.any(|word| RELATIVE.split_whitespace().any(|known| known == word))
}

/// The context without the keys of the time, but for those that were given.
pub(super) fn without_time(
    context: &Map<String, Json>,
    given: &Map<String, Json>,
) -> Map<String, Json> {
    let times = [NOW, DATE, HOURS[0].0, HOURS[1].0];
    let is_kept = |key: &str| given.contains_key(key) || !times.contains(&key);
    let kept = context.iter().filter(|(key, _)| is_kept(key));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

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
