//! A queue in a NATS server with `JetStream`, for workers in many processes.
//!
//! | of the queue | in `JetStream` |
//! |---|---|
//! | topics | subjects of one stream with work-queue retention, full by subject |
//! | ids | `Nats-Msg-Id` within the stream's window |
//! | consumers of a topic | one durable pull consumer |
//! | lease, attempt | `ack_wait`, the server's count of deliveries |
//! | delivery of what may be delivered once | a key-value bucket, written before it is handed out |
//! | dead letters | a second stream; of each topic the latest |
//! | cancelled ids | a key-value bucket that every process watches |
//!
//! The server ends leases; a consumer sees by its own clock that its lease is over. What it
//! settles in the moment between the two still counts. A message with a deadline is removed by the
//! server some time after it, should nobody ask for messages of its topic by then (from version
//! 2.11 on). A server forgets the consumer of a topic, and how often its messages were delivered,
//! once nobody has asked for them for a day.

mod address;
mod admission;
mod cancelled_ids;
mod connection;
mod consumer;
mod lease;
mod names;

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::queue::{
    DeadLetter, Delivery, PublishOutcome, Queue, QueueMessage, QueueSettings, closed, full,
};
use antiphon_runtime::{CancellationToken, Clock};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::stream::DirectGetErrorKind;
use async_nats::jetstream::{self, ErrorCode};
use async_trait::async_trait;
use tokio::time::Instant;

pub use address::NatsAddress;
use cancelled_ids::CancelledIds;
use connection::QueueStreams;
use consumer::MessageConsumer;
use names::{encode, subject};

/// How long one question to the server may take.
const ANSWER: Duration = Duration::from_secs(5);
/// The pauses between looks for a place in a full topic.
const PAUSE: Duration = Duration::from_millis(20);
/// How long after its deadline a message is here at most: its dead letter is for who looks by then.
const PAST_DEADLINE: Duration = Duration::from_hours(1);

/// Messages in a NATS server: they outlive its crashes and those of every process that uses them.
pub struct NatsQueue {
    name: String,
    streams: Arc<QueueStreams>,
    consumer: Arc<MessageConsumer>,
    cancelled: Arc<CancelledIds>,
    closed: CancellationToken,
}

impl NatsQueue {
    /// Connects to a server (`nats://user:password@host:4222`), where the streams of
    /// a queue with that name are made if they are not there. All who use a queue give it the
    /// same settings.
    ///
    /// # Errors
    /// `queue_setting_invalid` for an address or a name that is none, `queue_login_failed`, or
    /// `queue_unreachable`.
    pub async fn connect(
        address: impl Into<NatsAddress> + Send,
        name: &str,
        settings: QueueSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Fault> {
        let streams = Arc::new(QueueStreams::open(&address.into(), name, settings, clock).await?);
        let cancelled = Arc::new(CancelledIds::watch(streams.clone()));
        let consumer = Arc::new(MessageConsumer::new(streams.clone(), cancelled.clone()));
        let (name, closed) = (streams.server.clone(), CancellationToken::new());
        Ok(Self { name, streams, consumer, cancelled, closed })
    }

    /// One attempt; none if the topic is full.
    async fn try_publish(&self, message: &QueueMessage) -> Result<Option<PublishOutcome>, Fault> {
        if self.cancelled.contains(&message.id).await? {
            return Ok(Some(PublishOutcome::Known));
        }
        let payload = serde_json::to_vec(message).unwrap_or_default();
        let subject = subject(&self.streams.prefix, "task", &message.topic);
        let mut publish = jetstream::message::PublishMessage::build()
            .message_id(encode(&message.id))
            .payload(payload.into());
        if let Some(deadline) = message.deadline {
            publish = publish.ttl(deadline.since(self.streams.clock.now()) + PAST_DEADLINE);
        }
        let sent = self.streams.jetstream.send_publish(subject, publish).await;
        let answered = match sent {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        match answered {
            Ok(kept) if kept.duplicate => Ok(Some(PublishOutcome::Known)),
            Ok(_) => Ok(Some(PublishOutcome::Added)),
            Err(error) if is_full(&error) => Ok(None),
            Err(error) => Err(self.streams.unreachable(&error)),
        }
    }

    async fn publish_until(
        &self,
        message: &QueueMessage,
        until: Instant,
    ) -> Result<PublishOutcome, Fault> {
        let mut pause = PAUSE;
        loop {
            let fault = match self.try_publish(message).await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => full(&message.topic, self.streams.settings.capacity.get()),
                Err(fault) => fault,
            };
            if Instant::now() + pause >= until {
                return Err(fault);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(ANSWER / 10);
        }
    }

    async fn load_dead_letters(&self, topic: &str) -> Result<Vec<DeadLetter>, Fault> {
        let subject = subject(&self.streams.prefix, "dead", topic);
        let (mut letters, mut next) = (Vec::new(), 1);
        loop {
            let found = self.streams.dead.direct_get_next_for_subject(subject.clone(), Some(next));
            let message = match found.await {
                Ok(message) => message,
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => return Ok(letters),
                Err(error) => return Err(self.streams.unreachable(&error)),
            };
            next = message.sequence + 1;
            letters.extend(serde_json::from_slice::<DeadLetter>(&message.payload));
        }
    }
}

/// Whether the server refuses a message because its topic is full.
fn is_full(error: &jetstream::context::PublishError) -> bool {
    let source = std::error::Error::source(error);
    let refusal = source.and_then(|source| source.downcast_ref::<jetstream::Error>());
    error.kind() == PublishErrorKind::Other
        && refusal.is_some_and(|refusal| refusal.error_code() == ErrorCode::STREAM_STORE_FAILED)
}

#[async_trait]
impl Queue for NatsQueue {
    fn name(&self) -> &str {
        &self.name
    }

    async fn publish(
        &self,
        message: QueueMessage,
        wait: Duration,
    ) -> Result<PublishOutcome, Fault> {
        message.check(&self.streams.settings)?;
        let until = Instant::now() + wait;
        self.unless_closed(self.publish_until(&message, until)).await
    }

    async fn take(
        &self,
        topic: &str,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Fault> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let until = Instant::now() + wait;
        self.unless_closed(self.consumer.take(topic, limit, until)).await
    }

    async fn cancel(&self, id: &str, reason: &str) -> Result<(), Fault> {
        self.unless_closed(self.cancelled.add(id, reason)).await
    }

    async fn dead_letters(&self, topic: &str) -> Result<Vec<DeadLetter>, Fault> {
        self.unless_closed(self.load_dead_letters(topic)).await
    }

    async fn retire(&self, topic: &str) -> Result<(), Fault> {
        self.unless_closed(self.consumer.retire(topic)).await
    }

    fn close(&self) {
        self.closed.cancel(FaultCode::QueueClosed.as_str());
    }
}

impl NatsQueue {
    async fn unless_closed<T>(
        &self,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(closed(&self.name)),
            done = work => done,
        }
    }
}
