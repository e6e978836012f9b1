//! Threads that are deleted, and written anew under the same name, while they are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{EntryKind, Store, StoreFuture};
use antiphon_stores::{Cipher, MemoryStore, SealedStore, ThreadLog};

use crate::hooked_store::HookedStore;

const TERM: Duration = Duration::from_secs(30);
const ENTRIES: usize = 3;

async fn write(store: Arc<dyn Store>, owner: &str) {
    let sealed_store = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let (mut log, _) = ThreadLog::open(sealed_store, "t", owner, TERM).await.unwrap();
    for _ in 0..ENTRIES {
        log.append([(EntryKind::Step, owner.as_bytes())], 1, Time::default())
            .unwrap()
            .await
            .unwrap();
    }
    log.release().await.unwrap();
}

/// It is deleted before its marks are read for the first time, and written anew before an entry is
/// looked for the second time.
#[tokio::test]
async fn a_thread_that_is_written_anew_while_it_is_read_is_not_damaged() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    write(Arc::clone(&inner), "first").await;
    let (marks_read, entries_found) = (AtomicU32::new(0), AtomicU32::new(0));
    let (deleting, rewriting) = (Arc::clone(&inner), Arc::clone(&inner));
    let before_marks = move || -> StoreFuture<()> {
        let is_first = marks_read.fetch_add(1, Ordering::Relaxed) == 0;
        let store = Arc::clone(&deleting);
        Box::pin(async move {
            if is_first {
                assert!(store.delete("t").await?);
            }
            Ok(())
        })
    };
    let before_find = move || -> StoreFuture<()> {
        let is_second = entries_found.fetch_add(1, Ordering::Relaxed) == 1;
        let store = Arc::clone(&rewriting);
        Box::pin(async move {
            if is_second {
                write(store, "second").await;
            }
            Ok(())
        })
    };
    let mut store = HookedStore::new(inner);
    store.before_marks = Box::new(before_marks);
    store.before_find = Box::new(before_find);
    let store = Arc::new(store);
    let sealed_store = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let way = sealed_store.way_to_checkpoint("t", ENTRIES as u64).await.unwrap();
    assert!(way.iter().all(|entry| entry.body == b"second"), "{way:?}");
    assert_eq!(way.len(), ENTRIES);
}
