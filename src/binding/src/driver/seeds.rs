//! Random seeds, for ids and jitter.

use std::hash::{BuildHasher, Hasher, RandomState};

use antiphon_core::{Seed, Time};
use antiphon_stores::process;

/// The seed that was given, or one that nobody can foretell: made of the
/// standard library's keys, which the operating system gives each thread once
/// and which change with each use.
pub(crate) fn draw(given: Option<u64>) -> Seed {
    let drawn = || {
        let mut hasher = RandomState::new().build_hasher();
        // A forked process has its parent's keys, and must not draw what that draws.
        hasher.write_u32(process::id());
        hasher.finish()
    };
    Seed::new(given.unwrap_or_else(drawn))
}

/// The id of a run whose caller gives none. With a seed that was drawn it is drawn
/// apart: the keys of calls derive from both, and would carry 64 bits otherwise.
pub(crate) fn draw_run_id(given: Option<u64>, now: Time) -> String {
    draw(given).uuid(now)
}
