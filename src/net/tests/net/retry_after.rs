use std::time::Duration;

use antiphon_core::Time;
use antiphon_net::{StatusKind, retry_after};

fn read(name: &'static str, value: &str, now: Time) -> Option<Duration> {
    retry_after(|asked| (asked == name).then_some(value), now)
}

#[test]
fn seconds_and_milliseconds_are_read() {
    let now = Time::default();
    assert_eq!(read("retry-after", " 7 ", now), Some(Duration::from_secs(7)));
    assert_eq!(read("retry-after", "0.5", now), Some(Duration::from_millis(500)));
    assert_eq!(read("retry-after-ms", "250", now), Some(Duration::from_millis(250)));
}

#[test]
fn a_date_counts_from_now_and_a_past_one_is_no_pause() {
    let now = Time::from_micros(1_000_000_000 * 1_000_000);
    let date = "Sun, 09 Sep 2001 01:47:10 GMT";
    assert_eq!(read("retry-after", date, now), Some(Duration::from_secs(30)));
    let past = "Sun, 09 Sep 2001 01:46:00 GMT";
    assert_eq!(read("retry-after", past, now), Some(Duration::ZERO));
}

#[test]
fn what_cannot_be_read_is_no_wish() {
    for value in ["soon", "-1", "NaN", "inf", "1e300", ""] {
        assert_eq!(read("retry-after", value, Time::default()), None, "{value}");
    }
    assert_eq!(read("other", "1", Time::default()), None);
}

#[test]
fn each_status_has_its_meaning() {
    let table = [
        (200, StatusKind::Success),
        (302, StatusKind::Redirect),
        (400, StatusKind::Refused),
        (401, StatusKind::Unauthorized),
        (402, StatusKind::PaymentRequired),
        (403, StatusKind::Unauthorized),
        (404, StatusKind::NotFound),
        (408, StatusKind::TimedOut),
        (409, StatusKind::ServerError),
        (422, StatusKind::Refused),
        (429, StatusKind::RateLimited),
        (500, StatusKind::ServerError),
        (529, StatusKind::ServerError),
        (700, StatusKind::ServerError),
    ];
    for (status, kind) in table {
        assert_eq!(StatusKind::of(status), kind, "{status}");
    }
}
