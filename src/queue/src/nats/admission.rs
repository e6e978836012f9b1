//! What the server has delivered: whether a consumer gets it.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::queue::{Delivery, QueueMessage};
use async_nats::jetstream::{AckKind, Message};

use super::consumer::MessageConsumer;
use super::lease::{HeldMessage, NatsLease};

impl MessageConsumer {
    /// Those that are neither cancelled nor dead.
    pub(super) async fn admit(&self, messages: Vec<Message>) -> Result<Vec<Delivery>, Fault> {
        let mut deliveries = Vec::new();
        for message in messages {
            match self.admit_one(message).await {
                Ok(delivery) => deliveries.extend(delivery),
                // The others are kept by their leases; those that were admitted are not held up.
                Err(fault) if deliveries.is_empty() => return Err(fault),
                Err(_) => break,
            }
        }
        Ok(deliveries)
    }

    async fn admit_one(&self, taken: Message) -> Result<Option<Delivery>, Fault> {
        let streams = &self.streams;
        let Ok(message) = serde_json::from_slice::<QueueMessage>(&taken.payload) else {
            tracing::warn!(subject = %taken.subject, "a message in the queue is not one of ours");
            let acked = taken.double_ack_with(AckKind::Term).await;
            return acked.map(|()| None).map_err(|error| streams.unreachable(&*error));
        };
        let delivered = taken.info().map_or(1, |info| info.delivered);
        let mut attempt = u32::try_from(delivered).unwrap_or(u32::MAX);
        let is_once = message.max_deliveries.is_some_and(|most| most.get() == 1);
        if is_once && attempt == 1 && !streams.note_delivery(&message.id).await? {
            attempt = 2;
        }
        let death =
            message.death(attempt.saturating_sub(1), streams.clock.now(), &streams.settings);
        let deliveries = if death.is_some() { attempt.saturating_sub(1) } else { attempt };
        let held = HeldMessage::new(streams.clone(), taken, message.clone(), deliveries);
        let held = Arc::new(held);
        // Before the look, so that no cancellation falls between the two.
        self.cancelled.tell(&message.id, &held);
        if self.cancelled.contains(&message.id).await? {
            held.cancel("the message was cancelled").await;
            return Ok(None);
        }
        if let Some(reason) = death {
            held.die(reason).await?;
            return Ok(None);
        }
        let (cancellation, lease) = (held.cancellation.clone(), Box::new(NatsLease(held)));
        Ok(Some(Delivery { message, attempt, lease, cancellation }))
    }
}
