//! Paths that a model names: relative, without a way up, of names that every system can hold.

use std::fmt;
use std::path::Path;

use antiphon_core::{Fault, FaultCode};
use unicode_normalization::UnicodeNormalization;

/// The most bytes of a path, and of one of its names.
const MAX_PATH: usize = 1024;
const MAX_NAME: usize = 255;
/// How many folders a path goes down.
const MAX_DEPTH: usize = 64;

/// Names that Windows gives to devices, in any folder and with any extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// A path below a root, with `/` between its names; the root itself is the empty path.
///
/// Names are in Unicode's form NFC, so that two that look the same are the same.
///
/// ```
/// use antiphon_tools::files::RelativePath;
///
/// assert_eq!(RelativePath::parse("notes/./plan.md")?.as_str(), "notes/plan.md");
/// assert!(RelativePath::parse("../secret").is_err());
/// assert!(RelativePath::parse("/etc/passwd").is_err());
/// # Ok::<(), antiphon_core::Fault>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(String);

impl RelativePath {
    /// Reads a path as a model writes it.
    ///
    /// # Errors
    /// A `Policy` fault `path_refused`: the path is absolute, goes up, or has a name that some
    /// system cannot hold.
    pub fn parse(path: &str) -> Result<Self, Fault> {
        let refuse = |reason: &str| Err(refused(reason, path));
        if path.len() > MAX_PATH {
            return refuse("the path has more than 1024 bytes");
        }
        let path = path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path);
        if path.starts_with(['/', '\\']) {
            return refuse("the path is absolute");
        }
        let mut names: Vec<String> = Vec::new();
        for name in path.split('/') {
            if name == "." || (name.is_empty() && path.is_empty()) {
                continue;
            }
            if let Some(reason) = forbidden(name) {
                return refuse(reason);
            }
            names.push(name.nfc().collect());
        }
        if names.len() > MAX_DEPTH {
            return refuse("the path goes down more than 64 folders");
        }
        Ok(Self(names.join("/")))
    }

    /// The path of a name below this one; `name` has been read from a folder.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        if self.is_root() { Self(name.to_owned()) } else { Self(format!("{self}/{name}")) }
    }

    /// With `/` between the names.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the root itself.
    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The folder that holds it; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(
            self.0.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned()),
        ))
    }

    /// Whether a name on the way begins with a dot.
    pub fn is_hidden(&self) -> bool {
        self.0.split('/').any(|name| name.starts_with('.'))
    }

    /// Whether `other` is this path or lies below it.
    pub fn contains(&self, other: &Self) -> bool {
        self.is_root()
            || other
                .0
                .strip_prefix(&self.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// For the system; `.` for the root.
    pub(super) fn as_path(&self) -> &Path {
        Path::new(if self.is_root() { "." } else { &self.0 })
    }

    /// The spelling in form NFD, if it is another one: some systems store names in it.
    pub(super) fn decomposed(&self) -> Option<Self> {
        let spelling: String = self.0.nfd().collect();
        (spelling != self.0).then_some(Self(spelling))
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

fn refused(reason: &str, path: &str) -> Fault {
    let shown: String = path.chars().take(200).flat_map(char::escape_debug).collect();
    Fault::new(FaultCode::PathRefused, format!("{reason}: {shown}"))
        .hint("write a path relative to the root, such as notes/plan.md")
}

/// Why a name is refused. Names that one system gives a meaning of its own are refused on all.
fn forbidden(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("the path has an empty name");
    }
    if name == ".." {
        return Some("the path goes up");
    }
    if name == "~" {
        return Some("the path begins at a home folder");
    }
    if name.len() > MAX_NAME {
        return Some("a name in the path has more than 255 bytes");
    }
    if name.chars().any(char::is_control) {
        return Some("a name in the path has a control character");
    }
    if name.contains(['\\', ':', '<', '>', '"', '|', '?', '*']) {
        return Some("a name in the path has one of the characters \\ : < > \" | ? *");
    }
    if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        return Some("a name in the path begins or ends with a space, or ends with a dot");
    }
    let invisible = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if name.chars().any(invisible) {
        return Some("a name in the path has an invisible character");
    }
    is_device(name).then_some("a name in the path is that of a device on Windows")
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = |prefix: &str| {
        let rest = stem.strip_prefix(prefix);
        rest.is_some_and(|rest| {
            matches!(
                rest,
                "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
            )
        })
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}
