//! A value that each process of a family has for itself. After a fork the child must neither use
//! nor destroy its parent's value, and a lock that another thread held at the fork stays locked
//! for ever.

use std::sync::OnceLock;

/// A list with one link for each process that created a value.
pub(super) struct Lineage<T> {
    process: u32,
    own: OnceLock<T>,
    next: OnceLock<Box<Self>>,
}

impl<T> Lineage<T> {
    /// A list that begins with this process.
    pub(super) fn new() -> Self {
        Self { process: std::process::id(), own: OnceLock::new(), next: OnceLock::new() }
    }

    /// The value of this process, if there is one.
    pub(super) fn known(&self) -> Option<&T> {
        let mut link = self;
        while link.process != std::process::id() {
            link = link.next.get()?;
        }
        link.own.get()
    }

    /// The value of this process, created if necessary.
    pub(super) fn own(&self, make: impl FnOnce() -> T) -> &T {
        let mut link = self;
        let process = std::process::id();
        while link.process != process {
            link = link.next.get_or_init(|| Box::new(Self::new()));
        }
        link.own.get_or_init(make)
    }
}
