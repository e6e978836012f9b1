//! Threads of LangGraph in use: cached, written by several, and dropped again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Clock, ManualClock, SystemClock};
use antiphon_stores::codec::{ByteReader, ByteWriter, unstorable};
use antiphon_stores::langgraph_thread::{
    CacheClient, CheckpointFilter, Mutation, PutCheckpoint, PutWrites, Serializer, ThreadCache,
    WriteTurn,
};
use antiphon_stores::{Cipher, MemoryStore, SealedStore};

/// A text or a list of texts; an empty text cannot be stored.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(Arc<str>),
    List(Arc<[Self]>),
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn list(items: &[Value]) -> Value {
    Value::List(items.into())
}

/// Counts the values that it encodes, and lets a test do something between two accesses.
struct CountingClient {
    sealed_store: SealedStore,
    encoded: AtomicUsize,
    interruption: Mutex<Option<Interruption>>,
}

struct Interruption {
    /// How many accesses are before it.
    after: usize,
    act: Box<dyn FnOnce() + Send>,
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
        match value {
            Value::Text(text) if !text.is_empty() => out.text(text),
            _ => return Err(unstorable(name, "neither a text nor a list of texts")),
        }
        Ok(())
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
            Value::Text(_) => None,
            Value::List(items) => Some(items.to_vec()),
        }
    }

    fn list(&self, items: &[Value]) -> Result<Value, Fault> {
        Ok(list(items))
    }

    fn identity(&self, value: &Value) -> usize {
        match value {
            Value::Text(text) => text.as_ptr().addr(),
            Value::List(items) => items.as_ptr().addr(),
        }
    }
}

type Cache = ThreadCache<CountingClient>;

fn sealed_store() -> SealedStore {
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()))
}

fn cache(sealed_store: &SealedStore) -> Arc<Cache> {
    Arc::new(Cache::new(client(sealed_store), Arc::new(ManualClock::jumping())))
}

fn client(sealed_store: &SealedStore) -> CountingClient {
    CountingClient {
        sealed_store: sealed_store.clone(),
        encoded: AtomicUsize::new(0),
        interruption: Mutex::default(),
    }
}

/// A checkpoint that holds its id and a list; the parent is the last number before it.
fn checkpoint(id: &str, items: &[Value]) -> Mutation<Value> {
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

async fn put_list(cache: &Cache, thread: &str, id: &str, items: &[Value]) -> Result<(), Fault> {
    apply(cache, thread, &checkpoint(id, items)).await
}

async fn put(cache: &Cache, thread: &str, id: &str) -> Result<(), Fault> {
    put_list(cache, thread, id, &[]).await
}

/// Puts what a task wrote to the list.
async fn put_writes(cache: &Cache, id: &str, items: &[Value]) {
    let writes = Mutation::PutWrites(PutWrites {
        namespace: String::new(),
        id: id.to_owned(),
        task: format!("task {id}"),
        path: String::new(),
        writes: vec![(0, "list".into(), list(items))],
    });
    apply(cache, "t", &writes).await.unwrap();
}

async fn apply(cache: &Cache, thread: &str, mutation: &Mutation<Value>) -> Result<(), Fault> {
    let pending = cache.try_apply(thread, mutation)?;
    cache.apply(thread, mutation, pending).await
}

/// The list of the last checkpoint, or of the one with an id.
async fn read_list(cache: &Cache, id: Option<&str>) -> Vec<Value> {
    let found = cache.find("t", ("", id), |_| Ok(true)).await.unwrap().unwrap();
    let (_, list) = found.values.into_iter().find(|(name, _)| name == "list").unwrap();
    cache.client().items(&list).unwrap()
}

/// How many values a cache has encoded since this was last asked.
fn encoded(cache: &Cache) -> usize {
    cache.client().encoded.swap(0, Ordering::Relaxed)
}

async fn ids(cache: &Cache, thread: &str) -> Vec<String> {
    let found = cache.checkpoints(thread).await.unwrap();
    found.into_iter().map(|(_, id, _, _)| id).collect()
}

#[tokio::test]
async fn writers_of_one_thread_see_what_the_others_have_written() {
    let sealed_store = sealed_store();
    let (one, other) = (cache(&sealed_store), cache(&sealed_store));
    for (cache, id) in [(&one, "1"), (&other, "2"), (&one, "3"), (&one, "4"), (&other, "5")] {
        put(cache, "t", id).await.unwrap();
    }
    for cache in [&one, &other] {
        assert_eq!(ids(cache, "t").await, ["1", "2", "3", "4", "5"]);
        let found = cache.find("t", ("", None), |_| Ok(true)).await.unwrap().unwrap();
        assert_eq!((&*found.id, found.parent.as_deref()), ("5", Some("4")));
        assert_eq!(&*found.head, b"5");
    }
}

/// The output of a future that waits for nothing.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let Poll::Ready(output) = std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    else {
        unreachable!("a future of a store in memory waits");
    };
    output
}

