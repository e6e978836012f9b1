//! What every queue does, held against each of them: NATS as a real server.

use std::num::NonZeroU32;
use std::time::Duration;

use antiphon_runtime::queue::{DeathReason, PublishOutcome, QueueMessage};
use serde_json::json;

use crate::subject::{QueueUnderTest, ids, message};

/// Runs each test against each queue.
macro_rules! each_queue {
    ($($test:ident)*) => {
        mod in_memory {
            $(#[tokio::test] async fn $test() { super::$test(super::QueueUnderTest::memory()).await })*
        }
        mod in_nats {
            $(#[tokio::test] async fn $test() { super::$test(super::QueueUnderTest::nats().await).await })*
        }
    };
}

each_queue! {
    messages_are_taken_in_the_order_of_their_publication
    a_message_goes_to_one_consumer
    topics_are_apart
    an_id_is_published_once
    an_acknowledged_message_is_gone
    a_consumer_that_dies_loses_its_message_to_another
    a_lease_that_has_ended_settles_nothing
    a_message_is_settled_once
    an_extended_lease_goes_on
    a_message_is_settled_while_its_lease_is_extended
    what_is_given_back_comes_again_before_what_is_new
    what_is_given_back_with_a_delay_comes_later
    a_message_dies_of_too_many_deliveries
    a_message_that_must_not_be_repeated_is_delivered_once
    a_message_dies_of_its_deadline
    a_buried_message_says_why
    of_dead_letters_the_latest_are_kept
    a_full_topic_refuses_and_other_topics_do_not
    a_full_topic_is_taken_at_once
    a_known_id_finds_its_place_in_a_full_topic
    a_publisher_waits_for_a_place
    a_consumer_waits_for_a_message
    a_cancelled_message_is_not_delivered
    a_consumer_is_told_that_its_message_was_cancelled
    an_id_may_be_cancelled_before_its_message_is_published
    cancelling_what_is_done_changes_nothing
    what_waits_ends_with_its_queue
    a_retired_topic_has_nothing_and_begins_anew
    leases_are_settled_after_the_queue_is_closed
    what_is_no_message_is_refused
    names_of_any_kind_are_kept_apart
}

const LONG: Duration = Duration::from_secs(30);

async fn messages_are_taken_in_the_order_of_their_publication(it: QueueUnderTest) {
    for id in ["a", "b", "c", "d"] {
        assert_eq!(it.publish(id, "t").await, PublishOutcome::Added);
    }
    let first = it.take("t", 3).await;
    assert_eq!(ids(&first), ["a", "b", "c"]);
    assert_eq!(first[1].message.body, json!({"work": "b"}));
    assert_eq!(first[1].attempt, 1);
    assert_eq!(ids(&it.take("t", 3).await), ["d"]);
}

async fn a_message_goes_to_one_consumer(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let _held = it.take_one("t").await;
    assert!(it.take("t", 10).await.is_empty());
}

async fn topics_are_apart(it: QueueUnderTest) {
    it.publish("a", "one").await;
    assert!(it.take("other", 10).await.is_empty());
    assert_eq!(it.take_one("one").await.message.topic, "one");
}

async fn an_id_is_published_once(it: QueueUnderTest) {
    assert_eq!(it.publish("a", "t").await, PublishOutcome::Added);
    assert_eq!(it.publish("a", "t").await, PublishOutcome::Known);
    assert_eq!(it.publish("a", "other").await, PublishOutcome::Known);
    it.take_one("t").await.lease.acknowledge().await.unwrap();
    assert_eq!(it.publish("a", "t").await, PublishOutcome::Known);
    assert!(it.take("t", 10).await.is_empty());
    assert!(it.take("other", 10).await.is_empty());
}

async fn an_acknowledged_message_is_gone(it: QueueUnderTest) {
    it.publish("a", "t").await;
    it.take_one("t").await.lease.acknowledge().await.unwrap();
    it.end_leases().await;
    assert!(it.take("t", 10).await.is_empty());
    assert!(it.queue.dead_letters("t").await.unwrap().is_empty());
}

async fn a_consumer_that_dies_loses_its_message_to_another(it: QueueUnderTest) {
    it.publish("a", "t").await;
    drop(it.take_one("t").await);
    assert!(it.take("t", 10).await.is_empty(), "its lease goes on");
    it.end_leases().await;
    let again = it.take_one("t").await;
    assert_eq!((again.message.id.as_str(), again.attempt), ("a", 2));
    again.lease.acknowledge().await.unwrap();
}

async fn a_lease_that_has_ended_settles_nothing(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let late = it.take_one("t").await;
    it.end_leases().await;
    let lost = late.lease.extend().await.unwrap_err();
    assert_eq!((lost.code.as_str(), lost.details["id"].as_str()), ("queue_lease_lost", Some("a")));
    let again = it.take_one("t").await;
    assert_eq!(late.lease.acknowledge().await.unwrap_err().code, "queue_lease_lost");
    assert_eq!(late.lease.bury("late").await.unwrap_err().code, "queue_lease_lost");
    again.lease.acknowledge().await.unwrap();
}

async fn a_message_is_settled_once(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let taken = it.take_one("t").await;
    taken.lease.acknowledge().await.unwrap();
    assert_eq!(taken.lease.acknowledge().await.unwrap_err().code, "queue_lease_lost");
    let refused = taken.lease.give_back(Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.code, "queue_lease_lost");
}

async fn an_extended_lease_goes_on(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let taken = it.take_one("t").await;
    for _ in 0..3 {
        it.advance(it.settings.lease.mul_f64(0.6)).await;
        taken.lease.extend().await.unwrap();
    }
    assert!(it.take("t", 10).await.is_empty());
    taken.lease.acknowledge().await.unwrap();
}

async fn a_message_is_settled_while_its_lease_is_extended(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let taken = it.take_one("t").await;
    let (extended, settled) = tokio::join!(taken.lease.extend(), taken.lease.acknowledge());
    extended.unwrap();
    settled.unwrap();
    assert_eq!(taken.lease.extend().await.unwrap_err().code, "queue_lease_lost");
}

async fn what_is_given_back_comes_again_before_what_is_new(it: QueueUnderTest) {
    it.publish("a", "t").await;
    it.publish("b", "t").await;
    let first = it.take("t", 1).await;
    first[0].lease.give_back(Duration::ZERO).await.unwrap();
    let both = it.take("t", 2).await;
    assert_eq!(ids(&both), ["a", "b"]);
    assert_eq!((both[0].attempt, both[1].attempt), (2, 1));
}

async fn what_is_given_back_with_a_delay_comes_later(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let delay = it.settings.lease * 2;
    it.take_one("t").await.lease.give_back(delay).await.unwrap();
    it.end_leases().await;
    assert!(it.take("t", 10).await.is_empty(), "its delay goes on");
    it.end_leases().await;
    assert_eq!(it.take_one("t").await.attempt, 2);
}

async fn a_message_dies_of_too_many_deliveries(it: QueueUnderTest) {
    it.publish("a", "t").await;
    for attempt in 1..=3 {
        assert_eq!(it.take_one("t").await.attempt, attempt);
        it.end_leases().await;
    }
    assert!(it.take("t", 10).await.is_empty());
    let dead = it.queue.dead_letters("t").await.unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].message.clone(), dead[0].deliveries), (message("a", "t"), 3));
    assert_eq!(dead[0].reason, DeathReason::DeliveriesExhausted);
    it.end_leases().await;
    assert!(it.take("t", 10).await.is_empty());
    assert!(it.queue.dead_letters("other").await.unwrap().is_empty());
}

