//! Whatever consumers and publishers do, in any order: no message is lost, none has two
//! consumers at once, and none is delivered more often than it may be.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_runtime::queue::{Delivery, PublishOutcome};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::subject::{QueueUnderTest, message};

/// Something that a publisher or a consumer does. Numbers choose one of those in question.
#[derive(Clone, Debug)]
enum QueueAction {
    Publish(u8),
    Take(usize),
    Acknowledge(usize),
    GiveBack(usize),
    Extend(usize),
    Bury(usize),
    Cancel(u8),
    EndLeases,
}

fn action() -> impl Strategy<Value = QueueAction> {
    prop_oneof![
        4 => (0..20_u8).prop_map(QueueAction::Publish),
        4 => (0..4_usize).prop_map(QueueAction::Take),
        2 => any::<usize>().prop_map(QueueAction::Acknowledge),
        2 => any::<usize>().prop_map(QueueAction::GiveBack),
        1 => any::<usize>().prop_map(QueueAction::Extend),
        1 => any::<usize>().prop_map(QueueAction::Bury),
        1 => (0..20_u8).prop_map(QueueAction::Cancel),
        2 => Just(QueueAction::EndLeases),
    ]
}

/// Where a message is, by what the queue has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageStatus {
    Waiting,
    Held,
    Done,
    Buried,
    Cancelled,
}

/// What the world outside of the queue knows.
#[derive(Default)]
struct ExpectedQueue {
    messages: BTreeMap<String, (MessageStatus, u32)>,
    held: Vec<Delivery>,
    stale: Vec<Delivery>,
}

impl ExpectedQueue {
    async fn act(&mut self, it: &QueueUnderTest, action: &QueueAction) {
        match *action {
            QueueAction::Publish(number) => self.publish(it, format!("m{number}")).await,
            QueueAction::Take(limit) => self.take(it, limit).await,
            QueueAction::EndLeases => {
                it.end_leases().await;
                self.lose_leases();
            }
            QueueAction::Cancel(number) => self.cancel(it, format!("m{number}")).await,
            QueueAction::Acknowledge(which) => {
                if let Some(delivery) = self.pick(which) {
                    delivery.lease.acknowledge().await.unwrap();
                    self.settle(delivery, MessageStatus::Done);
                }
            }
            QueueAction::GiveBack(which) => {
                if let Some(delivery) = self.pick(which) {
                    delivery.lease.give_back(Duration::ZERO).await.unwrap();
                    self.settle(delivery, MessageStatus::Waiting);
                }
            }
            QueueAction::Bury(which) => {
                if let Some(delivery) = self.pick(which) {
                    delivery.lease.bury("for a test").await.unwrap();
                    self.settle(delivery, MessageStatus::Buried);
                }
            }
            QueueAction::Extend(which) => {
                if let Some(delivery) = self.pick(which) {
                    delivery.lease.extend().await.unwrap();
                    self.held.push(delivery);
                }
            }
        }
        for stale in &self.stale {
            assert_eq!(stale.lease.acknowledge().await.unwrap_err().code, "queue_lease_lost");
        }
    }

    async fn publish(&mut self, it: &QueueUnderTest, id: String) {
        match it.queue.publish(message(&id, "t"), Duration::ZERO).await {
            Ok(PublishOutcome::Known) => assert!(self.messages.contains_key(&id), "{id}"),
            Ok(PublishOutcome::Added) => {
                let before = self.messages.insert(id, (MessageStatus::Waiting, 0));
                assert_eq!(before, None);
            }
            Err(fault) => assert_eq!(fault.code, "queue_full"),
        }
    }

    async fn take(&mut self, it: &QueueUnderTest, limit: usize) {
        let taken = it.take("t", limit).await;
        assert!(taken.len() <= limit);
        for delivery in taken {
            let (place, count) = self.messages.get_mut(&delivery.message.id).unwrap();
            assert_eq!(*place, MessageStatus::Waiting, "{}", delivery.message.id);
            *place = MessageStatus::Held;
            *count += 1;
            assert_eq!(delivery.attempt, *count);
            assert!(*count <= it.settings.max_deliveries.get());
            self.held.push(delivery);
        }
    }

    async fn cancel(&mut self, it: &QueueUnderTest, id: String) {
        it.queue.cancel(&id, "for a test").await.unwrap();
        let (place, _) = self.messages.entry(id.clone()).or_insert((MessageStatus::Cancelled, 0));
        if *place == MessageStatus::Held {
            let index = self.held.iter().position(|delivery| delivery.message.id == id).unwrap();
            let delivery = self.held.swap_remove(index);
            delivery.cancellation.cancelled().await;
            self.stale.push(delivery);
        }
        if matches!(place, MessageStatus::Held | MessageStatus::Waiting) {
            *place = MessageStatus::Cancelled;
        }
    }

    fn pick(&mut self, which: usize) -> Option<Delivery> {
        let index = which.checked_rem(self.held.len())?;
        Some(self.held.swap_remove(index))
    }

    fn settle(&mut self, delivery: Delivery, place: MessageStatus) {
        self.messages.get_mut(&delivery.message.id).unwrap().0 = place;
        self.stale.push(delivery);
    }

    fn lose_leases(&mut self) {
        for delivery in self.held.drain(..) {
            self.messages.get_mut(&delivery.message.id).unwrap().0 = MessageStatus::Waiting;
            self.stale.push(delivery);
        }
    }

    /// Takes what is left, and finds each message where it must be.
    async fn conclude(mut self, it: &QueueUnderTest) {
        self.act(it, &QueueAction::EndLeases).await;
        self.take(it, 100).await;
        while !self.held.is_empty() {
            self.act(it, &QueueAction::Acknowledge(0)).await;
        }
        let dead = it.queue.dead_letters("t").await.unwrap();
        let dead: BTreeMap<_, _> =
            dead.iter().map(|letter| (letter.message.id.as_str(), letter.deliveries)).collect();
        let capacity = it.settings.capacity.get();
        let most = it.settings.max_deliveries.get();
        let mut missing = 0;
        for (id, (place, count)) in &self.messages {
            match place {
                // Whoever cancels cannot know whether the message has died before.
                MessageStatus::Cancelled if *count == most => {}
                MessageStatus::Done | MessageStatus::Cancelled => {
                    assert!(!dead.contains_key(&**id));
                }
                MessageStatus::Buried => missing += usize::from(dead.get(&**id) != Some(count)),
                MessageStatus::Waiting => {
                    assert_eq!(*count, most, "lost: {id}");
                    missing += usize::from(dead.get(&**id) != Some(count));
                }
                MessageStatus::Held => panic!("still held: {id}"),
            }
        }
        assert!(missing == 0 || dead.len() == capacity, "not among the dead letters: {missing}");
    }
}

async fn hold_against(it: QueueUnderTest, actions: Vec<QueueAction>) {
    let mut witness = ExpectedQueue::default();
    for action in &actions {
        witness.act(&it, action).await;
    }
    witness.conclude(&it).await;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_done_by_two_in_memory(actions in vec(action(), 1..80)) {
        runtime().block_on(hold_against(QueueUnderTest::memory(), actions));
    }
}

proptest! {
    // Each end of the leases takes real time.
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 0, ..Default::default() })]

    #[test]
    fn nothing_is_lost_and_nothing_is_done_by_two_in_nats(actions in vec(action(), 1..40)) {
        runtime().block_on(async { hold_against(QueueUnderTest::nats().await, actions).await });
    }
}
