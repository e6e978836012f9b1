//! Threads of LangGraph that several read and write at the same time, in the orders that are hard.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{EntryKind, EntryRange, Store, StoreFuture};
use antiphon_stores::langgraph_thread::{
    CheckpointFilter, Mutation, OWNER, PutCheckpoint, WriteTurn,
};
use antiphon_stores::{Cipher, MemoryStore, SealedStore};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;

use crate::hooked_store::HookedStore;
use crate::text_cache::*;

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

/// Two tasks write, one of them an item that it has changed in place, while the next checkpoint is
/// put: the three arrive in any order.
#[tokio::test]
async fn an_item_that_is_changed_in_place_is_stored_in_whatever_order_writes_arrive() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let sealed_store = sealed_store();
        let cache = cache(&sealed_store);
        let (text_inside, new) = (Arc::new(Mutex::new("old".to_owned())), text("new"));
        let changing = Value::Changing(Arc::clone(&text_inside));
        let before = [text("a"), changing.clone(), text("b")];
        put_list(&cache, "t", "1", &before).await.unwrap();
        *text_inside.lock().unwrap() = "changed".to_owned();
        let after = [&before[..], std::slice::from_ref(&new)].concat();
        let mutations = [
            writes("1", "one", std::slice::from_ref(&new)),
            writes("1", "other", std::slice::from_ref(&changing)),
            checkpoint("2", &after),
        ];
        for place in order {
            apply(&cache, "t", &mutations[place]).await.unwrap();
        }
        let others = self::cache(&sealed_store);
        let found = others.find("t", ("", Some("2")), |_| Ok(true)).await.unwrap().unwrap();
        assert_eq!((found.parent.as_deref(), &*found.head), (Some("1"), b"2".as_slice()));
        assert_eq!(read_list(&others, Some("2")).await, after, "in the order {order:?}");
        put_list(&cache, "t", "3", &[&after[..], &[text("last")]].concat()).await.unwrap();
        assert_eq!(read_list(&self::cache(&sealed_store), None).await[..4], after);
    }
}

/// A checkpoint that somebody else forks off meanwhile takes nothing from the list.
#[tokio::test]
async fn what_is_known_of_writes_in_part_is_not_relied_on() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    let inside = Arc::new(Mutex::new("old".to_owned()));
    let changing = Value::Changing(Arc::clone(&inside));
    let items = [text("a"), changing.clone(), text("b")];
    put_list(&cache, "t", "1", &items).await.unwrap();
    put_list(&cache, "t", "2", &items).await.unwrap();
    put_writes(&cache, "2", &[text("new")]).await;
    let Mutation::Put(fork) = checkpoint("2", &items) else { unreachable!() };
    let fork = PutCheckpoint { id: "3".into(), changed: BTreeSet::from(["id".into()]), ..fork };
    apply(&cache, "t", &Mutation::Put(fork)).await.unwrap();
    *inside.lock().unwrap() = "changed".to_owned();
    let late = writes("2", "late", std::slice::from_ref(&changing));
    apply(&cache, "t", &late).await.unwrap();
    let after = [&items[..], &[text("new")]].concat();
    let Mutation::Put(next) = checkpoint("4", &after) else { unreachable!() };
    let next = PutCheckpoint { parent: Some("2".into()), ..next };
    apply(&cache, "t", &Mutation::Put(next)).await.unwrap();
    assert_eq!(read_list(&self::cache(&sealed_store), None).await, after);
}

