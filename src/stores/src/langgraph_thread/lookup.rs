//! Finding a checkpoint of a cached thread, wherever it is in the log.

use std::sync::Arc;

use antiphon_core::Fault;

use super::cache::SharedThread;
use super::value_format::decode;
use super::{
    CacheClient, CheckpointMark, CheckpointValue, FullCheckpoint, KnownEntries, LangGraphThread,
    TaskWrite, ThreadCache,
};
use crate::codec::corrupt;
use crate::reread::retry_torn_read;
use crate::sealed_store::SealedStore;

/// A checkpoint that was found, with its values.
#[derive(Clone, Debug)]
pub struct FoundCheckpoint<V> {
    /// Its id.
    pub id: String,
    /// The id of the parent checkpoint.
    pub parent: Option<String>,
    /// Everything but its values.
    pub head: Arc<[u8]>,
    /// Its values by channel.
    pub values: Vec<(String, V)>,
    /// The writes at it: task, channel and value of each.
    pub writes: Vec<(String, String, V)>,
}

/// A checkpoint that was found, still encoded.
struct CheckpointLookup<V> {
    id: String,
    checkpoint: FullCheckpoint,
    namespace: String,
    shared: SharedThread<V>,
    /// That of the loaded thread which has its values, if it is one.
    generation: Option<u64>,
}

/// Where a checkpoint is, with its id; at hand with the generation of the loaded thread.
enum Location {
    Nowhere,
    /// Since the last snapshot, or the last of its namespace.
    AtHand(String, FullCheckpoint, u64),
    BeforeSnapshot(String, CheckpointMark),
}

