//! What only a queue in a server can go through: crashes, several processes, logins.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_queue::{NatsAddress, NatsQueue};
use antiphon_runtime::queue::{DeathReason, PublishOutcome, Queue, QueueMessage, QueueSettings};
use antiphon_runtime::{Clock, SystemClock};
use async_nats::ConnectOptions;

use crate::server::{NatsServer, PASSWORD, without_jetstream};
use crate::subject::{ids, message, settings};
use crate::waiting::until_ok;

const LONG: Duration = Duration::from_secs(40);

async fn refused(url: impl Into<NatsAddress> + Send) -> Fault {
    let clock = Arc::new(SystemClock::new());
    NatsQueue::connect(url, "q", settings(), clock).await.err().unwrap()
}

#[tokio::test]
async fn a_killed_server_that_comes_back_has_lost_nothing() {
    let server = NatsServer::start();
    let roomy = QueueSettings { capacity: 100.try_into().unwrap(), ..settings() };
    let queue = server.open("q", roomy).await;
    for number in 0..50 {
        queue.publish(message(&format!("m{number}"), "t"), LONG).await.unwrap();
    }
    let held = queue.take("t", 10, LONG).await.unwrap();
    for delivery in &held[..5] {
        delivery.lease.acknowledge().await.unwrap();
    }
    held[5].lease.bury("for a test").await.unwrap();
    queue.cancel("m30", "for a test").await.unwrap();
    server.kill();
    server.come_back();
    let again = queue.publish(message("m20", "t"), LONG).await.unwrap();
    assert_eq!(again, PublishOutcome::Known);
    let mut seen = Vec::new();
    while seen.len() < 43 {
        for delivery in queue.take("t", 10, LONG).await.unwrap() {
            delivery.lease.acknowledge().await.unwrap();
            seen.push(delivery.message.id);
        }
    }
    seen.sort();
    let mut expected: Vec<_> = (6..50).map(|number| format!("m{number}")).collect();
    expected.retain(|id| id != "m30");
    expected.sort();
    assert_eq!(seen, expected);
    assert_eq!(queue.dead_letters("t").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_killed_server_delivers_nothing_twice_that_may_be_delivered_once() {
    for server in [NatsServer::start(), NatsServer::writing_at_once()] {
        let dying = server.open("q", settings()).await;
        for number in 0..5 {
            let once = QueueMessage {
                max_deliveries: Some(NonZeroU32::MIN),
                ..message(&format!("m{number}"), "t")
            };
            dying.publish(once, LONG).await.unwrap();
            let held = dying.take("t", 1, LONG).await.unwrap();
            server.kill();
            server.come_back();
            assert_eq!(held.len(), 1);
        }
        drop(dying);
        let other = server.open("q", settings()).await;
        until_ok(async || {
            let taken = other.take("t", 8, Duration::ZERO).await.unwrap();
            assert_eq!(ids(&taken), [""; 0]);
            let dead = other.dead_letters("t").await.unwrap().len();
            if dead == 5 { Ok(()) } else { Err(dead) }
        })
        .await;
    }
}

#[tokio::test]
async fn a_consumer_waits_through_a_crash_of_the_server() {
    let server = NatsServer::start();
    let queue = server.open("q", settings()).await;
    let (taken, published) = tokio::join!(queue.take("t", 1, LONG), async {
        tokio::task::yield_now().await;
        server.kill();
        server.come_back();
        let other = server.open("q", settings()).await;
        other.publish(message("a", "t"), LONG).await
    });
    assert_eq!(published.unwrap(), PublishOutcome::Added);
    assert_eq!(ids(&taken.unwrap()), ["a"]);
}

#[tokio::test]
async fn a_message_of_a_process_that_died_goes_to_another() {
    let server = NatsServer::shared();
    let dying = server.open("shared by two", settings()).await;
    let other = server.open("shared by two", settings()).await;
    dying.publish(message("a", "t"), LONG).await.unwrap();
    drop(dying.take("t", 1, LONG).await.unwrap());
    drop(dying);
    let taken = other.take("t", 1, LONG).await.unwrap();
    assert_eq!((ids(&taken), taken[0].attempt), (vec!["a"], 2));
    taken[0].lease.acknowledge().await.unwrap();
    assert!(other.take("t", 1, Duration::ZERO).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_came_for_a_wait_that_was_dropped_is_there_for_the_next_one() {
    let server = NatsServer::shared();
    // What was lost with the wait would come again long after the next one has ended.
    let long_lease = QueueSettings { lease: Duration::from_hours(1), ..settings() };
    let queue = Arc::new(server.queue(long_lease).await);
    for number in 0..50 {
        let waiting = {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.take("t", 1, LONG).await })
        };
        let id = format!("m{number}");
        queue.publish(message(&id, "t"), LONG).await.unwrap();
        waiting.abort();
        if let Ok(taken) = waiting.await {
            taken.unwrap()[0].lease.give_back(Duration::ZERO).await.unwrap();
        }
        let taken = queue.take("t", 1, LONG).await.unwrap();
        assert_eq!(ids(&taken), [id.as_str()]);
        taken[0].lease.acknowledge().await.unwrap();
    }
}

#[tokio::test]
async fn the_server_keeps_nothing_of_a_retired_topic_nor_a_message_beyond_its_time() {
    let server = NatsServer::shared();
    let queue = server.open("retired", settings()).await;
    let login = ConnectOptions::with_user_and_password("worker".into(), PASSWORD.into());
    let connected = login.connect(format!("127.0.0.1:{}", server.port())).await.unwrap();
    let jetstream = async_nats::jetstream::new(connected);
    let mut stream = jetstream.get_stream("ANTIPHON_retired_TASKS").await.unwrap();
    let deadline = Some(SystemClock::new().now() + Duration::from_secs(10));
    let dated = QueueMessage { deadline, ..message("a", "t") };
    queue.publish(dated, LONG).await.unwrap();
    queue.publish(message("b", "t"), LONG).await.unwrap();
    let kept = stream.get_raw_message(1).await.unwrap();
    let ttl: u64 = kept.headers.get("Nats-TTL").unwrap().as_str().parse().unwrap();
    assert!((3600..=3610).contains(&ttl), "{ttl}");
    let undated = stream.get_raw_message(2).await.unwrap();
    assert!(undated.headers.get("Nats-TTL").is_none());
    queue.take("t", 1, LONG).await.unwrap();
    queue.take("other", 1, Duration::ZERO).await.unwrap();
    assert_eq!(stream.info().await.unwrap().state.consumer_count, 2);
    queue.retire("t").await.unwrap();
    let state = stream.info().await.unwrap().state.clone();
    assert_eq!((state.consumer_count, state.messages), (1, 0));
}

#[tokio::test]
async fn a_consumer_is_told_of_a_cancellation_by_another_process() {
    let server = NatsServer::shared();
    let consumer = server.open("cancelled by another", settings()).await;
    let other = server.open("cancelled by another", settings()).await;
    other.publish(message("a", "t"), LONG).await.unwrap();
    let taken = consumer.take("t", 1, LONG).await.unwrap();
    other.cancel("a", "the run has ended").await.unwrap();
    taken[0].cancellation.cancelled().await;
    assert_eq!(taken[0].cancellation.reason().as_deref(), Some("the run has ended"));
    let lost = taken[0].lease.acknowledge().await.unwrap_err();
    assert_eq!(lost.code, "queue_lease_lost");
}

#[tokio::test]
async fn two_processes_share_the_messages_of_a_topic() {
    let server = NatsServer::shared();
    let roomy = QueueSettings { capacity: 100.try_into().unwrap(), ..settings() };
    let one = server.open("shared by many", roomy).await;
    let other = server.open("shared by many", roomy).await;
    for number in 0..60 {
        one.publish(message(&format!("m{number}"), "t"), LONG).await.unwrap();
    }
    let (mut seen, more) = tokio::join!(drain(&one), drain(&other));
    seen.extend(more);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 60);
}

/// Acknowledges what there is, and fails if there is anything twice.
async fn drain(queue: &NatsQueue) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let taken = queue.take("t", 3, Duration::ZERO).await.unwrap();
        if taken.is_empty() {
            return seen;
        }
        for delivery in taken {
            assert_eq!(delivery.attempt, 1);
            delivery.lease.acknowledge().await.unwrap();
            seen.push(delivery.message.id);
        }
    }
}

