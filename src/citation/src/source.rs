//! The pages of a run, and their keys in a report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model_order::told_title;
use crate::word::words;

/// Where the text of a page is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageOrigin {
    /// It was fetched in this run.
    Fetched,
    /// It was known before this run: given with the question, or read for an earlier one.
    Known,
    /// There is none: the page was found, and not read.
    #[default]
    Found,
}

/// A page that may be cited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CitedSource {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The stored text, in which evidence has positions; empty if it was not read.
    pub text: String,
    /// What the search said of it.
    pub snippet: String,
    /// Where that text is from.
    pub origin: PageOrigin,
    /// Whether it could not be read. What a search said of it is evidence then.
    pub is_unreadable: bool,
    /// Whether the report cites it.
    pub is_cited: bool,
}

impl CitedSource {
    /// The text that may be cited: that of a page that was read.
    pub(crate) fn read_text(&self) -> &str {
        if self.origin == PageOrigin::Found { "" } else { self.text.trim_end() }
    }
}

/// The key of each source in a report, in the order of first use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceKeys {
    /// By the index of the source.
    keys: BTreeMap<usize, String>,
}

impl SourceKeys {
    /// The key of a source, which it gets with its first use.
    pub(crate) fn key(&mut self, index: usize, source: &CitedSource) -> String {
        if let Some(key) = self.keys.get(&index) {
            return key.clone();
        }
        let stem = key_stem(source);
        let is_used = |key: &str| self.keys.values().any(|own| own.eq_ignore_ascii_case(key));
        let numbered = (2_usize..).map(|number| format!("{stem}-{number}"));
        let mut all = std::iter::once(stem.clone()).chain(numbered);
        let key = all.find(|key| !is_used(key)).unwrap_or_default();
        self.keys.insert(index, key.clone());
        key
    }

    /// The key of a source that has one.
    pub(crate) fn of(&self, index: usize) -> Option<&str> {
        self.keys.get(&index).map(String::as_str)
    }

    /// The source that has a key.
    pub(crate) fn source(&self, key: &str) -> Option<usize> {
        self.keys.iter().find(|(_, own)| *own == key).map(|(index, _)| *index)
    }
}

/// Hosts with pages of many authors: their name says little.
const GENERIC: &str = "github gitlab medium substack blogspot wordpress youtube google wikipedia \
                       reddit archive arxiv doi localhost stackoverflow stackexchange x twitter linkedin facebook";
/// The second part of suffixes such as `co.uk`.
const SECOND: [&str; 8] = ["co", "com", "org", "net", "ac", "edu", "gov", "or"];

/// What a key is made of: the name of the host, or the title where the host is shared by many.
fn key_stem(source: &CitedSource) -> String {
    let host = host(&source.url);
    let name = host.as_deref().and_then(site_name);
    let of_title = || {
        let title = words(told_title(&source.title));
        let parts: Vec<String> = title.iter().take(3).map(|word| capital(word.text)).collect();
        let joined = alphanumeric(&parts.concat());
        (!joined.is_empty()).then_some(joined)
    };
    let of_path = || {
        let path = source.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let stem = path.split(['.', '?', '#']).next().unwrap_or_default();
        let joined = alphanumeric(&capital(stem));
        (!joined.is_empty()).then_some(joined)
    };
    let specific = name.clone().filter(|name| {
        !GENERIC.split_whitespace().any(|generic| generic.eq_ignore_ascii_case(name))
    });
    let stem = specific.or_else(of_title).or_else(of_path).or(name);
    let stem = stem.unwrap_or_else(|| "Source".to_owned());
    // A number alone would look like an index.
    if stem.starts_with(|sign: char| sign.is_numeric()) { format!("S{stem}") } else { stem }
}

/// The host of an address, without user, port and `www`.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if scheme == "file" {
        return None;
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default().to_lowercase();
    let host = host.split(':').next().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host).trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_owned())
}

/// The part of a host's name that its owner chose; none for numbers.
fn site_name(host: &str) -> Option<String> {
    if host.starts_with('[') || host.chars().all(|sign| sign.is_ascii_digit() || sign == '.') {
        return None;
    }
    let labels: Vec<&str> = host.split('.').collect();
    let (suffix, rest) = labels.split_last()?;
    let Some((last, earlier)) = rest.split_last() else { return Some(capital(host)) };
    let is_second = SECOND.contains(last) && suffix.len() == 2;
    let name = earlier.last().filter(|_| is_second).unwrap_or(last);
    let name = alphanumeric(&capital(name));
    (!name.is_empty()).then_some(name)
}

fn capital(word: &str) -> String {
    let mut signs = word.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

fn alphanumeric(text: &str) -> String {
    text.chars().filter(|sign| sign.is_alphanumeric()).take(40).collect()
}
