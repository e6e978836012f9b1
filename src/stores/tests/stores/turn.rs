//! Writers to one thread, and the one who was late too often.
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::SystemClock;
use antiphon_runtime::store::conflict;
use antiphon_stores::langgraph_thread::{OWNER, WriteTurn};
use antiphon_stores::{Cipher, MemoryStore, SealedStore, TERM};

fn sealed_store() -> SealedStore {
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()))
}

/// A writer who has been late so often.
async fn late(sealed_store: &SealedStore, times: u32) -> WriteTurn {
    let mut turn = WriteTurn::new(sealed_store, "t");
    for _ in 0..times {
        assert_eq!(turn.failed(conflict("t")).await, Ok(Duration::ZERO));
    }
    turn
}

#[tokio::test]
async fn a_writer_that_was_late_four_times_has_the_thread_alone() {
    let sealed_store = sealed_store();
    let store = sealed_store.store();
    store.claim("t", OWNER, TERM).await.unwrap();
    assert_eq!(late(&sealed_store, 3).await.alone(), None);
    let turn = late(&sealed_store, 4).await;
    let (holder, _) = store.thread("t").await.unwrap().unwrap().held.unwrap();
    assert_eq!(turn.alone(), Some(&*holder));
    let busy = store.claim("t", OWNER, TERM).await.unwrap_err();
    assert_eq!(busy.code, "thread_busy");
    let mut other = WriteTurn::new(&sealed_store, "t");
    let pause = other.failed(busy).await.unwrap();
    assert!(Duration::ZERO < pause && pause < Duration::from_secs(1), "{pause:?}");
    drop(turn);
    store.claim("t", OWNER, TERM).await.unwrap();
}

#[tokio::test]
async fn two_who_were_late_have_it_one_after_the_other() {
    let sealed_store = sealed_store();
    let first = late(&sealed_store, 4).await;
    let mut second = late(&sealed_store, 3).await;
    assert!(second.failed(conflict("t")).await.unwrap() > Duration::ZERO);
    assert_eq!(second.alone(), None);
    drop(first);
    assert_eq!(second.failed(conflict("t")).await, Ok(Duration::ZERO));
    assert!(second.alone().is_some());
}

#[tokio::test]
async fn a_writer_that_was_late_alone_has_lost_it() {
    let sealed_store = sealed_store();
    let mut turn = late(&sealed_store, 4).await;
    let before = turn.alone().map(str::to_owned);
    assert_eq!(turn.failed(conflict("t")).await, Ok(Duration::ZERO));
    assert!(turn.alone().is_some() && turn.alone() != before.as_deref());
}

#[tokio::test]
async fn another_failure_is_no_reason_to_try_again() {
    let sealed_store = sealed_store();
    let fault = Fault::new(FaultCode::StoreFull, "there is no room");
    let answer = WriteTurn::new(&sealed_store, "t").failed(fault.clone()).await;
    assert_eq!(answer, Err(fault));
}