async fn a_message_that_must_not_be_repeated_is_delivered_once(it: QueueUnderTest) {
    let once = QueueMessage { max_deliveries: Some(NonZeroU32::MIN), ..message("a", "t") };
    it.queue.publish(once, Duration::ZERO).await.unwrap();
    it.take_one("t").await.lease.give_back(Duration::ZERO).await.unwrap();
    assert!(it.take("t", 10).await.is_empty());
    let dead = it.queue.dead_letters("t").await.unwrap();
    assert_eq!((dead.len(), &dead[0].reason), (1, &DeathReason::DeliveriesExhausted));
}

async fn a_message_dies_of_its_deadline(it: QueueUnderTest) {
    let deadline = Some(it.now() + it.settings.lease);
    let urgent = QueueMessage { deadline, ..message("a", "t") };
    it.queue.publish(urgent.clone(), Duration::ZERO).await.unwrap();
    it.publish("b", "t").await;
    it.end_leases().await;
    assert_eq!(ids(&it.take("t", 10).await), ["b"]);
    let dead = it.queue.dead_letters("t").await.unwrap();
    assert_eq!((dead.len(), &dead[0].reason), (1, &DeathReason::DeadlinePassed));
    assert_eq!((&dead[0].message, dead[0].deliveries), (&urgent, 0));
}

