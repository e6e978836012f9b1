//! One place where a value does not fit its schema, in our own words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::excerpt::short;

/// Characters of an expectation, which may list many alternatives.
const EXPECTED: usize = 300;

/// A place in a reply that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON pointer to the place, for instance `/steps/0/name`; empty for the
    /// whole value. A missing field is named itself, not its parent.
    pub path: String,
    /// What the schema wants there.
    pub expected: String,
    /// What is there, shortened.
    pub found: String,
}

impl Violation {
    /// What is wrong at `path`; a long expectation is shortened.
    pub fn new(
        path: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), expected: short(&expected.into(), EXPECTED), found: found.into() }
    }

    /// The path for a reader on one line; `whole` is what the value itself is called.
    pub(super) fn path_for_reader(&self, whole: &str) -> String {
        match self.path.as_str() {
            "" => format!("the whole {whole}"),
            path => {
                let plain: String = path.chars().filter(|c| !c.is_control() && *c != '`').collect();
                format!("`{}`", short(&plain, 120))
            }
        }
    }

    /// What is wrong, in a value that a reader knows as `whole`, such as `reply`.
    pub fn sentence(&self, whole: &str) -> String {
        format!("{}: expected {}, found {}", self.path_for_reader(whole), self.expected, self.found)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence("reply"))
    }
}
