//! Something that each process of a family has for itself. After a fork the
//! child must neither use nor end what is its parent's, and a lock that
//! another thread held at that moment stays locked for ever.

use std::sync::OnceLock;

/// A chain with one link for each generation that asked.
pub(super) struct Lineage<T> {
    process: u32,
    own: OnceLock<T>,
    next: OnceLock<Box<Self>>,
}

impl<T> Lineage<T> {
    /// A chain that begins with this process.
    pub(super) fn new() -> Self {
        Self { process: std::process::id(), own: OnceLock::new(), next: OnceLock::new() }
    }

    /// What is this process's own, if it has something.
    pub(super) fn known(&self) -> Option<&T> {
        let mut link = self;
        while link.process != std::process::id() {
            link = link.next.get()?;
        }
        link.own.get()
    }

    /// What is this process's own; made if it has none yet.
    pub(super) fn own(&self, make: impl FnOnce() -> T) -> &T {
        let mut link = self;
        let process = std::process::id();
        while link.process != process {
            link = link.next.get_or_init(|| Box::new(Self::new()));
        }
        link.own.get_or_init(make)
    }
}
