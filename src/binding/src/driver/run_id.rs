//! The name of a run: given, or drawn when somebody asks for it.

use std::sync::{Arc, OnceLock};

use antiphon_core::{Seed, Time};

/// A run's id. Most runs end without anybody having asked for it.
#[derive(Debug)]
pub(crate) struct RunId {
    text: OnceLock<Arc<str>>,
    seed: Seed,
    started: Time,
}

impl RunId {
    pub(crate) fn new(given: Option<Arc<str>>, seed: Seed, started: Time) -> Self {
        Self { text: given.map_or_else(OnceLock::new, OnceLock::from), seed, started }
    }

    /// What it will be, unless it is said otherwise.
    pub(crate) fn foreseen(&self) -> String {
        self.text.get().map_or_else(|| self.seed.uuid(self.started), ToString::to_string)
    }

    /// Sets it, for a run that is resumed; nothing changes if it is known.
    pub(crate) fn say(&self, id: &str) {
        self.text.get_or_init(|| id.into());
    }

    pub(crate) fn get(&self) -> &Arc<str> {
        self.text.get_or_init(|| self.seed.uuid(self.started).into())
    }
}
