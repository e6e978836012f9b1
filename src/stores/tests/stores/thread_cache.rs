//! Threads of LangGraph in use: cached, written by several, and dropped again.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Clock, ManualClock};
use antiphon_stores::langgraph_thread::{CheckpointFilter, WriteTurn};

use crate::text_cache::*;

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