/// Two caches of a thread with a checkpoint; `act` happens after so many accesses to the first.
fn interrupted(after: usize, act: fn(&Cache, &Cache)) -> Arc<Cache> {
    let sealed_store = sealed_store();
    let (one, other) = (cache(&sealed_store), cache(&sealed_store));
    at_once(put(&one, "t", "1")).unwrap();
    let writer = Arc::clone(&one);
    let act = Box::new(move || act(&writer, &other));
    *one.client().interruption.lock().unwrap() = Some(Interruption { after, act });
    one
}

/// More than a reading needs.
const ACCESSES: usize = 9;

/// A writer is late, and is killed before it tries again.
#[test]
fn a_checkpoint_that_was_sent_and_not_stored_is_not_read() {
    let send_too_late = |one: &Cache, other: &Cache| {
        at_once(put(other, "t", "2")).unwrap();
        drop(one.try_apply("t", &checkpoint("3", &[])).unwrap());
    };
    for after in 0..ACCESSES {
        let one = interrupted(after, send_too_late);
        let found = at_once(one.find("t", ("", None), |_| Ok(true))).unwrap().unwrap();
        assert_ne!(found.id, "3", "after {after} accesses");
        let one = interrupted(after, send_too_late);
        assert!(!at_once(ids(&one, "t")).contains(&"3".to_owned()), "after {after} accesses");
        let one = interrupted(after, send_too_late);
        let all = CheckpointFilter::default();
        let page = at_once(one.page("t", &all, (None, 9))).unwrap();
        assert!(!page.contains(&(String::new(), "3".to_owned())), "after {after} accesses");
    }
}

#[test]
fn a_thread_that_is_invalidated_while_it_is_read_is_found() {
    for after in 0..ACCESSES {
        let one = interrupted(after, |one, _| {
            at_once(put(one, "t", "")).unwrap_err();
        });
        let found = at_once(one.find("t", ("", None), |_| Ok(true))).unwrap();
        assert_eq!(found.map(|found| found.id).as_deref(), Some("1"), "after {after} accesses");
        let one = interrupted(after, |one, _| {
            at_once(put(one, "t", "")).unwrap_err();
        });
        assert_eq!(at_once(ids(&one, "t")), ["1"], "after {after} accesses");
    }
}

#[tokio::test]
async fn a_mutation_that_fails_changes_nothing() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    put(&cache, "t", "1").await.unwrap();
    let refused = put(&cache, "t", "").await.unwrap_err();
    assert_eq!(refused.code, "value_unstorable");
    assert!(refused.message.contains("`id`"), "{}", refused.message);
    put(&cache, "t", "2").await.unwrap();
    assert_eq!(ids(&cache, "t").await, ["1", "2"]);
}

#[tokio::test]
async fn a_writer_waits_for_one_who_has_the_thread_alone() {
    let (sealed_store, clock) = (sealed_store(), Arc::new(ManualClock::default()));
    let cache = Cache::new(client(&sealed_store), Arc::<ManualClock>::clone(&clock));
    let mut alone = WriteTurn::new(&sealed_store, "t");
    alone.take().await.unwrap();
    let mut put = std::pin::pin!(put(&cache, "t", "1"));
    for _ in 0..3 {
        tokio::select! {
            biased;
            put = &mut put => unreachable!("{put:?}"),
            () = std::future::ready(()) => {}
        }
        let pause = clock.next_wake().unwrap().since(clock.now());
        clock.advance(pause);
    }
    drop(alone);
    put.await.unwrap();
    assert_eq!(ids(&cache, "t").await, ["1"]);
}

#[tokio::test]
async fn of_a_list_that_grows_only_new_items_are_encoded() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    let mut items: Vec<_> = (0..50).map(|number| text(&format!("item {number}"))).collect();
    put_list(&cache, "t", "1", &items).await.unwrap();
    for id in 1..4 {
        let written = [text(&format!("written {id}"))];
        put_writes(&cache, &id.to_string(), &written).await;
        items.extend(written);
        encoded(&cache);
        put_list(&cache, "t", &(id + 1).to_string(), &items).await.unwrap();
        assert_eq!(encoded(&cache), 2, "the id, and the new item");
    }
    assert_eq!(read_list(&cache, None).await, items);
    assert_eq!(read_list(&self::cache(&sealed_store), None).await, items);
    assert_eq!(read_list(&self::cache(&sealed_store), Some("2")).await, items[..51]);
}

