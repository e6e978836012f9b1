//! The events of a specification, held against those that happen.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

/// The fields of each event, by its name; none of one whose data is not listed.
pub(crate) struct DocumentedEvents(BTreeMap<String, BTreeSet<String>>);

impl DocumentedEvents {
    /// Reads the tables below headings `Events` of pages: names, and what they have.
    pub(crate) fn of(pages: &str) -> Self {
        let sections = pages.split("\n## Events\n").skip(1);
        let sections = sections.map(|section| section.split("\n## ").next().unwrap());
        let lines = sections.flat_map(str::lines);
        let rows = lines.filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        let row = |(name, data): (&str, &str)| {
            // What follows a colon, or stands in brackets, says what a field means.
            let fields = data.split(": ").next().unwrap().split(" (").enumerate();
            let fields = fields.map(|(place, part)| match place {
                0 => part,
                _ => part.split_once(')').map_or("", |(_, rest)| rest),
            });
            let fields = fields.flat_map(|part| part.split('`').skip(1).step_by(2));
            (name.to_owned(), fields.map(str::to_owned).collect())
        };
        Self(rows.map(row).collect())
    }

    /// Each event is documented, and so are its fields.
    pub(crate) fn check<'e>(&self, events: impl IntoIterator<Item = (&'e str, &'e Json)>) {
        for (name, data) in events {
            assert!(self.0.contains_key(name), "no page has: {name}");
            let Some(fields) = self.0.get(name) else { continue };
            for key in keys(data).filter(|_| !fields.is_empty()) {
                assert!(fields.contains(key), "no page has a field of {name}: {key}");
            }
        }
    }

    /// Each event that is documented happens, with all of its fields.
    pub(crate) fn check_all<'e>(&self, events: impl IntoIterator<Item = (&'e str, &'e Json)>) {
        let mut left = self.0.clone();
        for (name, data) in events {
            let Some(fields) = left.get_mut(name) else { continue };
            fields.retain(|field| data.get(field).is_none());
            if fields.is_empty() {
                left.remove(name);
            }
        }
        assert!(left.is_empty(), "nothing of it has happened: {left:#?}");
    }
}

fn keys(data: &Json) -> impl Iterator<Item = &String> {
    data.as_object().into_iter().flat_map(serde_json::Map::keys)
}