impl<C: CacheClient> ThreadCache<C> {
    /// The checkpoint of a namespace and an id, or the last one of the namespace; `None` if
    /// there is none, or if `is_wanted` says no to its head.
    ///
    /// # Errors
    /// Those of the store and of `is_wanted`.
    pub async fn find(
        &self,
        name: &str,
        (space, id): (&str, Option<&str>),
        is_wanted: impl Fn(&[u8]) -> Result<bool, C::Error> + Send + Sync,
    ) -> Result<Option<FoundCheckpoint<C::Value>>, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let place = (name, space, id);
        // Another writer may rewrite the thread between the lookup and the read.
        let found = retry_torn_read(&**sealed_store.store(), name, || {
            self.look_up(&sealed_store, place, &is_wanted)
        });
        let found = found.await.map_err(|fault| self.client.error(fault))??;
        let decoded = found.map(|found| self.client.with_values(|| self.decode(found)));
        decoded.transpose()
    }

    fn decode(
        &self,
        found: CheckpointLookup<C::Value>,
    ) -> Result<FoundCheckpoint<C::Value>, C::Error> {
        let CheckpointLookup { id, checkpoint, namespace, shared, generation } = found;
        let (mut values, mut lists, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        for CheckpointValue { name, stamp, bytes } in checkpoint.values {
            let (value, items) = decode(&self.client, &bytes)?;
            lists.extend(items.map(|items| (name.clone(), stamp, items)));
            values.push((name, value));
        }
        for TaskWrite { task, channel, value, .. } in checkpoint.writes {
            writes.push((task, channel, decode(&self.client, &value)?.0));
        }
        self.access(&shared, |cached| {
            let last = cached.thread.as_ref().and_then(|thread| thread.last(&namespace));
            if last == Some(&*id) && generation == Some(cached.generation) {
                for (name, stamp, items) in lists {
                    cached.known.insert_list(&namespace, name, stamp, items);
                }
            }
        });
        let FullCheckpoint { parent, head, .. } = checkpoint;
        Ok(FoundCheckpoint { id, parent, head, values, writes })
    }

    /// The outer fault is one of reading; an error of the client is no reason to read again.
    async fn look_up(
        &self,
        sealed_store: &SealedStore,
        (name, space, id): (&str, &str, Option<&str>),
        is_wanted: &impl Fn(&[u8]) -> Result<bool, C::Error>,
    ) -> Result<Result<Option<CheckpointLookup<C::Value>>, C::Error>, Fault> {
        let locate = |shared: &_| self.locate(shared, (space, id), is_wanted);
        let location = match self.see(sealed_store, name, locate).await? {
            Ok(location) => location,
            Err(error) => return Ok(Err(error)),
        };
        let shared = self.shared_thread(name);
        let (id, checkpoint, generation) = match location {
            Location::Nowhere => return Ok(Ok(None)),
            Location::AtHand(id, checkpoint, generation) => (id, checkpoint, Some(generation)),
            Location::BeforeSnapshot(id, mark) => {
                let place = (name, space, &*id);
                let checkpoint = self.past(sealed_store, &shared, place, &mark).await?;
                match is_wanted(&checkpoint.head) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Ok(None)),
                    Err(error) => return Ok(Err(error)),
                }
                let place = (space, &*id);
                let writes = LangGraphThread::writes_of(sealed_store, name, place, &mark).await?;
                (id, checkpoint.with_writes(writes), None)
            }
        };
        let namespace = space.to_owned();
        Ok(Ok(Some(CheckpointLookup { id, checkpoint, namespace, shared, generation })))
    }

    /// Where a checkpoint is, and what is loaded of the thread; `None` if the thread was
    /// invalidated.
    fn locate(
        &self,
        shared: &SharedThread<C::Value>,
        (space, id): (&str, Option<&str>),
        is_wanted: &impl Fn(&[u8]) -> Result<bool, C::Error>,
    ) -> Result<Option<(Location, KnownEntries)>, C::Error> {
        let known = self.access(shared, |cached| {
            let thread = cached.thread.as_ref()?;
            let known = id.or_else(|| thread.last(space)).and_then(|id| {
                let mark = thread.mark(space, id)?.clone();
                Some((id.to_owned(), mark, thread.head(space, id)))
            });
            Some((known, thread.seen()))
        });
        let Some((known, seen)) = known else { return Ok(None) };
        let Some((id, mark, head)) = known else { return Ok(Some((Location::Nowhere, seen))) };
        let Some(head) = head else { return Ok(Some((Location::BeforeSnapshot(id, mark), seen))) };
        // The client's code takes as long as it takes, so the thread is not locked meanwhile.
        if !is_wanted(&head)? {
            return Ok(Some((Location::Nowhere, seen)));
        }
        Ok(self.access(shared, |cached| {
            let thread = cached.thread.as_ref()?;
            let location = if let Some(checkpoint) = thread.full_checkpoint(space, &id) {
                Location::AtHand(id, checkpoint, cached.generation)
            } else {
                let mark = thread.mark(space, &id)?.clone();
                Location::BeforeSnapshot(id, mark)
            };
            Some((location, thread.seen()))
        }))
    }

    /// A checkpoint from before the last snapshot. Those around it are kept, because a reader
    /// of the history asks for them next.
    async fn past(
        &self,
        sealed_store: &SealedStore,
        shared: &SharedThread<C::Value>,
        (name, space, id): (&str, &str, &str),
        mark: &CheckpointMark,
    ) -> Result<FullCheckpoint, Fault> {
        let (generation, known) = self.access(shared, |cached| {
            let past = cached.past.as_ref();
            let is_same = |past: &&LangGraphThread| {
                past.mark(space, id).is_some_and(|found| found.seq == mark.seq)
            };
            (
                cached.generation,
                past.filter(is_same).and_then(|past| past.full_checkpoint(space, id)),
            )
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let past = LangGraphThread::past(sealed_store, name, mark).await?;
        let checkpoint = past.full_checkpoint(space, id);
        let weight = self.access(shared, |cached| {
            // Unless the thread of this name is another one by now.
            if cached.generation == generation {
                cached.past = Some(past);
            }
            cached.weight()
        });
        self.weigh(name, weight);
        checkpoint.ok_or_else(|| corrupt(&format!("a checkpoint is not where it should be: {id}")))
    }
}
