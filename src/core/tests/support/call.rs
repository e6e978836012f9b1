//! One attempt at a task, as its script sees it.

use antiphon_core::budget::Intent;
use antiphon_core::channel::{Op, Write};
use antiphon_core::command::{Choice, Choices, Route, Send, Update};
use antiphon_core::model::{FinishReason, ModelReply, Usage};
use antiphon_core::run::Run;
use antiphon_core::task::{Input, Outcome, Task, Work};
use antiphon_core::{Fault, Message, Role};
use serde_json::Value;

pub(crate) struct Call<'a> {
    pub(crate) run: &'a mut Run<Value>,
    pub(crate) task: &'a Task<Value>,
}

impl Call<'_> {
    /// What the state holds under a key, null if nothing.
    pub(crate) fn get(&self, key: &str) -> Value {
        let unit = self.run.home(self.task.id.unit);
        let id = self.run.graph(unit).and_then(|graph| graph.channel_id(key));
        let state = self.run.unit_state(unit);
        id.and_then(|id| state?.get(id).cloned()).unwrap_or_default()
    }

    /// What was sent to this task.
    pub(crate) fn sent(&self) -> Option<Value> {
        match &self.task.work {
            Work::Node(Input::Sent(value)) | Work::Open(Input::Sent(value)) => Some(value.clone()),
            _ => None,
        }
    }

    pub(crate) fn answers(&self) -> Vec<Value> {
        self.run.answers(self.task.id.unit, self.task.id.slot).to_vec()
    }

    /// The code of the failure that this task handles, and whose it is.
    pub(crate) fn handled(&self) -> Option<(String, String)> {
        let (node, fault) = self.run.handled(self.task.id.unit, self.task.id.slot)?;
        Some((node.to_string(), fault.code.clone()))
    }

    /// A call of a model that costs ten tokens in and one out.
    pub(crate) fn model(&mut self) -> Result<(), Fault> {
        self.run.request(self.task.id, Intent::Model)?;
        self.run.charge(self.task.id, Usage { input_tokens: 10, output_tokens: 1 });
        Ok(())
    }

    pub(crate) fn tool(&mut self) -> Result<(), Fault> {
        self.run.request(self.task.id, Intent::Tool)
    }

    pub(crate) fn update<const N: usize>(&self, writes: [(&str, Value); N]) -> Update<Value> {
        let mut update = Update::default();
        for (key, value) in writes {
            update.writes.push(Write::merge(self.channel(key), value));
        }
        update
    }

    pub(crate) fn done<const N: usize>(&self, writes: [(&str, Value); N]) -> Outcome<Value> {
        Outcome::Done(self.update(writes))
    }

    pub(crate) fn op(&self, key: &str, op: Op<Value>) -> Outcome<Value> {
        let mut update = Update::default();
        update.writes.push(Write { channel: self.channel(key), op });
        Outcome::Done(update)
    }

    #[expect(clippy::unused_self, reason = "it reads like the others")]
    pub(crate) fn route(&self, route: Route<Value>) -> Outcome<Value> {
        Outcome::Done(Update { route, ..Update::default() })
    }

    fn channel(&self, key: &str) -> antiphon_core::channel::ChannelId {
        let unit = self.run.home(self.task.id.unit);
        self.run.graph(unit).unwrap().channel_id(key).unwrap()
    }
}

pub(crate) fn name(name: &str) -> Choice<Value> {
    Choice::Name(name.into())
}

pub(crate) fn send(node: &str, input: Value) -> Choice<Value> {
    Choice::Send(Send { node: node.into(), input, timeout: None })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a router answers")]
pub(crate) fn choose(
    choices: impl IntoIterator<Item = Choice<Value>>,
) -> Result<Choices<Value>, Fault> {
    Ok(choices.into_iter().collect())
}

/// Plays an agent: opens with a question, and its model says the texts in
/// turn; what it concludes is added to `log`.
pub(crate) fn agent(call: &mut Call<'_>, texts: &[&str]) -> Outcome<Value> {
    match &call.task.work {
        Work::Open(_) => Outcome::Opened(vec![Message::user("what?")]),
        Work::Model(request) => {
            let said = request.messages.iter().filter(|message| message.role == Role::Assistant);
            Outcome::Replied(Box::new(reply(texts[said.count()])))
        }
        Work::Close(conclusion) => call.done([("log", conclusion.text.clone().into())]),
        other => panic!("an agent without tools was given: {other:?}"),
    }
}

/// What a scripted model says; it costs ten tokens in and one out.
pub(crate) fn reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        tool_calls: Vec::new(),
        finish: FinishReason::Stop,
        usage: Usage { input_tokens: 10, output_tokens: 1 },
        model: "scripted".to_owned(),
        attempts: 1,
        latency: std::time::Duration::ZERO,
    }
}
