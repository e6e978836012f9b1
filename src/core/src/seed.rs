//! Deterministic randomness: every draw is a pure function of the run's seed and of its purpose, so
//! that neither order nor timing matters.

use serde::{Deserialize, Serialize};

/// The seed of a run. Drivers take it from the operating system; tests fix it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(u64);

impl Seed {
    /// The seed with that number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number this seed was made of.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The seed of a part: a child run, a task, an attempt.
    #[must_use]
    pub const fn child(self, index: u64) -> Self {
        Self(mix(self.0 ^ mix(index.wrapping_add(0x9E37_79B9_7F4A_7C15))))
    }

    /// The seed of a named part.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        name.bytes().fold(self, |seed, byte| seed.child(u64::from(byte)))
    }

    /// The seed of a task of a graph whose seed this is.
    #[must_use]
    pub const fn task(self, step: u64, slot: u32) -> Self {
        self.child(step).child(slot as u64 + 1)
    }

    /// A number in `0.0..1.0`, uniform.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    pub fn unit(self) -> f64 {
        (mix(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A UUID (version 8) as text, determined by the seed.
    pub fn stable_uuid(self) -> String {
        let (high, low) = (mix(self.0 ^ 0x5A5A_5A5A_5A5A_5A5A), mix(self.0));
        format!(
            "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xFFFF,
            high & 0xFFF,
            0x8000 | (low >> 48) & 0x3FFF,
            low & 0xFFFF_FFFF_FFFF,
        )
    }

    /// A time-ordered UUID (version 7) as text.
    pub fn uuid(self, now: crate::time::Time) -> String {
        let millis = now.as_micros() / 1000;
        let (high, low) = (mix(self.0), mix(self.0 ^ 0xA5A5_A5A5_A5A5_A5A5));
        format!(
            "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
            (millis >> 16) & 0xFFFF_FFFF,
            millis & 0xFFFF,
            high & 0xFFF,
            0x8000 | (high >> 12) & 0x3FFF,
            low & 0xFFFF_FFFF_FFFF,
        )
    }
}

/// The source of call keys: 128 bits, of which a [`Seed`] and the salt of a run give 64 each.
///
/// Each step maps the 128 bits one to one, so nothing of either half is lost on
/// the way, and after two steps each half depends on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySeed(u64, u64);

impl KeySeed {
    /// The key seed of a task: `salt` is [`crate::run::Options::key_salt`].
    pub const fn new(task: Seed, salt: u64) -> Self {
        Self(task.0, salt)
    }

    /// The key seed of a part.
    #[must_use]
    pub const fn child(self, index: u64) -> Self {
        let Self(left, right) = self;
        let mixed = mix(left ^ mix(index.wrapping_add(0x9E37_79B9_7F4A_7C15)));
        Self(mix(right.wrapping_add(mixed)), mixed)
    }

    /// The key seed of a named part.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let length = self.child(name.len() as u64);
        name.bytes().fold(length, |seed, byte| seed.child(u64::from(byte)))
    }

    /// All of its bits as 32 hexadecimal digits.
    pub fn digits(self) -> String {
        let Self(left, right) = self.child(0).child(0);
        format!("{left:016x}{right:016x}")
    }
}

/// The finaliser of `SplitMix64`: each input bit changes half the output bits.
const fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 30;
    bits = bits.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits ^= bits >> 27;
    bits = bits.wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