async fn a_buried_message_says_why(it: QueueUnderTest) {
    it.publish("a", "t").await;
    it.take_one("t").await.lease.bury("no such tool: sing").await.unwrap();
    it.end_leases().await;
    assert!(it.take("t", 10).await.is_empty());
    let dead = it.queue.dead_letters("t").await.unwrap();
    assert_eq!(dead[0].reason, DeathReason::Buried("no such tool: sing".to_owned()));
    assert_eq!(it.publish("a", "t").await, PublishOutcome::Known);
}

async fn of_dead_letters_the_latest_are_kept(it: QueueUnderTest) {
    for number in 0..12 {
        it.publish(&format!("m{number}"), "t").await;
        it.take_one("t").await.lease.bury("for a test").await.unwrap();
    }
    let dead = it.queue.dead_letters("t").await.unwrap();
    let kept: Vec<_> = dead.iter().map(|letter| letter.message.id.clone()).collect();
    assert_eq!(kept, (4..12).map(|number| format!("m{number}")).collect::<Vec<_>>());
}

async fn fill(it: &QueueUnderTest) {
    for number in 0..it.settings.capacity.get() {
        it.publish(&format!("m{number}"), "t").await;
    }
}

async fn a_full_topic_refuses_and_other_topics_do_not(it: QueueUnderTest) {
    fill(&it).await;
    let full = it.queue.publish(message("a", "t"), Duration::ZERO).await.unwrap_err();
    assert_eq!((full.code.as_str(), full.details["topic"].as_str()), ("queue_full", Some("t")));
    assert_eq!(it.publish("a", "other").await, PublishOutcome::Added);
    let held = it.take("t", 1).await;
    let full = it.queue.publish(message("b", "t"), Duration::ZERO).await.unwrap_err();
    assert_eq!(full.code, "queue_full", "what a consumer has still counts");
    held[0].lease.acknowledge().await.unwrap();
    assert_eq!(it.publish("b", "t").await, PublishOutcome::Added);
}

async fn a_full_topic_is_taken_at_once(it: QueueUnderTest) {
    fill(&it).await;
    let capacity = it.settings.capacity.get();
    assert_eq!(it.take("t", capacity + 1).await.len(), capacity);
    assert_eq!(it.take("t", 1).await.len(), 0, "all have a consumer");
}

async fn a_known_id_finds_its_place_in_a_full_topic(it: QueueUnderTest) {
    fill(&it).await;
    assert_eq!(it.publish("m3", "t").await, PublishOutcome::Known);
}

async fn a_publisher_waits_for_a_place(it: QueueUnderTest) {
    fill(&it).await;
    let held = it.take("t", 1).await;
    let (published, ()) = tokio::join!(it.queue.publish(message("a", "t"), LONG), async {
        tokio::task::yield_now().await;
        held[0].lease.acknowledge().await.unwrap();
    });
    assert_eq!(published.unwrap(), PublishOutcome::Added);
}

async fn a_consumer_waits_for_a_message(it: QueueUnderTest) {
    let (taken, _) = tokio::join!(it.queue.take("t", 5, LONG), async {
        tokio::task::yield_now().await;
        it.publish("a", "t").await
    });
    assert_eq!(ids(&taken.unwrap()), ["a"]);
}

async fn a_cancelled_message_is_not_delivered(it: QueueUnderTest) {
    it.publish("a", "t").await;
    it.publish("b", "t").await;
    it.queue.cancel("a", "the run has ended").await.unwrap();
    assert_eq!(ids(&it.take("t", 10).await), ["b"]);
    assert_eq!(it.publish("a", "t").await, PublishOutcome::Known);
    assert!(it.queue.dead_letters("t").await.unwrap().is_empty());
}

