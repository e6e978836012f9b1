//! Questions about the tool calls of an agent, and those that need approval.

use serde_json::Value as Json;

use super::super::machine::Run;
use super::super::scope::Scopes;
use super::state::{AgentScope, CallKind, OpenQuestion};
use crate::agent::Conversation;
use crate::approval::{Decision, HostVerdict, Schemas, refused};
use crate::checkpoint::{CommitChange, TaskKey};
use crate::effect::Question;
use crate::event::{EventKind, Level};
use crate::fault::{Fault, FaultCode};
use crate::seed::Seed;
use crate::task::{TaskWork, ToolInvocation};
use crate::time::Time;
use crate::value::Value;

impl<V: Value> AgentScope<V> {
    /// Restores an answer.
    pub(in crate::run) fn restore_answer(&mut self, call: TaskKey, answer: V) {
        self.questions.answers.insert(call.key, answer);
    }

    /// Restores an open question; the agent waits for its answer.
    pub(in crate::run) fn restore_question(&mut self, call: TaskKey, question: Question<V>) {
        self.questions.awaits_answer = true;
        self.questions.open.push(OpenQuestion { call, question, stored: true, shown: true });
    }

    /// Restores a question that is open while the agent continues with the answer to another one.
    pub(in crate::run) fn restore_waiting(&mut self, call: TaskKey, question: Question<V>) {
        self.questions.open.push(OpenQuestion { call, question, stored: false, shown: false });
    }

    pub(in crate::run) const fn is_awaiting_answer(&self) -> bool {
        self.questions.awaits_answer
    }

    pub(in crate::run) fn questions(&self) -> impl Iterator<Item = &Question<V>> {
        self.questions.open.iter().map(|open| &open.question)
    }

    /// Takes the answer to one of its questions; returns the call that it is about.
    fn accept_answer(&mut self, id: &str, answer: &V) -> Option<TaskKey> {
        let place = self.questions.open.iter().position(|open| open.question.id == id)?;
        let call = self.questions.open.remove(place).call;
        self.questions.answers.insert(call.key, answer.clone());
        self.questions.awaits_answer = false;
        // A stored answer supersedes the stored questions of this agent, so that those still
        // open have to be stored again.
        self.questions.open.iter_mut().for_each(|open| open.stored = false);
        Some(call)
    }

    /// The open question about a call; it is opened under this id and path, if it is not open.
    fn open_question(
        &mut self,
        call: TaskKey,
        (id, path): (String, Vec<String>),
    ) -> Option<&mut OpenQuestion<V>> {
        let open = &self.questions.open;
        let place = open.iter().position(|open| open.call.key == call.key).unwrap_or(open.len());
        if place == open.len() {
            let value = self.question_value(call.slot as usize)?;
            let question = Question { id, path, value };
            let open = OpenQuestion { call, question, stored: false, shown: false };
            self.questions.open.push(open);
        }
        self.questions.open.get_mut(place)
    }

    /// Decides by the given answers; returns whether anything was decided.
    fn decide_by_answers(&mut self, proposed: &[(usize, Seed)], schemas: Schemas) -> bool {
        let Some(conversation) = &mut self.conversation else { return false };
        let mut decided = false;
        for &(position, seed) in proposed {
            let answer = self.questions.answers.get(&seed.number()).and_then(V::to_json);
            let word = conversation.proposal(position).zip(answer);
            // An answer counts only for the very call that was shown: if the arguments have
            // changed since, the person is asked again.
            let decision =
                word.and_then(|(asked, answer)| asked.decode_answer(&answer, schemas).ok());
            if let Some(decision) = decision {
                conversation.decide(position, decision);
                decided = true;
            }
        }
        decided
    }
}

impl<V: Value> Run<V> {
    /// Asks the host to approve a call, unless its outcome is recorded or the calls of its
    /// tool are used up.
    pub(super) fn request_approval(
        &mut self,
        scope: u32,
        position: usize,
        invocation: ToolInvocation,
    ) {
        if !self.was_started(scope, position) && self.deny_spent(scope, position) {
            return;
        }
        if !self.replay_result(scope, position, &invocation) {
            let work = TaskWork::Approve(Box::new(invocation));
            self.hand_out_call(scope, CallKind::Approval(position), work, None);
        }
    }

