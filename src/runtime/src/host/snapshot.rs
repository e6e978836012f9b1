//! The state as one task sees it.

use std::sync::Arc;

use antiphon_core::channel::Write;
use antiphon_core::command::Update;
use antiphon_core::graph::Graph;
use antiphon_core::state::State;
use antiphon_core::{Fault, FaultCode};
use serde::Deserialize;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value as Json};

/// The state of a graph at the start of a superstep. Shared, not copied: the
/// next merge copies the state only if a snapshot of it is still around, so
/// nothing should keep one for longer than its task.
#[derive(Clone, Debug)]
pub struct Snapshot {
    graph: Arc<Graph<Json>>,
    slots: Arc<Vec<Option<Json>>>,
    revisions: Vec<u64>,
}

impl Snapshot {
    /// What `state` holds now; `graph` gives the channels their names.
    pub fn of(graph: &Arc<Graph<Json>>, state: &State<Json>) -> Self {
        let revisions = state.revisions().to_vec();
        Self { graph: Arc::clone(graph), slots: state.snapshot(), revisions }
    }

    /// The value of the channel of that name; none if it was never written and
    /// has no default, or does not exist.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.slots.get(self.graph.channel_id(key)?.0 as usize)?.as_ref()
    }

    /// The text in the channel of that name; empty if there is none.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Json::as_str).unwrap_or_default()
    }

    /// All channels that hold something, in the order of the graph.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        let names = self.graph.channels().iter().map(|channel| &*channel.name);
        names.zip(self.slots.iter()).filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }

    /// All channels that hold something, as one object; copies every value.
    pub fn as_object(&self) -> Map<String, Json> {
        self.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// The state as a type of the host's own; copies only what the type owns.
    ///
    /// # Errors
    /// A `State` fault `state_unreadable` that says which field does not fit.
    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Fault> {
        T::deserialize(MapDeserializer::new(self.iter())).map_err(|error: serde_json::Error| {
            let message = format!("the state does not match the type that the node reads: {error}");
            Fault::new(FaultCode::StateUnreadable, message)
        })
    }

    /// As [`State::revisions`].
    pub fn revisions(&self) -> &[u64] {
        &self.revisions
    }

    /// Whether the channel of that name has changed since the state had those `revisions`. They must
    /// be of the same run.
    pub fn has_changed(&self, key: &str, revisions: &[u64]) -> bool {
        let Some(id) = self.graph.channel_id(key) else { return true };
        let of = |revisions: &[u64]| revisions.get(id.0 as usize).copied().unwrap_or_default();
        of(&self.revisions) != of(revisions)
    }

    /// The graph whose state it is.
    pub fn graph(&self) -> &Arc<Graph<Json>> {
        &self.graph
    }

    /// An update that writes these values by channel name, each merged by its
    /// channel's rule.
    ///
    /// # Errors
    /// A `State` fault `state_key_unknown` if the graph has no such channel.
    pub fn update<'k>(
        &self,
        fields: impl IntoIterator<Item = (&'k str, Json)>,
    ) -> Result<Update<Json>, Fault> {
        let mut update = Update::default();
        for (key, value) in fields {
            let channel = self.graph.channel_id(key).ok_or_else(|| self.unknown(key))?;
            update.writes.push(Write::merge(channel, value));
        }
        Ok(update)
    }

    fn unknown(&self, key: &str) -> Fault {
        let known: Vec<_> = self.graph.channels().iter().map(|channel| &*channel.name).collect();
        let known = known.join(", ");
        Fault::new(FaultCode::StateKeyUnknown, format!("unknown key of the state: {key}"))
            .hint(format!("declare it in the state's schema, or use one of: {known}"))
            .with("known", known)
    }
}
