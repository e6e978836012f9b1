//! The values of a thread that its process has in memory, so that a list that has grown is not
//! encoded from its beginning.

use std::collections::BTreeMap;

use super::value_format::ListItems;

/// The values that a thread was last given or read as.
pub(super) struct CachedValues<V> {
    /// Lists by namespace and channel.
    lists: BTreeMap<(String, String), CachedList<V>>,
    /// By namespace and checkpoint: what tasks wrote there, as far as it may not be merged yet.
    written: BTreeMap<String, BTreeMap<String, WrittenItems<V>>>,
}

struct CachedList<V> {
    /// The stored value that it is.
    stamp: u64,
    items: ListItems<V>,
}

/// What tasks wrote by channel, item by item where that was a list.
pub(super) type WrittenItems<V> = BTreeMap<String, Vec<V>>;

impl<V> Default for CachedValues<V> {
    fn default() -> Self {
        Self { lists: BTreeMap::new(), written: BTreeMap::new() }
    }
}

impl<V> CachedValues<V> {
    /// Takes a list out, if it is the stored value with this stamp.
    pub(super) fn take_list(
        &mut self,
        namespace: &str,
        channel: &str,
        stamp: Option<u64>,
    ) -> Option<ListItems<V>> {
        let known = self.lists.remove(&(namespace.to_owned(), channel.to_owned()))?;
        (Some(known.stamp) == stamp).then_some(known.items)
    }

    /// A list, whichever stored value it is.
    pub(super) fn list(&self, namespace: &str, channel: &str) -> Option<&ListItems<V>> {
        let known = self.lists.get(&(namespace.to_owned(), channel.to_owned()))?;
        Some(&known.items)
    }

    pub(super) fn insert_list(
        &mut self,
        namespace: &str,
        channel: String,
        stamp: u64,
        items: ListItems<V>,
    ) {
        self.lists.insert((namespace.to_owned(), channel), CachedList { stamp, items });
    }

    /// What tasks wrote to a channel at a checkpoint, if that is known.
    pub(super) fn written(&self, namespace: &str, id: &str, channel: &str) -> Option<&[V]> {
        self.written.get(namespace)?.get(id)?.get(channel).map(Vec::as_slice)
    }

    /// Adds what tasks wrote at a checkpoint that has no successor.
    pub(super) fn add_written(
        &mut self,
        (namespace, id): (&str, &str),
        items: impl Iterator<Item = (String, Vec<V>)>,
    ) {
        let written = self.written.entry(namespace.to_owned()).or_default();
        let written = written.entry(id.to_owned()).or_default();
        for (channel, items) in items {
            written.entry(channel).or_default().extend(items);
        }
    }

    /// Forgets what tasks wrote up to a checkpoint, because it is merged.
    pub(super) fn forget_written(&mut self, namespace: &str, up_to: &str) {
        if let Some(written) = self.written.get_mut(namespace) {
            written.retain(|id, _| id.as_str() > up_to);
        }
    }

    pub(super) fn visit<E>(&self, visit: &mut impl FnMut(&V) -> Result<(), E>) -> Result<(), E> {
        let written = self.written.values().flat_map(BTreeMap::values);
        let written = written.flat_map(BTreeMap::values).flatten();
        let lists = self.lists.values().flat_map(|known| &known.items.items);
        written.chain(lists).try_for_each(visit)
    }
}
