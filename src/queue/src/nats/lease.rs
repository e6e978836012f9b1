//! The right of one consumer to one message, as the server grants it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::CancellationToken;
use antiphon_runtime::queue::{DeadLetter, DeathReason, MessageLease, QueueMessage, lease_lost};
use async_nats::jetstream::{AckKind, Message, message::PublishMessage};
use async_trait::async_trait;
use tokio::time::Instant;

use super::connection::QueueStreams;
use super::names::subject;

/// A message of this process, until it is settled.
pub(super) struct HeldMessage {
    streams: Arc<QueueStreams>,
    taken: Message,
    message: QueueMessage,
    deliveries: u32,
    pub(super) cancellation: CancellationToken,
    /// When the lease ends; none once the message is settled.
    ends: Mutex<Option<Instant>>,
}

impl HeldMessage {
    /// A message that the server has delivered just now.
    pub(super) fn new(
        streams: Arc<QueueStreams>,
        taken: Message,
        message: QueueMessage,
        deliveries: u32,
    ) -> Self {
        let ends = Mutex::new(Some(Instant::now() + streams.settings.lease));
        let cancellation = CancellationToken::new();
        Self { streams, taken, message, deliveries, cancellation, ends }
    }

    fn ends(&self) -> MutexGuard<'_, Option<Instant>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the right to settle, of which there is one.
    fn claim(&self) -> Result<Instant, Fault> {
        let is_cancelled = self.cancellation.reason().is_some();
        let lost = || lease_lost(&self.message.id);
        let mut ends = self.ends();
        let end = ends.take_if(|end| *end > Instant::now() && !is_cancelled);
        end.ok_or_else(lost)
    }

    /// Does not stand in the way of who settles meanwhile.
    async fn extend(&self) -> Result<(), Fault> {
        let started = Instant::now();
        let is_held = self.ends().is_some_and(|end| end > started);
        if !is_held || self.cancellation.reason().is_some() {
            return Err(lease_lost(&self.message.id));
        }
        self.tell(AckKind::Progress).await?;
        if let Some(end) = self.ends().as_mut() {
            *end = started + self.streams.settings.lease;
        }
        Ok(())
    }

    async fn tell(&self, kind: AckKind) -> Result<(), Fault> {
        let acked = self.taken.double_ack_with(kind).await;
        acked.map_err(|error| self.streams.unreachable(&*error))
    }

    /// Settles, or leaves the lease as it was.
    async fn settle(&self, kind: AckKind) -> Result<(), Fault> {
        let end = self.claim()?;
        let acked = self.tell(kind).await;
        if acked.is_err() {
            *self.ends() = Some(end);
        }
        acked
    }

    /// Tells the consumer, and has the server forget the message. If the server does not
    /// hear it, the message comes again, and its id is known as cancelled then.
    pub(super) async fn cancel(&self, reason: &str) {
        self.cancellation.cancel(reason);
        let is_held = self.ends().take().is_some();
        if is_held {
            // See above.
            let _ = self.tell(AckKind::Term).await;
        }
    }

    /// Keeps a dead letter first: if this process dies meanwhile, it is kept once.
    pub(super) async fn die(&self, reason: DeathReason) -> Result<(), Fault> {
        let end = self.claim()?;
        let buried = match self.keep_letter(reason).await {
            Ok(()) => self.tell(AckKind::Term).await,
            Err(fault) => Err(fault),
        };
        if buried.is_err() {
            *self.ends() = Some(end);
        }
        buried
    }

    async fn keep_letter(&self, reason: DeathReason) -> Result<(), Fault> {
        let sequence = self.taken.info().map_or(0, |info| info.stream_sequence);
        let (message, deliveries) = (self.message.clone(), self.deliveries);
        let letter = DeadLetter { message, deliveries, reason, at: self.streams.clock.now() };
        let payload = serde_json::to_vec(&letter).unwrap_or_default();
        let publish = PublishMessage::build().message_id(sequence.to_string());
        let subject = subject(&self.streams.prefix, "dead", &letter.message.topic);
        let sent = self.streams.jetstream.send_publish(subject, publish.payload(payload.into()));
        let answer = sent.await.map_err(|error| self.streams.unreachable(&error))?;
        answer.await.map(drop).map_err(|error| self.streams.unreachable(&error))
    }
}

/// The lease of a held message.
pub(super) struct NatsLease(pub(super) Arc<HeldMessage>);

#[async_trait]
impl MessageLease for NatsLease {
    async fn acknowledge(&self) -> Result<(), Fault> {
        self.0.settle(AckKind::Ack).await
    }

    async fn give_back(&self, delay: Duration) -> Result<(), Fault> {
        self.0.settle(AckKind::Nak((!delay.is_zero()).then_some(delay))).await
    }

    async fn extend(&self) -> Result<(), Fault> {
        self.0.extend().await
    }

    async fn bury(&self, reason: &str) -> Result<(), Fault> {
        self.0.die(DeathReason::Buried(reason.to_owned())).await
    }
}
