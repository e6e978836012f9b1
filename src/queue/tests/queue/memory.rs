//! What only a queue with a clock of its own can show: when what waits is woken.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_queue::MemoryQueue;
use antiphon_runtime::queue::{Delivery, PublishOutcome, Queue, QueueSettings};
use antiphon_runtime::{Clock, ManualClock};
use tokio::task::{JoinHandle, yield_now};

use crate::subject::{ids, message};

fn queue() -> (Arc<ManualClock>, MemoryQueue) {
    let clock = Arc::new(ManualClock::at(Time::from_micros(1)));
    (clock.clone(), MemoryQueue::new(QueueSettings::default(), clock))
}

/// A consumer that waits already, for a minute at most.
async fn waiting(queue: &MemoryQueue) -> JoinHandle<Vec<Delivery>> {
    let own = queue.clone();
    let task = async move { own.take("t", 9, Duration::from_mins(1)).await.unwrap() };
    let consumer = tokio::spawn(task);
    yield_now().await;
    consumer
}

#[tokio::test]
async fn a_consumer_that_waits_gets_what_another_has_let_go() {
    let (clock, queue) = queue();
    queue.publish(message("a", "t"), Duration::ZERO).await.unwrap();
    drop(queue.take("t", 9, Duration::ZERO).await.unwrap());
    let consumer = waiting(&queue).await;
    clock.advance(Duration::from_secs(29));
    yield_now().await;
    assert!(!consumer.is_finished());
    clock.advance(Duration::from_secs(1));
    assert_eq!(consumer.await.unwrap()[0].attempt, 2);
}

#[tokio::test]
async fn a_consumer_that_waits_gets_what_is_given_back_when_its_delay_is_over() {
    let (clock, queue) = queue();
    queue.publish(message("a", "t"), Duration::ZERO).await.unwrap();
    let taken = queue.take("t", 9, Duration::ZERO).await.unwrap();
    let consumer = waiting(&queue).await;
    taken[0].lease.give_back(Duration::from_secs(5)).await.unwrap();
    yield_now().await;
    clock.advance(Duration::from_secs(5));
    assert_eq!(ids(&consumer.await.unwrap()), ["a"]);
}

#[tokio::test]
async fn a_consumer_waits_no_longer_than_it_says() {
    let (clock, queue) = queue();
    let consumer = waiting(&queue).await;
    clock.advance(Duration::from_mins(1));
    assert!(consumer.await.unwrap().is_empty());
}

#[tokio::test]
async fn a_publisher_waits_no_longer_than_it_says() {
    let clock = Arc::new(ManualClock::jumping());
    let settings = QueueSettings { capacity: std::num::NonZeroUsize::MIN, ..Default::default() };
    let queue = MemoryQueue::new(settings, clock.clone());
    queue.publish(message("a", "t"), Duration::ZERO).await.unwrap();
    let started = clock.now();
    let full = queue.publish(message("b", "t"), Duration::from_secs(7)).await.unwrap_err();
    assert_eq!(full.code, "queue_full");
    assert_eq!(clock.now().since(started), Duration::from_secs(7));
}

#[tokio::test]
async fn a_wait_that_is_dropped_takes_nothing() {
    let (_clock, queue) = queue();
    let consumer = waiting(&queue).await;
    consumer.abort();
    assert!(consumer.await.is_err());
    queue.publish(message("a", "t"), Duration::ZERO).await.unwrap();
    assert_eq!(ids(&queue.take("t", 9, Duration::ZERO).await.unwrap()), ["a"]);
}

#[tokio::test]
async fn an_id_is_forgotten_after_the_window_and_not_while_its_message_is_here() {
    let (clock, queue) = queue();
    queue.publish(message("a", "t"), Duration::ZERO).await.unwrap();
    clock.advance(Duration::from_mins(11));
    let known = queue.publish(message("a", "t"), Duration::ZERO).await.unwrap();
    assert_eq!(known, PublishOutcome::Known);
    queue.take("t", 9, Duration::ZERO).await.unwrap()[0].lease.acknowledge().await.unwrap();
    clock.advance(Duration::from_mins(11));
    let added = queue.publish(message("a", "t"), Duration::ZERO).await.unwrap();
    assert_eq!(added, PublishOutcome::Added);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_consumers_share_the_messages_of_many_publishers() {
    let settings = QueueSettings { capacity: 16.try_into().unwrap(), ..Default::default() };
    let clock = Arc::new(antiphon_runtime::SystemClock::new());
    let queue = MemoryQueue::new(settings, clock);
    let long = Duration::from_mins(1);
    let publishers = (0..8).map(|publisher| {
        let queue = queue.clone();
        tokio::spawn(async move {
            for number in 0..100 {
                let message = message(&format!("{publisher}.{number}"), "t");
                queue.publish(message, long).await.unwrap();
            }
        })
    });
    let publishers: Vec<_> = publishers.collect();
    let consumers: Vec<_> = (0..8).map(|_| tokio::spawn(consume(queue.clone(), long))).collect();
    for publisher in publishers {
        publisher.await.unwrap();
    }
    let mut seen = Vec::new();
    for number in 0..8 {
        queue.publish(message(&format!("end {number}"), "t"), long).await.unwrap();
    }
    for consumer in consumers {
        seen.extend(consumer.await.unwrap());
    }
    seen.sort();
    let before = seen.len();
    seen.dedup();
    assert_eq!((before, seen.len()), (800, 800));
}

/// Takes one message after the other until it meets an end.
async fn consume(queue: MemoryQueue, long: Duration) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let taken = queue.take("t", 1, long).await.unwrap();
        taken[0].lease.acknowledge().await.unwrap();
        let id = taken[0].message.id.clone();
        if id.starts_with("end") {
            return seen;
        }
        seen.push(id);
    }
}
