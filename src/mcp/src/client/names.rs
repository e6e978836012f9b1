//! Names of tools that models accept, made of those that servers give.

use std::collections::BTreeSet;

/// The longest name that providers accept.
const LONGEST: usize = 64;

/// Gives each tool a valid name that no other one has.
#[derive(Debug, Default)]
pub(super) struct NameRegistry {
    taken: BTreeSet<String>,
}

impl NameRegistry {
    /// A name for the tool that its server calls `given`: characters that providers refuse become
    /// underscores, and a number is added if the name is taken.
    pub(super) fn claim(&mut self, prefix: &str, given: &str) -> String {
        let plain: String = prefix.chars().chain(given.chars()).map(allowed).collect();
        let plain = if plain.is_empty() { "tool".to_owned() } else { plain };
        let mut name = shortened(&plain, LONGEST);
        let mut number = 2_u32;
        while self.taken.contains(&name) {
            let suffix = format!("_{number}");
            name = shortened(&plain, LONGEST - suffix.len()) + &suffix;
            number += 1;
        }
        self.taken.insert(name.clone());
        name
    }
}

const fn allowed(c: char) -> char {
    if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }
}

fn shortened(ascii: &str, length: usize) -> String {
    ascii.chars().take(length).collect()
}
