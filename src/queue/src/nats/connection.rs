//! The connection to a server, and the streams of one queue in it.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Clock;
use antiphon_runtime::queue::QueueSettings;
use async_nats::ConnectErrorKind;
use async_nats::jetstream::kv::{self, CreateErrorKind};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context};

use super::ANSWER;
use super::address::NatsAddress;
use super::names::encode;

/// A cancelled id, and one that was delivered, is known for so long.
const KNOWN_FOR: Duration = Duration::from_hours(24);

/// The streams of one queue, and what their users need.
pub(super) struct QueueStreams {
    /// The server without any secret.
    pub(super) server: String,
    pub(super) prefix: String,
    pub(super) settings: QueueSettings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) jetstream: Context,
    pub(super) tasks: Stream,
    pub(super) dead: Stream,
    pub(super) cancelled: kv::Store,
    /// Ids of messages that may be delivered once, and were.
    delivered: kv::Store,
}

impl QueueStreams {
    pub(super) async fn open(
        address: &NatsAddress,
        name: &str,
        settings: QueueSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Fault> {
        if name.is_empty() || name.len() > 32 {
            let message = format!("the name of a queue has 1 to 32 bytes: {name}");
            return Err(Fault::new(FaultCode::QueueSettingInvalid, message)
                .hint("name the queue after its use, for instance `research`"));
        }
        let place = address.server()?;
        let server = format!("nats://{}:{}", place.host(), place.port());
        let options = address.options(&place)?.name("antiphon").connection_timeout(ANSWER);
        let connected = options.connect(place).await;
        let client = connected.map_err(|error| refused(&server, error.kind()))?;
        let mut jetstream = jetstream::new(client);
        jetstream.set_timeout(ANSWER);
        let (prefix, name) = (format!("antiphon.{}", encode(name)), encode(name));
        let failed = |error: &dyn std::error::Error| unreachable_at(&server, error);
        let config = task_config(&name, &prefix, &settings);
        let tasks = jetstream.get_or_create_stream(config).await.map_err(|e| failed(&e))?;
        let config = dead_config(&name, &prefix, &settings);
        let dead = jetstream.get_or_create_stream(config).await.map_err(|e| failed(&e))?;
        let bucket = async |kind: &str| {
            let config = kv::Config {
                bucket: format!("ANTIPHON_{name}_{kind}").replace('=', "-"),
                max_age: settings.window.max(KNOWN_FOR),
                ..Default::default()
            };
            let bucket = jetstream.create_or_update_key_value(config).await;
            bucket.map_err(|e| failed(&e))
        };
        let (cancelled, delivered) = (bucket("CANCELLED").await?, bucket("DELIVERED").await?);
        Ok(Self { server, prefix, settings, clock, jetstream, tasks, dead, cancelled, delivered })
    }

    /// Notes the delivery of a message that may be delivered once; no if there was one before. The
    /// server has stored the note when it answers, while it stores its count of deliveries some
    /// time after it has delivered: a kill in between makes it forget the delivery.
    pub(super) async fn note_delivery(&self, id: &str) -> Result<bool, Fault> {
        match self.delivered.create(encode(id), String::new().into()).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    /// The fault for a question that the server did not answer as it should.
    pub(super) fn unreachable(&self, error: &dyn std::error::Error) -> Fault {
        unreachable_at(&self.server, error)
    }
}

fn task_config(name: &str, prefix: &str, settings: &QueueSettings) -> stream::Config {
    stream::Config {
        name: format!("ANTIPHON_{name}_TASKS"),
        subjects: vec![format!("{prefix}.task.*")],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        max_messages_per_subject: capacity(settings),
        duplicate_window: settings.window,
        allow_message_ttl: true,
        ..Default::default()
    }
}

fn dead_config(name: &str, prefix: &str, settings: &QueueSettings) -> stream::Config {
    stream::Config {
        name: format!("ANTIPHON_{name}_DEAD"),
        subjects: vec![format!("{prefix}.dead.*")],
        max_messages_per_subject: capacity(settings),
        duplicate_window: settings.window,
        allow_direct: true,
        ..Default::default()
    }
}

pub(super) fn capacity(settings: &QueueSettings) -> i64 {
    i64::try_from(settings.capacity.get()).unwrap_or(i64::MAX)
}

fn refused(server: &str, kind: ConnectErrorKind) -> Fault {
    match kind {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            let message = format!("the server of the queue refuses the login: {server}");
            Fault::new(FaultCode::QueueLoginFailed, message)
                .with("server", server)
                .hint("check the user and the password, or the token, in the URL")
        }
        kind => unreachable_text(server, &kind.to_string()),
    }
}

fn unreachable_at(server: &str, error: &dyn std::error::Error) -> Fault {
    unreachable_text(server, &error.to_string())
}

fn unreachable_text(server: &str, cause: &str) -> Fault {
    Fault::new(FaultCode::QueueUnreachable, format!("the server of the queue fails: {server}"))
        .with("server", server)
        .with("cause", cause)
        .hint("check that the server runs with JetStream (`nats-server -js`), and its address")
}
