//! One attempt at a task, as its script sees it.

use antiphon_core::budget::Intent;
use antiphon_core::channel::{Op, Write};
use antiphon_core::checkpoint::{Call as Wanted, Callee, Came, Commit, digest};
use antiphon_core::command::{Choice, Choices, Route, Send, Update};
use antiphon_core::model::{FinishReason, ModelReply, Usage};
use antiphon_core::run::{Begun, Due, Run};
use antiphon_core::task::{Input, Outcome, Task, Work};
use antiphon_core::{Fault, Message, Role};
use serde_json::Value;

pub(crate) struct Call<'a> {
    pub(crate) run: &'a mut Run<Value>,
    pub(crate) task: &'a Task<Value>,
    /// What was handed out to be stored so far.
    pub(crate) commits: &'a mut Vec<Commit<Value>>,
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

    /// Makes a call as a host does: what it is known for is stored around it.
    pub(crate) fn makes(
        &mut self,
        wanted: &Wanted,
        effect: impl FnOnce(&str) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let Due { index, key, intent, .. } = match self.run.begin_call(self.task.id, wanted)? {
            Begun::Known(Came::Value(value)) => return Ok(value),
            Begun::Known(Came::Failed(fault)) => return Err(fault),
            Begun::Known(other) => panic!("no host has said that: {other:?}"),
            Begun::Due(due) => due,
        };
        self.commits.extend(intent.map(|intent| *intent));
        let came = effect(&key);
        self.ends(index, came.clone().map_or_else(Came::Failed, Came::Value));
        came
    }

    /// Begins a call that is ended later.
    pub(crate) fn begins(&mut self, wanted: &Wanted) -> Result<Begun<Value>, Fault> {
        let mut begun = self.run.begin_call(self.task.id, wanted)?;
        if let Begun::Due(due) = &mut begun {
            self.commits.extend(due.intent.take().map(|intent| *intent));
        }
        Ok(begun)
    }

    pub(crate) fn ends(&mut self, index: u32, came: Came<Value>) {
        let commit = self.run.end_call(self.task.id, index, came);
        self.commits.extend(commit.map(|commit| *commit));
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

/// A call of a tool that may not be called twice.
pub(crate) fn tool(name: &str, arguments: &Value) -> Wanted {
    let digest = digest(arguments.to_string().as_bytes());
    Wanted { callee: Callee::Tool, name: name.to_owned(), digest, repeatable: false }
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
