//! Sub-tasks over a queue: what travels, the side of the orchestrator, the side of the worker.

#![cfg(test)]

#[expect(dead_code, reason = "the tests of queues need more of it")]
#[path = "../../../queue/tests/queue/server.rs"]
mod server;
#[path = "../../../queue/tests/queue/waiting.rs"]
mod waiting;

mod correlation;
mod dispatching;
mod messages;
mod nats;
mod resuming;
mod scene;
mod working;