#[tokio::test]
async fn items_that_were_read_are_not_encoded_again() {
    let sealed_store = sealed_store();
    let items: Vec<_> = (0..50).map(|number| text(&format!("item {number}"))).collect();
    put_list(&cache(&sealed_store), "t", "1", &items).await.unwrap();
    let cache = cache(&sealed_store);
    let mut items = read_list(&cache, None).await;
    let written = [text("written")];
    put_writes(&cache, "1", &written).await;
    items.insert(7, written[0].clone());
    encoded(&cache);
    put_list(&cache, "t", "2", &items).await.unwrap();
    assert_eq!(encoded(&cache), 2, "the id, and the new item");
    assert_eq!(read_list(&self::cache(&sealed_store), None).await, items);
}

#[tokio::test]
async fn an_item_that_was_written_again_is_encoded_anew() {
    let cache = cache(&sealed_store());
    let items: Vec<_> = (0..9).map(|number| text(&format!("item {number}"))).collect();
    put_list(&cache, "t", "1", &items).await.unwrap();
    put_writes(&cache, "1", &items[4..5]).await;
    encoded(&cache);
    put_list(&cache, "t", "2", &items).await.unwrap();
    assert_eq!(encoded(&cache), 2, "the id, and the item that was written");
    put_list(&cache, "t", "3", &items).await.unwrap();
    assert_eq!(encoded(&cache), 10, "without writes nobody knows which items have changed");
    assert_eq!(read_list(&cache, None).await, items);
}

#[tokio::test]
async fn values_in_memory_are_those_of_the_last_checkpoint() {
    let sealed_store = sealed_store();
    let (one, other) = (cache(&sealed_store), cache(&sealed_store));
    put_list(&one, "t", "1", &[text("old")]).await.unwrap();
    assert_eq!(in_memory(&one), [text("old")]);
    put_list(&other, "t", "2", &[text("new")]).await.unwrap();
    assert_eq!(read_list(&one, Some("1")).await, [text("old")]);
    assert_eq!(in_memory(&one), [text("old")]);
    assert_eq!(read_list(&one, None).await, [text("new")]);
    assert_eq!(in_memory(&one), [text("new")]);
}

fn in_memory(cache: &Cache) -> Vec<Value> {
    let mut values = Vec::new();
    let visited = cache.visit_values(|value| {
        values.push(value.clone());
        Ok::<_, Fault>(())
    });
    visited.unwrap();
    values
}

#[tokio::test]
async fn a_checkpoint_that_is_not_wanted_is_not_found() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    put(&cache, "t", "1").await.unwrap();
    assert!(cache.find("t", ("", Some("2")), |_| Ok(true)).await.unwrap().is_none());
    assert!(cache.find("t", ("", None), |head| Ok(head != b"1")).await.unwrap().is_none());
    let error = || Fault::new(FaultCode::CallInvalid, "the filter fails");
    let failed = cache.find("t", ("", None), |_| Err(error())).await.unwrap_err();
    assert_eq!(failed, error());
}

#[tokio::test]
async fn checkpoints_are_listed_newest_first_in_pages() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    for id in ["1", "2", "3", "4"] {
        put(&cache, "t", id).await.unwrap();
    }
    let before = CheckpointFilter { before: Some("4".into()), ..CheckpointFilter::default() };
    let first = cache.page("t", &before, (None, 2)).await.unwrap();
    let place = |id: &str| (String::new(), id.to_owned());
    assert_eq!(first, [place("3"), place("2")]);
    let rest = cache.page("t", &before, (first.last(), 2)).await.unwrap();
    assert_eq!(rest, [place("1")]);
    let other = CheckpointFilter { space: Some("nested".into()), ..CheckpointFilter::default() };
    assert!(cache.page("t", &other, (None, 9)).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_thread_goes_with_its_last_checkpoint() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    put(&cache, "p:t", "1").await.unwrap();
    put(&cache, "p:t", "2").await.unwrap();
    cache.copy("p:t", "p:copy").await.unwrap();
    let gone = |ids: &[&str]| ids.iter().map(|id| (String::new(), (*id).to_owned())).collect();
    cache.remove("p:t", &gone(&["1"])).await.unwrap();
    assert_eq!(ids(&cache, "p:t").await, ["2"]);
    cache.remove("p:t", &gone(&["2"])).await.unwrap();
    let left = cache.threads("p:").await.unwrap();
    assert_eq!(left.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["copy"]);
    assert_eq!(ids(&cache, "p:copy").await, ["1", "2"]);
    cache.delete("p:copy").await.unwrap();
    assert!(cache.threads("p:").await.unwrap().is_empty());
}

#[tokio::test]
async fn threads_that_are_only_read_are_dropped_too() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    for thread in 0..Cache::MAX_THREADS + 10 {
        cache.checkpoints(&thread.to_string()).await.unwrap();
    }
    assert_eq!(cache.len(), Cache::MAX_THREADS);
    put(&cache, "0", "1").await.unwrap();
    assert_eq!(ids(&cache, "0").await, ["1"]);
}
