//! Prompt files and their fields. Strict both ways: a field without a value
//! and a value without a field are errors, so that prompts and code cannot
//! drift apart.

use std::collections::BTreeSet;

use antiphon_core::{Fault, FaultCode};

/// Puts `values` where `template` says `{{name}}`. What is put in is not read
/// again, so a value may hold braces.
///
/// ```
/// use antiphon_systems::template::fill;
/// let text = fill("Count to {{limit}}.", &[("limit", "ten")]).unwrap();
/// assert_eq!(text, "Count to ten.");
/// assert!(fill("Count to {{limit}}.", &[]).is_err());
/// assert!(fill("Count.", &[("limit", "ten")]).is_err());
/// ```
///
/// # Errors
/// An `Internal` fault `prompt_invalid`: a field has no value, a value has no
/// field, or a field is not closed.
pub fn fill(template: &str, values: &[(&str, &str)]) -> Result<String, Fault> {
    let mut filled = String::with_capacity(template.len());
    let mut used = BTreeSet::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            return Err(invalid("a field of the prompt is not closed", after));
        };
        let name = name.trim();
        let Some((_, value)) = values.iter().find(|(known, _)| *known == name) else {
            return Err(invalid("a field of the prompt has no value", name));
        };
        filled.push_str(before);
        filled.push_str(value);
        used.insert(name);
        rest = after;
    }
    filled.push_str(rest);
    match values.iter().find(|(name, _)| !used.contains(name)) {
        Some((name, _)) => Err(invalid("the prompt has no field for the value", name)),
        None => Ok(filled),
    }
}

/// The names of the fields of a template.
///
/// # Errors
/// An `Internal` fault `prompt_invalid` if a field is not closed.
pub fn fields(template: &str) -> Result<BTreeSet<&str>, Fault> {
    Ok(all_fields(template)?.into_iter().collect())
}

/// The same, each as often as it stands there.
///
/// # Errors
/// As [`fields`].
pub fn all_fields(template: &str) -> Result<Vec<&str>, Fault> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            return Err(invalid("a field of the prompt is not closed", after));
        };
        names.push(name.trim());
        rest = after;
    }
    Ok(names)
}

fn invalid(what: &str, name: &str) -> Fault {
    let shown: String = name.chars().take(40).collect();
    Fault::new(FaultCode::PromptInvalid, format!("{what}: {shown}"))
}