/// Two readers load the thread. The first has read it before another process writes, the second
/// begins after that; the first comes to its end first.
#[tokio::test]
async fn a_reader_sees_what_was_written_before_it_began() {
    let (held, mut next) = unbounded_channel();
    // A thread is loaded once its last entry was found.
    let before_find = move || -> StoreFuture<()> {
        let (release, released) = oneshot::channel();
        held.send(release).unwrap();
        Box::pin(async move {
            drop(released.await);
            Ok(())
        })
    };
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let cipher = Arc::new(Cipher::tagged());
    let other = cache(&SealedStore::new(Arc::clone(&inner), Arc::clone(&cipher)));
    let hooked = HookedStore { before_find: Box::new(before_find), ..HookedStore::new(inner) };
    let one = cache(&SealedStore::new(Arc::new(hooked), cipher));
    put(&other, "t", "1").await.unwrap();
    let mut found = Vec::new();
    let readers = [Arc::clone(&one), one];
    let mut held_readers = Vec::new();
    for (reader, id) in readers.into_iter().zip(["2", "3"]) {
        found.push(tokio::spawn(async move { ids(&reader, "t").await }));
        held_readers.push(next.recv().await.unwrap());
        put(&other, "t", id).await.unwrap();
    }
    for release in held_readers {
        release.send(()).unwrap();
        tokio::task::yield_now().await;
    }
    let released = tokio::spawn(async move {
        while let Some(release) = next.recv().await {
            drop(release);
        }
    });
    let last = found.pop().unwrap().await.unwrap();
    assert!(last.starts_with(&["1".to_owned(), "2".to_owned()]), "{last:?}");
    drop(found);
    released.abort();
}

/// The same task's writes are put twice; the first are sent too late and not tried again.
#[tokio::test]
async fn a_write_is_stored_if_it_was_only_sent_before() {
    let sealed_store = sealed_store();
    let (one, other) = (cache(&sealed_store), cache(&sealed_store));
    put(&one, "t", "1").await.unwrap();
    put(&other, "t", "2").await.unwrap();
    let write = writes("1", "task", &[text("new")]);
    drop(one.try_apply("t", &write).unwrap());
    apply(&one, "t", &write).await.unwrap();
    let reader = cache(&sealed_store);
    let found = reader.find("t", ("", Some("1")), |_| Ok(true)).await.unwrap().unwrap();
    assert_eq!(found.writes.len(), 1);
}

#[tokio::test]
async fn writes_at_a_checkpoint_to_come_stay_when_all_others_are_removed() {
    let sealed_store = sealed_store();
    let cache = cache(&sealed_store);
    put(&cache, "t", "1").await.unwrap();
    put_writes(&cache, "2", &[text("early")]).await;
    let gone = BTreeSet::from([(String::new(), "1".to_owned())]);
    cache.remove("t", &gone).await.unwrap();
    put(&cache, "t", "2").await.unwrap();
    let reader = self::cache(&sealed_store);
    let found = reader.find("t", ("", Some("2")), |_| Ok(true)).await.unwrap().unwrap();
    assert_eq!(found.writes.len(), 1);
}

/// Another writer takes the thread between the two steps of a removal: the entries without the
/// removed checkpoints are stored, the old ones are still there.
#[tokio::test]
async fn what_is_removed_is_not_left_in_the_store() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let (store, interruptions) = (Arc::clone(&inner), AtomicU32::new(0));
    let before_remove = move || -> StoreFuture<()> {
        let is_first = interruptions.fetch_add(1, Ordering::Relaxed) == 0;
        let store = Arc::clone(&store);
        Box::pin(async move {
            if is_first {
                store.release("t", OWNER).await?;
                store.claim("t", "other", WriteTurn::TERM).await?;
                store.release("t", "other").await?;
            }
            Ok(())
        })
    };
    let hooked = HookedStore {
        before_remove: Box::new(before_remove),
        ..HookedStore::new(Arc::clone(&inner))
    };
    let cache = cache(&SealedStore::new(Arc::new(hooked), Arc::new(Cipher::tagged())));
    for id in ["1", "2", "3"] {
        put(&cache, "t", id).await.unwrap();
    }
    let gone = ["1", "2"].map(|id| (String::new(), id.to_owned()));
    cache.remove("t", &BTreeSet::from(gone)).await.unwrap();
    assert_eq!(ids(&cache, "t").await, ["3"]);
    let left = inner.read("t", EntryRange { from: 0, to: u64::MAX }).await.unwrap();
    let kinds: Vec<_> = left.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [EntryKind::Snapshot, EntryKind::Step]);
}
