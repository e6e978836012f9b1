//! Randomness that repeats, and instants as text.

use std::time::Duration;

use antiphon_core::{Seed, Time};

#[test]
fn instants_are_shown_as_rfc_3339_with_microseconds() {
    let known = [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (951_868_799_999_999, "2000-02-29T23:59:59.999999Z"),
        (951_868_800_000_000, "2000-03-01T00:00:00.000000Z"),
        (1_709_164_800_000_001, "2024-02-29T00:00:00.000001Z"),
        (1_735_689_599_000_000, "2024-12-31T23:59:59.000000Z"),
        (1_735_689_600_000_000, "2025-01-01T00:00:00.000000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        (4_107_456_000_000_000, "2100-02-28T00:00:00.000000Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
    ];
    for (micros, text) in known {
        assert_eq!(Time::from_micros(micros).to_string(), text);
    }
}

#[test]
fn every_day_of_four_hundred_years_follows_the_one_before() {
    let mut last = String::new();
    let (mut days, mut leaps) = (0, 0);
    for day in 0..146_097_u64 {
        let text = Time::from_micros(day * 86_400_000_000).to_string();
        assert!(text > last, "{text}");
        days += 1;
        leaps += u64::from(text[5..10] == *"02-29");
        last = text;
    }
    assert_eq!((days, leaps), (146_097, 97));
    assert!(last.starts_with("2369-12-31"));
}

#[test]
fn instants_saturate_and_subtract_without_wrapping() {
    let end = Time::from_micros(u64::MAX);
    assert_eq!(Time::default() + Duration::MAX, end);
    assert_eq!(end + Duration::from_secs(1), end);
    assert_eq!(Time::default().since(end), Duration::ZERO);
    assert_eq!(
        (Time::default() + Duration::from_micros(3)).since(Time::default()),
        Duration::from_micros(3)
    );
    assert!(!end.to_string().is_empty());
}

#[test]
fn a_draw_is_a_function_of_the_seed_alone() {
    assert_eq!(Seed::new(1).child(2), Seed::new(1).child(2));
    assert_ne!(Seed::new(1).child(2), Seed::new(1).child(3));
    assert_ne!(Seed::new(1).child(2), Seed::new(2).child(2));
    assert_ne!(Seed::new(1).named("ab"), Seed::new(1).named("ba"));
    assert_ne!(Seed::new(0).child(0), Seed::new(0), "zero is not a fixed point");
}

#[test]
fn draws_are_uniform_enough() {
    let mut buckets = [0_u32; 10];
    for draw in 0..100_000 {
        let unit = Seed::new(3).child(draw).unit();
        assert!((0.0..1.0).contains(&unit));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below ten")]
        let bucket = (unit * 10.0) as usize;
        buckets[bucket] += 1;
    }
    assert!(buckets.iter().all(|count| (9_500..10_500).contains(count)), "{buckets:?}");
}

#[test]
fn uuids_are_version_7_and_ordered_by_time() {
    let now = Time::from_micros(1_704_067_200_000_000);
    let id = Seed::new(1).uuid(now);
    assert_eq!(id.len(), 36);
    assert_eq!(&id[..15], "018cc251-f400-7");
    assert!("89ab".contains(&id[19..20]), "{id}");
    assert!(Seed::new(2).uuid(now + Duration::from_millis(1)) > id);
    assert_ne!(Seed::new(2).uuid(now), id);
}
