//! Questions that the tools of an agent ask: the call is made again with the answer.

use super::super::machine::Run;
use super::state::{AgentScope, CallKind, ToolQuestion};
use crate::checkpoint::digest;
use crate::message::ToolCall;
use crate::seed::Seed;
use crate::value::Value;

/// Sets the keys of a tool's questions apart from that of the question about its call.
const OF_TOOL: u64 = 1;

impl<V: Value> AgentScope<V> {
    /// The seed of the question whether a call may be made. Other arguments are another question.
    pub(super) fn question_seed(&self, scope: Seed, position: usize, call: &ToolCall) -> Seed {
        let place = self.call_position(CallKind::Tool(position)).seed(scope);
        place.named(&call.name).child(digest(call.arguments.as_bytes()))
    }

    /// The seeds of the questions of a call's tool, in order.
    fn tool_question_seeds(&self, scope: Seed, position: usize) -> impl Iterator<Item = Seed> {
        let call = self.call_of(position);
        let of_call = call.map(|call| self.question_seed(scope, position, call).child(OF_TOOL));
        of_call.into_iter().flat_map(|seed| (0..).map(move |nth| seed.child(nth)))
    }

    /// The answers to the questions of a call's tool so far.
    fn answers_of(&self, scope: Seed, position: usize) -> Vec<V> {
        if self.questions.answers.is_empty() {
            return Vec::new();
        }
        let seeds = self.tool_question_seeds(scope, position);
        seeds.map_while(|seed| self.questions.answers.get(&seed.number()).cloned()).collect()
    }

    /// The seed of the next question of a call's tool.
    fn next_question(&self, scope: Seed, position: usize) -> Option<Seed> {
        let mut seeds = self.tool_question_seeds(scope, position);
        seeds.find(|seed| !self.questions.answers.contains_key(&seed.number()))
    }

    /// The answers for the call in `slot`.
    pub(in crate::run) fn answers(&self, scope: Seed, slot: u32) -> Vec<V> {
        match self.calls().get(slot as usize).map(|call| call.kind) {
            Some(CallKind::Tool(position)) => self.answers_of(scope, position),
            _ => Vec::new(),
        }
    }

    /// The questions that tools have asked and that have no answer, by the positions of the calls.
    pub(super) fn asked(&self) -> impl Iterator<Item = (usize, Seed)> {
        self.questions.asked.iter().map(|(position, asked)| (*position, asked.seed))
    }

    /// Makes the calls again whose tools' questions are answered; returns whether there is one.
    pub(super) fn make_answered_again(&mut self) -> bool {
        let Some(conversation) = &mut self.conversation else { return false };
        let answers = &self.questions.answers;
        let is_answered =
            |_: &usize, asked: &mut ToolQuestion<V>| answers.contains_key(&asked.seed.number());
        let answered = self.questions.asked.extract_if(.., is_answered);
        let answered = answered.map(|(position, _)| conversation.make_again(position));
        answered.count() > 0
    }

    /// What a person is asked about the call at `position`.
    pub(super) fn question_value(&self, position: usize) -> Option<V> {
        if let Some(asked) = self.questions.asked.get(&position) {
            return Some(asked.value.clone());
        }
        let proposal = self.conversation.as_ref()?.proposal(position)?;
        Some(V::from_json(proposal.question()))
    }
}

impl<V: Value> Run<V> {
    /// A tool asks; the person is asked once the other calls of the turn have ended.
    pub(super) fn ask_for_tool(&mut self, scope: u32, position: usize, value: V) {
        let Some(seed) = self.scopes.get(scope).map(|scope| scope.seed) else { return };
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        let Some(seed) = agent.next_question(seed, position) else { return };
        agent.questions.asked.insert(position, ToolQuestion { seed, value });
        if let Some(conversation) = &mut agent.conversation {
            conversation.ask(position);
        }
    }

    /// What the tool of this call has asked in an earlier process, if it still waits for the answer.
    pub(super) fn waiting_question(&self, scope: u32, position: usize) -> Option<V> {
        let seed = self.scopes.get(scope)?.seed;
        let agent = self.scopes.agent(scope).filter(|agent| !agent.questions.open.is_empty())?;
        let key = agent.next_question(seed, position)?.number();
        let open = agent.questions.open.iter().find(|open| open.call.key == key)?;
        Some(open.question.value.clone())
    }

    /// Whether this call is made again because its tool has asked: it was counted before.
    pub(super) fn is_made_again(&self, scope: u32, position: usize) -> bool {
        let seed = self.scopes.get(scope).map(|scope| scope.seed);
        let agent = self.scopes.agent(scope);
        seed.zip(agent).is_some_and(|(seed, agent)| !agent.answers_of(seed, position).is_empty())
    }

    /// Whether the trace shows the call already.
    pub(super) fn is_call_logged(&self, scope: u32, position: usize) -> bool {
        let conversation = self.scopes.agent(scope).and_then(|agent| agent.conversation.as_ref());
        conversation.is_some_and(|conversation| conversation.has_asked(position))
    }
}
