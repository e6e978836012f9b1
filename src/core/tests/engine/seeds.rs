//! Randomness that repeats, and instants as text.

use std::time::Duration;

use antiphon_core::{KeySeed, Seed, Time};

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

/// The finaliser of `SplitMix64`, and its inverse.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

fn unmix(mut bits: u64) -> u64 {
    bits = bits ^ (bits >> 31) ^ (bits >> 62);
    bits = bits.wrapping_mul(0x3196_42B2_D24D_8EC3);
    bits = bits ^ (bits >> 27) ^ (bits >> 54);
    bits = bits.wrapping_mul(0x96DE_1B17_3F11_9089);
    bits ^ (bits >> 30) ^ (bits >> 60)
}

/// What a key seed was before it was made the child of that index.
fn parent((left, right): (u64, u64), index: u64) -> (u64, u64) {
    let before = unmix(right) ^ mix(index.wrapping_add(0x9E37_79B9_7F4A_7C15));
    (before, unmix(left).wrapping_sub(right))
}

#[test]
fn the_digits_of_a_key_hold_all_128_bits_of_its_seed_and_its_mark() {
    for number in 0..1000_u64 {
        let (seed, mark) = (mix(number), mix(number ^ 0xFFFF));
        assert_eq!(unmix(mix(number)), number);
        let digits = KeySeed::new(Seed::new(seed), mark).child(number).digits();
        let halves = [&digits[..16], &digits[16..]].map(|half| u64::from_str_radix(half, 16));
        let [Ok(left), Ok(right)] = halves else { panic!("{digits} is no key") };
        let inner = parent(parent((left, right), 0), 0);
        assert_eq!(parent(inner, number), (seed, mark), "both can be had back from the digits");
    }
}

#[test]
fn both_halves_of_a_key_depend_on_the_seed_and_on_the_mark() {
    let halves = |seed, mark| {
        let digits = KeySeed::new(Seed::new(seed), mark).named("pay").digits();
        (digits[..16].to_owned(), digits[16..].to_owned())
    };
    let (left, right) = halves(7, 7);
    for (seed, mark) in [(7, 8), (8, 7)] {
        let other = halves(seed, mark);
        assert!(other.0 != left && other.1 != right);
    }
}