#[tokio::test]
async fn dead_letters_are_seen_by_every_process() {
    let server = NatsServer::shared();
    let one = server.open("dead for all", settings()).await;
    one.publish(message("a", "t"), LONG).await.unwrap();
    one.take("t", 1, LONG).await.unwrap()[0].lease.bury("no such tool: sing").await.unwrap();
    let other = server.open("dead for all", settings()).await;
    let dead = other.dead_letters("t").await.unwrap();
    assert_eq!(dead[0].reason, DeathReason::Buried("no such tool: sing".to_owned()));
    assert_eq!(dead[0].message, message("a", "t"));
}

#[tokio::test]
async fn no_failure_shows_a_password() {
    let server = NatsServer::shared();
    let _ready = server.queue(settings()).await;
    let port = server.port();
    let login = refused(&*format!("nats://worker:wrong-{PASSWORD}@127.0.0.1:{port}")).await;
    assert_eq!(login.code, "queue_login_failed");
    let nobody = refused(&*format!("nats://worker:{PASSWORD}@127.0.0.1:1")).await;
    assert_eq!(nobody.code, "queue_unreachable");
    let malformed = refused(&*format!("nats://worker:{PASSWORD}@:port")).await;
    assert_eq!(malformed.code, "queue_setting_invalid");
    let scheme = refused(&*format!("https://worker:{PASSWORD}@127.0.0.1:{port}")).await;
    assert_eq!(scheme.message, "the URL of the queue's server has an unknown scheme: https");
    let own = NatsServer::start();
    let queue = own.open("q", settings()).await;
    own.kill();
    let gone = queue.publish(message("a", "t"), Duration::ZERO).await.unwrap_err();
    assert_eq!(gone.code, "queue_unreachable");
    let untaken = queue.take("t", 1, Duration::ZERO).await.unwrap_err();
    assert_eq!(untaken.code, "queue_unreachable");
    for fault in [login, nobody, malformed, scheme, gone, untaken] {
        assert!(!format!("{fault} {fault:?}").contains(PASSWORD), "{fault}");
    }
    assert!(!queue.name().contains(PASSWORD));
}

