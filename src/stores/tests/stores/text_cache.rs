//! A cache of threads whose values are texts and lists of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use antiphon_core::Fault;
use antiphon_runtime::{ManualClock, SystemClock};
use antiphon_stores::codec::{ByteReader, ByteWriter, unstorable};
use antiphon_stores::langgraph_thread::{
    CacheClient, Mutation, PutCheckpoint, PutWrites, Serializer, ThreadCache,
};
use antiphon_stores::{Cipher, MemoryStore, SealedStore};

/// A text, one that can be changed in place, or a list of them; an empty text cannot be stored.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Arc<str>),
    Changing(Arc<Mutex<String>>),
    List(Arc<[Self]>),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(one), Self::List(other)) => one == other,
            (Self::List(_), _) | (_, Self::List(_)) => false,
            _ => self.content() == other.content(),
        }
    }
}

impl Value {
    /// The text; of a list, nothing.
    fn content(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Changing(text) => text.lock().unwrap().clone(),
            Self::List(_) => String::new(),
        }
    }
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.into())
}

pub(crate) fn list(items: &[Value]) -> Value {
    Value::List(items.into())
}

/// Counts the values that it encodes, and lets a test do something between two accesses.
pub(crate) struct CountingClient {
    sealed_store: SealedStore,
    encoded: AtomicUsize,
    pub(crate) interruption: Mutex<Option<Interruption>>,
}

pub(crate) struct Interruption {
    /// How many accesses are before it.
    pub(crate) after: usize,
    pub(crate) act: Box<dyn FnOnce() + Send>,
}

impl CacheClient for CountingClient {
    type Value = Value;
    type Error = Fault;

    fn sealed_store(&self) -> Result<SealedStore, Fault> {
        Ok(self.sealed_store.clone())
    }

    fn error(&self, fault: Fault) -> Fault {
        fault
    }

    fn with_lock<T, R>(&self, mutex: &Mutex<T>, access: impl FnOnce(&mut T) -> R) -> R {
        let due = {
            let mut interruption = self.interruption.lock().unwrap();
            let due = interruption.take_if(|next| next.after == 0);
            if let Some(next) = &mut *interruption {
                next.after -= 1;
            }
            due
        };
        if let Some(due) = due {
            (due.act)();
        }
        access(&mut mutex.lock().unwrap())
    }

    fn with_values<R>(&self, decode: impl FnOnce() -> R) -> R {
        decode()
    }

    fn serializer(&self) -> Serializer {
        Serializer::Own
    }

    fn encode(&self, name: &str, value: &Value, out: &mut ByteWriter) -> Result<(), Fault> {
        self.encoded.fetch_add(1, Ordering::Relaxed);
        match &*value.content() {
            "" => Err(unstorable(name, "neither a text nor a list of texts")),
            text => {
                out.text(text);
                Ok(())
            }
        }
    }

    fn decode(
        &self,
        serializer: Serializer,
        mut from: ByteReader<'_>,
    ) -> Result<Vec<(Value, usize)>, Fault> {
        assert_eq!(serializer, Serializer::Own);
        let mut values = Vec::new();
        while !from.is_at_end() {
            values.push((text(from.text()?), from.left()));
        }
        Ok(values)
    }

    fn items(&self, value: &Value) -> Option<Vec<Value>> {
        match value {
            Value::Text(_) | Value::Changing(_) => None,
            Value::List(items) => Some(items.to_vec()),
        }
    }

    fn list(&self, items: &[Value]) -> Result<Value, Fault> {
        Ok(list(items))
    }

    fn identity(&self, value: &Value) -> usize {
        match value {
            Value::Text(text) => text.as_ptr().addr(),
            Value::Changing(text) => Arc::as_ptr(text).addr(),
            Value::List(items) => items.as_ptr().addr(),
        }
    }
}

pub(crate) type Cache = ThreadCache<CountingClient>;

pub(crate) fn sealed_store() -> SealedStore {
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()))
}

pub(crate) fn cache(sealed_store: &SealedStore) -> Arc<Cache> {
    Arc::new(Cache::new(client(sealed_store), Arc::new(ManualClock::jumping())))
}

pub(crate) fn client(sealed_store: &SealedStore) -> CountingClient {
    CountingClient {
        sealed_store: sealed_store.clone(),
        encoded: AtomicUsize::new(0),
        interruption: Mutex::default(),
    }
}

/// A checkpoint that holds its id and a list; the parent is the last number before it.
pub(crate) fn checkpoint(id: &str, items: &[Value]) -> Mutation<Value> {
    let before = id.parse::<u64>().ok().and_then(|id| id.checked_sub(1)).filter(|id| *id > 0);
    Mutation::Put(PutCheckpoint {
        namespace: String::new(),
        id: id.to_owned(),
        parent: before.map(|id| id.to_string()),
        run: Some("run".into()),
        step: 0,
        head: id.as_bytes().to_vec(),
        values: vec![("id".into(), text(id)), ("list".into(), list(items))],
        changed: BTreeSet::from(["id".into(), "list".into()]),
    })
}

pub(crate) async fn put_list(
    cache: &Cache,
    thread: &str,
    id: &str,
    items: &[Value],
) -> Result<(), Fault> {
    apply(cache, thread, &checkpoint(id, items)).await
}

pub(crate) async fn put(cache: &Cache, thread: &str, id: &str) -> Result<(), Fault> {
    put_list(cache, thread, id, &[]).await
}

/// What a task wrote to the list.
pub(crate) fn writes(id: &str, task: &str, items: &[Value]) -> Mutation<Value> {
    Mutation::PutWrites(PutWrites {
        namespace: String::new(),
        id: id.to_owned(),
        task: task.to_owned(),
        path: String::new(),
        writes: vec![(0, "list".into(), list(items))],
    })
}

pub(crate) async fn put_writes(cache: &Cache, id: &str, items: &[Value]) {
    apply(cache, "t", &writes(id, "task", items)).await.unwrap();
}

pub(crate) async fn apply(
    cache: &Cache,
    thread: &str,
    mutation: &Mutation<Value>,
) -> Result<(), Fault> {
    let pending = cache.try_apply(thread, mutation)?;
    cache.apply(thread, mutation, pending).await
}

/// The list of the last checkpoint, or of the one with an id.
pub(crate) async fn read_list(cache: &Cache, id: Option<&str>) -> Vec<Value> {
    let found = cache.find("t", ("", id), |_| Ok(true)).await.unwrap().unwrap();
    let (_, list) = found.values.into_iter().find(|(name, _)| name == "list").unwrap();
    cache.client().items(&list).unwrap()
}

/// How many values a cache has encoded since this was last asked.
pub(crate) fn encoded(cache: &Cache) -> usize {
    cache.client().encoded.swap(0, Ordering::Relaxed)
}

pub(crate) async fn ids(cache: &Cache, thread: &str) -> Vec<String> {
    let found = cache.checkpoints(thread).await.unwrap();
    found.into_iter().map(|(_, id, _, _)| id).collect()
}
