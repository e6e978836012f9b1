//! Takes messages from the server, and gives back what nobody waits for any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::queue::{Delivery, closed};
use async_nats::StatusCode;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull::{self, BatchConfig};
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use async_nats::jetstream::stream::ConsumerErrorKind;
use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, oneshot};
use tokio::time::{Instant, timeout};

use super::cancelled_ids::CancelledIds;
use super::connection::{QueueStreams, capacity};
use super::names::{encode, subject};
use super::{ANSWER, PAUSE};

/// How long a pull waits for a message before it is made again. No client can take one back: what
/// it brings when nobody waits any more is given back.
const PULL: Duration = Duration::from_secs(1);
/// How much later than the server the client ends a pull, so that nothing is on its way then.
const DELAY: Duration = Duration::from_millis(500);
/// A consumer that nobody has asked for so long is forgotten; its messages stay.
const IDLE: Duration = Duration::from_hours(24);

/// What a wait is answered with.
type PullResult = Result<UnclaimedDeliveries, Fault>;

/// Deliveries that go back if nobody claims them.
struct UnclaimedDeliveries(Vec<Delivery>);

impl UnclaimedDeliveries {
    fn claim(mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for UnclaimedDeliveries {
    fn drop(&mut self) {
        let deliveries = std::mem::take(&mut self.0);
        // Without a runtime the process ends, and so do the leases.
        let Ok(runtime) = Handle::try_current() else { return };
        for delivery in deliveries {
            // One that cannot be given back now comes again when its lease ends.
            runtime.spawn(async move { delivery.lease.give_back(Duration::ZERO).await });
        }
    }
}

/// Takes the messages of all topics.
pub(super) struct MessageConsumer {
    pub(super) streams: Arc<QueueStreams>,
    pub(super) cancelled: Arc<CancelledIds>,
    consumers: Mutex<HashMap<String, TopicConsumer>>,
}

/// What takes the messages of one topic.
#[derive(Clone)]
struct TopicConsumer {
    consumer: PullConsumer,
    /// One pull at a time waits, so one at most was left behind.
    turn: Arc<Mutex<()>>,
}

impl MessageConsumer {
    pub(super) fn new(streams: Arc<QueueStreams>, cancelled: Arc<CancelledIds>) -> Self {
        Self { streams, cancelled, consumers: Mutex::default() }
    }

    /// Works on a task of its own, which sees to what arrives for a wait that was dropped.
    pub(super) async fn take(
        self: &Arc<Self>,
        topic: &str,
        limit: usize,
        until: Instant,
    ) -> Result<Vec<Delivery>, Fault> {
        let (waiter, taken) = oneshot::channel();
        let (consumer, topic) = (Arc::clone(self), topic.to_owned());
        tokio::spawn(async move {
            let taken = consumer.take_until(&topic, limit, until, &waiter).await;
            // Nobody may wait any more; then it goes back.
            let _ = waiter.send(taken.map(UnclaimedDeliveries));
        });
        let taken = taken.await.unwrap_or_else(|_| Err(closed(&self.streams.server)));
        taken.map(UnclaimedDeliveries::claim)
    }

    /// Removes what the server keeps of a topic.
    pub(super) async fn retire(&self, topic: &str) -> Result<(), Fault> {
        let streams = &self.streams;
        self.consumers.lock().await.remove(topic);
        match streams.tasks.delete_consumer(&encode(topic)).await {
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(streams.unreachable(&error)),
        }
        for (stream, kind) in [(&streams.tasks, "task"), (&streams.dead, "dead")] {
            let purged = stream.purge().filter(subject(&streams.prefix, kind, topic)).await;
            purged.map_err(|error| streams.unreachable(&error))?;
        }
        Ok(())
    }

    /// The durable consumer of a topic.
    async fn consumer(&self, topic: &str) -> Result<TopicConsumer, Fault> {
        let mut consumers = self.consumers.lock().await;
        if let Some(consumer) = consumers.get(topic) {
            return Ok(consumer.clone());
        }
        let settings = &self.streams.settings;
        let config = pull::Config {
            durable_name: Some(encode(topic)),
            filter_subject: subject(&self.streams.prefix, "task", topic),
            ack_policy: AckPolicy::Explicit,
            ack_wait: settings.lease,
            // Never reached: the server would leave a request without an answer that reaches it.
            max_ack_pending: capacity(settings).saturating_add(1),
            inactive_threshold: IDLE,
            ..Default::default()
        };
        let made = self.streams.tasks.create_consumer(config).await;
        let consumer = made.map_err(|error| self.streams.unreachable(&error))?;
        let consumer = TopicConsumer { consumer, turn: Arc::default() };
        consumers.insert(topic.to_owned(), consumer.clone());
        Ok(consumer)
    }

    async fn take_until(
        &self,
        topic: &str,
        limit: usize,
        until: Instant,
        waiter: &oneshot::Sender<PullResult>,
    ) -> Result<Vec<Delivery>, Fault> {
        let mut may_wait = false;
        while !waiter.is_closed() {
            let taken = match self.consumer(topic).await {
                Ok(consumer) if may_wait => self.wait(&consumer, until, waiter).await,
                Ok(consumer) => self.fetch(&consumer.consumer, limit).await,
                Err(fault) => Err(fault),
            };
            let messages = match taken {
                Ok(messages) => messages,
                Err(fault) if Instant::now() + PAUSE >= until => return Err(fault),
                Err(_) => {
                    // The server may have come back without the consumer that it had.
                    self.consumers.lock().await.remove(topic);
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let is_empty = messages.is_empty();
            let deliveries = self.admit(messages).await?;
            if !deliveries.is_empty() || (is_empty && Instant::now() >= until) {
                return Ok(deliveries);
            }
            may_wait = is_empty;
        }
        Ok(Vec::new())
    }

    /// What the server has, without waiting for more.
    async fn fetch(&self, consumer: &PullConsumer, limit: usize) -> Result<Vec<Message>, Fault> {
        let fetched = async {
            let mut batch = consumer.fetch().max_messages(limit).messages().await?;
            let mut messages = Vec::new();
            while let Some(message) = batch.next().await {
                messages.push(message?);
            }
            Ok::<_, async_nats::Error>(messages)
        };
        match timeout(ANSWER, fetched).await {
            Ok(Ok(messages)) => Ok(messages),
            Ok(Err(error)) => Err(self.streams.unreachable(&*error)),
            Err(elapsed) => Err(self.streams.unreachable(&elapsed)),
        }
    }

    /// Waits for one message.
    async fn wait(
        &self,
        consumer: &TopicConsumer,
        until: Instant,
        waiter: &oneshot::Sender<PullResult>,
    ) -> Result<Vec<Message>, Fault> {
        let _turn = consumer.turn.lock().await;
        if waiter.is_closed() {
            return Ok(Vec::new());
        }
        let left = until.saturating_duration_since(Instant::now());
        let pulled = self.pull(&consumer.consumer, left.clamp(PAUSE, PULL)).await;
        let reply = pulled.map_err(|error| self.streams.unreachable(&*error))?;
        let Some(message) = reply else { return Ok(Vec::new()) };
        match message.status {
            None | Some(StatusCode::OK) => {
                let context = self.streams.jetstream.clone();
                Ok(vec![Message { message, context }])
            }
            Some(StatusCode::TIMEOUT | StatusCode::NOT_FOUND) => Ok(Vec::new()),
            Some(status) => {
                let error = std::io::Error::other(format!("the server answers with {status}"));
                Err(self.streams.unreachable(&error))
            }
        }
    }

    /// The reply to a request for one message; none if the server does not answer.
    async fn pull(
        &self,
        consumer: &PullConsumer,
        expires: Duration,
    ) -> Result<Option<async_nats::Message>, async_nats::Error> {
        let client = self.streams.jetstream.client();
        let inbox = client.new_inbox();
        let mut replies = client.subscribe(inbox.clone()).await?;
        let request = BatchConfig { batch: 1, expires: Some(expires), ..BatchConfig::default() };
        consumer.request_batch(request, inbox.into()).await?;
        Ok(timeout(expires + DELAY, replies.next()).await.unwrap_or_default())
    }
}

fn is_missing(error: &async_nats::jetstream::stream::ConsumerError) -> bool {
    matches!(error.kind(), ConsumerErrorKind::JetStream(error)
        if error.error_code() == async_nats::jetstream::ErrorCode::CONSUMER_NOT_FOUND)
}