#[tokio::test]
async fn a_login_may_stand_beside_the_url_and_a_server_without_jetstream_is_told_apart() {
    let server = without_jetstream();
    let address = |user: &str, password: &str| NatsAddress {
        user: Some(user.to_owned()),
        password: Some(password.to_owned()),
        ..NatsAddress::from(&*format!("nats://127.0.0.1:{}", server.port()))
    };
    let fault = until_ok(async || {
        let fault = refused(address("worker", PASSWORD)).await;
        let is_up = fault.details["cause"] != "IO error";
        if is_up { Ok(fault) } else { Err(fault) }
    })
    .await;
    assert_eq!(fault.code, "queue_unreachable");
    let cause = fault.details["cause"].as_str().unwrap().to_lowercase();
    assert!(cause.contains("jetstream"), "{cause}");
    assert_eq!(refused(address("worker", "wrong")).await.code, "queue_login_failed");
    let missing = NatsAddress { ca_file: Some("/no/such.pem".into()), ..address("a", "b") };
    let missing = refused(missing).await;
    assert_eq!(missing.message, "the file does not exist: /no/such.pem");
    let alone = NatsAddress { key_file: Some("/dev/null".into()), ..address("a", "b") };
    assert_eq!(refused(alone).await.code, "queue_setting_invalid");
}