async fn a_consumer_is_told_that_its_message_was_cancelled(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let taken = it.take_one("t").await;
    assert_eq!(taken.cancellation.reason(), None);
    it.queue.cancel("a", "the run has ended").await.unwrap();
    taken.cancellation.cancelled().await;
    assert_eq!(taken.cancellation.reason().as_deref(), Some("the run has ended"));
    assert_eq!(taken.lease.acknowledge().await.unwrap_err().code, "queue_lease_lost");
    it.end_leases().await;
    assert!(it.take("t", 10).await.is_empty());
}

async fn an_id_may_be_cancelled_before_its_message_is_published(it: QueueUnderTest) {
    it.queue.cancel("a", "the run has ended").await.unwrap();
    assert_eq!(it.publish("a", "t").await, PublishOutcome::Known);
    assert!(it.take("t", 10).await.is_empty());
}

async fn cancelling_what_is_done_changes_nothing(it: QueueUnderTest) {
    it.publish("a", "t").await;
    it.publish("b", "t").await;
    let both = it.take("t", 2).await;
    both[0].lease.acknowledge().await.unwrap();
    both[1].lease.bury("for a test").await.unwrap();
    it.queue.cancel("a", "too late").await.unwrap();
    it.queue.cancel("b", "too late").await.unwrap();
    assert_eq!(it.queue.dead_letters("t").await.unwrap().len(), 1);
}

async fn what_waits_ends_with_its_queue(it: QueueUnderTest) {
    fill(&it).await;
    let (taken, published, ()) = tokio::join!(
        it.queue.take("other", 1, LONG),
        it.queue.publish(message("a", "t"), LONG),
        async {
            tokio::task::yield_now().await;
            it.queue.close();
        }
    );
    let ended = [taken.unwrap_err(), published.unwrap_err()];
    let later = it.queue.cancel("a", "for a test").await.unwrap_err();
    let latest = it.queue.dead_letters("t").await.unwrap_err();
    for fault in ended.iter().chain([&later, &latest]) {
        assert_eq!(fault.code, "queue_closed");
    }
}

async fn a_retired_topic_has_nothing_and_begins_anew(it: QueueUnderTest) {
    for id in ["a", "b", "c"] {
        it.publish(id, "t").await;
    }
    it.publish("d", "other").await;
    let held = it.take("t", 2).await;
    held[0].lease.bury("for a test").await.unwrap();
    it.queue.retire("t").await.unwrap();
    it.queue.retire("t").await.unwrap();
    assert!(it.queue.dead_letters("t").await.unwrap().is_empty());
    assert_eq!(it.publish("b", "t").await, PublishOutcome::Known);
    assert!(it.take("t", 10).await.is_empty());
    it.publish("e", "t").await;
    assert_eq!(it.take_one("t").await.message.id, "e");
    assert_eq!(it.take_one("other").await.message.id, "d");
}

async fn leases_are_settled_after_the_queue_is_closed(it: QueueUnderTest) {
    it.publish("a", "t").await;
    let taken = it.take_one("t").await;
    it.queue.close();
    taken.lease.acknowledge().await.unwrap();
    assert_eq!(taken.lease.acknowledge().await.unwrap_err().code, "queue_lease_lost");
}

async fn what_is_no_message_is_refused(it: QueueUnderTest) {
    let large = QueueMessage::new("a", "t", json!("x".repeat(1_000)));
    let long = "x".repeat(65);
    let wrong = [message("", "t"), message("a", ""), message(&long, "t"), large];
    for message in wrong {
        let refused = it.queue.publish(message, Duration::ZERO).await.unwrap_err();
        assert_eq!(refused.code, "queue_message_invalid");
    }
    assert!(it.take("t", 10).await.is_empty());
}

async fn names_of_any_kind_are_kept_apart(it: QueueUnderTest) {
    let names = ["a.b", "a b", "a*b", "a>b", "a/b", "a=b", "ä\n", "A.B", "a", "%20"];
    for name in names {
        assert_eq!(it.publish(name, name).await, PublishOutcome::Added, "{name}");
    }
    it.queue.cancel("ä\n", "for a test").await.unwrap();
    for name in names {
        let taken = it.take(name, 10).await;
        let expected: &[_] = if name == "ä\n" { &[] } else { &[name] };
        assert_eq!(ids(&taken), expected);
    }
}
