//! Lists of the checkpoints of a cached thread, and of the threads of its store.

use antiphon_core::Time;

use super::{CacheClient, LangGraphThread, ThreadCache};

/// Namespace, id, parent and run of a checkpoint.
pub type CheckpointInfo = (String, String, Option<String>, Option<String>);

/// Which checkpoints of a thread are listed: those of a namespace, of an id, and those whose
/// id is smaller than `before`.
#[derive(Clone, Debug, Default)]
pub struct CheckpointFilter {
    /// The namespace.
    pub space: Option<String>,
    /// The id.
    pub id: Option<String>,
    /// An id that is larger.
    pub before: Option<String>,
}

impl<C: CacheClient> ThreadCache<C> {
    /// All checkpoints of a thread, in the order of namespaces and ids.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn checkpoints(&self, name: &str) -> Result<Vec<CheckpointInfo>, C::Error> {
        let listed = self.list(name, |thread| {
            let info = thread.marks().map(|(space, id, mark)| {
                (space.to_owned(), id.to_owned(), mark.parent.clone(), mark.run.clone())
            });
            info.collect()
        });
        listed.await
    }

    /// Namespaces and ids of some checkpoints, newest first: at most `limit` of those that
    /// come after the namespace and the id `after`.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn page(
        &self,
        name: &str,
        filter: &CheckpointFilter,
        (after, limit): (Option<&(String, String)>, usize),
    ) -> Result<Vec<(String, String)>, C::Error> {
        let CheckpointFilter { space, id, before } = filter;
        let is_chosen = |(id_here, space_here): &(&str, &str)| {
            space.as_ref().is_none_or(|space| space == space_here)
                && id.as_ref().is_none_or(|id| id == id_here)
                && before.as_ref().is_none_or(|before| *id_here < before.as_str())
                && after.is_none_or(|(space, id)| (*id_here, *space_here) < (id, space))
        };
        let listed = self.list(name, |thread| {
            let found = thread.marks().map(|(space, id, _)| (id, space)).filter(is_chosen);
            let mut found: Vec<_> = found.collect();
            found.sort_unstable_by(|one, other| other.cmp(one));
            let found = found.into_iter().take(limit);
            found.map(|(id, space)| (space.to_owned(), id.to_owned())).collect()
        });
        listed.await
    }

    async fn list<R>(
        &self,
        name: &str,
        list: impl Fn(&LangGraphThread) -> R,
    ) -> Result<R, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let listed = self.see(&sealed_store, name, |shared| {
            let of_thread = |thread: &LangGraphThread| (list(thread), thread.seen());
            Ok(self.access(shared, |cached| cached.thread.as_ref().map(of_thread)))
        });
        listed.await.map_err(|fault| self.client.error(fault))?
    }

    /// The names of the threads that begin with `prefix`, without it, and when each was
    /// written to; the latest first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn threads(&self, prefix: &str) -> Result<Vec<(String, Time)>, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let found = sealed_store.store().recent(prefix).await;
        let found = found.map_err(|fault| self.client.error(fault))?.into_iter();
        let named = |(name, at): (String, Time)| {
            name.strip_prefix(prefix).map(|name| (name.to_owned(), at))
        };
        Ok(found.filter_map(named).collect())
    }
}
