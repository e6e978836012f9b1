//! The log of messages between the orchestrator and its agents: what the
//! orchestrator says, and what of the log an agent's model gets to see.

use antiphon_core::{Message, Seed, Time};
use serde::{Deserialize, Serialize};

use super::state::State;
use super::step::StepName;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// A time-ordered UUID.
    pub id: String,
    /// Who speaks.
    pub sender: Participant,
    /// Who is spoken to.
    pub receiver: Participant,
    /// What kind of message it is.
    #[serde(rename = "type")]
    pub kind: MessageKind,
    /// The text.
    pub content: String,
    /// The research step it is about, counted from 0.
    pub step_id: Option<usize>,
    /// When, in UTC.
    pub timestamp: String,
}

/// Who speaks or is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Participant {
    /// Decides, and says what to do.
    Orchestrator,
    /// The planner.
    Planner,
    /// The critic of plans.
    CriticPlanner,
    /// The researcher.
    Researcher,
    /// The critic of research.
    CriticResearcher,
    /// The expert.
    Expert,
    /// The critic of answers.
    CriticExpert,
    /// The finalizer.
    Finalizer,
}

impl From<StepName> for Participant {
    /// Who does a step.
    fn from(step: StepName) -> Self {
        match step {
            StepName::Input => Self::Orchestrator,
            StepName::Planner => Self::Planner,
            StepName::CriticPlanner => Self::CriticPlanner,
            StepName::Researcher => Self::Researcher,
            StepName::CriticResearcher => Self::CriticResearcher,
            StepName::Expert => Self::Expert,
            StepName::CriticExpert => Self::CriticExpert,
            StepName::Finalizer => Self::Finalizer,
        }
    }
}

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// The orchestrator says what to do.
    Instruction,
    /// The orchestrator sends work back.
    Feedback,
    /// An agent delivers.
    Response,
}

/// A message without its id and time.
#[derive(Clone, Debug)]
pub(super) struct MessageDraft {
    pub(super) sender: Participant,
    pub(super) receiver: Participant,
    pub(super) kind: MessageKind,
    pub(super) content: String,
    pub(super) step_id: Option<usize>,
}

/// Gives messages their ids and times.
#[derive(Clone, Debug)]
pub(super) struct MessageFactory {
    seed: Seed,
    now: Time,
    written: u64,
}

impl MessageFactory {
    /// `seed` must be of the task that writes and of no other.
    pub(super) const fn new(seed: Seed, now: Time) -> Self {
        Self { seed, now, written: 0 }
    }

    pub(super) fn sign(&mut self, draft: MessageDraft) -> AgentMessage {
        let seed = self.seed.named("message").child(self.written);
        self.written += 1;
        AgentMessage {
            id: seed.uuid(self.now),
            sender: draft.sender,
            receiver: draft.receiver,
            kind: draft.kind,
            content: draft.content,
            step_id: draft.step_id,
            timestamp: self.now.to_string(),
        }
    }
}

/// The instruction of the orchestrator for `step`, when it is not sent
/// back. `docs/systems/review-loop.md` lists the texts.
pub(super) fn instruction(step: StepName, index: Option<usize>, state: &State) -> String {
    let at = |index: Option<usize>| index.unwrap_or_default();
    match step {
        StepName::Planner => format!("Develop a logical plan to answer: {}", state.question),
        StepName::Researcher => {
            let step = state.research_steps.get(at(index)).map_or("", String::as_str);
            format!("Research: {step}")
        }
        StepName::Expert => format!("Perform steps: {}", state.expert_steps.join(" ")),
        StepName::CriticPlanner => {
            let (research, expert) = (&state.research_steps, &state.expert_steps);
            format!("Review plan: {}\n{}", research.join("\n"), expert.join("\n"))
        }
        StepName::CriticResearcher => {
            format!("Review research: {}", state.result(at(index)).unwrap_or_default())
        }
        StepName::CriticExpert => format!("Review expert answer: {}", state.expert_answer),
        StepName::Finalizer | StepName::Input => {
            "Generate final answer and reasoning trace".to_owned()
        }
    }
}

/// The messages between the orchestrator and one agent, in order.
pub(super) fn exchange(
    log: &[AgentMessage],
    party: Participant,
    step_id: Option<usize>,
) -> impl DoubleEndedIterator<Item = &AgentMessage> {
    log.iter().filter(move |message| {
        (message.sender == party || message.receiver == party) && message.step_id == step_id
    })
}

/// How often the orchestrator has sent an agent to work: the number of its
/// present attempt.
pub(super) fn attempts(log: &[AgentMessage], party: Participant, step_id: Option<usize>) -> usize {
    exchange(log, party, step_id).filter(|message| message.receiver == party).count()
}

/// Whether an agent has not yet answered its last instruction.
pub(super) fn owes(log: &[AgentMessage], party: Participant, step_id: Option<usize>) -> bool {
    exchange(log, party, step_id).next_back().is_some_and(|last| last.receiver == party)
}

/// The last message to an agent.
pub(super) fn last_instruction(
    log: &[AgentMessage],
    party: Participant,
    step_id: Option<usize>,
) -> Option<&AgentMessage> {
    exchange(log, party, step_id).rfind(|message| message.receiver == party)
}

/// What an agent's model gets to see of the log: critics only their last
/// instruction, since verdicts do not depend on earlier ones. An instruction
/// that was repeated after an error is seen once.
pub(super) fn view(log: &[AgentMessage], step: StepName, step_id: Option<usize>) -> Vec<Message> {
    let party = Participant::from(step);
    if step.is_critic() {
        let last = last_instruction(log, party, step_id);
        return last.map(|message| Message::user(&message.content)).into_iter().collect();
    }
    let mut seen: Vec<Message> = Vec::new();
    for message in exchange(log, party, step_id) {
        let turn = if message.receiver == party {
            Message::user(&message.content)
        } else {
            Message::assistant(&message.content)
        };
        if seen.last() != Some(&turn) {
            seen.push(turn);
        }
    }
    seen
}
