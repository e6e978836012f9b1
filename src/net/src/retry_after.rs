//! The pause that a server asks for.

use std::time::{Duration, SystemTime};

use antiphon_core::Time;

/// The pause that a server asks for: `retry-after-ms` in milliseconds, or `Retry-After` in
/// seconds or as an HTTP date, which is compared with `now`. A past date is a pause of zero; a
/// value that is not valid is ignored.
///
/// ```
/// use antiphon_net::retry_after;
/// let header = |name: &str| (name == "retry-after").then_some("2");
/// let pause = retry_after(header, antiphon_core::Time::default());
/// assert_eq!(pause, Some(std::time::Duration::from_secs(2)));
/// ```
pub fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>, now: Time) -> Option<Duration> {
    let millis = header("retry-after-ms").and_then(|value| seconds(value, 1000.0));
    millis.or_else(|| {
        let value = header("retry-after")?;
        seconds(value, 1.0).or_else(|| until(value, now))
    })
}

fn seconds(value: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}

fn until(value: &str, now: Time) -> Option<Duration> {
    let at = httpdate::parse_http_date(value.trim()).ok()?;
    let at = Time::default() + at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(at.since(now))
}
