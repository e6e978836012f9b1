//! One attempt at a task, as its script sees it.

use antiphon_core::budget::BudgetCharge;
use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::checkpoint::{Call as Wanted, CallOutcome, Callee, Commit, digest};
use antiphon_core::command::{Destination, Destinations, Route, Send, Update};
use antiphon_core::model::{FinishReason, ModelReply, Usage};
use antiphon_core::run::{CallStart, PendingCall, Run};
use antiphon_core::task::{Task, TaskInput, TaskOutcome, TaskWork};
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
        let scope = self.run.state_scope(self.task.id.scope);
        let id = self.run.graph(scope).and_then(|graph| graph.channel_id(key));
        let state = self.run.scope_state(scope);
        id.and_then(|id| state?.get(id).cloned()).unwrap_or_default()
    }

    /// What was sent to this task.
    pub(crate) fn sent(&self) -> Option<Value> {
        match &self.task.work {
            TaskWork::Node(TaskInput::Sent(value)) | TaskWork::Open(TaskInput::Sent(value)) => {
                Some(value.clone())
            }
            _ => None,
        }
    }

    pub(crate) fn answers(&self) -> Vec<Value> {
        self.run.answers(self.task.id.scope, self.task.id.slot)
    }

    /// The code of the failure that this task handles, and whose it is.
    pub(crate) fn handled(&self) -> Option<(String, String)> {
        let (node, fault) = self.run.handled(self.task.id.scope, self.task.id.slot)?;
        Some((node.to_string(), fault.code.to_string()))
    }

    /// A call of a model that costs ten tokens in and one out.
    pub(crate) fn model(&mut self) -> Result<(), Fault> {
        self.run.request(self.task.id, BudgetCharge::Model)?;
        self.run.charge(self.task.id, Usage { input_tokens: 10, output_tokens: 1 });
        Ok(())
    }

    pub(crate) fn tool(&mut self) -> Result<(), Fault> {
        self.run.request(self.task.id, BudgetCharge::Tool)
    }

    /// Makes a call as a host does: what it is known for is stored around it.
    pub(crate) fn makes(
        &mut self,
        wanted: &Wanted,
        effect: impl FnOnce(&str) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let PendingCall { index, key, intent, .. } =
            match self.run.begin_call(self.task.id, wanted)? {
                CallStart::Known(CallOutcome::Value(value)) => return Ok(value),
                CallStart::Known(CallOutcome::Failed(fault)) => return Err(fault),
                CallStart::Known(other) => panic!("no host has said that: {other:?}"),
                CallStart::Pending(pending) => pending,
            };
        self.commits.extend(intent.map(|intent| *intent));
        let outcome = effect(&key);
        self.ends(index, outcome.clone().map_or_else(CallOutcome::Failed, CallOutcome::Value));
        outcome
    }

    /// Begins a call that is ended later.
    pub(crate) fn begins(&mut self, wanted: &Wanted) -> Result<CallStart<Value>, Fault> {
        let mut started = self.run.begin_call(self.task.id, wanted)?;
        if let CallStart::Pending(due) = &mut started {
            self.commits.extend(due.intent.take().map(|intent| *intent));
        }
        Ok(started)
    }

    pub(crate) fn ends(&mut self, index: u32, outcome: CallOutcome<Value>) {
        let commit = self.run.end_call(self.task.id, index, outcome);
        self.commits.extend(commit.map(|commit| *commit));
    }

    pub(crate) fn update<const N: usize>(&self, writes: [(&str, Value); N]) -> Update<Value> {
        let mut update = Update::default();
        for (key, value) in writes {
            update.writes.push(Write::merge(self.channel(key), value));
        }
        update
    }

    pub(crate) fn done<const N: usize>(&self, writes: [(&str, Value); N]) -> TaskOutcome<Value> {
        TaskOutcome::Done(self.update(writes))
    }

    pub(crate) fn op(&self, key: &str, op: WriteOp<Value>) -> TaskOutcome<Value> {
        let mut update = Update::default();
        update.writes.push(Write { channel: self.channel(key), op });
        TaskOutcome::Done(update)
    }

    #[expect(clippy::unused_self, reason = "it reads like the others")]
    pub(crate) fn route(&self, route: Route<Value>) -> TaskOutcome<Value> {
        TaskOutcome::Done(Update { route, ..Update::default() })
    }

    fn channel(&self, key: &str) -> antiphon_core::channel::ChannelId {
        let scope = self.run.state_scope(self.task.id.scope);
        self.run.graph(scope).unwrap().channel_id(key).unwrap()
    }
}

/// A call of a tool that may not be called twice.
pub(crate) fn tool(name: &str, arguments: &Value) -> Wanted {
    let digest = digest(arguments.to_string().as_bytes());
    Wanted { callee: Callee::Tool, name: name.to_owned(), digest, repeatable: false }
}

pub(crate) fn name(name: &str) -> Destination<Value> {
    Destination::Name(name.into())
}

pub(crate) fn send(node: &str, input: Value) -> Destination<Value> {
    Destination::Send(Send { node: node.into(), input, timeout: None, limit: None })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a router answers")]
pub(crate) fn choose(
    choices: impl IntoIterator<Item = Destination<Value>>,
) -> Result<Destinations<Value>, Fault> {
    Ok(choices.into_iter().collect())
}

/// Runs an agent: opens with a question, and its model says the texts in
/// turn; what it concludes is added to `log`.
pub(crate) fn agent(call: &mut Call<'_>, texts: &[&str]) -> TaskOutcome<Value> {
    match &call.task.work {
        TaskWork::Open(_) => TaskOutcome::Opened(vec![Message::user("what?")]),
        TaskWork::Model(request) => {
            let said = request.messages.iter().filter(|message| message.role == Role::Assistant);
            TaskOutcome::Replied(Box::new(reply(texts[said.count()])))
        }
        TaskWork::Close(conclusion) => call.done([("log", conclusion.text.clone().into())]),
        other => panic!("an agent without tools was given: {other:?}"),
    }
}

/// What a scripted model says; it costs ten tokens in and one out.
pub(crate) fn reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        media: Vec::new(),
        tool_calls: Vec::new(),
        finish: FinishReason::Stop,
        usage: Usage { input_tokens: 10, output_tokens: 1 },
        model: "scripted".to_owned(),
        attempts: 1,
        latency: std::time::Duration::ZERO,
        provider_content: None,
    }
}