    fn deny_spent(&mut self, scope: u32, position: usize) -> bool {
        let agent = self.scopes.agent_mut(scope);
        let conversation = agent.and_then(|agent| agent.conversation.as_mut());
        let denied = conversation.is_some_and(|conversation| conversation.deny_spent(position));
        if denied {
            self.log_denied(scope, position);
        }
        denied
    }

    /// The host has decided. A refusal is stored as the outcome of the call.
    pub(super) fn take_verdict(&mut self, scope: u32, position: usize, verdict: HostVerdict) {
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        let Some(call) = agent.call_of(position) else { return };
        let name = call.name.clone();
        let Some(conversation) = &mut agent.conversation else { return };
        let denied = match &verdict {
            HostVerdict::Refuse(reason) => Some(refused(&name, reason.as_deref())),
            HostVerdict::Approve => None,
        };
        conversation.decide(position, verdict.into());
        // The host decides about calls of one turn concurrently: another one may have used up the
        // last call of the tool meanwhile.
        let denied = denied.or_else(|| conversation.complaint(position).map(spent));
        if let Some(fault) = denied {
            self.commit_denied(scope, position, fault);
        }
        self.log_denied(scope, position);
    }

    /// Asks a person to approve calls, and what tools ask, except what has an answer.
    pub(super) fn ask_person(&mut self, scope: u32) {
        let mut proposed = self.proposed(scope);
        // Calls that an earlier process began come first: if the tool has few calls left, the
        // others are denied, not these, whose outcome may be recorded.
        proposed.sort_by_cached_key(|(position, _)| !self.was_started(scope, *position));
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        let continues = agent.make_answered_again();
        if agent.decide_by_answers(&proposed, self.queue.schemas) || continues {
            for (position, _) in proposed {
                self.log_denied(scope, position);
            }
            return self.activate(scope);
        }
        if self.replay_proposed(scope, &proposed) {
            return self.activate(scope);
        }
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        proposed.extend(agent.asked());
        let is_due = |open: &OpenQuestion<V>| {
            proposed.iter().any(|(_, seed)| seed.number() == open.call.key)
        };
        agent.questions.open.retain(is_due);
        agent.questions.awaits_answer = true;
        for (position, seed) in proposed {
            self.ask_about(scope, position, seed);
        }
        self.scopes.stop_timers(scope);
    }

    /// The calls that a person has to approve, by position, with their seeds.
    fn proposed(&self, scope: u32) -> Vec<(usize, Seed)> {
        let Some(seed) = self.scopes.get(scope).map(|scope| scope.seed) else { return Vec::new() };
        let Some(agent) = self.scopes.agent(scope) else { return Vec::new() };
        let proposals = agent.conversation.iter().flat_map(Conversation::proposals);
        let proposed = proposals.map(|(position, invocation)| {
            (position, agent.question_seed(seed, position, &invocation.call))
        });
        proposed.collect()
    }

    /// Replays recorded calls of a failed run, which is resumed without its answers, so that nobody
    /// is asked about them again. Returns whether there was one.
    fn replay_proposed(&mut self, scope: u32, proposed: &[(usize, Seed)]) -> bool {
        if !self.tracker_of(scope).is_some_and(|tracker| tracker.has_failed()) {
            return false;
        }
        let mut any = false;
        for &(position, seed) in proposed {
            let conversation =
                self.scopes.agent(scope).and_then(|agent| agent.conversation.as_ref());
            let asked =
                conversation.and_then(|conversation| conversation.proposed(position)).cloned();
            let Some(mut asked) = asked else { continue };
            let changed = self.past_change(scope, position, seed);
            self.note_change(scope, position, changed.as_ref());
            asked.arguments = changed.unwrap_or(asked.arguments);
            let is_known = self.replay_result(scope, position, &asked);
            if !is_known {
                self.note_change(scope, position, None);
            }
            any |= is_known;
        }
        any
    }

    /// The arguments that a person had changed before the run failed. At another position it may be
    /// another call, so only an unambiguous change counts.
    fn past_change(&mut self, scope: u32, position: usize, seed: Seed) -> Option<Json> {
        let answered = self.tracker_of(scope)?.answered().to_vec();
        let asked = self.scopes.agent(scope)?.conversation.as_ref()?.proposal(position)?;
        let approved = answered.iter().filter_map(|(key, answer)| {
            let decision = asked.decode_answer(&answer.to_json()?, self.queue.schemas).ok()?;
            let is_made = !matches!(decision, Decision::Refuse(_));
            is_made.then_some((*key == seed.number(), decision))
        });
        let mut approved: Vec<_> = approved.collect();
        if approved.iter().any(|(is_own, _)| *is_own) {
            approved.retain(|(is_own, _)| *is_own);
        }
        let (_, first) = approved.first()?;
        match first {
            Decision::Change(arguments) if approved.iter().all(|(_, other)| other == first) => {
                Some(arguments.clone())
            }
            _ => None,
        }
    }

