//! What an update of an index did.

use std::collections::BTreeMap;

use serde::Serialize;

/// How many paths are named per reason.
const EXAMPLES: usize = 5;

/// Files that are left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SkippedFiles {
    /// How many there are.
    pub count: usize,
    /// The paths of the first five.
    pub examples: Vec<String>,
}

impl SkippedFiles {
    pub(super) fn add(&mut self, path: &str) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(path.to_owned());
        }
    }
}

/// What an update of an index did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexReport {
    /// Documents that can be found now.
    pub documents: usize,
    /// Documents that the folder has, those without text included.
    pub files: usize,
    /// Documents that were read: new ones, and those that have changed.
    pub read: usize,
    /// Documents that have disappeared.
    pub removed: usize,
    /// Documents that still have to be read: the update was stopped before its end.
    pub left: usize,
    /// Files that are left out, by reason. Other formats and symbolic links are `no document` and
    /// `symbolic link`.
    pub skipped: BTreeMap<String, SkippedFiles>,
    /// What a reader should know, for instance that a damaged index was built again.
    pub notes: Vec<String>,
}
