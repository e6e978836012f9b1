//! Threads of LangGraph in use: cached, written by several, and dropped again.

use std::sync::{Arc, Mutex};

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Clock, ManualClock, SystemClock};
use antiphon_stores::langgraph_thread::{
    CacheClient, CheckpointFilter, Mutation, NewCheckpoint, ThreadCache, WriteTurn,
};
use antiphon_stores::{Cipher, LangGraphThread, MemoryStore, SealedStore};

/// Keeps the ids of the checkpoints that were put through its cache.
struct Client(SealedStore);

impl CacheClient for Client {
    type Extra = Vec<String>;
    type Error = Fault;

    fn sealed_store(&self) -> Result<SealedStore, Fault> {
        Ok(self.0.clone())
    }

    fn error(&self, fault: Fault) -> Fault {
        fault
    }

    fn with_lock<T, R>(&self, mutex: &Mutex<T>, access: impl FnOnce(&mut T) -> R) -> R {
        access(&mut mutex.lock().unwrap())
    }
}

/// Puts an empty checkpoint; one without an id cannot be put.
struct Put(String);

impl Mutation<Client> for Put {
    fn apply(
        &self,
        _: &Client,
        thread: &mut LangGraphThread,
        ids: &mut Vec<String>,
    ) -> Result<(), Fault> {
        if self.0.is_empty() {
            return Err(Fault::new(FaultCode::CallInvalid, "no id"));
        }
        thread.make_room()?;
        ids.push(self.0.clone());
        thread.put(NewCheckpoint {
            space: String::new(),
            id: self.0.clone(),
            parent: thread.last("").map(str::to_owned),
            run: Some("run".into()),
            step: 0,
            head: self.0.clone().into_bytes(),
            values: Vec::new(),
        })
    }
}

type Cache = ThreadCache<Client>;

fn sealed_store() -> SealedStore {
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()))
}

fn cache(sealed_store: &SealedStore) -> Arc<Cache> {
    let client = Client(sealed_store.clone());
    Arc::new(Cache::new(client, Arc::new(ManualClock::jumping())))
}

async fn put(cache: &Cache, thread: &str, id: &str) -> Result<(), Fault> {
    let put = Put(id.to_owned());
    let pending = cache.try_apply(thread, &put)?;
    cache.apply(thread, &put, pending).await
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
        assert_eq!((&*found.id, found.checkpoint.parent.as_deref()), ("5", Some("4")));
    }
}

#[tokio::test]
async fn a_mutation_that_fails_changes_nothing() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    put(&cache, "t", "1").await.unwrap();
    let refused = put(&cache, "t", "").await.unwrap_err();
    assert_eq!(refused.code, "call_invalid");
    put(&cache, "t", "2").await.unwrap();
    assert_eq!(ids(&cache, "t").await, ["1", "2"]);
}

#[tokio::test]
async fn a_writer_waits_for_one_who_has_the_thread_alone() {
    let (sealed_store, clock) = (sealed_store(), Arc::new(ManualClock::default()));
    let client = Client(sealed_store.clone());
    let cache = Cache::new(client, Arc::<ManualClock>::clone(&clock));
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
async fn what_the_client_keeps_is_that_of_the_last_checkpoint() {
    let sealed_store = sealed_store();
    let (one, other) = (cache(&sealed_store), cache(&sealed_store));
    put(&one, "t", "1").await.unwrap();
    let found = one.find("t", ("", None), |_| Ok(true)).await.unwrap().unwrap();
    one.update_extra(&found, |ids| ids.push("seen".into()));
    put(&other, "t", "2").await.unwrap();
    assert_eq!(ids(&one, "t").await, ["1", "2"]);
    one.update_extra(&found, |ids| ids.push("late".into()));
    let mut kept = Vec::new();
    one.visit_extras(|ids| {
        kept.extend(ids.iter().cloned());
        Ok::<_, Fault>(())
    })
    .unwrap();
    assert_eq!(kept, ["1", "seen"]);
}

#[tokio::test]
async fn a_checkpoint_that_is_not_wanted_is_not_found() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    put(&cache, "t", "1").await.unwrap();
    assert!(cache.find("t", ("", Some("2")), |_| Ok(true)).await.unwrap().is_none());
    assert!(cache.find("t", ("", None), |head| Ok(head != b"1")).await.unwrap().is_none());
    let error = || Fault::new(FaultCode::CallInvalid, "the filter fails");
    let Err(failed) = cache.find("t", ("", None), |_| Err(error())).await else { unreachable!() };
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