    fn note_change(&mut self, scope: u32, position: usize, arguments: Option<&Json>) {
        let agent = self.scopes.agent_mut(scope);
        if let Some(conversation) = agent.and_then(|agent| agent.conversation.as_mut()) {
            conversation.note_change(position, arguments);
        }
    }

    fn ask_about(&mut self, scope: u32, position: usize, seed: Seed) {
        let node = self.scopes.agent_node(scope);
        let slot = u32::try_from(position).unwrap_or(u32::MAX);
        let call = TaskKey { key: seed.number(), slot, node };
        let (commits, before) = (self.queue.commits, self.queue.trace_position());
        // Another attempt asks anew: an answer to the question of this one is none to its own.
        let asked = seed.child(self.attempt_of(scope).into());
        let id = format!("{:016x}{:016x}", asked.child(1).number(), asked.child(2).number());
        let path = self.scopes.path(scope, 0).iter().map(ToString::to_string).collect();
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        let Some(open) = agent.open_question(call, (id, path)) else { return };
        let is_new = !std::mem::replace(&mut open.shown, true);
        let is_stored = std::mem::replace(&mut open.stored, true);
        let question = open.question.clone();
        if is_new {
            self.log_question(scope, position, &question);
        }
        if commits && !is_stored {
            let id = self.store(scope, CommitChange::Asked(call, Box::new(question)));
            if is_new {
                self.queue.withhold(id, before);
            }
        }
    }

    fn attempt_of(&self, scope: u32) -> u32 {
        let parent = self.scopes.get(scope).and_then(|scope| scope.parent);
        parent.map_or(1, |(parent, slot)| self.scopes.attempt(parent, slot))
    }

    fn log_question(&mut self, scope: u32, position: usize, question: &Question<V>) {
        let call = (CallKind::Tool(position), EventKind::Interrupt, Level::Info);
        self.log_call(scope, call, |event| {
            event.data.insert("id".into(), question.id.clone().into());
            event.data.extend(question.value.to_json().map(|value| ("value".to_owned(), value)));
        });
        if let Some((parent, slot)) = self.scopes.get(scope).and_then(|scope| scope.parent) {
            self.notify_asked(parent, slot, question);
        }
    }

    /// Reports a call that was denied.
    fn log_denied(&mut self, scope: u32, position: usize) {
        let agent = self.scopes.agent_mut(scope);
        let conversation = agent.and_then(|agent| agent.conversation.as_ref());
        if conversation.is_some_and(|conversation| conversation.complaint(position).is_some()) {
            self.log_refusal(scope, position);
        }
    }

    /// Answers a question about an agent's call or of its tool; returns whether there was one.
    pub(in crate::run) fn answer_agent(&mut self, id: &str, answer: &V) -> bool {
        let indices = self.scopes.indices();
        let found = indices.into_iter().find_map(|scope| {
            Some((scope, self.scopes.agent_mut(scope)?.accept_answer(id, answer)?))
        });
        let Some((scope, call)) = found else { return false };
        if self.queue.commits {
            self.store(scope, CommitChange::Answered(call, answer.clone()));
        }
        let now = self.queue.log.now;
        if let Some(deadline) = self.scopes.resume_timers(scope, now) {
            self.queue.wake_at(deadline);
        }
        self.start_step_timer(0);
        self.activate(scope);
        true
    }
}

fn spent(complaint: &str) -> Fault {
    Fault::new(FaultCode::BudgetExhausted, complaint)
}

impl<V: Value> Scopes<V> {
    /// Stops the timers of an agent's node: waiting for a person does not count.
    pub(in crate::run) fn stop_timers(&mut self, scope: u32) {
        let parent = self.get(scope).and_then(|scope| scope.parent);
        if let Some(record) = parent.and_then(|(parent, slot)| self.record(parent, slot)) {
            record.deadline = None;
        }
    }

    /// Starts the timers of an agent's node again; returns its new deadline.
    fn resume_timers(&mut self, scope: u32, now: Time) -> Option<Time> {
        let (parent, slot) = self.get(scope)?.parent?;
        self.start_timers(parent, slot, now)
    }
}
