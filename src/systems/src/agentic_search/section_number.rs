//! The numbers of sections, which small models take for what is asked for: `20.7. Query Planning` is
//! no value of anything.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// What stands between the headings that lead to a passage.
const BELOW: &str = " › ";
/// What tools call these headings.
const FIELDS: [&str; 2] = ["heading: ", "section: "];

/// The numbers that sections begin with, as far as headings show that they do: a heading below one
/// with the number `20.7.` has the number `20.7.3.`, so `20.3.` is one too. A date such as `24.12.`
/// has no such heading.
#[derive(Debug, Default)]
pub(super) struct SectionNumbers(BTreeSet<String>);

impl SectionNumbers {
    /// Reads them off the lines of texts.
    pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut roots = BTreeSet::new();
        for line in texts.flat_map(str::lines).filter(|line| line.contains(BELOW)) {
            let mut above = None;
            for heading in headings(line) {
                let own = number(heading);
                if let (Some(above), Some(own)) = (above, own)
                    && is_below(own, above)
                {
                    roots.extend(root(own).map(str::to_owned));
                }
                above = own;
            }
        }
        Self(roots)
    }

    /// A text whose lines, and headings, do not begin with such numbers.
    pub(super) fn removed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.is_empty() {
            return Cow::Borrowed(text);
        }
        let lines = text.split('\n').map(|line| {
            let (name, value) = named(line);
            let kept: Vec<&str> = value.split(BELOW).map(|it| self.without(it)).collect();
            format!("{name}{}", kept.join(BELOW))
        });
        Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
    }

    fn without<'t>(&self, heading: &'t str) -> &'t str {
        let own = number(heading).filter(|own| root(own).is_some_and(|root| self.0.contains(root)));
        own.and_then(|own| heading.get(own.len()..)).map_or(heading, str::trim_start)
    }
}

/// The headings of a line, which may begin with the name of their field.
fn headings(line: &str) -> impl Iterator<Item = &str> {
    named(line).1.split(BELOW)
}

/// The name of the field of headings that a line begins with, and the rest.
fn named(line: &str) -> (&str, &str) {
    let name = FIELDS.iter().find(|name| line.starts_with(**name));
    line.split_at_checked(name.map_or(0, |name| name.len())).unwrap_or(("", line))
}

/// The number that a heading begins with, such as `20.7.` or `E.1.`, before words.
fn number(heading: &str) -> Option<&str> {
    let (number, rest) = heading.split_once([' ', '\u{a0}'])?;
    let parts = number.strip_suffix('.')?;
    let (first, others) = parts.split_once('.')?;
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let is_letter = first.len() == 1 && first.bytes().all(|it| it.is_ascii_uppercase());
    let is_number = (is_digits(first) || is_letter) && others.split('.').all(is_digits);
    (is_number && rest.trim_start().starts_with(char::is_alphabetic)).then_some(number)
}

fn is_below(own: &str, above: &str) -> bool {
    own.len() > above.len() && own.starts_with(above)
}

/// What a number begins with: that of its chapter.
fn root(number: &str) -> Option<&str> {
    number.split_once('.').map(|(root, _)| root)
}
